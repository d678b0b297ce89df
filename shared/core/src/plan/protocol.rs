//! Protocols as straight code: an `async fn` reads from top to bottom, and asks for each step where it needs it.
//!
//! There is no runtime. A protocol asks through its [`Io`], and stops there. A [`Plan`] makes steps of it: the executor
//! gets each as a value, and gives the answer back. `docs/internals/decisions.md` says why.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use super::report::{PlanReport, Problem};
use super::step::{Facts, Need, Read, Step, Writes};
use super::task::{Failure, Task, TaskOutcome};
use crate::keys::ItemKey;
use crate::model::NewerFormat;
use crate::request::{Page, Query};

/// The channel by which a protocol asks.
#[derive(Clone, Debug, Default)]
pub struct Io(Arc<Mutex<Slot>>);

/// The step and the answer between a protocol and its plan.
#[derive(Debug, Default)]
struct Slot {
    step: Option<Step<Infallible>>,
    facts: Option<Facts>,
    report: PlanReport,
}

impl Io {
    fn slot(&self) -> MutexGuard<'_, Slot> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks for a step that isn't the last.
    pub(crate) async fn ask(&self, step: Step<Infallible>) -> Facts {
        {
            let mut slot = self.slot();
            slot.step = Some(step);
            slot.facts = None;
        }
        poll_fn(|_| self.slot().facts.take().map_or(Poll::Pending, Poll::Ready)).await
    }

    /// Reads items and a page, all at once. Fails where the executor ends the plan, and where its answer is that of
    /// another kind of step, which is a fault of the executor.
    pub async fn read(&self, need: Need) -> Result<Read, Failure> {
        if let Facts::Read(read) = self.ask(Step::Need(need)).await { Ok(read) } else { Err(Failure::Again) }
    }

    /// Reads a page. Fails if it couldn't be read.
    pub async fn page(&self, query: Query) -> Result<Page, Failure> {
        self.read(Need::page(query)).await?.page.ok_or(Failure::Again)
    }

    /// Carries one task out. Fails as the task does, and as [`Io::read`].
    pub async fn one(&self, task: Task) -> Result<TaskOutcome, Failure> {
        self.all(vec![task]).await?.pop().unwrap_or(Err(Failure::Again))
    }

    /// Carries tasks out, all at once, each on its own conditions, with outcomes in their order. Fails as [`Io::read`].
    pub async fn all(&self, tasks: Vec<Task>) -> Result<Vec<Result<TaskOutcome, Failure>>, Failure> {
        if let Facts::Done(outcomes) = self.ask(Step::Do(tasks)).await { Ok(outcomes) } else { Err(Failure::Again) }
    }

    /// Puts and deletes items, whatever stands there. Returns the writes that failed. Fails as [`Io::read`].
    pub async fn write(&self, writes: Writes) -> Result<BTreeMap<ItemKey, Failure>, Failure> {
        if let Facts::Written(failed) = self.ask(Step::Write(writes)).await { Ok(failed) } else { Err(Failure::Again) }
    }

    /// Carries a task out at most once; `None` if no answer came. Fails as [`Io::read`].
    pub async fn attempt(&self, task: Task) -> Result<Option<TaskOutcome>, Failure> {
        if let Facts::Tried(outcome) = self.ask(Step::Try(task)).await { Ok(outcome) } else { Err(Failure::Again) }
    }

    /// Waits before another attempt; false where no time is left for one. Fails as [`Io::read`].
    pub async fn wait(&self, step: u32) -> Result<bool, Failure> {
        if let Facts::Waited(has_time) = self.ask(Step::Wait(step)).await { Ok(has_time) } else { Err(Failure::Again) }
    }

    /// Notes a fault that no retry can mend.
    pub fn note(&self, problem: Problem) {
        self.report(|report| report.problems.push(problem));
    }

    /// Notes that a newer version has written an item: its record has to be delivered again.
    pub(crate) fn newer(&self, key: ItemKey, newer: NewerFormat) -> Failure {
        self.note(Problem { key, reason: newer.to_string(), unreadable: false });
        Failure::Again
    }

