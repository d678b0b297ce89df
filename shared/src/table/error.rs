//! Why a request failed, by what its caller should do.

use thiserror::Error;

/// What a caller should do about a failed request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// Try again: throttling, a transaction that holds the item, a fault of the network or the service. A write may
    /// have been applied all the same.
    Retry,
    /// Leave it: the table refuses this write, and will the next time.
    Refuse,
    /// Stop: it may work when somebody has mended something (a permission, a table's name), but not now.
    GiveUp,
}

/// A request that failed. Neither the text nor the source holds attributes of items.
#[derive(Debug, Error)]
#[error("{message}")]
pub struct TableError {
    /// What to do about it.
    pub kind: ErrorKind,
    message: String,
}

impl TableError {
    /// An error with a message for the log.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }
}
