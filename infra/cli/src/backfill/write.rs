//! Has the stream handler place the nodes of a working file, level by level.
//!
//! A node waits until its parent stands where it belongs. So the handler places each node once, and what a parent hands
//! down to its children (after a switch of path rows) is there before they are looked at.

use std::collections::BTreeSet;

use anyhow::Result;
use indicatif::ProgressBar;
use sapwood_core::audit::{Difference, Kind, Mended, Subject};
use sapwood_core::keys::{ItemKey, NodeRef};
use sapwood_core::model::Settings;
use sapwood_core::plan::Rules;
use sapwood_engine::audit::Audit;
use sapwood_import::backlog::{Backlog, Due, Other};
use sapwood_store::{ErrorKind, TableError};

use super::Scope;
use crate::clock::{RateLimit, nanoseconds};
use crate::connect::TableClient;
use crate::handler_wait::{FOR_PARENTS, FOR_WHAT_IS_HANDED_DOWN, NotPlaced, placed};
use crate::printable::shown;

/// Nodes that are written in one go. They are looked at before, in one request for each hundred items.
const CHUNK_NODES_MAX: usize = 100;

pub(super) struct Writer<'a> {
    pub(super) client: &'a TableClient<'a>,
    pub(super) settings: &'a Settings,
    pub(super) scope: Scope,
    pub(super) pace: RateLimit,
    pub(super) bar: &'a ProgressBar,
    pub(super) counts: Counts,
    /// The last name that a write has had.
    pub(super) name: u128,
}

/// The outcomes of the records.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    /// Nodes whose records were written.
    pub(super) redriven: u64,
    /// Nodes that were right by the time they were looked at.
    pub(super) right: u64,
    /// Copies and cursors that were written.
    pub(super) others: u64,
    /// Copies and cursors that the table refused.
    pub(super) others_refused: u64,
}

impl<'a> Writer<'a> {
    pub(super) fn new(
        client: &'a TableClient<'a>,
        settings: &'a Settings,
        scope: Scope,
        rate: Option<f64>,
        bar: &'a ProgressBar,
    ) -> Self {
        let (pace, counts) = (RateLimit::new(rate), Counts::default());
        Self { client, settings, scope, pace, bar, counts, name: nanoseconds() }
    }

    /// Writes all that waits, the levels one after another.
    pub(super) async fn all(&mut self, backlog: &mut Backlog) -> Result<()> {
        for level in backlog.levels()? {
            let units = level.units as f64 / level.records.max(1) as f64;
            let mut after = None;
            loop {
                let chunk = backlog.next(level.level, after, CHUNK_NODES_MAX)?;
                let Some(last) = chunk.last() else { break };
                after = Some(last.number);
                self.wait_for_parents(&chunk).await?;
                let right = match self.scope {
                    Scope::Wrong => self.wait_for_what_is_handed_down(&chunk).await?,
                    Scope::All | Scope::Cursors | Scope::Names | Scope::Totals => BTreeSet::new(),
                };
                let written = self.nodes(backlog, &chunk, &right).await?;
                self.bar.inc(chunk.len() as u64);
                tokio::time::sleep(self.pace.take(units * written as f64)).await;
            }
        }
        loop {
            let others = backlog.next_others(CHUNK_NODES_MAX)?;
            if others.is_empty() {
                return Ok(());
            }
            self.others(backlog, &others).await?;
            self.bar.inc(others.len() as u64);
            tokio::time::sleep(self.pace.take(others.len() as f64)).await;
        }
    }

    async fn wait_for_parents(&self, chunk: &[Due]) -> Result<()> {
        let mut parents: BTreeSet<NodeRef> = chunk.iter().filter_map(|due| due.parent.clone()).collect();
        let left = async || {
            if !parents.is_empty() {
                parents = self.wrong(&parents, Kind::is_of_placing).await?;
            }
            Ok(parents.len())
        };
        placed(self.bar, FOR_PARENTS, left).await
    }

    /// Waits until the handler has handed down new lineages by itself. Returns the nodes that are right then.
    async fn wait_for_what_is_handed_down(&self, chunk: &[Due]) -> Result<BTreeSet<NodeRef>> {
        let handed_down = chunk.iter().filter(|due| due.is_handed_down);
        let all: BTreeSet<NodeRef> = handed_down.map(|due| due.node.clone()).collect();
        let mut waiting = all.clone();
        let left = async || {
            if !waiting.is_empty() {
                waiting = self.wrong(&waiting, Kind::is_redriven).await?;
            }
            Ok(waiting.len())
        };
        match placed(self.bar, FOR_WHAT_IS_HANDED_DOWN, left).await {
            Err(error) if !error.is::<NotPlaced>() => Err(error),
            _ => Ok(all.difference(&waiting).cloned().collect()),
        }
    }