    /// Adds to what the plan has to report.
    pub fn report(&self, add: impl FnOnce(&mut PlanReport)) {
        add(&mut self.slot().report);
    }
}

type Protocol<'a, D> = Pin<Box<dyn Future<Output = Result<D, Failure>> + Send + 'a>>;

/// Decides what to read and to write, step by step, by a protocol that is straight code.
#[must_use = "a plan does nothing until it is run"]
pub struct Plan<'a, D> {
    io: Io,
    /// `None` after the end.
    protocol: Option<Protocol<'a, D>>,
    is_unanswered: bool,
}

impl<'a, D> Plan<'a, D> {
    /// The plan of this protocol. What it asks for elsewhere than by its [`Io`] is never answered.
    pub fn new<F: Future<Output = Result<D, Failure>> + Send + 'a>(protocol: impl FnOnce(Io) -> F) -> Self {
        let io = Io::default();
        Self { protocol: Some(Box::pin(protocol(io.clone()))), io, is_unanswered: false }
    }

    /// Returns the next step, given the facts that the last step asked for; at first [`Facts::None`]. Fails if
    /// something that the plan can't do without wasn't read or written.
    pub fn next(&mut self, facts: Facts) -> Result<Step<D>, Failure> {
        if let Facts::Tried(outcome) = &facts {
            self.is_unanswered |= outcome.is_none();
        }
        let Some(protocol) = &mut self.protocol else { return Err(Failure::Again) };
        self.io.slot().facts = Some(facts);
        match protocol.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(done) => {
                self.protocol = None;
                done.map(Step::Done)
            }
            Poll::Pending => self.io.slot().step.take().ok_or(Failure::Again)?.and_then(|never| match never {}),
        }
    }

    /// Takes the report since the last call. The executor calls it after the plan is done or has failed.
    pub fn take_report(&mut self) -> PlanReport {
        std::mem::take(&mut self.io.slot().report)
    }

    /// True once a task carried out at most once got no answer, even if a later one was answered.
    #[must_use]
    pub fn is_unanswered(&self) -> bool {
        self.is_unanswered
    }
}

impl<D> fmt::Debug for Plan<'_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plan").field("io", &self.io).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_protocol_asks_step_by_step_and_is_done_once() {
        let mut plan = Plan::new(|io| async move {
            let has_time = io.wait(3).await?;
            io.report(|report| report.tally.copies += 1);
            let outcome = io.one(Task::Transact(Vec::new())).await;
            Ok((has_time, outcome))
        });
        assert_eq!(plan.next(Facts::None), Ok(Step::Wait(3)));
        assert_eq!(plan.next(Facts::Waited(true)), Ok(Step::Do(vec![Task::Transact(Vec::new())])));
        assert_eq!(plan.take_report().tally.copies, 1);
        let done = (true, Err(Failure::Refused));
        assert_eq!(plan.next(Facts::Done(vec![Err(Failure::Refused)])), Ok(Step::Done(done)));
        assert_eq!(plan.next(Facts::None), Err(Failure::Again), "after the end");
    }

    #[test]
    fn the_answer_to_another_step_ends_a_protocol() {
        let mut plan = Plan::new(|io| async move { io.wait(0).await });
        assert_eq!(plan.next(Facts::None), Ok(Step::Wait(0)));
        assert_eq!(plan.next(Facts::Tried(None)), Err(Failure::Again));
        assert!(plan.is_unanswered());
        assert_eq!(plan.next(Facts::Tried(Some(TaskOutcome::Held))), Err(Failure::Again));
        assert!(plan.is_unanswered(), "a later answer settles nothing");
    }

    #[test]
    fn what_waits_for_something_else_ends() {
        let mut plan = Plan::new(|_| std::future::pending::<Result<(), Failure>>());
        assert_eq!(plan.next(Facts::None), Err(Failure::Again));
    }
}
