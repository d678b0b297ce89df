//! A command, carried out once.

use super::attempts::{Attempts, Done};
use super::delete::DeleteNode;
use super::idempotency::{Begin, Begun, Claim};
use super::revision::{AppendRevision, ChangeRevision};
use super::save::{SaveNode, Wanted};
use super::{Command, Context, Outcome, Refusal, Request};
use crate::plan::{Facts, Failure, Plan, Step};

/// A command is carried out. Where its request has an idempotency key, it is carried out once: the key is claimed first, and
/// completed with the outcome in the transaction that writes. A key that was completed before gives the outcome of that time. A
/// command that is refused gives its claim back, so that the same request may come again.
#[derive(Debug)]
pub struct WriteOnce<'a> {
    context: Context<'a>,
    command: &'a Command,
    request: &'a Request,
    state: State<'a>,
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
enum Carried<'a> {
    Save(Box<SaveNode<'a>>),
    Delete(DeleteNode<'a>),
    Append(AppendRevision<'a>),
    Change(ChangeRevision<'a>),
}

impl<'a> WriteOnce<'a> {
    /// The command of a request.
    #[must_use]
    pub fn new(context: Context<'a>, command: &'a Command, request: &'a Request) -> Self {
        Self { context, command, request, state: State::Begin }
    }

    fn claim(&mut self, mut begin: Begin<'a>, facts: Facts) -> Result<Step<Once>, Failure> {
        match begin.next(facts)? {
            Step::Done(Ok(Begun::Claimed(claim))) => self.write(Some(claim)),
            Step::Done(Ok(Begun::Kept(bytes))) => {
                let outcome = Outcome::decode(&bytes, &self.context.settings.schema);
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
        let attempts = Attempts::new(self.context, self.request, claim.clone());
        let carried = Carried::new(attempts, self.command);
        self.go_on(Box::new(carried), claim, Facts::None)
    }

    fn go_on(
        &mut self,
        mut carried: Box<Carried<'a>>,
        claim: Option<Claim>,
        facts: Facts,
    ) -> Result<Step<Once>, Failure> {
        match (carried.next(facts)?, claim) {
            // The claim is another request's now.
            (Step::Done(Err(Refusal::InProgress)), _) => Ok(Step::Done(Err(Refusal::InProgress))),
            (Step::Done(Err(refusal)), Some(claim)) => {
                self.state = State::Releasing(refusal);
                Ok(Step::Do(vec![claim.release(self.context.settings)]))
            }
            (Step::Done(done), _) => Ok(Step::Done(done.map(|outcome| Answered { outcome, is_repeated: false }))),
            (step, claim) => {
                self.state = State::Writing(carried, claim);
                step.and_then(|_| Err(Failure::Again))
            }
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
    fn new(attempts: Attempts<'a>, command: &'a Command) -> Self {
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
