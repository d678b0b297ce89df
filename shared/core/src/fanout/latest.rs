//! Keeps `v0_` copies equal to the newest revisions of their topics.

use std::collections::{BTreeMap, BTreeSet};

use super::context::Context;
use crate::keys::{ItemKey, Version};
use crate::model::{Item, Latest, VERSION, key_of, number};
use crate::plan::newest::newest_on;
use crate::plan::{Failure, Io, Need, Plan, Read, Rule, Task, TaskOutcome};
use crate::request::{Action, Condition, Query, ReadOptions};

/// The changes of a topic by the records of a batch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TopicChanges {
    /// The revisions that they are about.
    pub versions: BTreeSet<Version>,
    /// True if one of them was deleted, whatever is there by now.
    pub any_deleted: bool,
}

/// The work left for a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copied {
    /// No work is left.
    Done,
    /// The newest revision has to be looked for ([`copy_newest`]).
    LookForNewest,
    /// The records of its revisions have to be delivered again.
    Failed,
}

/// The plan for a first look at all topics of a batch, each with the revisions that the batch is about. It copies the
/// highest revision of the batch that exists, unless the copy is of a newer one, and reads that revision again. One
/// that was amended meanwhile is copied again. It returns what is left to do for each topic, in their order.
pub fn copy_highest<'a>(context: Context<'a>, topics: &'a BTreeMap<Latest, TopicChanges>) -> Plan<'a, Vec<Copied>> {
    Plan::new(|io| async move {
        let keys = topics.iter().flat_map(|(latest, changes)| {
            changes.versions.iter().filter_map(|version| latest.revision_key(*version, context.settings).ok())
        });
        let first = io.read(Need::keys(keys)).await?;
        let mut topics: Vec<Topic> =
            topics.iter().map(|(latest, changes)| Topic::read(latest, changes, &first, &context)).collect();
        for _ in 0..context.limits.rounds_max {
            let puts: Vec<Task> = topics.iter().filter_map(|topic| topic.put(&context)).collect();
            if puts.is_empty() {
                break;
            }
            let mut outcomes = io.all(puts).await?.into_iter();
            for topic in topics.iter_mut().filter(|topic| topic.highest.is_some() && !topic.failed) {
                match outcomes.next() {
                    Some(Ok(TaskOutcome::Held)) => io.report(|report| report.tally.copies += 1),
                    Some(Err(Failure::Again)) => topic.failed = true,
                    Some(Ok(TaskOutcome::Failed(_)) | Err(Failure::Refused)) | None => topic.highest = None,
                }
            }
            let copied = topics.iter().filter(|topic| !topic.failed).filter_map(|topic| topic.highest.as_ref());
            let copied: Vec<ItemKey> = copied.map(|highest| highest.key.clone()).collect();
            if copied.is_empty() || !context.rules.keeps(Rule::LatestSecondLook) {
                topics.iter_mut().for_each(|topic| topic.highest = None);
                break;
            }
            let again = io.read(Need::keys(copied)).await?;
            topics.iter_mut().for_each(|topic| topic.look_again(&again));
        }
        Ok(topics.iter().map(Topic::left).collect())
    })
}

#[derive(Default)]
struct Topic {
    /// The revision to copy; `None` if there is none, or no more.
    highest: Option<Highest>,
    /// True if a revision was deleted, even if it is back: an earlier delivery may have set the copy back.
    deleted: bool,
    failed: bool,
}

/// The highest revision of a batch that exists: the lower ones can't be the newest.
struct Highest {
    version: Version,
    key: ItemKey,
    item: Item,
    copy: ItemKey,
}

impl Topic {
    fn read(latest: &Latest, changes: &TopicChanges, first: &Read, context: &Context<'_>) -> Self {
        let deleted = changes.any_deleted && context.rules.keeps(Rule::LatestDeleted);
        let mut topic = Self { deleted, ..Self::default() };
        let Ok(copy) = latest.key(context.settings) else { return Self::default() };
        for &version in &changes.versions {
            let Ok(key) = latest.revision_key(version, context.settings) else { continue };
            match first.item(&key) {
                Ok(None) => topic.deleted = true,
                Ok(Some(item)) => {
                    topic.highest = Some(Highest { version, key, item: item.clone(), copy: copy.clone() });
                }
                Err(_) => return Self { failed: true, ..Self::default() },
            }
        }
        topic
    }

