//! Where the engine's data is, and that nobody else uses it.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::EngineError;

const DATABASE: &str = "dynamodb.sqlite";
const LOCK: &str = "lock";

/// Where the engine keeps its data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Data {
    /// In memory: gone with the engine.
    ///
    /// It is a database that several connections of the process can share, because the stream's index is added through a
    /// second one. (A temporary file that is never flushed was a fifth slower, and stays behind when the process is killed.)
    Memory,
    /// In a directory, made if it isn't there.
    Directory(PathBuf),
}

impl Data {
    /// Where a mapping's position belongs: beside the data whose stream it is a position in. None with [`Data::Memory`],
    /// where there is nothing to go on with.
    pub fn position_file(&self) -> Option<PathBuf> {
        self.file("position.json")
    }

    /// Where a mapping's failed records belong. None with [`Data::Memory`].
    pub fn failures_file(&self) -> Option<PathBuf> {
        self.file("failed-records.jsonl")
    }

    fn file(&self, name: &str) -> Option<PathBuf> {
        match self {
            Data::Memory => None,
            Data::Directory(path) => Some(path.join(name)),
        }
    }
}

/// A database that this process alone uses, for as long as the value lives.
#[derive(Debug)]
pub(super) struct Place {
    /// What SQLite opens: a path, or a URI.
    pub(super) database: PathBuf,
    // The system lets go of the lock when the file is closed, however the process ends.
    _lock: Option<File>,
}

impl Place {
    pub(super) fn of(data: &Data) -> Result<Self, EngineError> {
        match data {
            Data::Memory => {
                static COUNT: AtomicU64 = AtomicU64::new(0);
                let number = COUNT.fetch_add(1, Ordering::Relaxed);
                let database = format!("file:dynamodb-{number}?mode=memory&cache=shared").into();
                Ok(Place { database, _lock: None })
            }
            Data::Directory(path) => {
                fs::create_dir_all(path).map_err(|source| unusable(path, source))?;
                let lock = lock(path)?;
                Ok(Place { database: path.join(DATABASE), _lock: Some(lock) })
            }
        }
    }
}

fn lock(directory: &Path) -> Result<File, EngineError> {
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(directory.join(LOCK))
        .map_err(|source| unusable(directory, source))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(EngineError::DirectoryInUse { path: directory.to_owned() }),
        Err(TryLockError::Error(source)) => Err(unusable(directory, source)),
    }
}

fn unusable(path: &Path, source: io::Error) -> EngineError {
    EngineError::Directory { path: path.to_owned(), source }
}
