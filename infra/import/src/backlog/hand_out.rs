//! What waits, and what is done.

use rusqlite::params;
use sapwood_core::audit::Kind;
use sapwood_core::keys::{ItemKey, NodeRef, Schema};

use super::{Backlog, WorkError};
use crate::work::tables::{self, Level};
use crate::work::{Number, progress};

pub(super) const OTHERS_DONE: &str = "others_done";

/// A node that is to be placed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Due {
    /// Its number.
    pub number: Number,
    /// The node.
    pub node: NodeRef,
    /// The parent, if it is to be placed before.
    pub parent: Option<NodeRef>,
    /// True if the handler comes to the node by itself, once the parent has its new lineage.
    pub is_handed_down: bool,
}

/// Something that is to be mended, and that no order binds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Other {
    /// Its number.
    pub number: i64,
    /// The item.
    pub key: ItemKey,
    /// The node that it belongs to.
    pub node: NodeRef,
    /// The kind of the difference.
    pub kind: Kind,
}

impl Backlog {
    /// Returns the next nodes of a level that aren't known to be done, after one that was returned before.
    pub fn next(&self, level: Level, after: Option<Number>, limit: usize) -> Result<Vec<Due>, WorkError> {
        let mut next = self.connection.prepare_cached(
            "SELECT w.seq, r.pk,
                (SELECT p.pk FROM record p INDEXED BY by_key WHERE p.pk = r.parent AND p.sk = '' AND p.seq > 0
                    AND p.seq NOT IN (SELECT seq FROM refused)),
                r.parent IN (SELECT pk FROM moved)
             FROM waiting w CROSS JOIN record r USING (seq) WHERE w.level = ? AND w.seq > ? ORDER BY w.seq LIMIT ?",
        )?;
        let is_cycle = self.cycles()? == Some(level.number());
        let after = after.filter(|number| number.level == level).map_or(0, |number| number.seq);
        let mut rows = next.query(params![level.number(), after, i64::try_from(limit).unwrap_or(i64::MAX)])?;
        let mut due = Vec::new();
        while let Some(row) = rows.next()? {
            let parent: Option<String> = row.get(2)?;
            let is_handed_down = parent.is_some() && row.get(3)?;
            due.push(Due {
                number: Number { level, seq: row.get(0)? },
                node: node(&row.get::<_, String>(1)?, &self.settings.schema)?,
                is_handed_down,
                parent: parent.filter(|_| !is_cycle).map(|key| node(&key, &self.settings.schema)).transpose()?,
            });
        }
        Ok(due)
    }

    /// Remembers that nodes are done; none of them, if it fails.
    pub fn mark_done(&mut self, numbers: &[Number]) -> Result<(), WorkError> {
        Ok(progress::mark_written(&mut self.connection, numbers)?)
    }

    /// Remembers that the table refuses a node. Its children don't wait for it.
    pub fn refuse(&mut self, number: Number, reason: &str) -> Result<(), WorkError> {
        Ok(progress::refuse(&mut self.connection, number, reason)?)
    }

    /// Returns the number of copies and cursors that wait.
    pub fn others(&self) -> Result<u64, WorkError> {
        let count = self.connection.query_row("SELECT count(*) FROM other", [], |row| row.get::<_, i64>(0))?;
        Ok(count.unsigned_abs())
    }

    /// Returns the next copies and cursors that wait.
    pub fn next_others(&self, limit: usize) -> Result<Vec<Other>, WorkError> {
        let mut next = self.connection.prepare_cached("SELECT seq, pk, sk, kind FROM other ORDER BY seq LIMIT ?")?;
        let mut rows = next.query([i64::try_from(limit).unwrap_or(i64::MAX)])?;
        let mut others = Vec::new();
        while let Some(row) = rows.next()? {
            let key = ItemKey { pk: row.get(1)?, sk: row.get(2)? };
            let kind: String = row.get(3)?;
            let kind = Kind::parse(&kind).ok_or(WorkError::Damaged { reason: kind })?;
            let node = node(&key.pk, &self.settings.schema)?;
            others.push(Other { number: row.get(0)?, key, node, kind });
        }
        Ok(others)
    }

    /// Remembers that copies and cursors are done, or refused.
    pub fn mark_others_done(&mut self, numbers: &[i64]) -> Result<(), WorkError> {
        let transaction = self.connection.transaction()?;
        for number in numbers {
            transaction.prepare_cached("DELETE FROM other WHERE seq = ?")?.execute([number])?;
        }
        tables::add(&transaction, OTHERS_DONE, numbers.len() as u64)?;
        transaction.commit()?;
        Ok(())
    }
}

fn node(partition: &str, schema: &Schema) -> Result<NodeRef, WorkError> {
    schema.parse_partition(partition).map_err(|error| WorkError::Damaged { reason: error.to_string() })
}
