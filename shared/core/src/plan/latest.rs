//! Keeps `v0_` copies equal to the newest revisions of their topics.

use std::collections::{BTreeMap, BTreeSet};

use super::newest::newest_on;
use super::step::{Facts, Failure, Need, Plan, PlanReport, Read, Step, Task, TaskOutcome};
use super::{Context, Rule};
use crate::keys::{ItemKey, Version};
use crate::model::{Item, Latest, VERSION, key_of, number};
use crate::request::{Action, Condition, Page, Query, ReadOptions};

/// The first look at all topics of a batch. It copies the highest revision of the batch that exists, unless the copy is of a
/// newer one, and reads that revision again.
#[derive(Debug)]
pub struct CopyHighest<'a> {
    context: Context<'a>,
    topics: Vec<Topic>,
    first: Read,
    state: CopyState,
    report: PlanReport,
}

#[derive(Debug)]
struct Topic {
    latest: Latest,
    versions: BTreeSet<Version>,
    /// The key of the revision that was copied.
    copied: Option<ItemKey>,
    /// True if one of the revisions was deleted. Then the newest has to be looked for.
    deleted: bool,
    failed: bool,
}

#[derive(Debug, Default)]
enum CopyState {
    #[default]
    Begin,
    Reading,
    /// The plan puts copies: the positions of their topics, and the keys of the revisions that are copied.
    Putting(Vec<(usize, ItemKey)>),
    LookingAgain,
}

/// What is left to do for a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copied {
    /// Nothing is left to do.
    Done,
    /// The newest revision has to be looked for ([`CopyNewest`]).
    LookForNewest,
    /// The records of its revisions have to be delivered again.
    Failed,
}

impl<'a> CopyHighest<'a> {
    /// Makes the plan for these topics, each with the revisions that the batch is about.
    #[must_use]
    pub fn new(context: Context<'a>, topics: &BTreeMap<Latest, BTreeSet<Version>>) -> Self {
        let topic = |(latest, versions): (&Latest, &BTreeSet<Version>)| Topic {
            latest: latest.clone(),
            versions: versions.clone(),
            copied: None,
            deleted: false,
            failed: false,
        };
        Self {
            context,
            topics: topics.iter().map(topic).collect(),
            first: Read::default(),
            state: CopyState::Begin,
            report: PlanReport::default(),
        }
    }

    fn put(&mut self, read: Read) -> Step<Vec<Copied>> {
        self.first = read;
        let (mut tasks, mut copied) = (Vec::new(), Vec::new());
        for position in 0..self.topics.len() {
            match self.task(position) {
                Ok(Some((task, revision))) => {
                    tasks.push(task);
                    copied.push((position, revision));
                }
                Ok(None) => {}
                Err(_) => self.topics[position].failed = true,
            }
        }
        self.state = CopyState::Putting(copied);
        Step::Do(tasks)
    }

    /// Returns the put of the copy, and the key of the revision that it copies: the highest that exists, because the lower ones
    /// can't be newer. `None` if there is nothing to copy.
    fn task(&mut self, position: usize) -> Result<Option<(Task, ItemKey)>, Failure> {
        let settings = self.context.settings;
        let topic = &mut self.topics[position];
        let Ok(key) = topic.latest.key(settings) else { return Ok(None) };
        let mut highest = None;
        for &version in &topic.versions {
            let Ok(revision_key) = topic.latest.revision_key(version, settings) else { continue };
            match self.first.item(&revision_key)? {
                None => topic.deleted = true,
                Some(revision) => highest = Some((version, revision_key, revision)),
            }
        }
        let Some((version, revision_key, revision)) = highest else { return Ok(None) };
        let condition = if self.context.rules.keeps(Rule::LatestCondition) {
            Condition::AtMost { name: VERSION.into(), value: number(version.number() as usize) }
        } else {
            Condition::Always
        };
        let item = Latest::copy(&key, version, revision, settings);
        Ok(Some((Task::Write(Action::Put { key, item, condition }), revision_key)))
    }

