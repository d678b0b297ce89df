//! Why `sapwood dev` can't go on.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use sapwood_local::endpoint::TableError;
use sapwood_local::engine::EngineError;
use sapwood_local::mapping::{MappingError, Stopped};
use sapwood_local::template::TemplateError;
use stream_handler::ConfigError;

/// Why `sapwood dev` can't go on. The text says what to do.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DevError {
    /// The engine doesn't start or stop.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The table isn't as it should be.
    #[error(transparent)]
    Table(#[from] TableError),
    /// The mapping doesn't start, or failed.
    #[error(transparent)]
    Mapping(#[from] MappingError),
    /// The mapping has stopped.
    #[error(transparent)]
    Stopped(#[from] Stopped),
    /// The template or one of its parameters is wrong.
    #[error(transparent)]
    Template(#[from] TemplateError),
    /// A variable that the template gives the function is wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The HTTP API can't be served.
    #[error("the HTTP API can't be served on {address}: {source}")]
    Http {
        /// Where it was to be.
        address: SocketAddr,
        /// Why not.
        source: io::Error,
    },
    /// The data directory can't be made.
    #[error("the directory {path} can't be made: {source}")]
    Directory {
        /// The directory.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The demo can't read or write.
    #[error("the demo can't go on: {0}")]
    Demo(#[from] sapwood_table::TableError),
    /// Signals can't be waited for.
    #[error("can't wait for Ctrl-C: {0}")]
    Signal(io::Error),
    /// Nothing can be printed.
    #[error("can't print: {0}")]
    Print(io::Error),
}
