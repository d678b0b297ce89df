use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Why the embedded DynamoDB doesn't start or stop.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The engine checks no credentials, so nobody else may reach it.
    #[error(
        "{0} isn't a loopback address: the embedded DynamoDB checks no credentials and listens on 127.0.0.1 or ::1 only"
    )]
    NotLoopback(SocketAddr),
    /// Somebody else listens there.
    #[error("{0} is in use already: choose another port, or stop what listens there")]
    PortInUse(SocketAddr),
    /// The address can't be listened on for another reason.
    #[error("can't listen on {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// The data directory can't be made or written.
    #[error("the data directory {path} can't be used: {source}")]
    Directory {
        /// The directory.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// Another process has the data directory open: two engines on one file would lose writes.
    #[error("the data directory {path} is in use by another process: stop that one, or choose another directory")]
    DirectoryInUse {
        /// The directory.
        path: PathBuf,
    },
    /// The data file is damaged, none of ours, or of a newer version.
    #[error("the data file {path} can't be read: {reason}. Move it away to start with an empty table")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the engine says.
        reason: String,
    },
    /// The engine's thread couldn't be started, or ended with an error.
    #[error("the embedded DynamoDB failed: {0}")]
    Server(String),
}
