//! Errors of the embedded engine.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Why the embedded DynamoDB doesn't start or stop.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum EngineError {
    /// The address isn't a loopback address. The engine checks no credentials, so no other machine may reach it.
    #[error(
        "{0} isn't a loopback address: the embedded DynamoDB checks no credentials and listens on 127.0.0.1 or ::1 only, unless --container opens it"
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
