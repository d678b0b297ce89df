//! The tables of a working file.

use std::io::ErrorKind;
use std::path::Path;

use rusqlite::{Connection, ErrorCode, OptionalExtension};

use super::WorkError;
use super::lock::{Lock, beside};

/// The memory of SQLite's cache, in bytes. Its sorter takes as much again while it runs.
pub const CACHE_BYTES: usize = 32 * 1_024 * 1_024;

/// The purpose of a working file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// An import: "Sapw".
    Import = 0x5361_7077,
    /// A backfill: "Sapb".
    Backlog = 0x5361_7062,
}

/// The version of the tables. A file of another version is refused.
const VERSION: i64 = 4;

/// The records of an import that are written together, before the next level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// The nodes with this many ancestors.
    Nodes(usize),
    /// The revisions, after all nodes.
    Revisions,
}

/// The level of revisions in the tables. No node is as deep.
const REVISIONS: i64 = i64::MAX;

impl Level {
    pub(crate) fn number(self) -> i64 {
        match self {
            Self::Nodes(depth) => i64::try_from(depth).unwrap_or(REVISIONS - 1),
            Self::Revisions => REVISIONS,
        }
    }

    pub(crate) fn of(number: i64) -> Self {
        match usize::try_from(number) {
            Ok(depth) if number != REVISIONS => Self::Nodes(depth),
            _ => Self::Revisions,
        }
    }
}

/// `record` has what the checks need, and `body` the record itself as a line of JSON. A node has an empty `sk`. Nodes
/// that are only in the table have a negative `seq` and no body.
///
/// `faulty` has the nodes that were refused: their children have no fault of their own. `orphan` has the nodes without
/// a parent that can be written. The columns of `place` after `seq` are those of [`Above`](crate::cost::Above).
///
/// `sent` has the records that may have been written, and since when.
///
/// A backlog has its nodes in `record`, without a body, and what is no node in `other`. `moved` has those
/// whose lineages change. `scanned` has how far the parts of the table are read.
pub(super) const CREATE: &str = "
    CREATE TABLE value (name TEXT PRIMARY KEY, value ANY) WITHOUT ROWID;
    CREATE TABLE file (number INTEGER PRIMARY KEY, name TEXT NOT NULL);
    CREATE TABLE record (
        seq INTEGER PRIMARY KEY, pk TEXT NOT NULL, sk TEXT NOT NULL, parent TEXT, file INTEGER, line INTEGER,
        base INTEGER, copied INTEGER, tenant INTEGER, id INTEGER, above INTEGER, segment INTEGER, escaped INTEGER, path_end INTEGER, other_units INTEGER
    );
    CREATE TABLE body (seq INTEGER PRIMARY KEY, line TEXT NOT NULL);
    CREATE TABLE implied (
        number INTEGER PRIMARY KEY, pk TEXT NOT NULL UNIQUE, parent TEXT, file INTEGER, line INTEGER,
        base INTEGER, copied INTEGER, tenant INTEGER, id INTEGER, above INTEGER, segment INTEGER, escaped INTEGER, path_end INTEGER, other_units INTEGER,
        body TEXT NOT NULL
    );
    CREATE TABLE faulty (pk TEXT PRIMARY KEY) WITHOUT ROWID;
    CREATE TABLE orphan (seq INTEGER PRIMARY KEY);
    CREATE TABLE edge (parent INTEGER, child INTEGER, PRIMARY KEY (parent, child)) WITHOUT ROWID;
    CREATE TABLE place (
        depth INTEGER, seq INTEGER, ids INTEGER, longest_id INTEGER, farthest_id INTEGER, segments INTEGER, path INTEGER,
        PRIMARY KEY (depth, seq)
    ) WITHOUT ROWID;
    CREATE TABLE waiting (level INTEGER, seq INTEGER, PRIMARY KEY (level, seq)) WITHOUT ROWID;
    CREATE TABLE sent (seq INTEGER PRIMARY KEY, since INTEGER NOT NULL);
    CREATE TABLE refused (seq INTEGER PRIMARY KEY, level INTEGER NOT NULL, reason TEXT NOT NULL);
    CREATE TABLE level (
        level INTEGER PRIMARY KEY, records INTEGER, bytes INTEGER, units INTEGER, written INTEGER, refused INTEGER
    );
    CREATE TABLE scanned (segment INTEGER PRIMARY KEY, after_pk TEXT, after_sk TEXT, history TEXT, is_done INTEGER NOT NULL);
    CREATE TABLE moved (pk TEXT PRIMARY KEY) WITHOUT ROWID;
    CREATE TABLE other (seq INTEGER PRIMARY KEY, pk TEXT NOT NULL, sk TEXT NOT NULL, kind TEXT NOT NULL);
    CREATE TABLE fault (kind INTEGER, file INTEGER, line INTEGER, message TEXT NOT NULL);
    CREATE TABLE fault_count (kind INTEGER PRIMARY KEY, count INTEGER NOT NULL);
