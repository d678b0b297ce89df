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
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct TableError {
    /// What to do about it.
    pub kind: ErrorKind,
    message: String,
    conflict: bool,
}

impl TableError {
    /// An error with a message for the log.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), conflict: false }
    }

    /// A transaction under way holds an item of the request: to be tried again.
    pub fn conflict(message: impl Into<String>) -> Self {
        Self { kind: ErrorKind::Retry, message: message.into(), conflict: true }
    }

    /// Whether it is a [`TableError::conflict`].
    #[must_use]
    pub fn is_conflict(&self) -> bool {
        self.conflict
    }
}
