//! Errors of `sapwood import` and `sapwood export`.

use std::io;
use std::path::PathBuf;

use sapwood_core::keys::Id;
use sapwood_import::sources::OpenError;
use sapwood_import::work::WorkError;
use sapwood_store::TableError;

use crate::connect::ConnectError;
use crate::exit::{Exit, Failure};
use crate::placed::NotPlaced;
use crate::recognised::Unrecognised;

/// Why an import or an export can't go on. The message says what to do.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TransferError {
    /// The table can't be reached.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// Nothing in the table is recognised.
    #[error(transparent)]
    Unrecognised(#[from] Unrecognised),
    /// The file can't be read.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// There is nothing to import.
    #[error("{} has no record: nothing is written. Check that it was written completely", .0.display())]
    NoRecord(PathBuf),
    /// The working file can't be used.
    #[error(transparent)]
    Work(#[from] WorkError),
    /// A request failed for good.
    #[error("the table can't be read or written: {0}. The same command goes on from here")]
    Table(#[from] TableError),
    /// A person has stopped it.
    #[error("stopped. The same command goes on from here")]
    Stopped,
    /// The process can't wait for signals.
    #[error("can't wait for Ctrl-C: {0}")]
    Signal(io::Error),
    /// An option's value is wrong.
    #[error("{0}")]
    Option(String),
    /// A file can't be written.
    #[error("{path} can't be written: {source}")]
    Output {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// An item of the table can't be exported.
    #[error("the item {pk} | {sk} can't be written as JSON: {reason}")]
    Item {
        /// The partition key.
        pk: String,
        /// The sort key.
        sk: String,
        /// The reason.
        reason: String,
    },
    /// There is no such node.
    #[error("there is no node `{id}`")]
    Absent {
        /// The id.
        id: String,
    },
    /// A deletion doesn't get on. What the file has below it may go with it, so nothing more is written.
    #[error(
        "{place}: the node `{id}` is being deleted, and for two minutes the stream handler hasn't ended that. See whether it runs (`sapwood doctor`); the same command goes on from here"
    )]
    BeingDeleted {
        /// The record's place in the file.
        place: String,
        /// The node, or the record's parent.
        id: Id,
    },
    /// The stream handler doesn't place the parents.
    #[error("{0}. With --no-wait an import doesn't wait, and costs more")]
    NotPlaced(#[from] NotPlaced),
}

impl Failure for TransferError {
    fn exit(&self) -> Exit {
        match self {
            Self::Absent { .. } | Self::NoRecord(_) => Exit::Wrong,
            Self::Option(_) => Exit::Usage,
            Self::Stopped => Exit::Unfinished,
            _ => Exit::Failed,
        }
    }
}
