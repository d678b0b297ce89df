//! Errors of `sapwood dev`.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use sapwood_core::keys::KeyError;
use sapwood_handlers::stream::ConfigError;
use sapwood_local::endpoint::TableError;
use sapwood_local::engine::EngineError;
use sapwood_local::mapping::{MappingError, Stopped};
use sapwood_local::template::TemplateError;

use crate::exit::{Exit, Failure};

/// Why the engine, the table or the mapping of `sapwood dev` and of `sapwood cost` can't start or go on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StackError {
    /// The engine didn't start or stop.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The table can't be created or used.
    #[error(transparent)]
    Table(#[from] TableError),
    /// The mapping didn't start, or failed.
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
    /// No key can be made of an id.
    #[error(transparent)]
    Key(#[from] KeyError),
}

/// Why `sapwood dev` can't continue. The message says what to do.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DevError {
    /// The engine, the table or the mapping can't start or go on.
    #[error(transparent)]
    Stack(StackError),
    /// The HTTP API can't be served.
    #[error("the HTTP API can't be served on {address}: {source}")]
    Http {
        /// The address to serve it on.
        address: SocketAddr,
        /// The reason.
        source: io::Error,
    },
    /// Other machines would reach the API, and --allow-remote is missing.
    #[error(
        "{address} isn't a loopback address, and the API has no authorizer: add --allow-remote if other machines may read and write the table"
    )]
    Remote {
        /// The address.
        address: SocketAddr,
    },
    /// The data directory can't be created.
    #[error("the directory {path} can't be created: {source}")]
    Directory {
        /// The data directory.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The demo can't read or write the table.
    #[error("the demo can't continue: {0}")]
    Demo(#[from] sapwood_store::TableError),
    /// The process can't wait for signals.
    #[error("can't wait for Ctrl-C: {0}")]
    Signal(io::Error),
    /// The demo can't print.
    #[error("can't print: {0}")]
    Print(io::Error),
}

impl<E> From<E> for DevError
where
    StackError: From<E>,
{
    fn from(error: E) -> Self {
        Self::Stack(error.into())
    }
}

impl Failure for DevError {
    fn exit(&self) -> Exit {
        Exit::Wrong
    }
}
