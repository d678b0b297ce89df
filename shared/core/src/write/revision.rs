//! Revisions: appended, amended, deleted.

use std::sync::Arc;

use super::attempts::{Attempted, Attempts, Done, Stop, Trace, settle};
use super::command::check_revision_names;
use super::record::{Draft, as_read, base};
use super::{Outcome, Refusal};
use crate::keys::{ItemKey, Schema, Version};
use crate::model::{CREATED_AT, Item, Latest, text_of};
use crate::plan::{Facts, Failure, Need, Newest, Plan, Read, Rule, Step};
use crate::request::{Action, Condition};

/// The next revision of a topic is put, in 2 round trips. There is no counter: the newest revision is looked for, and the next
/// put where none is. On a collision the plan looks again.
#[derive(Debug)]
pub(super) struct AppendRevision<'a> {
    attempts: Attempts<'a>,
    topic: &'a Latest,
    attributes: &'a Item,
    state: AppendState<'a>,
}

#[derive(Debug, Default)]
enum AppendState<'a> {
    #[default]
    Begin,
    /// The newest revision is looked for.
    Finding(Newest<'a>),
    /// The revision with this key is put.
    Writing(ItemKey),
    /// Another attempt follows.
    Waiting(ItemKey),
    /// What stands in the place of this revision is read: an attempt without an answer may have been carried out.
    LookingForOwn(ItemKey),
}

impl<'a> AppendRevision<'a> {
    pub(super) fn new(attempts: Attempts<'a>, topic: &'a Latest, attributes: &'a Item) -> Self {
        Self { attempts, topic, attributes, state: AppendState::Begin }
    }

    /// The attempts of this write.
    pub(super) fn attempts(&self) -> &Attempts<'a> {
        &self.attempts
    }

    fn begin(&mut self) -> Result<Step<Done>, Stop> {
        let settings = self.attempts.context.settings;
        check_revision_names(self.attributes, &settings.schema)?;
        // The longest that any version makes it: no append fails for its number alone.
        self.topic.revision_key(Version::new(u64::from(Version::MAX))?, settings)?;
        // A revision that is appended isn't there before.
        self.attempts.request.preconditions.check(None)?;
        self.find()
    }

    fn find(&mut self) -> Result<Step<Done>, Stop> {
        let context = self.attempts.context;
        let newest = Newest::new(context.settings, self.topic, context.limits.revision_page_items_max)?;
        self.look(newest, Facts::None)
    }

    fn look(&mut self, mut newest: Newest<'a>, facts: Facts) -> Result<Step<Done>, Stop> {
        match newest.next(facts)? {
            Step::Done(found) => self.write(found),
            Step::Need(need) => {
                self.state = AppendState::Finding(newest);
                Ok(need.into())
            }
            _ => Err(Failure::Again.into()),
        }
    }

    fn write(&mut self, newest: Option<Version>) -> Result<Step<Done>, Stop> {
        let settings = self.attempts.context.settings;
        let version = Version::new(newest.map_or(0, |version| u64::from(version.number())) + 1)?;
        let key = self.topic.revision_key(version, settings)?;
        let item = base(&key, self.attributes, None, &self.attempts.request.stamp, &settings.schema);
        let draft = Draft::put(key.clone(), item, Condition::Absent).check()?;
        let outcome = Outcome::Revision { topic: self.topic.clone(), version, item: draft.item, created: true };
        let completion = self.attempts.completion(&outcome);
        self.state = AppendState::Writing(key);
        Ok(self.attempts.attempt(vec![draft.action], completion, outcome, None))
    }

    fn step(&mut self, facts: Facts) -> Result<Step<Done>, Stop> {
        match std::mem::take(&mut self.state) {
            AppendState::Begin => self.begin(),
            AppendState::Finding(newest) => self.look(newest, facts),
            AppendState::Writing(key) => match self.attempts.answered(facts.tried()?) {
                Attempted::Done(outcome) => Ok(Step::Done(Ok(outcome))),
                Attempted::Wait(step) => {
                    self.state = AppendState::Waiting(key);
                    Ok(Step::Wait(step))
                }
                Attempted::Over => Err(self.attempts.give_up().into()),
            },
            AppendState::Waiting(key) if facts.waited()? => {
                let keys = std::iter::once(key.clone()).chain(self.attempts.claim_key());
                self.state = AppendState::LookingForOwn(key);
                Ok(Need::keys(keys).into())
            }
            AppendState::Waiting(_) => Err(self.attempts.give_up().into()),
            AppendState::LookingForOwn(key) => {
                let read = facts.read()?;
                // A revision that was appended and deleted since leaves nothing, and its number is free again.
                if let Some(outcome) = self.attempts.settle(read.shared(&key)?, Trace::Lost, &read)? {
                    return Ok(Step::Done(Ok(outcome)));
                }
                self.attempts.check_claim()?;
                self.find()
            }
        }
    }
}

