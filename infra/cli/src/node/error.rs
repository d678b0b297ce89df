//! Errors of the commands on one node, and of `sapwood tree`.

use std::io;
use std::path::PathBuf;

use sapwood_core::keys::KeyError;
use sapwood_engine::query::ReadError;
use sapwood_engine::write::{Refusal, WriteError};
use sapwood_store::TableError;

use crate::ask::NobodyToAsk;
use crate::connect::ConnectError;
use crate::exit::{Exit, Failure};

/// Why a command on a node isn't done. The message says what to do.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NodeError {
    /// The table can't be reached.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// It isn't there, or can't be read.
    #[error("{0}")]
    Read(#[from] ReadError),
    /// It is refused, or can't be written.
    #[error("{0}")]
    Write(#[from] WriteError),
    /// The node's rows can't be read.
    #[error("the table can't be read: {0}")]
    Table(#[from] TableError),
    /// The id, the topic or the tenant is none.
    #[error("{0}")]
    Key(#[from] KeyError),
    /// Attributes are wrong.
    #[error("{option}: {reason}")]
    Attributes {
        /// The option that has them.
        option: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// A file of attributes can't be read.
    #[error("{path} can't be read: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// What was read can't be printed.
    #[error("it can't be written as JSON: {0}")]
    Json(String),
    /// There is no terminal to ask on.
    #[error(transparent)]
    NobodyToAsk(#[from] NobodyToAsk),
}

impl Failure for NodeError {
    fn exit(&self) -> Exit {
        match self {
            // Others kept writing, or no answer came: nothing is known of the node.
            Self::Write(WriteError::Refused(Refusal::Contended | Refusal::OutcomeUnknown)) => Exit::Failed,
            Self::Read(ReadError::Absent { .. } | ReadError::Unreadable(_)) | Self::Write(WriteError::Refused(_)) => {
                Exit::Wrong
            }
            Self::Key(_)
            | Self::Attributes { .. }
            | Self::Read(
                ReadError::Key { .. }
                | ReadError::Parameter { .. }
                | ReadError::Reserved { .. }
                | ReadError::Position
                | ReadError::SwitchedOff { .. }
                | ReadError::NotBackfilled { .. },
            ) => Exit::Usage,
            _ => Exit::Failed,
        }
    }
}
