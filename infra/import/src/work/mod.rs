//! The working file: a SQLite database that takes the records of a source in, checks them, and remembers what was
//! written.
//!
//! Its stages follow one another, each in transactions, so that a killed process goes on:
//!
//! 1. [`Work::load_some`] takes a few thousand records in. What was taken in already is read again and skipped.
//! 2. [`Work::check_some`] runs one step of the checks over all records: duplicates, missing parents, cycles, depths,
//!    costs.
//! 3. [`Work::next`] hands records out, a level at a time. [`Work::mark_sent`] says that they may be written from now
//!    on, and [`Work::settle`] what became of them.
//!
//! Memory is bounded by SQLite's cache ([`CACHE_BYTES`]) and its sorter, whatever the number of records. What is sorted
//! goes through temporary files.

pub(crate) mod check;
mod cycles;
mod error;
mod faults;
mod fingerprint;
pub(crate) mod links;
pub(crate) mod load;
mod lock;
pub(crate) mod progress;
mod stage;
pub(crate) mod tables;

use std::path::{Path, PathBuf};

use rusqlite::Connection;
use sapwood_core::model::Settings;

use crate::Options;
use crate::sources::Source;
pub use error::WorkError;
pub use faults::{FAULTS_KEPT_MAX, Faults, LocatedFault};
pub use links::{Lookup, LookupError, Nowhere};
pub(crate) use lock::Lock;
pub use progress::{LevelProgress, NEXT_BYTES_MAX, Number, Outcomes, Summary, Waiting};
use stage::Stage;
pub use tables::{CACHE_BYTES, Level};

/// A working file.
#[derive(Debug)]
pub struct Work {
    connection: Connection,
    /// Dropped after the connection, as fields are in this order.
    lock: Lock,
    path: PathBuf,
    settings: Settings,
    /// How many entries of the source were taken in by an earlier process, and are skipped.
    to_skip: u64,
    /// True if equal records are one.
    merges_equal: bool,
    /// True if what a table can hold is taken.
    as_is: bool,
}

impl Work {
    /// Opens the working file of a source, or makes it. It begins anew if its checks have found faults, or for another
    /// source or table or other options, unless something was written ([`WorkError::OtherSource`],
    /// [`WorkError::OtherTable`], [`WorkError::OtherOptions`]). Refused records wait again: the reason may be gone.
    pub fn open(path: &Path, source: &Source, options: &Options) -> Result<Self, WorkError> {
        let (lock, connection) = tables::open(path, tables::Purpose::Import)?;
        let mut work = Self {
            connection,
            lock,
            path: path.to_owned(),
            settings: options.settings.clone(),
            to_skip: 0,
            merges_equal: source.merges_equal,
            as_is: options.as_is,
        };
        work.claim(source, options)?;
        progress::wait_again(&mut work.connection)?;
        if work.stage()? == Stage::Loading {
            work.to_skip = work.entries()?;
        }
        Ok(work)
    }

    /// Deletes the working file if nothing was written, and nothing may have been.
    pub fn forget(self) -> Result<(), WorkError> {
        if self.written()? == 0 {
            self.delete();
        }
        Ok(())
    }

    /// Deletes the working file.
    pub fn delete(self) {
        tables::delete(self.connection, &self.lock);
    }
}