    /// Returns those of these nodes that have a difference of such a kind. The reads are strong.
    async fn wrong(
        &self,
        nodes: &BTreeSet<NodeRef>,
        is_one: fn(Kind) -> bool,
    ) -> Result<BTreeSet<NodeRef>, TableError> {
        let subjects = nodes.iter().cloned().map(Subject::Node).collect();
        let found = Audit::new(self.client, self.settings).look(subjects).await?;
        Ok(found.into_iter().filter(|difference| is_one(difference.kind)).map(|difference| difference.node).collect())
    }

    /// Has these nodes placed, as far as they aren't by now. Returns how many.
    async fn nodes(&mut self, backlog: &mut Backlog, chunk: &[Due], right: &BTreeSet<NodeRef>) -> Result<usize> {
        let nodes = chunk.iter().map(|due| due.node.clone()).filter(|node| !right.contains(node)).collect();
        let wrong = match self.scope {
            Scope::All | Scope::Totals => nodes,
            Scope::Wrong | Scope::Cursors | Scope::Names => self.wrong(&nodes, Kind::is_redriven).await?,
        };
        let (due, right): (Vec<&Due>, Vec<&Due>) = chunk.iter().partition(|due| wrong.contains(&due.node));
        // Where nodes are only to be counted, they are touched.
        let kind = if self.scope == Scope::Totals { Kind::CountWrong } else { Kind::LineageWrong };
        let key = |due: &&Due| (self.settings.schema.node_key(&due.node), due.node.clone(), kind);
        let outcomes = self.mend(due.iter().map(key).collect()).await;
        let mut done: Vec<_> = right.iter().map(|due| due.number).collect();
        self.counts.right += done.len() as u64;
        let mut failed = None;
        for (due, outcome) in due.iter().zip(outcomes) {
            match outcome {
                Ok(()) => {
                    done.push(due.number);
                    self.counts.redriven += 1;
                }
                Err(error) if error.kind == ErrorKind::Refuse => {
                    self.say_refused(&shown(due.node.id.as_str()), &error);
                    backlog.refuse(due.number, &error.to_string())?;
                }
                Err(error) => failed = Some(error),
            }
        }
        backlog.mark_done(&done)?;
        failed.map_or(Ok(due.len()), |error| Err(error.into()))
    }

    async fn others(&mut self, backlog: &mut Backlog, others: &[Other]) -> Result<()> {
        let outcomes = if self.scope == Scope::Cursors {
            let mut names = (self.name + 1..).map(|name| name.to_string());
            let cursors = others.iter().zip(&mut names).map(|(other, name)| self.start_anew(other, name)).collect();
            self.client.all(cursors).await
        } else {
            self.mend(others.iter().map(|other| (other.key.clone(), other.node.clone(), other.kind)).collect()).await
        };
        self.name += others.len() as u128;
        let (mut done, mut failed) = (Vec::new(), None);
        for (other, outcome) in others.iter().zip(outcomes) {
            match outcome {
                Ok(()) => self.counts.others += 1,
                Err(error) if error.kind == ErrorKind::Refuse => {
                    let ItemKey { pk, sk } = &other.key;
                    self.say_refused(&format!("{} | {}", shown(pk), shown(sk)), &error);
                    self.counts.others_refused += 1;
                }
                Err(error) => {
                    failed = Some(error);
                    continue;
                }
            }
            done.push(other.number);
        }
        backlog.mark_others_done(&done)?;
        failed.map_or(Ok(()), |error| Err(error.into()))
    }

    fn say_refused(&self, what: &str, error: &TableError) {
        self.bar.suspend(|| eprintln!("refused: {what}: {}", shown(&error.to_string())));
    }

    /// Mends items by these names: as `sapwood repair` does, but several at a time.
    async fn mend(&mut self, items: Vec<(ItemKey, NodeRef, Kind)>) -> Vec<Result<(), TableError>> {
        let first = self.name + 1;
        self.name += items.len() as u128;
        let (client, settings) = (self.client, self.settings);
        let mending = items.into_iter().zip(first..).map(|((key, node, kind), name)| async move {
            let audit = Audit::new(client, settings);
            audit.mend(Difference::unseen(kind, key, node), name.to_string(), Rules::default()).await.map(drop)
        });
        self.client.all(mending.collect()).await
    }

    async fn start_anew(&self, cursor: &Other, name: String) -> Result<(), TableError> {
        match Audit::new(self.client, self.settings).start_anew(cursor.node.clone(), name).await? {
            Mended::Left => Err(TableError::new(ErrorKind::Refuse, "a newer version has written this cursor")),
            _ => Ok(()),
        }
    }
}
