//! A command, carried out once.

use super::ahead::Ahead;
use super::attempts::{Attempts, Done};
use super::delete::DeleteNode;
use super::idempotency::{Begin, Begun, Claim};
use super::revision::{AppendRevision, ChangeRevision};
use super::save::{SaveNode, Wanted};
use super::{Command, Context, Outcome, Refusal, Request};
use crate::keys::Schema;
use crate::plan::{Facts, Failure, Plan, Rule, Step, Task, TaskOutcome};

/// A command is carried out. Where its request has an idempotency key, it is carried out once: the key is claimed first, and
/// completed with the outcome in the transaction that writes. A key that was completed before gives the outcome of that time. A
/// command that is refused gives its claim back, so that the same request may come again.
#[derive(Debug)]
pub struct WriteOnce<'a> {
    context: Context<'a>,
    command: &'a Command,
    request: &'a Request,
    ahead: Option<Guided<'a>>,
    /// True while an attempt without an answer isn't settled.
    is_unsettled: bool,
    state: State<'a>,
}

/// What was read ahead for a command, and how far the command goes by it.
#[derive(Debug)]
struct Guided<'a> {
    ahead: &'a mut Ahead,
    /// True before the command has written or waited. After that it reads for itself.
    asks: bool,
    /// True if the command goes by something that was read ahead, and no condition of a write has shown that it still holds.
    relies: bool,
    /// What the command writes.
    under_way: Option<Task>,
}

type Once = Result<Answered, Refusal>;

/// What a command comes to.
#[derive(Clone, Debug, PartialEq)]
pub struct Answered {
    /// The outcome.
    pub outcome: Outcome,
    /// True if an earlier request with the same idempotency key did it.
    pub is_repeated: bool,
}

