//! Writes the records of a working file, level by level.
//!
//! A node is written only when its parent's lineage is there. So the stream handler places each node once: one that
//! comes before its parent is placed as an orphan first, and again below each ancestor that arrives. Nothing is written
//! below a node that is being deleted.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Result, anyhow};
use indicatif::ProgressBar;
use sapwood_core::keys::{Id, NodeRef};
use sapwood_core::model::{Settings, Stored};
use sapwood_engine::write::{
    ABOVE_ATTRIBUTES, Above, Imported, ImportedRecord, LOOKS_MAX, Unknown, Writer as RecordWriter, deletes_revisions,
};
use sapwood_import::Record;
use sapwood_import::work::{Outcomes, Waiting, Work};
use sapwood_store::{ErrorKind, ReadOptions, TableError};

use crate::clock::{RateLimit, seconds};
use crate::connect::TableClient;
use crate::exit::Exit;
use crate::handler_wait::{FOR_PARENTS, NotPlaced, placed};
use crate::stop_signal;

/// Records that are written in one go. Their parents are read before, in one request.
const CHUNK_RECORDS_MAX: usize = 100;

pub(super) struct Writer<'a> {
    pub(super) client: &'a TableClient<'a>,
    pub(super) settings: &'a Settings,
    pub(super) pace: RateLimit,
    pub(super) bar: ProgressBar,
    /// False if nodes are written before their parents are placed.
    pub(super) waits: bool,
    /// True if parents that are nowhere are as they should be.
    pub(super) as_is: bool,
}

enum Written {
    Yes,
    Refused(String),
    /// It may have been written, and this is why it isn't sent again.
    Unknown(&'static str),
    /// It wasn't sent: the import ends.
    NotSent,
}

impl Writer<'_> {
    /// Writes all records that wait, level by level. `stopped`, it ends with the last answer or at the next signal.
    pub(super) async fn all(&self, work: &mut Work, mut stopped: Pin<&mut impl Future<Output = ()>>) -> Result<()> {
        let is_over = AtomicBool::new(false);
        for level in work.levels()? {
            let units = level.units as f64 / level.records.max(1) as f64;
            let mut after = None;
            loop {
                let chunk = work.next(level.level, after, CHUNK_RECORDS_MAX)?;
                let Some(last) = chunk.last() else { break };
                if is_over.load(Ordering::Relaxed) {
                    return Err(stopped_here());
                }
                after = Some(last.number);
                let absent = tokio::select! {
                    biased;
                    () = &mut stopped => return Err(stopped_here()),
                    absent = self.wait_for_parents(&chunk) => absent?,
                };
                let mut sending = pin!(self.chunk(work, &chunk, &absent, &is_over));
                tokio::select! {
                    biased;
                    done = &mut sending => done?,
                    () = &mut stopped => {
                        is_over.store(true, Ordering::Relaxed);
                        let again = stop_signal::catch(false)?;
                        tokio::select! {
                            done = sending => done?,
                            () = again => return Err(stopped_here()),
                        }
                        continue;
                    }
                }
                let pause = tokio::time::sleep(self.pace.take(units * chunk.len() as f64));
                tokio::select! {
                    () = pause => {}
                    () = &mut stopped => is_over.store(true, Ordering::Relaxed),
                }
            }
        }
        Ok(())
    }

    /// Writes these records, and remembers the outcomes. Once the import `is_over`, no more of them are sent.
    async fn chunk(
        &self,
        work: &mut Work,
        chunk: &[Waiting],
        absent: &BTreeSet<NodeRef>,
        is_over: &AtomicBool,
    ) -> Result<()> {
        let now = seconds();
        work.mark_sent(&chunk.iter().map(|one| one.number).collect::<Vec<_>>(), now)?;
        let write = |one| async move {
            if is_over.load(Ordering::Relaxed) {
                return Ok(Written::NotSent);
            }
            let written = self.write(one, absent, now).await;
            is_over.fetch_or(written.is_err(), Ordering::Relaxed);
            written
        };
        let answers = self.client.all(chunk.iter().map(write).collect()).await;
        let (mut outcomes, mut failed) = (Outcomes::default(), None);
        for (one, answer) in chunk.iter().zip(answers) {
            // A record that an earlier process has sent without an answer isn't settled by this answer.
            let unsent = one.sent.is_none().then_some(one.number);
            let reason = |reason: &str| format!("{}: {reason}", one.place);
            match answer {
                Ok(Written::Yes) => outcomes.written.push(one.number),
                Ok(Written::Unknown(why)) => outcomes.refused.push((one.number, reason(why))),
                Ok(Written::Refused(why)) => {
                    outcomes.refused.push((one.number, reason(&why)));
                    outcomes.unsent.extend(unsent);
                }
                Ok(Written::NotSent) => outcomes.unsent.extend(unsent),
                Err(error) => {
                    let is_unknown = error.downcast_ref().is_some_and(TableError::is_unanswered);
                    outcomes.unsent.extend(unsent.filter(|_| !is_unknown));
                    failed = Some(error);
                }
            }
        }
        work.settle(&outcomes)?;
        self.bar.inc(chunk.len() as u64);
        failed.map_or(Ok(()), Err)
    }