    fn look_again(
        &mut self,
        copied: Vec<(usize, ItemKey)>,
        outcomes: Vec<Result<TaskOutcome, Failure>>,
    ) -> Step<Vec<Copied>> {
        for ((position, revision), outcome) in copied.into_iter().zip(outcomes) {
            let topic = &mut self.topics[position];
            match outcome {
                Ok(TaskOutcome::Held) => {
                    self.report.tally.copies += 1;
                    topic.copied = Some(revision);
                }
                Ok(TaskOutcome::Failed(_)) | Err(Failure::Refused) => {}
                Err(Failure::Again) => topic.failed = true,
            }
        }
        if !self.context.rules.keeps(Rule::LatestSecondLook) {
            let first = std::mem::take(&mut self.first);
            return Step::Done(self.settle(&first, &first));
        }
        self.state = CopyState::LookingAgain;
        Need::keys(self.topics.iter().filter_map(|topic| topic.copied.clone())).into()
    }

    fn settle(&self, first: &Read, second: &Read) -> Vec<Copied> {
        let changed = |key: &ItemKey| Ok::<_, Failure>(first.item(key)? != second.item(key)?);
        let settled = |topic: &Topic| match topic.copied.as_ref().map_or(Ok(false), changed) {
            _ if topic.failed => Copied::Failed,
            Err(_) => Copied::Failed,
            Ok(changed) if changed || topic.deleted => Copied::LookForNewest,
            Ok(_) => Copied::Done,
        };
        self.topics.iter().map(settled).collect()
    }
}

impl Plan for CopyHighest<'_> {
    /// What is left to do for each topic, in the topics' order.
    type Done = Vec<Copied>;

    fn next(&mut self, facts: Facts) -> Result<Step<Vec<Copied>>, Failure> {
        match std::mem::take(&mut self.state) {
            CopyState::Begin => {
                self.state = CopyState::Reading;
                let settings = self.context.settings;
                let keys = self.topics.iter().flat_map(|topic| {
                    topic.versions.iter().filter_map(|version| topic.latest.revision_key(*version, settings).ok())
                });
                Ok(Need::keys(keys).into())
            }
            CopyState::Reading => Ok(self.put(facts.read()?)),
            CopyState::Putting(copied) => Ok(self.look_again(copied, facts.outcomes()?)),
            CopyState::LookingAgain => {
                let first = std::mem::take(&mut self.first);
                Ok(Step::Done(self.settle(&first, &facts.read()?)))
            }
        }
    }

    fn take_report(&mut self) -> PlanReport {
        std::mem::take(&mut self.report)
    }
}

/// Makes the copy of a topic equal to the newest revision, or deletes the copy if there is no revision. The plan ends only on a
/// look that finds the two equal.
#[derive(Debug)]
pub struct CopyNewest<'a> {
    context: Context<'a>,
    latest: Latest,
    looks: usize,
    state: NewestState,
    report: PlanReport,
}

#[derive(Debug, Default)]
enum NewestState {
    #[default]
    Begin,
    /// The plan reads the copy. It does so first, so that the revisions it compares the copy with are never older.
    ReadingCopy(ItemKey),
    /// The plan reads revisions, the highest first.
    LookingForNewest {
        key: ItemKey,
        standing: Option<Item>,
        query: Query,
    },
    /// The newest revision was found by its key. The plan reads it.
    ReadingNewest {
        key: ItemKey,
        standing: Option<Item>,
        version: Version,
        revision: ItemKey,
    },
    Writing(ItemKey),
}

impl<'a> CopyNewest<'a> {
    /// Makes the plan for the copy of this topic.
    #[must_use]
    pub fn new(context: Context<'a>, latest: Latest) -> Self {
        Self { context, latest, looks: 0, state: NewestState::Begin, report: PlanReport::default() }
    }

    fn look(&mut self, key: ItemKey) -> Result<Step<()>, Failure> {
        if self.looks == self.context.limits.rounds_max {
            return Err(Failure::Again);
        }
        self.looks += 1;
        let step = Need::keys([key.clone()]).into();
        self.state = NewestState::ReadingCopy(key);
        Ok(step)
    }