#[derive(Debug)]
enum State<'a> {
    Begin,
    /// The key is claimed.
    Claiming(Begin<'a>),
    /// The command is carried out.
    Writing(Box<Carried<'a>>, Option<Claim>),
    /// The claim of a command that was refused is given back.
    Releasing(Refusal),
}

/// The plan of a command.
#[derive(Debug)]
pub(super) enum Carried<'a> {
    Save(Box<SaveNode<'a>>),
    Delete(DeleteNode<'a>),
    Append(AppendRevision<'a>),
    Change(ChangeRevision<'a>),
}

impl<'a> WriteOnce<'a> {
    /// The command of a request.
    #[must_use]
    pub fn new(context: Context<'a>, command: &'a Command, request: &'a Request) -> Self {
        Self { context, command, request, ahead: None, is_unsettled: false, state: State::Begin }
    }

    /// True if the plan ended early, and an attempt without an answer may have been carried out.
    #[must_use]
    pub fn is_unsettled(&self) -> bool {
        self.is_unsettled
    }

    /// The same command, as one of a batch.
    #[must_use]
    pub fn knowing(self, ahead: &'a mut Ahead) -> Self {
        Self { ahead: Some(Guided { ahead, asks: true, relies: false, under_way: None }), ..self }
    }

    fn claim(&mut self, mut begin: Begin<'a>, facts: Facts) -> Result<Step<Once>, Failure> {
        match begin.next(facts)? {
            Step::Done(Ok(Begun::Claimed(claim))) => self.write(Some(claim)),
            Step::Done(Ok(Begun::Kept(bytes))) => {
                let outcome = Outcome::decode(&bytes, &self.context.settings.schema);
                // The rows of what an earlier request of this batch has placed may not be there either.
                if let (Some(Outcome::Node { node, item, .. }), Some(guided)) = (&outcome, &mut self.ahead) {
                    guided.ahead.place(node, item, self.context.settings);
                }
                let answered = outcome.map(|outcome| Answered { outcome, is_repeated: true });
                Ok(Step::Done(answered.ok_or(Refusal::OutcomeUnreadable)))
            }
            Step::Done(Err(refusal)) => Ok(Step::Done(Err(refusal))),
            step => {
                self.state = State::Claiming(begin);
                step.and_then(|_| Err(Failure::Again))
            }
        }
    }

    fn write(&mut self, claim: Option<Claim>) -> Result<Step<Once>, Failure> {
        let carried = self.begin(claim.clone());
        self.go_on(carried, claim, Facts::None)
    }

    fn begin(&self, claim: Option<Claim>) -> Box<Carried<'a>> {
        let carried = Carried::new(Attempts::new(self.context, self.request, claim), self.command);
        Box::new(match (carried, &self.ahead) {
            (Carried::Save(save), Some(guided)) => Carried::Save(Box::new(save.after(guided.ahead.placed().to_vec()))),
            (carried, _) => carried,
        })
    }

    fn go_on(
        &mut self,
        mut carried: Box<Carried<'a>>,
        claim: Option<Claim>,
        mut facts: Facts,
    ) -> Result<Step<Once>, Failure> {
        let schema = &self.context.settings.schema;
        if let Facts::Tried(outcome) = &facts {
            self.is_unsettled = outcome.is_none();
        }
        let step = loop {
            let Some(guided) = &mut self.ahead else { break carried.next(facts)? };
            guided.learn(&facts, schema);
            let step = carried.next(facts)?;
            facts = match guided.answer(step) {
                Answer::Known(known) => known,
                Answer::Unsure => {
                    carried = self.begin(claim.clone());
                    Facts::None
                }
                Answer::Pass(step) => break step,
            };
        };
        let is_unknown =
            claim.is_none() && carried.attempts().is_unanswered() && self.context.rules.keeps(Rule::UnknownNotRefused);
        match (step, claim) {
            // Nothing keeps an attempt without an answer from being carried out later. With a claim, giving it back does.
            (Step::Done(Err(_)), None) if is_unknown => Ok(Step::Done(Err(Refusal::OutcomeUnknown))),
            // The claim is another request's now, or its transaction may still be carried out.
            (Step::Done(Err(refusal @ (Refusal::InProgress | Refusal::OutcomeUnknown))), _) => {
                Ok(Step::Done(Err(refusal)))
            }
            (Step::Done(Err(refusal)), Some(claim)) => {
                self.state = State::Releasing(refusal);
                Ok(Step::Do(vec![claim.release(self.context.settings)]))
            }
            (Step::Done(done), _) => {
                if let (Carried::Save(save), Some(guided)) = (&mut *carried, &mut self.ahead) {
                    guided.ahead.place_too(save.take_changed());
                }
                if let (Ok(Outcome::Node { node, item, .. }), Some(guided)) = (&done, &mut self.ahead) {
                    guided.ahead.place(node, item, self.context.settings);
                }
                Ok(Step::Done(done.map(|outcome| Answered { outcome, is_repeated: false })))
            }
            (step, claim) => {
                self.state = State::Writing(carried, claim);
                step.and_then(|_| Err(Failure::Again))
            }
        }
    }
}

/// What becomes of a step of a command that goes by what was read ahead.
enum Answer {
    /// What the step needs is known.
    Known(Facts),
    /// The command is done, and what it decided on may not hold any more. It begins again, and reads for itself.
    Unsure,
    /// The step is taken.
    Pass(Step<Done>),
}

impl Guided<'_> {
    fn answer(&mut self, step: Step<Done>) -> Answer {
        match &step {
            Step::Need(need) if self.asks => {
                if let Some(read) = self.ahead.answer(need) {
                    self.relies = true;
                    return Answer::Known(Facts::Read(read));
                }
            }
            Step::Need(_) => {}
            Step::Try(task) => {
                self.ahead.forget(task);
                self.under_way = Some(task.clone());
                (self.asks, self.relies) = (false, false);
            }
            Step::Do(tasks) => {
                tasks.iter().for_each(|task| self.ahead.forget(task));
                (self.asks, self.relies) = (false, false);
            }
            Step::Write(_) | Step::Wait(_) => (self.asks, self.relies) = (false, false),
            Step::Done(_) if self.relies => {
                (self.asks, self.relies) = (false, false);
                return Answer::Unsure;
            }
            Step::Done(_) => {}
        }
        Answer::Pass(step)
    }

    /// Takes what the command has written.
    fn learn(&mut self, facts: &Facts, schema: &Schema) {
        let Facts::Tried(outcome) = facts else { return };
        if outcome.is_none() {
            // Seconds have passed, in which others may have changed anything that was read ahead.
            self.ahead.forget_all();
        }
        let task = self.under_way.take().filter(|_| *outcome == Some(TaskOutcome::Held));
        if let Some(task) = task {
            self.ahead.written(&task, schema);
        }
    }
}

impl Plan for WriteOnce<'_> {
    /// The outcome, or why nothing was done.
    type Done = Once;

    fn next(&mut self, facts: Facts) -> Result<Step<Once>, Failure> {
        match std::mem::replace(&mut self.state, State::Begin) {
            State::Begin => match &self.request.idempotency {
                Some(key) => self.claim(Begin::new(self.context, key, &self.request.stamp), Facts::None),
                None => self.write(None),
            },
            State::Claiming(begin) => self.claim(begin, facts),
            State::Writing(carried, claim) => self.go_on(carried, claim, facts),
            // A claim that can't be given back runs out by itself.
            State::Releasing(refusal) => Ok(Step::Done(Err(refusal))),
        }
    }
}

impl<'a> Carried<'a> {
    pub(super) fn new(attempts: Attempts<'a>, command: &'a Command) -> Self {
        match command {
            Command::Create { node, is_made_id, content } => {
                Self::Save(Box::new(SaveNode::new(attempts, node, Wanted::Create { content, is_made_id: *is_made_id })))
            }
            Command::Replace { node, content } => {
                Self::Save(Box::new(SaveNode::new(attempts, node, Wanted::Replace(content))))
            }
            Command::Patch { node, patch } => Self::Save(Box::new(SaveNode::new(attempts, node, Wanted::Patch(patch)))),
            Command::Delete { node, children, revisions, operation } => {
                Self::Delete(DeleteNode::new(attempts, node, *children, *revisions, operation))
            }
            Command::Append { topic, attributes } => Self::Append(AppendRevision::new(attempts, topic, attributes)),
            Command::Amend { topic, version, attributes } => {
                Self::Change(ChangeRevision::new(attempts, topic, *version, Some(attributes)))
            }
            Command::DeleteRevision { topic, version } => {
                Self::Change(ChangeRevision::new(attempts, topic, *version, None))
            }
        }
    }
}

impl Carried<'_> {
    fn attempts(&self) -> &Attempts<'_> {
        match self {
            Self::Save(plan) => plan.attempts(),
            Self::Delete(plan) => plan.attempts(),
            Self::Append(plan) => plan.attempts(),
            Self::Change(plan) => plan.attempts(),
        }
    }
}

impl Plan for Carried<'_> {
    type Done = Done;

    fn next(&mut self, facts: Facts) -> Result<Step<Done>, Failure> {
        match self {
            Self::Save(plan) => plan.next(facts),
            Self::Delete(plan) => plan.next(facts),
            Self::Append(plan) => plan.next(facts),
            Self::Change(plan) => plan.next(facts),
        }
    }
}
