//! The attempts of a write. Each is sent on the condition that what was read still holds. Where it doesn't, another
//! attempt reads again, a few times; then the write is [`Refusal::Contended`].
//!
//! An attempt without an answer may have been carried out. The next look settles it: docs/internals/protocol/write.md
//! has the cases (*Writes without an answer*), in the order of [`Attempts::settle`]. Where none applies it is
//! [`Refusal::OutcomeUnknown`]: deciding anew could do the write a second time, over what others have written.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{Claim, Context, Outcome, Refusal, Request};
use crate::keys::ItemKey;
use crate::model::{COPYING, Item, TOUCHED};
use crate::plan::{Failure, Io, Read, Rule, Task, TaskOutcome};
use crate::request::{Action, Condition};

/// How long a request is taken to be worked on: longer than any function runs for the API (30 seconds).
pub(super) const LEASE_SECONDS: u64 = 60;

pub(super) struct Attempts<'a> {
    pub(super) context: Context<'a>,
    pub(super) request: &'a Request,
    claim: Option<Claim>,
    failed: u32,
    tried: Option<Outcome>,
    decided_on: Option<Arc<Item>>,
    is_unanswered: bool,
    claim_is_lost: bool,
    /// The claims of names on whose conditions attempts have failed.
    failed_on: BTreeSet<ItemKey>,
}

pub(super) struct Attempt {
    pub(super) actions: Vec<Action>,
    /// The actions that complete the claim with the outcome.
    completion: Vec<Action>,
    outcome: Outcome,
    /// The record that the attempt is decided on; `None` if there is none.
    on: Option<Arc<Item>>,
}

impl Attempt {
    pub(super) fn len(&self) -> usize {
        self.actions.len() + self.completion.len()
    }
}

/// The evidence beside a record of an attempt without an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trace {
    /// It was carried out.
    Done,
    /// It wasn't.
    NotDone,
    /// It may have been, and others have written since.
    Lost,
    /// There is none: the record decides.
    None,
}

impl<'a> Attempts<'a> {
    pub(super) fn new(context: Context<'a>, request: &'a Request, claim: Option<Claim>) -> Self {
        Self {
            context,
            request,
            claim,
            failed: 0,
            tried: None,
            decided_on: None,
            is_unanswered: false,
            claim_is_lost: false,
            failed_on: BTreeSet::new(),
        }
    }

    /// True once an attempt has failed because this claim of a name is another node's.
    pub(super) fn has_failed_on(&self, key: &ItemKey) -> bool {
        self.failed_on.contains(key)
    }

    /// True before the first attempt has failed.
    pub(super) fn is_first(&self) -> bool {
        self.failed == 0
    }

    /// True once an attempt that changes something got no answer.
    pub(super) fn is_unanswered(&self) -> bool {
        self.is_unanswered
    }

    /// The outcome of the last attempt.
    pub(super) fn tried(&self) -> Option<&Outcome> {
        self.tried.as_ref()
    }

    pub(super) fn decided_on(&self) -> Option<&Item> {
        self.decided_on.as_deref()
    }

    /// An attempt that carries out these actions and completes the claim, decided on the record `on`.
    pub(super) fn attempt(&self, actions: Vec<Action>, outcome: Outcome, on: Option<Arc<Item>>) -> Attempt {
        let complete = |claim: &Claim| claim.completion(&outcome.encode(), self.context.settings);
        let completion = self.claim.as_ref().map_or_else(Vec::new, complete);
        Attempt { actions, completion, outcome, on }
    }

    /// Sends an attempt. Returns its outcome if it was carried out; else it waits, and the write looks again. One that
    /// has nothing to do isn't sent. The errors are those of [`Attempts::fail`].
    pub(super) async fn send(&mut self, io: &Io, attempt: Attempt) -> Result<Option<Outcome>, Stop> {
        let Attempt { mut actions, completion, outcome, on } = attempt;
        let own_actions = actions.len();
        actions.extend(completion);
        if actions.is_empty() {
            return Ok(Some(outcome));
        }
        let claims: BTreeMap<usize, ItemKey> = actions
            .iter()
            .enumerate()
            .filter(|(_, action)| matches!(action.condition(), Condition::AbsentOr { .. }))
            .map(|(position, action)| (position, action.key().clone()))
            .collect();
        let changes = actions.iter().any(|action| !matches!(action, Action::Check { .. }));
        (self.tried, self.decided_on) = (Some(outcome), on);
        match io.attempt(Task::together(actions)).await? {
            Some(TaskOutcome::Held) => return Ok(self.tried.take()),
            Some(TaskOutcome::Failed(positions)) => {
                self.claim_is_lost = positions.iter().any(|position| *position >= own_actions);
                let learn =
                    |position: &usize| claims.get(position).is_some_and(|key| self.failed_on.insert(key.clone()));
                let learned: Vec<bool> = positions.iter().map(learn).collect();
                if !learned.is_empty() && learned.iter().all(|is_new| *is_new) {
                    // No other writer was in the way: the next attempt knows more than this one.
                    self.failed += 1;
                    return Ok(None);
                }
            }
            None => {
                self.is_unanswered |= changes;
                // No other writer was in the way: the table gave no answer.
                return self.wait_or(io, Refusal::OutcomeUnknown).await.map(|()| None);
            }
        }
        self.fail(io).await?;
        Ok(None)
    }

