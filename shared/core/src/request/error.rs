//! The errors of requests, by what the caller should do.

use thiserror::Error;

/// The remedy of a caller for a failed request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// Try again. The table throttles, a transaction holds the item, or the network or the service has a fault. A write
    /// may have been carried out all the same.
    Retry,
    /// Leave the write out. The table refuses it now and at every retry.
    Refuse,
    /// Stop. The request may succeed once an operator has mended something, such as a permission, but not now.
    GiveUp,
}

/// A request that failed. Neither the text nor the source holds attributes of items.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct TableError {
    /// The remedy.
    pub kind: ErrorKind,
    message: String,
    cause: Cause,
}

/// More of an error's cause than what the caller should do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    Conflict,
    NoAnswer,
    Late,
    TooLarge,
    Other,
}

impl TableError {
    /// An error with a message for the log.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), cause: Cause::Other }
    }

    /// The error of a request for an item that a running transaction holds. Its kind is [`ErrorKind::Retry`].
    pub fn conflict(message: impl Into<String>) -> Self {
        Self { kind: ErrorKind::Retry, message: message.into(), cause: Cause::Conflict }
    }

    /// The error of a request that was sent and got no answer. A write may have been carried out, or may be carried out
    /// later: after a retry, and after whatever others write. Its kind is [`ErrorKind::Retry`].
    pub fn unanswered(message: impl Into<String>) -> Self {
        Self { kind: ErrorKind::Retry, message: message.into(), cause: Cause::NoAnswer }
    }

    /// The error of a request that got no answer in the time that a request may take. It is
    /// [unanswered](TableError::is_unanswered), and may be too large for the network or the engine.
    pub fn late(message: impl Into<String>) -> Self {
        Self { kind: ErrorKind::Retry, message: message.into(), cause: Cause::Late }
    }

    /// The error of a request that is too large as a whole, whatever its items have. Its kind is [`ErrorKind::Refuse`].
    pub fn too_large(message: impl Into<String>) -> Self {
        Self { kind: ErrorKind::Refuse, message: message.into(), cause: Cause::TooLarge }
    }

    /// True for an error that [`TableError::too_large`] made.
    #[must_use]
    pub fn is_too_large(&self) -> bool {
        self.cause == Cause::TooLarge
    }

    /// True for an error that [`TableError::conflict`] made.
    #[must_use]
    pub fn is_conflict(&self) -> bool {
        self.cause == Cause::Conflict
    }

    /// True for an error that [`TableError::unanswered`] or [`TableError::late`] made.
    #[must_use]
    pub fn is_unanswered(&self) -> bool {
        matches!(self.cause, Cause::NoAnswer | Cause::Late)
    }

    /// True for an error that [`TableError::late`] made.
    #[must_use]
    pub fn is_late(&self) -> bool {
        self.cause == Cause::Late
    }
}
