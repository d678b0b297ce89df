//! What the plans of writes have in common: a write is sent on the condition that what was read still holds. Where it doesn't,
//! another attempt reads again, a few times; then the write is [`Refusal::Contended`].

use super::{Claim, Context, Outcome, Refusal, Request};
use crate::keys::KeyError;
use crate::model::{Item, TooManyAttributes};
use crate::plan::{Failure, Step, Task, TaskOutcome};
use crate::request::Action;

/// The attempts of one write.
#[derive(Debug)]
pub(super) struct Attempts<'a> {
    pub(super) context: Context<'a>,
    pub(super) request: &'a Request,
    claim: Option<Claim>,
    /// How many attempts have failed.
    failed: u32,
    /// The outcome of the last attempt, should it have been carried out.
    tried: Option<Outcome>,
    /// How many actions of the last attempt are the write's own. The others complete the claim.
    own_actions: usize,
    claim_is_lost: bool,
}

/// What came of an attempt.
pub(super) enum Attempted {
    /// It was carried out.
    Done(Outcome),
    /// It failed. Wait before the next, by this step of the retry policy.
    Wait(u32),
    /// It failed, and was the last.
    Over,
}

impl<'a> Attempts<'a> {
    /// The attempts of a write that completes a claim, if its request has a key.
    pub(super) fn new(context: Context<'a>, request: &'a Request, claim: Option<Claim>) -> Self {
        Self { context, request, claim, failed: 0, tried: None, own_actions: 0, claim_is_lost: false }
    }

    /// True before the first attempt has failed.
    pub(super) fn is_first(&self) -> bool {
        self.failed == 0
    }

    /// The actions that complete the claim with an outcome.
    pub(super) fn completion(&self, outcome: &Outcome) -> Vec<Action> {
        let complete = |claim: &Claim| claim.completion(&outcome.encode(), self.context.settings);
        self.claim.as_ref().map_or_else(Vec::new, complete)
    }

    /// The next attempt: these actions, and those that complete the claim.
    pub(super) fn task(&mut self, own: Vec<Action>, completion: Vec<Action>, outcome: Outcome) -> Task {
        self.own_actions = own.len();
        self.tried = Some(outcome);
        let mut actions = own;
        actions.extend(completion);
        Task::together(actions)
    }

    /// What came of the attempt.
    pub(super) fn answered(&mut self, outcome: TaskOutcome) -> Attempted {
        match (outcome, self.tried.take()) {
            (TaskOutcome::Held, Some(tried)) => return Attempted::Done(tried),
            (TaskOutcome::Failed(positions), tried) => {
                self.tried = tried;
                self.claim_is_lost = positions.iter().any(|position| *position >= self.own_actions);
            }
            (TaskOutcome::Held, None) => {}
        }
        self.failed += 1;
        self.context.limits.wait(self.failed).map_or(Attempted::Over, Attempted::Wait)
    }

    /// The outcome of an attempt that was carried out although its answer was lost: the record is what it made of it.
    pub(super) fn found(&mut self, item: Option<&Item>) -> Option<Outcome> {
        let item = item.filter(|item| !self.is_first() && self.request.stamp.made(Some(item)))?;
        Some(self.tried.take()?.with_item(item.clone()))
    }

    /// The outcome of the last attempt.
    pub(super) fn tried(&self) -> Option<&Outcome> {
        self.tried.as_ref()
    }

    /// Checks that no other request has taken the claim over.
    pub(super) fn check_claim(&self) -> Result<(), Refusal> {
        if self.claim_is_lost { Err(Refusal::InProgress) } else { Ok(()) }
    }
}

/// What a plan of a write comes to.
pub(super) type Done = Result<Outcome, Refusal>;

/// Why a plan ends early.
pub(super) enum Stop {
    /// The write is refused.
    Refused(Refusal),
    /// Something couldn't be read or written.
    Failed(Failure),
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<KeyError> for Stop {
    fn from(error: KeyError) -> Self {
        Self::Refused(error.into())
    }
}

impl From<TooManyAttributes> for Stop {
    fn from(error: TooManyAttributes) -> Self {
        Self::Refused(error.into())
    }
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

/// The step of a plan: one that is refused is done.
pub(super) fn settle<T>(step: Result<Step<Result<T, Refusal>>, Stop>) -> Result<Step<Result<T, Refusal>>, Failure> {
    match step {
        Ok(step) => Ok(step),
        Err(Stop::Refused(refusal)) => Ok(Step::Done(Err(refusal))),
        Err(Stop::Failed(failure)) => Err(failure),
    }
}
