//! The working file of a backfill: the nodes of a table that are to be placed, parents first, and what is done of them.
//!
//! 1. [`Backlog::take`] takes what a page of the table shows. Pages of different parts of the table may come in turn.
//! 2. [`Backlog::arrange`] orders the nodes by their depth, and says what they cost.
//! 3. [`Backlog::next`] hands them out, a level at a time, and [`Backlog::mark_done`] and [`Backlog::refuse`] say what
//!    became of them.
//!
//! Each call is a transaction, so that a killed process goes on. Memory is bounded by SQLite's cache, whatever the
//! number of nodes. A node takes its key and that of its parent, and a few numbers.

mod hand_out;
mod take;

use std::path::Path;
use std::time::SystemTime;

use rusqlite::{Connection, OptionalExtension};
use sapwood_core::model::Settings;

use crate::cost::Sizes;
use crate::work::links::{self, Orphans};
use crate::work::tables::{self, Purpose};
use crate::work::{LevelProgress, Lock, Lookup, WorkError, check, progress};
pub use hand_out::{Due, Other};
pub use take::{PageWork, Part};

const SEGMENTS: &str = "segments";
const DESCRIPTION: &str = "description";
const ARRANGED: &str = "arranged";
const BEGUN: &str = "begun";
/// The level of the nodes that no root leads to. They are below one another, so none of them waits for its parent.
const CYCLES: &str = "cycles";

/// A working file of a backfill.
#[derive(Debug)]
pub struct Backlog {
    connection: Connection,
    /// Dropped after the connection, as fields are in this order.
    lock: Lock,
    settings: Settings,
    /// The number of parts that the table is read in.
    pub segments: u32,
}

impl Backlog {
    /// Opens the working file of a backfill, or makes it. `description` names the table and the options: a file of
    /// another backfill begins anew, unless something of it was written ([`WorkError::OtherBacklog`]). Refused records
    /// wait again. The number of segments stays that of the file.
    pub fn open(path: &Path, description: &str, segments: u32, settings: &Settings) -> Result<Self, WorkError> {
        let (lock, mut connection) = tables::open(path, Purpose::Backlog)?;
        let query = "SELECT value FROM value WHERE name = ?";
        let before: Option<String> = connection.query_row(query, [DESCRIPTION], |row| row.get(0)).optional()?;
        if before.as_deref() != Some(description) {
            let written = done(&connection)?;
            if written > 0 {
                return Err(WorkError::OtherBacklog { path: path.to_owned(), written });
            }
            let transaction = connection.transaction()?;
            if before.is_some() {
                tables::make_anew(&transaction)?;
            }
            tables::set(&transaction, DESCRIPTION, description)?;
            tables::set(&transaction, SEGMENTS, i64::from(segments))?;
            transaction.commit()?;
        }
        progress::wait_again(&mut connection)?;
        let segments = u32::try_from(tables::integer(&connection, SEGMENTS)?).unwrap_or(segments);
        Ok(Self { connection, lock, settings: settings.clone(), segments })
    }

    /// When the working file was last written, before this process opened it; `None` if it is new.
    #[must_use]
    pub fn written_before(&self) -> Option<SystemTime> {
        self.lock.written
    }

    /// Deletes the working file if nothing is done: what is wrong now may be right later, and the other way round.
    pub fn forget(self) -> Result<(), WorkError> {
        if self.done()? == 0 {
            self.delete();
        }
        Ok(())
    }

    /// Deletes the working file.
    pub fn delete(self) {
        tables::delete(self.connection, &self.lock);
    }

    /// True once the nodes are ordered, and can be handed out.
    pub fn is_arranged(&self) -> Result<bool, WorkError> {
        Ok(tables::integer(&self.connection, ARRANGED)? > 0)
    }

    /// Orders the nodes by depth, and counts the costs of each level. It takes minutes for ten million nodes, and
    /// begins again if it is cut off. It fails with [`WorkError::Lookup`] if parents can't be looked up.
    pub fn arrange(&mut self, lookup: &mut dyn Lookup) -> Result<(), WorkError> {
        if self.is_arranged()? {
            return Ok(());
        }
        let sizes = Sizes::of(&self.settings).map_err(|error| WorkError::Damaged { reason: error.to_string() })?;
        let transaction = self.connection.transaction()?;
        transaction.execute_batch("CREATE INDEX by_key ON record (pk, sk)")?;
        links::parents(&transaction, &self.settings.schema, lookup, Orphans::Nodes)?;
        links::link(&transaction)?;
        links::place(&transaction)?;
        if let Some(level) = links::place_the_others(&transaction)? {
            tables::set(&transaction, CYCLES, level)?;
        }
        check::count(&transaction, &sizes)?;
        tables::set(&transaction, ARRANGED, 1)?;
        transaction.commit()?;
        Ok(())
    }

    /// Returns the level whose nodes don't wait for their parents, if there is one.
    fn cycles(&self) -> Result<Option<i64>, WorkError> {
        let level = tables::integer(&self.connection, CYCLES)?;
        Ok((level > 0).then_some(level))
    }

    /// Returns the epoch of totals that was begun for this backfill, and the name by which it was.
    pub fn begun(&self) -> Result<Option<(u32, String)>, WorkError> {
        let query = "SELECT value FROM value WHERE name = ?";
        let begun: Option<String> = self.connection.query_row(query, [BEGUN], |row| row.get(0)).optional()?;
        let begun = begun.as_deref().and_then(|begun| begun.split_once(' '));
        Ok(begun.and_then(|(epoch, name)| Some((epoch.parse().ok()?, name.to_owned()))))
    }

    /// Notes that this epoch was begun for this backfill, by this name.
    pub fn begin(&self, epoch: u32, name: &str) -> Result<(), WorkError> {
        Ok(tables::set(&self.connection, BEGUN, format!("{epoch} {name}"))?)
    }

    /// Returns what each level has. Empty until the nodes are arranged.
    pub fn levels(&self) -> Result<Vec<LevelProgress>, WorkError> {
        Ok(progress::levels(&self.connection)?)
    }

    /// Returns how many records were written or refused.
    pub fn done(&self) -> Result<u64, WorkError> {
        Ok(done(&self.connection)?)
    }
}

fn done(connection: &Connection) -> rusqlite::Result<u64> {
    let nodes: i64 =
        connection.query_row("SELECT coalesce(sum(written + refused), 0) FROM level", [], |row| row.get(0))?;
    Ok((nodes + tables::integer(connection, hand_out::OTHERS_DONE)?).unsigned_abs())
}
