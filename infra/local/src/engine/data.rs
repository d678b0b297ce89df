//! Where the engine's data is, and that nobody else uses it.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use super::EngineError;

const DATABASE: &str = "dynamodb.sqlite";
const LOCK: &str = "lock";

/// Where the engine keeps its data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Data {
    /// Nowhere that outlives the engine: a file in a temporary directory that is never flushed to the disk. (It could be
    /// SQLite's shared memory as well; that was no faster, and locks whole tables between connections.)
    Memory,
    /// A directory, made if it isn't there.
    Directory(PathBuf),
}

/// A directory that this process alone uses, for as long as the value lives.
#[derive(Debug)]
pub(super) struct OwnDirectory {
    path: PathBuf,
    // The system lets go of the lock when the file is closed, however the process ends.
    _lock: File,
    _temporary: Option<tempfile::TempDir>,
}

impl OwnDirectory {
    pub(super) fn of(data: &Data) -> Result<Self, EngineError> {
        let (path, temporary) = match data {
            Data::Directory(path) => {
                fs::create_dir_all(path).map_err(|source| unusable(path, source))?;
                (path.clone(), None)
            }
            Data::Memory => {
                let temporary = tempfile::Builder::new()
                    .prefix("dynamodb-")
                    .tempdir()
                    .map_err(|source| unusable(&std::env::temp_dir(), source))?;
                (temporary.path().to_owned(), Some(temporary))
            }
        };
        let lock = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(path.join(LOCK))
            .map_err(|source| unusable(&path, source))?;
        match lock.try_lock() {
            Ok(()) => Ok(OwnDirectory { path, _lock: lock, _temporary: temporary }),
            Err(TryLockError::WouldBlock) => Err(EngineError::DirectoryInUse { path }),
            Err(TryLockError::Error(source)) => Err(unusable(&path, source)),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn database(&self) -> PathBuf {
        self.path.join(DATABASE)
    }
}

fn unusable(path: &Path, source: io::Error) -> EngineError {
    EngineError::Directory { path: path.to_owned(), source }
}
