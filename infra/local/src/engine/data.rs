//! The engine's data, which no other process may use at the same time.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

const DATABASE: &str = "dynamodb.sqlite";
const LOCK: &str = "lock";

/// Why the embedded DynamoDB doesn't start or stop.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum EngineError {
    /// The address isn't a loopback address. The engine checks no credentials, so no other machine may reach it.
    #[error(
        "{0} isn't a loopback address: this port checks no credentials, so it listens on 127.0.0.1 or ::1 only (`sapwood dev --container` opens it)"
    )]
    NotLoopback(SocketAddr),
    /// Another process listens on the address.
    #[error("{0} is in use already: choose another port, or stop what listens there")]
    PortInUse(SocketAddr),
    /// The engine can't listen on the address for another reason.
    #[error("can't listen on {address}: {source}")]
    Listen { address: SocketAddr, source: io::Error },
    /// The data directory can't be created or written.
    #[error("the data directory {path} can't be used: {source}")]
    Directory { path: PathBuf, source: io::Error },
    /// Another process uses the data directory. Two engines on one file would lose writes.
    #[error("the data directory {path} is in use by another process: stop that one, or choose another directory")]
    DirectoryInUse { path: PathBuf },
    /// The data file is damaged, of another program, or of a newer version.
    #[error("the data file {path} can't be read: {reason}. Move it away to start with an empty table")]
    Unreadable { path: PathBuf, reason: String },
    /// The engine's thread didn't start, or ended with an error.
    #[error("the embedded DynamoDB failed: {0}")]
    Server(String),
}

/// Where the engine keeps its data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Data {
    /// In memory, for as long as the engine runs. Several connections share the database. A temporary file was a fifth
    /// slower, and a killed process leaves it behind.
    Memory,
    /// In a directory, which is created if it doesn't exist.
    Directory(PathBuf),
}

impl Data {
    /// Returns the file for the position of a mapping on this data's stream; `None` for [`Data::Memory`].
    pub fn position_file(&self) -> Option<PathBuf> {
        self.file("position.json")
    }

    /// Returns the file for the records that a mapping discards; `None` for [`Data::Memory`].
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

/// A database that only this process uses, as long as the value lives.
#[derive(Debug)]
pub(super) struct DataPlace {
    /// The path or URI that SQLite opens.
    pub(super) database: PathBuf,
    // The system releases the lock when the file is closed, however the process ends.
    _lock: Option<File>,
}

impl DataPlace {
    pub(super) fn of(data: &Data) -> Result<Self, EngineError> {
        match data {
            Data::Memory => {
                static COUNT: AtomicU64 = AtomicU64::new(0);
                let number = COUNT.fetch_add(1, Ordering::Relaxed);
                let database = format!("file:dynamodb-{number}?mode=memory&cache=shared").into();
                Ok(DataPlace { database, _lock: None })
            }
            Data::Directory(path) => {
                create_private(path).map_err(|source| unusable(path, source))?;
                let lock = lock(path)?;
                let database = path.join(DATABASE);
                // An empty file is a database, and its log gets its permissions.
                open_private(File::options().append(true), &database).map_err(|source| unusable(path, source))?;
                Ok(DataPlace { database, _lock: Some(lock) })
            }
        }
    }
}

fn lock(directory: &Path) -> Result<File, EngineError> {
    // Windows locks no file that is open for appending alone.
    let file = open_private(File::options().read(true).append(true), &directory.join(LOCK))
        .map_err(|source| unusable(directory, source))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(EngineError::DirectoryInUse { path: directory.to_owned() }),
        Err(TryLockError::Error(source)) => Err(unusable(directory, source)),
    }
}

/// Creates a directory that only this user reads. One that is there keeps its permissions.
pub fn create_private(directory: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(directory)
}

/// Opens a file that only this user reads, and creates it if it isn't there.
pub(crate) fn open_private(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    options.create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    let file = options.open(path)?;
    // A file of an earlier release can be read by others.
    #[cfg(unix)]
    file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    Ok(file)
}

fn unusable(path: &Path, source: io::Error) -> EngineError {
    EngineError::Directory { path: path.to_owned(), source }
}
