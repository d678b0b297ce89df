//! Executes a command, once.

use super::attempts::{Attempts, Stop, done};
use super::idempotency::{Begun, begun, given_back};
use super::perform::{BatchBefore, Carried, carry_out, plan};
use super::prefetch::Prefetched;
use super::{Command, Context, Outcome, Refusal, Request};
use crate::plan::{Facts, Failure, Io, Plan, Rule, Step, Task, TaskOutcome};

/// The outcome of a command.
#[derive(Clone, Debug, PartialEq)]
pub struct Answered {
    /// The outcome.
    pub outcome: Outcome,
    /// True if an earlier request with the same idempotency key did it.
    pub is_repeated: bool,
}

/// Carries out a command. Where its request has an idempotency key, it is carried out once: the key is claimed first,
/// and completed with the outcome in the transaction that writes. A key that was completed before gives the outcome of
/// that time. A command that is refused gives its claim back, so that the same request may come again. A command of a
/// batch uses the items that the batch has read ahead: `prefetched`.
///
/// Where the plan fails and one of its attempts is [unanswered](Plan::is_unanswered), the command may have been
/// carried out.
pub fn write_once<'a>(
    context: Context<'a>,
    command: &'a Command,
    request: &'a Request,
    mut prefetched: Option<&'a mut Prefetched>,
) -> Plan<'a, Result<Answered, Refusal>> {
    Plan::new(move |io| async move {
        let answered = once(&io, context, command, request, &mut prefetched).await;
        if let (Ok(Answered { outcome, .. }), Some(prefetched)) = (&answered, prefetched) {
            // The rows of what a batch has written aren't there yet.
            prefetched.wrote(command, outcome, context.settings);
        }
        done(answered)
    })
}

async fn once(
    io: &Io,
    context: Context<'_>,
    command: &Command,
    request: &Request,
    prefetched: &mut Option<&mut Prefetched>,
) -> Result<Answered, Stop> {
    let claim = match &request.idempotency {
        None => None,
        Some(key) => match begun(io, context, key, &request.stamp).await? {
            Begun::Claimed(claim) => Some(claim),
            Begun::Kept(bytes) => return Ok(Answered { outcome: kept(&bytes, context)?, is_repeated: true }),
        },
    };
    let begin = || Attempts::new(context, request, claim.clone());
    let Carried { outcome, is_unanswered, changed } = match prefetched.as_deref_mut() {
        None => carry_out(io, begin(), command, BatchBefore::default()).await?,
        Some(prefetched) => Guided::new(prefetched, context).carry_out(io, begin, command).await?,
    };
    if let Some(prefetched) = prefetched {
        prefetched.place_too(changed);
    }
    let refusal = match outcome {
        Ok(outcome) => return Ok(Answered { outcome, is_repeated: false }),
        Err(refusal) => refusal,
    };
    // An attempt without an answer may still be carried out later. Giving the claim back prevents it.
    let may_come = is_unanswered && context.rules.keeps(Rule::UnknownNotRefused);
    match claim {
        None if may_come => Err(Refusal::OutcomeUnknown.into()),
        // The claim is another request's now, or its transaction may still be carried out.
        Some(claim) if !matches!(refusal, Refusal::InProgress(_) | Refusal::OutcomeUnknown) => {
            if !may_come {
                // A claim that can't be given back runs out by itself.
                let _ = io.one(claim.release(context.settings)).await;
                return Err(refusal.into());
            }
            match given_back(io, context, &claim).await? {
                None => Err(refusal.into()),
                Some(bytes) => Ok(Answered { outcome: kept(&bytes, context)?, is_repeated: false }),
            }
        }
        _ => Err(refusal.into()),
    }
}

fn kept(bytes: &[u8], context: Context<'_>) -> Result<Outcome, Refusal> {
    Outcome::decode(bytes, &context.settings.schema).ok_or(Refusal::OutcomeUnreadable)
}

/// A command that goes by what was read ahead.
struct Guided<'w> {
    prefetched: &'w mut Prefetched,
    /// True before the command has written or waited. After that it reads for itself.
    asks: bool,
    /// True if the command relies on something read ahead that no condition of a write has shown to hold.
    relies: bool,
    under_way: Option<Task>,
    context: Context<'w>,
}

impl<'w> Guided<'w> {
    fn new(prefetched: &'w mut Prefetched, context: Context<'w>) -> Self {
        Self { prefetched, asks: true, relies: false, under_way: None, context }
    }

    async fn carry_out<'a>(
        mut self,
        io: &Io,
        begin: impl Fn() -> Attempts<'a>,
        command: &'a Command,
    ) -> Result<Carried, Failure> {
        let begun = |guided: &Self| plan(begin(), command, guided.prefetched.before(command, guided.context));
        let (mut plan, mut facts) = (begun(&self), Facts::None);
        loop {
            let step = plan.next(facts)?;
            facts = match self.known(&step) {
                Some(known) => known,
                None => match step {
                    // The command begins again and reads for itself: what it decided on may not hold any more.
                    Step::Done(_) if self.relies => {
                        (self.asks, self.relies) = (false, false);
                        plan = begun(&self);
                        Facts::None
                    }
                    Step::Done(carried) => return Ok(carried),
                    Step::Need(need) => {
                        let read = io.read(need.clone()).await?;
                        self.prefetched.read_again(&need, &read);
                        Facts::Read(read)
                    }
                    step => io.ask(step.and_then(|_| Err(Failure::Again))?).await,
                },
            };
            self.learn(&facts);
        }
    }

    /// The answer to a step, if it was read ahead.
    fn known(&mut self, step: &Step<Carried>) -> Option<Facts> {
        match step {
            Step::Need(need) if self.asks => {
                let read = self.prefetched.answer(need)?;
                self.relies = true;
                return Some(Facts::Read(read));
            }
            Step::Need(_) | Step::Done(_) => return None,
            Step::Try(task) => {
                self.prefetched.forget(task);
                self.under_way = Some(task.clone());
            }
            Step::Do(tasks) => tasks.iter().for_each(|task| self.prefetched.forget(task)),
            Step::Write(_) | Step::Wait(_) => {}
        }
        (self.asks, self.relies) = (false, false);
        None
    }

    fn learn(&mut self, facts: &Facts) {
        let Facts::Tried(outcome) = facts else { return };
        if outcome.is_none() && self.context.rules.keeps(Rule::ReadAheadForgotten) {
            // Seconds have passed, in which others may have changed anything that was read ahead.
            self.prefetched.forget_all();
        }
        let task = self.under_way.take().filter(|_| *outcome == Some(TaskOutcome::Held));
        if let Some(task) = task {
            self.prefetched.written(&task, &self.context.settings.schema);
        }
    }
}