    /// Waits before the next look. Fails where that was the last one, with an attempt that may never be settled.
    pub(super) async fn fail(&mut self, io: &Io) -> Result<(), Stop> {
        self.wait_or(io, Refusal::Contended).await
    }

    async fn wait_or(&mut self, io: &Io, refusal: Refusal) -> Result<(), Stop> {
        self.failed += 1;
        let has_time = match self.context.limits.wait(self.failed) {
            Some(step) => io.wait(step).await?,
            None => false,
        };
        if has_time {
            return Ok(());
        }
        Err(if self.is_unanswered { Refusal::OutcomeUnknown } else { refusal }.into())
    }

    /// The key of the item that tells whether an attempt without an answer completed the claim.
    pub(super) fn key_claim_key(&self) -> Option<ItemKey> {
        let claim = self.claim.as_ref().filter(|_| self.is_unanswered)?;
        Some(claim.record_key(self.context.settings))
    }

    /// Settles the attempt before, by its record as it stands `now` and what else was read. Returns its outcome if it
    /// was carried out; `None`: the write goes on. Fails with [`Refusal::OutcomeUnknown`] where nothing tells, and
    /// [`Refusal::InProgress`] where another request has taken the claim over.
    pub(super) fn settle(
        &mut self,
        now: Option<&Arc<Item>>,
        trace: Trace,
        read: &Read,
    ) -> Result<Option<Outcome>, Stop> {
        let outcome = self.found_done(now, trace, read)?;
        if outcome.is_none() && self.claim_is_lost {
            Err(Refusal::InProgress(LEASE_SECONDS).into())
        } else {
            Ok(outcome)
        }
    }

    fn found_done(&mut self, now: Option<&Arc<Item>>, trace: Trace, read: &Read) -> Result<Option<Outcome>, Stop> {
        let stamp = &self.request.stamp;
        let Some(tried) = self.tried.as_ref().filter(|_| !self.is_first()) else { return Ok(None) };
        if let Some(item) = now.filter(|item| stamp.made(Some(item))) {
            return Ok(Some(tried.clone().with_item(Item::clone(item))));
        }
        if !self.is_unanswered {
            return Ok(None);
        }
        if let (Some(claim), Some(key)) = (&self.claim, self.key_claim_key()) {
            // The claim is completed once at most, maybe by an earlier attempt with another outcome.
            let record = read.item(&key)?;
            self.claim_is_lost = !claim.is_held(record);
            if let Some((first, is_all)) = claim.kept(record) {
                let decoded = || Outcome::decode(first, &self.context.settings.schema).filter(|_| is_all);
                let outcome = if tried.encode().starts_with(first) { Some(tried.clone()) } else { decoded() };
                return outcome.map(Some).ok_or(Refusal::OutcomeUnknown.into());
            }
            // It may still be carried out. Then another attempt fails on the claim, and so does giving it back.
            return Ok(None);
        }
        let stands = || is_same(self.decided_on.as_deref(), now.map(Arc::as_ref));
        let goes_on = !self.context.rules.keeps(Rule::StandsAsRead);
        match trace {
            Trace::Done => Ok(Some(tried.clone())),
            _ if stamp.made_before(now.map(Arc::as_ref)) => Ok(Some(tried.clone())),
            Trace::NotDone => Ok(None),
            Trace::None if stands() => Ok(None),
            Trace::None | Trace::Lost if goes_on => Ok(None),
            Trace::None | Trace::Lost => Err(Refusal::OutcomeUnknown.into()),
        }
    }
}

/// True if a record stands as it was. A touch changes nothing of it, and neither does a copy that goes on.
fn is_same(before: Option<&Item>, now: Option<&Item>) -> bool {
    let counts = |name: &str| ![TOUCHED, COPYING].contains(&name);
    let attributes = |item: &'_ Item| item.keys().filter(|name| counts(name)).count();
    match (before, now) {
        (None, None) => true,
        (Some(before), Some(now)) => {
            let mut others = before.iter().filter(|(name, _)| counts(name));
            attributes(before) == attributes(now) && others.all(|(name, value)| now.get(name) == Some(value))
        }
        _ => false,
    }
}

/// Why a plan ends early.
pub(super) enum Stop {
    Refused(Refusal),
    Failed(Failure),
}

impl<R: Into<Refusal>> From<R> for Stop {
    fn from(refusal: R) -> Self {
        Self::Refused(refusal.into())
    }
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

/// The end of a plan: one that is refused is done.
pub(super) fn done<T>(result: Result<T, Stop>) -> Result<Result<T, Refusal>, Failure> {
    match result {
        Ok(done) => Ok(Ok(done)),
        Err(Stop::Refused(refusal)) => Ok(Err(refusal)),
        Err(Stop::Failed(failure)) => Err(failure),
    }
}
