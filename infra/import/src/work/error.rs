//! Errors of the working file.

use std::path::PathBuf;

use thiserror::Error;

use super::LookupError;

/// Why the working file can't be used. Every call can fail with [`WorkError::Sqlite`] or [`WorkError::Damaged`].
#[derive(Debug, Error)]
#[allow(missing_docs, reason = "`path` is the same in each; the messages say the rest")]
pub enum WorkError {
    /// The source isn't the one that the import began with.
    #[error(
        "{path} belongs to an import of another file, or {file} has changed since; {written} records were written, or may have been. Go on with the file as it was, or delete {path} to begin anew"
    )]
    OtherSource { path: PathBuf, file: PathBuf, written: u64 },
    /// The table isn't the one that the import began with.
    #[error(
        "{path} belongs to an import into another table: at another endpoint or in another account, or one that was deleted and made anew since; {written} records were written there, or may have been. Name another file with --work, or delete {path} to begin anew"
    )]
    OtherTable { path: PathBuf, written: u64 },
    /// A backfill of something else has begun.
    #[error(
        "{path} belongs to a backfill of another table (at another endpoint, or one that was deleted and made anew since), or with other options; {written} records were written. Go on with the same options, name another file with --work, or delete {path} to begin anew"
    )]
    OtherBacklog { path: PathBuf, written: u64 },
    /// The options aren't those that the import began with.
    #[error(
        "{path} belongs to an import with other options; {written} records were written, or may have been. Go on with the same options, or delete {path} to begin anew"
    )]
    OtherOptions { path: PathBuf, written: u64 },
    /// Another process has the file open.
    #[error("{path} is in use by another process; wait for it, or stop it")]
    InUse { path: PathBuf },
    /// The lock file beside it can't be made or locked.
    #[error(
        "{path}-lock can't be made or locked: {source}. Check that its folder is there and can be written, or name a working file on a local disk with --work"
    )]
    NoLock { path: PathBuf, source: std::io::Error },
    /// The file is another program's, or another version's.
    #[error("{path} isn't a working file of this version; name another file, or delete it to begin anew")]
    NotOurs { path: PathBuf },
    /// The source has less than was taken in before.
    #[error(
        "the file ends before the place that was reached already; restore it, or delete the working file to begin anew"
    )]
    SourceEnds,
    /// The records haven't been checked yet.
    #[error("the records haven't all been read and checked; load and check them first")]
    NotChecked,
    /// The checks have found faults.
    #[error("the file has {faults} faults; correct them first")]
    Faulty { faults: u64 },
    /// A record in the working file can't be read.
    #[error("a record in the working file can't be read ({reason}); delete the file to begin anew")]
    Damaged { reason: String },
    /// The source can't be looked at.
    #[error("{path} can't be read: {source}")]
    Io { path: PathBuf, source: std::io::Error },
    /// The caller couldn't look nodes up in the table.
    #[error(transparent)]
    Lookup(#[from] LookupError),
    /// SQLite reports an error.
    #[error("the working file can't be used: {0}. Check that the disk has room, and that the file can be written")]
    Sqlite(#[from] rusqlite::Error),
}
