//! What the core's errors, and bodies that don't fit, are to a client.

use sapwood_engine::write::WriteError;
use sapwood_http::json::JsonError;
use sapwood_http::problem::{Kind, Problem};

/// The problem that a write ended with.
pub(crate) fn refused(error: WriteError) -> Problem {
    let detail = error.to_string();
    let (kind, at) = match error {
        WriteError::Table(error) => return error.into(),
        WriteError::Key(error) => return error.into(),
        WriteError::NotFound => (Kind::NotFound, None),
        WriteError::Exists => (Kind::Exists, Some("id")),
        WriteError::ParentMissing(_) | WriteError::ParentUnreadable { .. } => (Kind::ParentMissing, Some("parent")),
        WriteError::Cycle { .. } | WriteError::Circle(_) => (Kind::Cycle, Some("parent")),
        WriteError::TooDeep { .. } => (Kind::TooDeep, Some("parent")),
        WriteError::BeingDeleted(_) => (Kind::Deleting, None),
        WriteError::HasChildren => (Kind::HasChildren, Some("children")),
        WriteError::PreconditionFailed => (Kind::PreconditionFailed, None),
        WriteError::ReservedName(_) => (Kind::ReservedName, Some("attributes")),
        WriteError::TooLarge { .. } => (Kind::ItemTooLarge, Some("attributes")),
        WriteError::Contended => (Kind::Contended, None),
        WriteError::InProgress => (Kind::InProgress, Some("idempotency-key")),
        WriteError::IdempotencyMismatch => (Kind::IdempotencyMismatch, Some("idempotency-key")),
    };
    let problem = Problem::new(kind, detail);
    match at {
        Some(at) => problem.at(at),
        None => problem,
    }
}

/// The problem with a body.
pub(crate) fn unfit(error: JsonError) -> Problem {
    error.into()
}