    /// Waits until the parents are placed, and deletions are over. Returns the parents that aren't there.
    async fn wait_for_parents(&self, chunk: &[Waiting]) -> Result<BTreeSet<NodeRef>> {
        let schema = &self.settings.schema;
        let nodes = chunk.iter().filter_map(above).collect::<BTreeSet<NodeRef>>();
        let are_parents = chunk.iter().any(|one| matches!(one.record, Record::Node(_)));
        // The nodes that are waited for, and whether they are going.
        let mut left: BTreeMap<NodeRef, bool> = nodes.into_iter().map(|node| (node, false)).collect();
        let mut absent = BTreeSet::new();
        let attributes = Some(ABOVE_ATTRIBUTES.map(str::to_owned).into());
        let (marks, whole) = (ReadOptions { strong: true, attributes }, ReadOptions::default());
        let look = async || {
            let records = left.keys().map(|node| schema.node_key(node)).collect();
            let lineages = left.keys().filter(|_| are_parents).map(|node| schema.lineage_key(node)).collect();
            let (records, lineages) =
                futures::join!(self.client.get_many(records, &marks), self.client.get_many(lineages, &whole));
            let (records, lineages) = (records.all()?, lineages.all()?);
            left.retain(|node, is_going| {
                let record = records.get(&schema.node_key(node));
                let stored = Stored::read(lineages.get(&schema.lineage_key(node)), schema);
                let above = Above::read(record, &stored);
                *is_going = above == Above::BeingDeleted && (are_parents || record.is_some_and(deletes_revisions));
                if above == Above::Absent && are_parents && !self.as_is {
                    absent.insert(node.clone());
                }
                let is_unplaced = above == Above::Unplaced && are_parents && self.waits;
                *is_going || is_unplaced
            });
            Ok(left.len())
        };
        match placed(&self.bar, FOR_PARENTS, look).await {
            Err(error) if error.is::<NotPlaced>() => {
                let going = chunk.iter().filter_map(|one| Some((one, above(one)?)));
                let first =
                    going.filter(|(_, node)| left.get(node) == Some(&true)).map(|(one, node)| (one, node.id)).next();
                let unplaced = || anyhow!("{error}. With --no-wait an import doesn't wait, and costs more");
                Err(first.map_or_else(unplaced, |(one, id)| being_deleted(&one.place, &id)))
            }
            Err(error) => Err(error),
            Ok(()) => Ok(absent),
        }
    }

    /// Writes a record, unless there is another of its key. An equal one counts as written.
    async fn write(&self, waiting: &Waiting, absent: &BTreeSet<NodeRef>, now: u64) -> Result<Written> {
        if above(waiting).is_some_and(|parent| absent.contains(&parent)) {
            return Ok(Written::Refused("its parent isn't in the table".to_owned()));
        }
        let schema = &self.settings.schema;
        let (item, key) = match (waiting.record.item(schema), waiting.record.key(schema)) {
            (Ok(item), Ok(key)) => (item, key),
            (Err(error), _) | (_, Err(error)) => return Ok(Written::Refused(error.to_string())),
        };
        let node = waiting.record.node();
        let (since, may_be_written) = (waiting.sent.unwrap_or(now), waiting.sent.is_some());
        let record = ImportedRecord { node, key, item, since, may_be_written, now, looks_max: LOOKS_MAX };
        Ok(match RecordWriter::new(self.client, self.settings).import(record).await {
            Ok(Imported::Written) => Written::Yes,
            Ok(Imported::OutOfTime) => return Err(TableError::unanswered("no answer for a record").into()),
            Ok(Imported::Another) => Written::Refused("the table has another record of this key".to_owned()),
            Ok(Imported::BeingDeleted) => {
                return Err(being_deleted(&waiting.place, &waiting.record.node().id));
            }
            Ok(Imported::Unknown(unknown)) => Written::Unknown(match unknown {
                Unknown::Another => {
                    "no answer came for this record, and the table has another of this key: it may have been written and changed since"
                }
                Unknown::Deleted => "no answer came for this node, and it was deleted at about that time",
                Unknown::NoTrace => {
                    "no answer came for this record, and it isn't there: it may have been written and deleted since. If it is to be there, import the file of refused records"
                }
            }),
            Err(error) if error.kind == ErrorKind::Refuse => Written::Refused(error.to_string()),
            Err(error) => return Err(error.into()),
        })
    }
}

fn stopped_here() -> anyhow::Error {
    Exit::Unfinished.because("stopped. The same command goes on from here")
}

/// A deletion doesn't get on. What the file has below it may go with it, so nothing more is written.
fn being_deleted(place: impl Display, id: &Id) -> anyhow::Error {
    anyhow!(
        "{place}: the node `{id}` is being deleted, and for two minutes the stream handler hasn't ended that. See whether it runs (`sapwood doctor`); the same command goes on from here"
    )
}

/// The node that must be there, and stay, for a record to stay: the parent of a node, and the node of a revision.
fn above(waiting: &Waiting) -> Option<NodeRef> {
    match &waiting.record {
        Record::Node(node) => Some(node.node.sibling(node.parent.clone()?)),
        Record::Revision(revision) => Some(revision.node.clone()),
    }
}
