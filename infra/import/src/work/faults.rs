//! The faults that the checks have found.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use rusqlite::{Connection, params};

use super::{Work, WorkError};
use crate::{Fault, FaultKind, Location};

/// The most faults of each kind that are kept and reported. The others are counted.
pub const FAULTS_KEPT_MAX: u64 = 100;

/// A fault, with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocatedFault {
    /// The file.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: u64,
    /// The fault.
    pub fault: Fault,
}

impl fmt::Display for LocatedFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // An id can have line ends, and a fault is a line.
        let message = self.fault.message.replace('\n', "\\u{a}");
        write!(f, "{}:{}: {message}", self.file.display(), self.line)
    }
}

/// All faults of a source, by kind and by place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// The first faults of each kind, at most [`FAULTS_KEPT_MAX`].
    pub kept: Vec<LocatedFault>,
    /// How many there are of each kind, kept or not.
    pub counts: BTreeMap<FaultKind, u64>,
}

impl Faults {
    /// Returns true if there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// Returns how many there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.values().sum()
    }
}

/// Writes a line for each fault that is kept, and after each kind how many more there are.
impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (kind, count) in &self.counts {
            let kept: Vec<_> = self.kept.iter().filter(|located| located.fault.kind == *kind).collect();
            for located in &kept {
                writeln!(f, "{located}")?;
            }
            match count.saturating_sub(kept.len() as u64) {
                0 => {}
                more => writeln!(f, "and {more} more: {kind}")?,
            }
        }
        Ok(())
    }
}

/// Counts a fault, and keeps it if there aren't too many of its kind.
pub(super) fn add(connection: &Connection, at: Location, fault: &Fault) -> rusqlite::Result<()> {
    let count = count(connection, fault.kind, 1)?;
    if count <= FAULTS_KEPT_MAX {
        let mut insert =
            connection.prepare_cached("INSERT INTO fault (kind, file, line, message) VALUES (?, ?, ?, ?)")?;
        insert.execute(params![fault.kind as i64, at.file as i64, at.line as i64, fault.message])?;
    }
    Ok(())
}

/// Counts faults that aren't kept. Returns how many there are of the kind.
pub(super) fn count(connection: &Connection, kind: FaultKind, more: u64) -> rusqlite::Result<u64> {
    let mut count = connection.prepare_cached(
        "INSERT INTO fault_count (kind, count) VALUES (?1, ?2)
         ON CONFLICT (kind) DO UPDATE SET count = count + ?2 RETURNING count",
    )?;
    count.query_row(params![kind as i64, more as i64], |row| row.get::<_, i64>(0)).map(i64::unsigned_abs)
}

impl Work {
    /// Returns the faults that were found so far.
    pub fn faults(&self) -> Result<Faults, WorkError> {
        let mut faults = Faults::default();
        for kind in FaultKind::ALL {
            let mut counts = self.connection.prepare_cached("SELECT count FROM fault_count WHERE kind = ?")?;
            for count in counts.query_map([kind as i64], |row| row.get::<_, i64>(0))? {
                faults.counts.insert(kind, count?.unsigned_abs());
            }
            let mut kept = self.connection.prepare_cached(
                "SELECT name, line, message FROM fault JOIN file ON number = file WHERE kind = ? ORDER BY file, line",
            )?;
            let kept = kept.query_map([kind as i64], |row| {
                let (file, line, message): (String, i64, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
                Ok(LocatedFault { file: file.into(), line: line.unsigned_abs(), fault: Fault { kind, message } })
            })?;
            faults.kept.extend(kept.collect::<Result<Vec<_>, _>>()?);
        }
        Ok(faults)
    }
}

/// Returns the place of a record. Its file and its line are the first columns.
pub(super) fn location(row: &rusqlite::Row<'_>) -> rusqlite::Result<Location> {
    let (file, line): (i64, i64) = (row.get(0)?, row.get(1)?);
    Ok(Location { file: usize::try_from(file).unwrap_or_default(), line: line.unsigned_abs() })
}