    fn put(&self, context: &Context<'_>) -> Option<Task> {
        let Highest { version, item, copy, .. } = self.highest.as_ref().filter(|_| !self.failed)?;
        let is_not_newer = Condition::AtMost { name: VERSION.into(), value: number(version.number() as usize) };
        let condition = context.rules.on(Rule::LatestCondition, is_not_newer);
        let item = Latest::copy(copy, *version, item, context.settings);
        Some(Task::Write(Action::Put { key: copy.clone(), item, condition }))
    }

    /// Takes the revision that was copied as it is now.
    fn look_again(&mut self, again: &Read) {
        let Some(highest) = self.highest.as_mut().filter(|_| !self.failed) else { return };
        match again.item(&highest.key) {
            Ok(Some(item)) if *item != highest.item => highest.item = item.clone(),
            Ok(Some(_)) => self.highest = None,
            Ok(None) => (self.highest, self.deleted) = (None, true),
            Err(_) => self.failed = true,
        }
    }

    fn left(&self) -> Copied {
        match self {
            Self { failed: true, .. } | Self { highest: Some(_), .. } => Copied::Failed,
            Self { deleted: true, .. } => Copied::LookForNewest,
            _ => Copied::Done,
        }
    }
}

/// The plan that makes the copy of a topic equal to the newest revision, or deletes the copy if there is no revision.
pub fn copy_newest(context: Context<'_>, latest: Latest) -> Plan<'_, ()> {
    Plan::new(|io| async move { make_equal(context, &latest, &io).await })
}

/// Makes the copy of a topic equal to the newest revision. It ends only on a look that finds the two equal.
pub(crate) async fn make_equal(context: Context<'_>, latest: &Latest, io: &Io) -> Result<(), Failure> {
    let (settings, schema, rules) = (context.settings, context.schema(), context.rules);
    let Ok(key) = latest.key(settings) else { return Ok(()) };
    'look: for _ in 0..context.limits.rounds_max {
        // The copy is read first, so that the revisions that it is compared with are never older.
        let standing = io.read(Need::keys([key.clone()])).await?.item(&key)?.cloned();
        // The first page of revisions is read whole, since it mostly shows the newest. If it doesn't, only keys are
        // read, and then the one revision: the history of other topics can be long, and large.
        let (pk, limit) = (schema.partition(&latest.node), context.limits.revision_page_items_max);
        let mut query = Query::first(pk, schema.revision_range(), limit).descending();
        let newest = loop {
            let page = io.page(query.clone()).await?;
            match newest_on(&page, &latest.topic, schema) {
                Some((version, revision)) if query.reading.attributes.is_some() => {
                    let revision = key_of(revision, schema).ok_or(Failure::Again)?;
                    let read = io.read(Need::keys([revision.clone()])).await?;
                    // It may have been deleted meanwhile.
                    let Some(revision) = read.item(&revision)? else { continue 'look };
                    break Some((version, revision.clone()));
                }
                Some((version, revision)) => break Some((version, revision.clone())),
                None if page.next.is_none() => break None,
                None => (query.after, query.reading) = (page.next, ReadOptions::of([])),
            }
        };
        let wanted = newest.map(|(version, revision)| Latest::copy(&key, version, &revision, settings));
        // An item without a version is no copy, but its owner's.
        let is_owners = wanted.is_none() && standing.as_ref().is_some_and(|item| !item.contains_key(VERSION));
        if is_owners || wanted == standing {
            return Ok(());
        }
        let same = Condition::is(VERSION, standing.as_ref().and_then(|item| item.get(VERSION)).cloned());
        let condition = rules.on(Rule::LatestCondition, same);
        let write = match wanted {
            Some(item) => Action::Put { key: key.clone(), item, condition },
            None => Action::Delete { key: key.clone(), condition },
        };
        match io.one(Task::Write(write)).await {
            Ok(TaskOutcome::Held) => io.report(|report| report.tally.copies += 1),
            Ok(TaskOutcome::Failed(_)) => {}
            Err(Failure::Refused) => return Ok(()),
            Err(Failure::Again) => return Err(Failure::Again),
        }
        if !rules.keeps(Rule::LatestSecondLook) {
            return Ok(());
        }
    }
    Err(Failure::Again)
}
