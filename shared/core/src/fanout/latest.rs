//! Keeps `v0_` copies equal to the newest revisions of their topics.

use std::collections::{BTreeMap, BTreeSet};

use crate::keys::{ItemKey, Version};
use crate::model::{Latest, VERSION, key_of, number};
use crate::plan::newest::newest_on;
use crate::plan::step::{Failure, Need, Read, Task, TaskOutcome};
use crate::plan::{Context, Io, Rule, Script};
use crate::request::{Action, Condition, Query, ReadOptions};

/// What is left to do for a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copied {
    /// Nothing is left to do.
    Done,
    /// The newest revision has to be looked for ([`copy_newest`]).
    LookForNewest,
    /// The records of its revisions have to be delivered again.
    Failed,
}

/// The plan for a first look at all topics of a batch, each with the revisions that the batch is about. It copies the
/// highest revision of the batch that exists, unless the copy is of a newer one, and reads that revision again. It
/// returns what is left to do for each topic, in their order.
pub fn copy_highest<'a>(
    context: Context<'a>,
    topics: &'a BTreeMap<Latest, BTreeSet<Version>>,
) -> Script<'a, Vec<Copied>> {
    Script::new(|io| async move {
        let keys = topics.iter().flat_map(|(latest, versions)| {
            versions.iter().filter_map(|version| latest.revision_key(*version, context.settings).ok())
        });
        let first = io.read(Need::keys(keys)).await?;
        let mut topics: Vec<Topic> =
            topics.iter().map(|(latest, versions)| Topic::read(latest, versions, &first, &context)).collect();
        let puts = topics.iter().filter_map(|topic| topic.put.clone()).collect();
        let mut outcomes = io.all(puts).await?.into_iter();
        for topic in &mut topics {
            let outcome = topic.put.as_ref().and_then(|_| outcomes.next());
            match outcome {
                Some(Ok(TaskOutcome::Held)) => io.report(|report| report.tally.copies += 1),
                Some(Err(Failure::Again)) => topic.failed = true,
                Some(Ok(TaskOutcome::Failed(_)) | Err(Failure::Refused)) | None => {}
            }
            if outcome != Some(Ok(TaskOutcome::Held)) {
                topic.revision = None;
            }
        }
        let second = if context.rules.keeps(Rule::LatestSecondLook) {
            io.read(Need::keys(topics.iter().filter_map(|topic| topic.revision.clone()))).await?
        } else {
            first.clone()
        };
        Ok(topics.iter().map(|topic| topic.left(&first, &second)).collect())
    })
}

/// A topic of a batch.
#[derive(Default)]
struct Topic {
    /// The put of the copy; `None` if there is nothing to copy.
    put: Option<Task>,
    /// The key of the revision that is copied: the highest that exists, because the lower ones can't be newer.
    revision: Option<ItemKey>,
    /// True if one of the revisions was deleted. Then the newest has to be looked for.
    deleted: bool,
    failed: bool,
}

impl Topic {
    fn read(latest: &Latest, versions: &BTreeSet<Version>, first: &Read, context: &Context<'_>) -> Self {
        let mut topic = Self::default();
        let Ok(key) = latest.key(context.settings) else { return topic };
        let mut highest = None;
        for &version in versions {
            let Ok(revision) = latest.revision_key(version, context.settings) else { continue };
            match first.item(&revision) {
                Ok(None) => topic.deleted = true,
                Ok(Some(item)) => highest = Some((version, revision, item)),
                Err(_) => return Self { failed: true, ..topic },
            }
        }
        let Some((version, revision, item)) = highest else { return topic };
        let condition = if context.rules.keeps(Rule::LatestCondition) {
            Condition::AtMost { name: VERSION.into(), value: number(version.number() as usize) }
        } else {
            Condition::Always
        };
        let item = Latest::copy(&key, version, item, context.settings);
        Self { put: Some(Task::Write(Action::Put { key, item, condition })), revision: Some(revision), ..topic }
    }

    fn left(&self, first: &Read, second: &Read) -> Copied {
        let changed = |key: &ItemKey| Ok::<_, Failure>(first.item(key)? != second.item(key)?);
        match self.revision.as_ref().map_or(Ok(false), changed) {
            _ if self.failed => Copied::Failed,
            Err(_) => Copied::Failed,
            Ok(changed) if changed || self.deleted => Copied::LookForNewest,
            Ok(_) => Copied::Done,
        }
    }
}

/// The plan that makes the copy of a topic equal to the newest revision, or deletes the copy if there is no revision.
pub fn copy_newest(context: Context<'_>, latest: Latest) -> Script<'_, ()> {
    Script::new(|io| async move { make_equal(context, &latest, &io).await })
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
        let mut query = Query {
            pk: schema.partition(&latest.node),
            range: schema.revision_range(),
            after: None,
            limit: context.limits.revision_page_items_max,
            descending: true,
            reading: ReadOptions::default(),
        };
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
                None => (query.after, query.reading.attributes) = (page.next, Some(BTreeSet::new())),
            }
        };
        let wanted = newest.map(|(version, revision)| Latest::copy(&key, version, &revision, settings));
        // An item without a version is no copy, but its owner's.
        let is_owners = wanted.is_none() && standing.as_ref().is_some_and(|item| Latest::version_of(item).is_none());
        if is_owners || wanted == standing {
            return Ok(());
        }
        let condition = if rules.keeps(Rule::LatestCondition) {
            Condition::is(VERSION, standing.as_ref().and_then(Latest::version_of).cloned())
        } else {
            Condition::Always
        };
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