";

/// Opens a working file for this process alone, and makes its tables if need be. Drop the connection before the lock.
pub(crate) fn open(path: &Path, purpose: Purpose) -> Result<(Lock, Connection), WorkError> {
    let in_use = || WorkError::InUse { path: path.to_owned() };
    let lock = Lock::of(path).map_err(|source| WorkError::NoLock { path: path.to_owned(), source })?;
    let lock = lock.ok_or_else(in_use)?;
    let connection = Connection::open(&lock.working_file)?;
    let is_ours = prepare(&connection, purpose).map_err(|error| match error.sqlite_error_code() {
        // Another program has it.
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => in_use(),
        Some(ErrorCode::NotADatabase) => WorkError::NotOurs { path: path.to_owned() },
        _ => error.into(),
    })?;
    if is_ours { Ok((lock, connection)) } else { Err(WorkError::NotOurs { path: path.to_owned() }) }
}

/// Makes a new file's tables, and locks it against other programs. False for a database of another program or version.
fn prepare(connection: &Connection, purpose: Purpose) -> rusqlite::Result<bool> {
    connection.busy_timeout(std::time::Duration::ZERO)?;
    // SIGKILL leaves a whole file: a write-ahead log is replayed. An import must know which records a power cut takes.
    connection.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", if purpose == Purpose::Import { "FULL" } else { "NORMAL" })?;
    connection.pragma_update(None, "temp_store", "FILE")?;
    connection.pragma_update(None, "cache_size", -(CACHE_BYTES as i64 / 1_024))?;
    let transaction = connection.unchecked_transaction()?;
    let is_new: bool = transaction.query_row("SELECT count(*) = 0 FROM sqlite_schema", [], |row| row.get(0))?;
    if is_new {
        transaction.pragma_update(None, "application_id", purpose as i64)?;
        transaction.pragma_update(None, "user_version", VERSION)?;
        transaction.execute_batch(CREATE)?;
    } else {
        let pragma = |name| transaction.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        if (pragma("application_id")?, pragma("user_version")?) != (purpose as i64, VERSION) {
            return Ok(false);
        }
    }
    // This also takes the lock of a file that isn't new.
    set(&transaction, "opened", 1)?;
    transaction.commit()?;
    Ok(true)
}

/// Deletes a working file. It does no harm if it stays.
pub(crate) fn delete(connection: Connection, lock: &Lock) {
    // SQLite deletes the log as it closes the file. Where it couldn't, the log goes here, and never before its file.
    drop(connection);
    for ending in ["", "-wal", "-shm"] {
        match std::fs::remove_file(beside(&lock.working_file, ending)) {
            Err(error) if error.kind() != ErrorKind::NotFound => return,
            _ => {}
        }
    }
}

/// Empties a working file.
pub(crate) fn make_anew(connection: &Connection) -> rusqlite::Result<()> {
    let mut statement = connection.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'")?;
    let names: Vec<String> = statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    drop(statement);
    for name in names {
        connection.execute_batch(&format!("DROP TABLE {name}"))?;
    }
    connection.execute_batch(CREATE)
}

/// Returns a named number, 0 if it was never set.
pub(crate) fn integer(connection: &Connection, name: &str) -> rusqlite::Result<i64> {
    let mut statement = connection.prepare_cached("SELECT value FROM value WHERE name = ?")?;
    Ok(statement.query_row([name], |row| row.get(0)).optional()?.unwrap_or_default())
}

pub(crate) fn set(connection: &Connection, name: &str, value: impl rusqlite::ToSql) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached("INSERT OR REPLACE INTO value (name, value) VALUES (?, ?)")?;
    statement.execute(rusqlite::params![name, value]).map(drop)
}

/// Adds to a named number.
pub(crate) fn add(connection: &Connection, name: &str, count: u64) -> rusqlite::Result<()> {
    if count == 0 {
        return Ok(());
    }
    let sum = integer(connection, name)?.saturating_add_unsigned(count);
    set(connection, name, sum)
}
