//! What waits to be written, and what was.

use std::path::PathBuf;

use rusqlite::{Connection, params};

use super::stage::Stage;
use super::tables::Level;
use super::{Work, WorkError};
use crate::Record;
use crate::sources::jsonl;

/// How much [`Work::next`] returns at a time, in bytes of JSON: at least one record, and no more once this is reached.
pub const NEXT_BYTES_MAX: usize = 8 * 1_024 * 1_024;

/// The number of a record in a working file. Within a level records are in the source's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Number {
    /// The level that the record is in.
    pub level: Level,
    pub(crate) seq: i64,
}

/// A record that waits to be written.
#[derive(Clone, Debug, PartialEq)]
pub struct Waiting {
    /// Its number.
    pub number: Number,
    /// The record.
    pub record: Record,
    /// The size of its item in bytes, as DynamoDB counts it.
    pub bytes: usize,
    /// The file and the line that it is from, for example `places.csv:17`.
    pub place: String,
    /// Since when it may have been written, in seconds since 1970. `None` if it was never sent.
    pub sent: Option<u64>,
}

/// The outcomes of records that were sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcomes {
    /// The records that were written.
    pub written: Vec<Number>,
    /// The records that the table refuses, or that may have been written and aren't sent again, each with the reason.
    pub refused: Vec<(Number, String)>,
    /// The records that weren't written for certain, and hadn't been sent by a process before.
    pub unsent: Vec<Number>,
}

/// The records of a level, and their outcomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LevelProgress {
    /// The level.
    pub level: Level,
    /// How many records it has.
    pub records: u64,
    /// The size of their items in bytes.
    pub bytes: u64,
    /// The write units of these items and of all that the fan-out makes of them.
    pub units: u64,
    /// How many records were written.
    pub written: u64,
    /// How many records were refused.
    pub refused: u64,
}

impl LevelProgress {
    /// How many records wait.
    #[must_use]
    pub fn waiting(&self) -> u64 {
        self.records.saturating_sub(self.written + self.refused)
    }
}

/// The sums of a working file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// The nodes to write. 0 until the checks are done.
    pub nodes: u64,
    /// The revisions to write.
    pub revisions: u64,
    /// The write units of the whole import.
    pub units: u64,
    /// The records that were written.
    pub written: u64,
    /// The records that were refused.
    pub refused: u64,
}

impl Work {
    /// Returns the next records of a level that wait, after one that was returned before: at most `limit`, and no more
    /// than [`NEXT_BYTES_MAX`] together. Without `after` it returns every record that isn't known to be written. It
    /// fails with [`WorkError::NotChecked`] or [`WorkError::Faulty`] if nothing may be written.
    pub fn next(&self, level: Level, after: Option<Number>, limit: usize) -> Result<Vec<Waiting>, WorkError> {
        self.check_ready()?;
        let mut next = self.connection.prepare_cached(
            "SELECT w.seq, b.line, r.base, f.name, r.line, s.since
             FROM waiting w CROSS JOIN body b USING (seq) CROSS JOIN record r USING (seq) CROSS JOIN file f ON f.number = r.file
             LEFT JOIN sent s USING (seq) WHERE w.level = ? AND w.seq > ? ORDER BY w.seq LIMIT ?",
        )?;
        let after = after.filter(|number| number.level == level).map_or(0, |number| number.seq);
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let mut rows = next.query(params![level.number(), after, limit])?;
        let (mut records, mut bytes) = (Vec::new(), 0);
        while bytes < NEXT_BYTES_MAX
            && let Some(row) = rows.next()?
        {
            let (line, base): (String, i64) = (row.get(1)?, row.get(2)?);
            bytes += line.len();
            let record = jsonl::read(&line, None).map_err(|fault| WorkError::Damaged { reason: fault.message })?;
            let file = PathBuf::from(row.get::<_, String>(3)?);
            records.push(Waiting {
                number: Number { level, seq: row.get(0)? },
                record,
                bytes: usize::try_from(base).unwrap_or_default(),
                place: format!("{}:{}", file.display(), row.get::<_, i64>(4)?),
                sent: row.get::<_, Option<i64>>(5)?.map(i64::unsigned_abs),
            });
        }
        Ok(records)
    }

    /// Remembers, before they are sent, that records may be written from this time on, in seconds since 1970. If it
    /// fails none of them may be sent. An earlier time stays.
    pub fn mark_sent(&mut self, numbers: &[Number], now: u64) -> Result<(), WorkError> {
        let now = i64::try_from(now).unwrap_or(i64::MAX);
        let transaction = self.connection.transaction()?;
        for number in numbers {
            transaction.prepare_cached("INSERT OR IGNORE INTO sent VALUES (?, ?)")?.execute([number.seq, now])?;
        }
        Ok(transaction.commit()?)
    }

    /// Remembers the outcomes of records that were sent, all or none. Numbers that don't wait are ignored.
    pub fn settle(&mut self, outcomes: &Outcomes) -> Result<(), WorkError> {
        let transaction = self.connection.transaction()?;
        for number in &outcomes.written {
            written(&transaction, *number)?;
        }
        for (number, reason) in &outcomes.refused {
            refused(&transaction, *number, reason)?;
        }
        for number in &outcomes.unsent {
            transaction.prepare_cached("DELETE FROM sent WHERE seq = ?")?.execute([number.seq])?;
        }
        Ok(transaction.commit()?)
    }

