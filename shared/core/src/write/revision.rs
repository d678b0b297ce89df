//! Revisions: appended, amended, deleted.

use std::sync::Arc;

use super::attempts::{Attempts, Stop, Trace};
use super::command::check_revision_names;
use super::record::{Draft, as_read, base};
use super::{Outcome, Preconditions, Refusal, Tags};
use crate::keys::{ItemKey, Version};
use crate::model::{CREATED_AT, Item, Latest, Settings, text_of};
use crate::plan::newest::newest;
use crate::plan::{Io, Need, Rule};
use crate::request::{Action, Condition};

pub(super) struct NextRevision {
    pub(super) version: Version,
    pub(super) key: ItemKey,
    pub(super) item: Item,
    /// The put of the revision, and a check that the newest stands, if a precondition was about it.
    pub(super) actions: Vec<Action>,
}

/// Puts the next revision of a topic, in 2 round trips. There is no counter: the newest revision is looked for, and the
/// next put where none is. On a collision the newest is looked for again. Preconditions are about the newest revision,
/// which takes a round trip more; the next is put together with a check that it stands.
pub(super) async fn append(
    io: &Io,
    attempts: &mut Attempts<'_>,
    topic: &Latest,
    attributes: &Item,
) -> Result<Outcome, Stop> {
    check_revision_names(attributes, &attempts.context.settings.schema)?;
    check_topic(topic, attempts.context.settings)?;
    let preconditions = &attempts.request.preconditions;
    loop {
        let Some(next) = next(io, attempts, topic, attributes, preconditions).await? else {
            attempts.fail(io).await?;
            continue;
        };
        let NextRevision { version, key, item, actions } = next;
        let outcome = Outcome::Revision { topic: topic.clone(), version, item, created: true };
        if let Some(outcome) = attempts.send(io, attempts.attempt(actions, outcome, None)).await? {
            return Ok(outcome);
        }
        let read = io.read(Need::keys(std::iter::once(key.clone()).chain(attempts.key_claim_key()))).await?;
        // A revision that was appended and deleted since leaves nothing, and its number is free again.
        if let Some(outcome) = attempts.settle(read.shared(&key)?, Trace::Lost, &read)? {
            return Ok(outcome);
        }
    }
}

/// Makes the revision after the newest one. `None` if the newest was deleted since it was found: look again.
pub(super) async fn next(
    io: &Io,
    attempts: &Attempts<'_>,
    topic: &Latest,
    attributes: &Item,
    preconditions: &Preconditions,
) -> Result<Option<NextRevision>, Stop> {
    let (settings, limits) = (attempts.context.settings, attempts.context.limits);
    let newest = newest(io, settings, topic, &topic.key(settings)?, limits.revision_page_items_max).await?;
    let Some(newest_stands) = check_newest(io, attempts, topic, newest, preconditions).await? else {
        return Ok(None);
    };
    after(newest, attempts, topic, attributes, newest_stands).map(Some)
}

/// The revision that comes after the newest one, or after none.
pub(super) fn after(
    newest: Option<Version>,
    attempts: &Attempts<'_>,
    topic: &Latest,
    attributes: &Item,
    newest_stands: Vec<Action>,
) -> Result<NextRevision, Stop> {
    let settings = attempts.context.settings;
    let version = Version::new(newest.map_or(0, |version| u64::from(version.number())) + 1)?;
    let key = topic.revision_key(version, settings)?;
    let item = base(&key, attributes, None, &attempts.request.stamp, &settings.schema);
    let Draft { item, action } = Draft::put(key.clone(), item, Condition::Absent).check()?;
    Ok(NextRevision { version, key, item, actions: std::iter::once(action).chain(newest_stands).collect() })
}

/// Checks that a topic has room for the longest key that any version makes: no append fails for its number alone.
pub(super) fn check_topic(topic: &Latest, settings: &Settings) -> Result<(), Stop> {
    topic.revision_key(Version::new(u64::from(Version::MAX))?, settings)?;
    Ok(())
}

/// Checks the preconditions on a topic's newest revision. Returns its checks; `None` if it isn't there any more.
async fn check_newest(
    io: &Io,
    attempts: &Attempts<'_>,
    topic: &Latest,
    newest: Option<Version>,
    preconditions: &Preconditions,
) -> Result<Option<Vec<Action>>, Stop> {
    let settings = attempts.context.settings;
    let Some(version) = newest.filter(|_| preconditions.are_given()) else {
        preconditions.check(None)?;
        return Ok(Some(Vec::new()));
    };
    let key = topic.revision_key(version, settings)?;
    let read = io.read(Need::keys([key.clone()])).await?;
    let Some(item) = read.item(&key)? else { return Ok(None) };
    preconditions.check_item(Some(item), &settings.schema)?;
    let condition = match &preconditions.if_match {
        Some(Tags::These(_)) => as_read(Some(item), true, &settings.schema)?,
        Some(Tags::Any) | None => Condition::Exists,
    };
    Ok(Some(vec![Action::Check { key, condition }]))
}

/// Amends a revision, in 2 round trips, or deletes it where there are no `attributes`.
pub(super) async fn change(
    io: &Io,
    attempts: &mut Attempts<'_>,
    topic: &Latest,
    version: Version,
    attributes: Option<&Item>,
) -> Result<Outcome, Stop> {
    let settings = attempts.context.settings;
    let schema = &settings.schema;
    attributes.map_or(Ok(()), |attributes| check_revision_names(attributes, schema))?;
    let key = topic.revision_key(version, settings)?;
    loop {
        let read = io.read(Need::keys(std::iter::once(key.clone()).chain(attempts.key_claim_key()))).await?;
        let before = read.shared(&key)?;
        let trace = trace_of_change(attempts, attributes, before.map(Arc::as_ref));
        if let Some(outcome) = attempts.settle(before, trace, &read)? {
            return Ok(outcome);
        }
        let before = before.ok_or(Refusal::NotFound)?;
        let request = attempts.request;
        request.preconditions.check_item(Some(before), schema)?;
        let condition = as_read(Some(before), request.preconditions.are_given(), schema)?;
        let (action, outcome) = match attributes {
            None => (Action::Delete { key: key.clone(), condition }, Outcome::Deleted),
            Some(attributes) => {
                let item = base(&key, attributes, Some(before), &request.stamp, schema);
                let Draft { item, action } = Draft::put(key.clone(), item, condition).check()?;
                (action, Outcome::Revision { topic: topic.clone(), version, item, created: false })
            }
        };
        let attempt = attempts.attempt(vec![action], outcome, Some(Arc::clone(before)));
        if let Some(outcome) = attempts.send(io, attempt).await? {
            return Ok(outcome);
        }
    }
}

/// The evidence of an attempt without an answer. A revision that isn't there any more is deleted, whoever did it. So is
/// one in whose place another has been appended since. One that stands as it was may have been deleted and put back.
fn trace_of_change(attempts: &Attempts<'_>, attributes: Option<&Item>, now: Option<&Item>) -> Trace {
    let created = |item: Option<&Item>| item.and_then(|item| text_of(item, CREATED_AT)).map(str::to_owned);
    let is_another = match (created(attempts.decided_on()), created(now)) {
        (Some(before), Some(now)) => before != now,
        _ => now.is_none(),
    };
    match attributes {
        Some(_) => Trace::None,
        None if is_another => Trace::Done,
        None if attempts.context.rules.keeps(Rule::RevisionPutBack) => Trace::Lost,
        None => Trace::None,
    }
}