impl Plan for AppendRevision<'_> {
    type Done = Done;

    fn next(&mut self, facts: Facts) -> Result<Step<Done>, Failure> {
        settle(self.step(facts))
    }
}

/// A revision that is there is amended or deleted, in 2 round trips.
#[derive(Debug)]
pub(super) struct ChangeRevision<'a> {
    attempts: Attempts<'a>,
    topic: &'a Latest,
    version: Version,
    /// What the revision's attributes become; none where it is deleted.
    attributes: Option<&'a Item>,
    state: ChangeState,
}

#[derive(Debug, Default)]
enum ChangeState {
    #[default]
    Begin,
    /// The revision is read.
    Looking,
    /// The revision is written.
    Writing,
    /// Another attempt follows.
    Waiting,
}

impl<'a> ChangeRevision<'a> {
    pub(super) fn new(
        attempts: Attempts<'a>,
        topic: &'a Latest,
        version: Version,
        attributes: Option<&'a Item>,
    ) -> Self {
        Self { attempts, topic, version, attributes, state: ChangeState::Begin }
    }

    /// The attempts of this write.
    pub(super) fn attempts(&self) -> &Attempts<'a> {
        &self.attempts
    }

    fn schema(&self) -> &'a Schema {
        &self.attempts.context.settings.schema
    }

    fn key(&self) -> Result<ItemKey, Stop> {
        Ok(self.topic.revision_key(self.version, self.attempts.context.settings)?)
    }

    fn look(&mut self) -> Result<Step<Done>, Stop> {
        self.state = ChangeState::Looking;
        Ok(Need::keys(std::iter::once(self.key()?).chain(self.attempts.claim_key())).into())
    }

    fn decide(&mut self, read: &Read) -> Result<Step<Done>, Stop> {
        let (schema, key) = (self.schema(), self.key()?);
        let before = read.shared(&key)?;
        if let Some(outcome) = self.attempts.settle(before, self.trace(before.map(Arc::as_ref)), read)? {
            return Ok(Step::Done(Ok(outcome)));
        }
        self.attempts.check_claim()?;
        let on = before.ok_or(Refusal::NotFound)?;
        let (before, request) = (on.as_ref(), self.attempts.request);
        request.preconditions.check_item(Some(before), schema)?;
        let condition = as_read(Some(before), request.preconditions.are_given(), schema)?;
        let (action, outcome) = match self.attributes {
            None => (Action::Delete { key, condition }, Outcome::Deleted),
            Some(attributes) => {
                let item = base(&key, attributes, Some(before), &request.stamp, schema);
                let Draft { item, action } = Draft::put(key, item, condition).check()?;
                let (topic, version) = (self.topic.clone(), self.version);
                (action, Outcome::Revision { topic, version, item, created: false })
            }
        };
        let completion = self.attempts.completion(&outcome);
        self.state = ChangeState::Writing;
        Ok(self.attempts.attempt(vec![action], completion, outcome, Some(Arc::clone(on))))
    }

    /// What there is now tells of an attempt without an answer: a revision that isn't there any more is deleted, whoever did it. So is one
    /// in whose place another has been appended since. One that stands as it was may have been deleted and put back.
    fn trace(&self, now: Option<&Item>) -> Trace {
        let created = |item: Option<&Item>| item.and_then(|item| text_of(item, CREATED_AT)).map(str::to_owned);
        let is_another = match (created(self.attempts.decided_on()), created(now)) {
            (Some(before), Some(now)) => before != now,
            _ => now.is_none(),
        };
        match self.attributes {
            Some(_) => Trace::None,
            None if is_another => Trace::Done,
            None if self.attempts.context.rules.keeps(Rule::RevisionPutBack) => Trace::Lost,
            None => Trace::None,
        }
    }

    fn step(&mut self, facts: Facts) -> Result<Step<Done>, Stop> {
        match std::mem::take(&mut self.state) {
            ChangeState::Begin => {
                self.attributes.map_or(Ok(()), |attributes| check_revision_names(attributes, self.schema()))?;
                self.look()
            }
            ChangeState::Looking => self.decide(&facts.read()?),
            ChangeState::Writing => match self.attempts.answered(facts.tried()?) {
                Attempted::Done(outcome) => Ok(Step::Done(Ok(outcome))),
                Attempted::Wait(step) => {
                    self.state = ChangeState::Waiting;
                    Ok(Step::Wait(step))
                }
                Attempted::Over => Err(self.attempts.give_up().into()),
            },
            ChangeState::Waiting if facts.waited()? => self.look(),
            ChangeState::Waiting => Err(self.attempts.give_up().into()),
        }
    }
}

impl Plan for ChangeRevision<'_> {
    type Done = Done;

    fn next(&mut self, facts: Facts) -> Result<Step<Done>, Failure> {
        settle(self.step(facts))
    }
}