    /// Remembers that records were written, all or none. Numbers that don't wait are ignored.
    pub fn mark_written(&mut self, numbers: &[Number]) -> Result<(), WorkError> {
        Ok(mark_written(&mut self.connection, numbers)?)
    }

    /// Passes each refused record to `each`, as a line of JSON Lines that can be imported again, and the reason.
    pub fn refused<E: From<WorkError>>(&self, mut each: impl FnMut(&str, &str) -> Result<(), E>) -> Result<(), E> {
        let failed = |error: rusqlite::Error| E::from(WorkError::from(error));
        let query = "SELECT line, reason FROM refused JOIN body USING (seq) ORDER BY level, seq";
        let mut refused = self.connection.prepare(query).map_err(failed)?;
        let mut rows = refused.query([]).map_err(failed)?;
        while let Some(row) = rows.next().map_err(failed)? {
            let (line, reason): (String, String) =
                row.get(0).and_then(|line| Ok((line, row.get(1)?))).map_err(failed)?;
            each(&line, &reason)?;
        }
        Ok(())
    }

    /// Returns what each level has, from the roots down, and the revisions last. Empty until the checks are done.
    pub fn levels(&self) -> Result<Vec<LevelProgress>, WorkError> {
        Ok(levels(&self.connection)?)
    }

    /// Returns what the whole import has.
    pub fn summary(&self) -> Result<Summary, WorkError> {
        let mut summary = Summary::default();
        for level in self.levels()? {
            match level.level {
                Level::Nodes(_) => summary.nodes += level.records,
                Level::Revisions => summary.revisions += level.records,
            }
            summary.units += level.units;
            summary.written += level.written;
            summary.refused += level.refused;
        }
        Ok(summary)
    }

    /// Returns how many records were written, or may have been.
    pub(super) fn written(&self) -> Result<u64, WorkError> {
        let query = "SELECT (SELECT coalesce(sum(written), 0) FROM level) + (SELECT count(*) FROM sent)";
        Ok(self.connection.query_row(query, [], |row| row.get::<_, i64>(0))?.unsigned_abs())
    }

    fn check_ready(&self) -> Result<(), WorkError> {
        if self.stage()? != Stage::Checked {
            return Err(WorkError::NotChecked);
        }
        let query = "SELECT coalesce(sum(count), 0) FROM fault_count";
        let mut faults = self.connection.prepare_cached(query)?;
        match faults.query_row([], |row| row.get::<_, i64>(0))?.unsigned_abs() {
            0 => Ok(()),
            faults => Err(WorkError::Faulty { faults }),
        }
    }
}

pub(crate) fn levels(connection: &Connection) -> rusqlite::Result<Vec<LevelProgress>> {
    let query = "SELECT level, records, bytes, units, written, refused FROM level ORDER BY level";
    let mut levels = connection.prepare_cached(query)?;
    let levels = levels.query_map([], |row| {
        let count = |column: usize| row.get::<_, i64>(column).map(i64::unsigned_abs);
        Ok(LevelProgress {
            level: Level::of(row.get(0)?),
            records: count(1)?,
            bytes: count(2)?,
            units: count(3)?,
            written: count(4)?,
            refused: count(5)?,
        })
    })?;
    levels.collect()
}

pub(crate) fn mark_written(connection: &mut Connection, numbers: &[Number]) -> rusqlite::Result<()> {
    let transaction = connection.transaction()?;
    for number in numbers {
        written(&transaction, *number)?;
    }
    transaction.commit()
}

pub(crate) fn refuse(connection: &mut Connection, number: Number, reason: &str) -> rusqlite::Result<()> {
    let transaction = connection.transaction()?;
    refused(&transaction, number, reason)?;
    transaction.commit()
}

fn written(connection: &Connection, number: Number) -> rusqlite::Result<()> {
    if take(connection, number)? {
        let mut written = connection.prepare_cached("UPDATE level SET written = written + 1 WHERE level = ?")?;
        written.execute([number.level.number()])?;
        connection.prepare_cached("DELETE FROM sent WHERE seq = ?")?.execute([number.seq])?;
    }
    Ok(())
}

fn refused(connection: &Connection, number: Number, reason: &str) -> rusqlite::Result<()> {
    if take(connection, number)? {
        let level = number.level.number();
        connection.execute("UPDATE level SET refused = refused + 1 WHERE level = ?", [level])?;
        let refused = "INSERT INTO refused (seq, level, reason) VALUES (?, ?, ?)";
        connection.execute(refused, params![number.seq, level, reason])?;
    }
    Ok(())
}

/// Has all records wait again that were refused.
pub(crate) fn wait_again(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction = connection.transaction()?;
    transaction.execute_batch(
        "INSERT OR IGNORE INTO waiting SELECT level, seq FROM refused;
         UPDATE level SET refused = 0;
         DELETE FROM refused;",
    )?;
    transaction.commit()
}

/// Takes a record out of those that wait. Returns false if it isn't among them.
fn take(connection: &Connection, number: Number) -> rusqlite::Result<bool> {
    let mut take = connection.prepare_cached("DELETE FROM waiting WHERE level = ? AND seq = ?")?;
    Ok(take.execute(params![number.level.number(), number.seq])? > 0)
}