    fn look_on(&mut self, key: ItemKey, standing: Option<Item>, query: Query) -> Step<()> {
        let step = Need::page(query.clone()).into();
        self.state = NewestState::LookingForNewest { key, standing, query };
        step
    }

    /// Takes a page of revisions. The first one is read whole, since it mostly shows the newest. If it doesn't, only keys are read, and then
    /// the one revision: the history of other topics can be long, and large.
    fn looked(&mut self, key: ItemKey, standing: Option<Item>, query: Query, page: &Page) -> Result<Step<()>, Failure> {
        let newest = newest_on(page, &self.latest.topic, self.context.schema());
        match (newest, &page.next) {
            (None, Some(after)) => {
                let reading = ReadOptions { attributes: Some(BTreeSet::new()), ..query.reading };
                Ok(self.look_on(key, standing, Query { after: Some(after.clone()), reading, ..query }))
            }
            (Some((version, revision)), _) if query.reading.attributes.is_some() => {
                let revision = key_of(revision, self.context.schema()).ok_or(Failure::Again)?;
                let step = Need::keys([revision.clone()]).into();
                self.state = NewestState::ReadingNewest { key, standing, version, revision };
                Ok(step)
            }
            (newest, _) => {
                let newest = newest.map(|(version, revision)| (version, revision.clone()));
                Ok(self.write(key, standing.as_ref(), newest))
            }
        }
    }

    fn write(&mut self, key: ItemKey, standing: Option<&Item>, newest: Option<(Version, Item)>) -> Step<()> {
        let settings = self.context.settings;
        let wanted = newest.map(|(version, revision)| Latest::copy(&key, version, &revision, settings));
        // An item without a version is no copy, but its owner's.
        let is_owners = wanted.is_none() && standing.is_some_and(|item| Latest::version_of(item).is_none());
        if is_owners || wanted.as_ref() == standing {
            return Step::Done(());
        }
        let condition = if self.context.rules.keeps(Rule::LatestCondition) {
            Condition::is(VERSION, standing.and_then(Latest::version_of).cloned())
        } else {
            Condition::Always
        };
        self.state = NewestState::Writing(key.clone());
        Step::Do(vec![Task::Write(match wanted {
            Some(item) => Action::Put { key, item, condition },
            None => Action::Delete { key, condition },
        })])
    }
}

impl Plan for CopyNewest<'_> {
    type Done = ();

    fn next(&mut self, facts: Facts) -> Result<Step<()>, Failure> {
        match std::mem::take(&mut self.state) {
            NewestState::Begin => match self.latest.key(self.context.settings) {
                Ok(key) => self.look(key),
                Err(_) => Ok(Step::Done(())),
            },
            NewestState::ReadingCopy(key) => {
                let standing = facts.read()?.item(&key)?.cloned();
                let schema = self.context.schema();
                let query = Query {
                    pk: schema.partition(&self.latest.node),
                    range: schema.revision_range(),
                    after: None,
                    limit: self.context.limits.revision_page_items_max,
                    descending: true,
                    reading: ReadOptions::default(),
                };
                Ok(self.look_on(key, standing, query))
            }
            NewestState::LookingForNewest { key, standing, query } => self.looked(key, standing, query, &facts.page()?),
            NewestState::ReadingNewest { key, standing, version, revision } => {
                match facts.read()?.item(&revision)?.cloned() {
                    Some(newest) => Ok(self.write(key, standing.as_ref(), Some((version, newest)))),
                    // It was deleted meanwhile.
                    None => self.look(key),
                }
            }
            NewestState::Writing(key) => match facts.outcome() {
                Err(Failure::Again) => Err(Failure::Again),
                Err(Failure::Refused) => Ok(Step::Done(())),
                Ok(outcome) => {
                    self.report.tally.copies += u64::from(outcome == TaskOutcome::Held);
                    if self.context.rules.keeps(Rule::LatestSecondLook) { self.look(key) } else { Ok(Step::Done(())) }
                }
            },
        }
    }

    fn take_report(&mut self) -> PlanReport {
        std::mem::take(&mut self.report)
    }
}
