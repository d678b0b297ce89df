//! Writes the records of a working file, level by level.
//!
//! A node is written only when its parent's lineage is there. So the stream handler places each node once: one that comes before its parent
//! is placed as an orphan first, and again below each ancestor that arrives.

use std::collections::BTreeSet;

use indicatif::ProgressBar;
use sapwood_core::keys::{ItemKey, NodeRef};
use sapwood_core::model::{Item, Settings};
use sapwood_core::plan::{Task, TaskOutcome};
use sapwood_core::request::{Action, Condition};
use sapwood_import::Record;
use sapwood_import::work::{Level, Waiting, Work};
use sapwood_table::{Client, DynamoTable, ErrorKind, ReadOptions};

use super::TransferError;
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
        let put = Action::Put { key: key.clone(), item: item.clone(), condition: Condition::Absent };
        match self.client.carry_out(&Task::Write(put)).await.outcome {
            Ok(TaskOutcome::Held) => Ok(Written::Yes),
            Ok(TaskOutcome::Failed(_)) => {
                let there = self.client.get(&key, &ReadOptions::default()).await?;
                let is_equal = there.as_ref().is_some_and(|there| users_own(there) == users_own(&item));
                let another = || Written::Refused("the table has another record of this key".to_owned());
                Ok(if is_equal { Written::Yes } else { another() })
            }
            Err(error) if error.kind == ErrorKind::Refuse => Ok(Written::Refused(error.to_string())),
            Err(error) => Err(error.into()),
        }
    }
}

/// A record without what Sapwood keeps in it.
fn users_own(item: &Item) -> Item {
    item.iter().filter(|(name, _)| !name.starts_with('_')).map(|(name, value)| (name.clone(), value.clone())).collect()
}
