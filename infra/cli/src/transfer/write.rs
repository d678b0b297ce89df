//! Writes the records of a working file, level by level.
//!
//! A node is written only when its parent's lineage is there. So the stream handler places each node once: one that comes before its parent
//! is placed as an orphan first, and again below each ancestor that arrives.

use std::collections::BTreeSet;

use indicatif::ProgressBar;
use sapwood_core::keys::{ItemKey, NodeRef};
use sapwood_core::model::{Item, Settings, Stored};
use sapwood_core::plan::{Task, TaskOutcome};
use sapwood_core::request::{Action, Condition, TableError};
use sapwood_core::write::deleted_since;
use sapwood_import::Record;
use sapwood_import::work::{Level, Waiting, Work};
use sapwood_table::{Client, DynamoTable, ErrorKind, ReadOptions};

use super::TransferError;
use crate::clock::seconds;
use crate::connect::Patient;
use crate::pace::Pace;
use crate::placed::{FOR_PARENTS, placed};

/// Records that are written in one go. Their parents are read before, in one request.
const CHUNK_RECORDS_MAX: usize = 100;

/// The writer of an import.
pub(super) struct Writer<'a> {
    pub(super) client: &'a Client<'a, DynamoTable, Patient>,
    pub(super) settings: &'a Settings,
    pub(super) pace: Pace,
    pub(super) bar: ProgressBar,
    /// False if nodes are written before their parents are placed.
    pub(super) waits: bool,
}

/// What became of a record.
enum Written {
    Yes,
    Refused(String),
}

impl Writer<'_> {
    /// Writes all records that wait, the levels one after another.
    pub(super) async fn all(&self, work: &mut Work) -> Result<(), TransferError> {
        for level in work.levels()? {
            let units = level.units as f64 / level.records.max(1) as f64;
            let mut after = None;
            loop {
                let chunk = work.next(level.level, after, CHUNK_RECORDS_MAX)?;
                let Some(last) = chunk.last() else { break };
                after = Some(last.number);
                if self.waits && matches!(level.level, Level::Nodes(_)) {
                    self.wait_for_parents(&chunk).await?;
                }
                let outcomes = self.client.all(chunk.iter().map(|one| self.write(one)).collect()).await;
                let mut written = Vec::new();
                let mut failed = None;
                for (one, outcome) in chunk.iter().zip(outcomes) {
                    match outcome {
                        Ok(Written::Yes) => written.push(one.number),
                        Ok(Written::Refused(reason)) => work.refuse(one.number, &format!("{}: {reason}", one.place))?,
                        Err(error) => failed = Some(error),
                    }
                }
                work.mark_written(&written)?;
                self.bar.inc(chunk.len() as u64);
                if let Some(error) = failed {
                    return Err(error);
                }
                tokio::time::sleep(self.pace.take(units * chunk.len() as f64)).await;
            }
        }
        Ok(())
    }

    /// Waits until the parents of these nodes have lineages.
    async fn wait_for_parents(&self, chunk: &[Waiting]) -> Result<(), TransferError> {
        let schema = &self.settings.schema;
        let parent = |one: &Waiting| match &one.record {
            Record::Node(node) => Some(node.node.sibling(node.parent.clone()?)),
            Record::Revision(_) => None,
        };
        let parents: BTreeSet<NodeRef> = chunk.iter().filter_map(parent).collect();
        let mut keys: BTreeSet<ItemKey> = parents.iter().map(|parent| schema.lineage_key(parent)).collect();
        let options = ReadOptions { strong: true, attributes: Some(BTreeSet::new()) };
        let left = async || {
            let placed = self.client.get_many(keys.clone(), &options).await.all()?;
            keys.retain(|key| !placed.contains_key(key));
            Ok(keys.len())
        };
        placed(&self.bar, FOR_PARENTS, left).await
    }

    /// Writes a record, unless there is another of its key. An equal one was written before this process began, or by somebody else.
    async fn write(&self, waiting: &Waiting) -> Result<Written, TransferError> {
        let schema = &self.settings.schema;
        let (item, key) = match (waiting.record.item(schema), waiting.record.key(schema)) {
            (Ok(item), Ok(key)) => (item, key),
            (Err(error), _) | (_, Err(error)) => return Ok(Written::Refused(error.to_string())),
        };
        let begun = seconds();
        let put = Task::Write(Action::Put { key: key.clone(), item: item.clone(), condition: Condition::Absent });
        let (mut attempt, mut is_unanswered) = (0, false);
        loop {
            match self.client.attempt(&put).await {
                Ok(Some(TaskOutcome::Held)) => return Ok(Written::Yes),
                Ok(outcome) => is_unanswered |= outcome.is_none(),
                Err(error) if error.kind == ErrorKind::Refuse => return Ok(Written::Refused(error.to_string())),
                Err(error) => return Err(error.into()),
            }
            if !self.client.wait(attempt).await {
                return Err(TableError::unanswered("no answer for a record").into());
            }
            attempt += 1;
            let there = self.client.get(&key, &ReadOptions::default()).await?;
            if let Some(there) = there {
                let is_equal = users_own(&there) == users_own(&item);
                let another = if is_unanswered {
                    "no answer came for this record, and the table has another of this key: it may have been written and changed since"
                } else {
                    "the table has another record of this key"
                };
                return Ok(if is_equal { Written::Yes } else { Written::Refused(another.to_owned()) });
            }
            // Without an answer the record may have been written, and deleted since: then it must not come back.
            if is_unanswered && let Some(reason) = self.was_deleted(&waiting.record, begun).await? {
                return Ok(Written::Refused(reason));
            }
        }
    }

    /// Why a record that got no answer isn't written again, if its node was deleted since.
    async fn was_deleted(&self, record: &Record, begun: u64) -> Result<Option<String>, TransferError> {
        let schema = &self.settings.schema;
        let node = match record {
            Record::Node(node) => &node.node,
            Record::Revision(_) => {
                let reason =
                    "no answer came for this revision, and it isn't there: it may have been written and deleted since";
                return Ok(Some(reason.to_owned()));
            }
        };
        let (deleted, lineage) = (schema.deleted_key(node), schema.lineage_key(node));
        let mut read = self.client.get_all(&[deleted.clone(), lineage.clone()], &ReadOptions::default()).await?;
        let (deleted, stored) = (read.remove(&deleted), Stored::read(read.get(&lineage), schema));
        let was_deleted = deleted_since(begun, deleted.as_ref(), &stored, self.settings);
        Ok(was_deleted.then(|| "no answer came for this node, and it was deleted at about that time".to_owned()))
    }
}

/// A record without what Sapwood keeps in it.
fn users_own(item: &Item) -> Item {
    item.iter().filter(|(name, _)| !name.starts_with('_')).map(|(name, value)| (name.clone(), value.clone())).collect()
}
