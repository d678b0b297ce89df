//! What the core's refusals, and bodies that don't fit, are to a client.

use axum::http::header::RETRY_AFTER;
use sapwood_core::write::{Precondition, Refusal};
use sapwood_engine::write::WriteError;

use super::answer::{located, node_url, operation_url};
use crate::problem::{Kind, Problem};

impl From<WriteError> for Problem {
    fn from(error: WriteError) -> Self {
        let refusal = match error {
            WriteError::Table(error) => return error.into(),
            WriteError::Refused(Refusal::Key(error)) => return error.into(),
            WriteError::Refused(refusal) => refusal,
        };
        let (kind, at) = kind_of(&refusal);
        let problem = match kind {
            Kind::Internal => Self::internal(),
            kind => Self::new(kind, refusal.to_string()),
        };
        let problem = match at {
            Some(at) => problem.at(at),
            None => problem,
        };
        match refusal {
            Refusal::BeingDeleted { operation: Some(operation), .. } => located(problem, operation_url(&operation)),
            Refusal::NameTaken { id, .. } => located(problem.because_of(id.as_str()), node_url(&id)),
            Refusal::InProgress(seconds) => problem.header(RETRY_AFTER, seconds.into()),
            Refusal::OutcomeUnreadable => {
                tracing::error!("the stored outcome of an idempotency key can't be read");
                problem
            }
            Refusal::OutcomeUnknown => {
                tracing::warn!("the table gave a write no answer, and its outcome is unknown");
                problem
            }
            _ => problem,
        }
    }
}

/// Returns the kind of a refusal, and the field, parameter or header that caused it.
fn kind_of(refusal: &Refusal) -> (Kind, Option<&'static str>) {
    match refusal {
        Refusal::Key(_) => (Kind::BadKey, None),
        Refusal::OutcomeUnreadable => (Kind::Internal, None),
        Refusal::NotFound => (Kind::NotFound, None),
        Refusal::Exists => (Kind::Exists, Some("id")),
        Refusal::ParentMissing(_) | Refusal::ParentUnreadable { .. } => (Kind::ParentMissing, Some("parent")),
        Refusal::Cycle { .. } | Refusal::Circle(_) => (Kind::Cycle, Some("parent")),
        Refusal::TooDeep { .. } | Refusal::TooDeepToCheck => (Kind::TooDeep, Some("parent")),
        Refusal::BeingDeleted { .. } => (Kind::Deleting, None),
        Refusal::NameTaken { .. } => (Kind::NameTaken, Some("segment")),
        Refusal::NamesNotUnique => (Kind::BadValue, Some("on_conflict")),
        Refusal::NameObstructed(_) => (Kind::BadKey, Some("segment")),
        Refusal::Unreadable(_) => (Kind::BadValue, None),
        Refusal::InTrash | Refusal::ChildrenInTrash => (Kind::InTrash, None),
        Refusal::ParentInTrash { .. } => (Kind::InTrash, Some("parent")),
        Refusal::NotInTrash => (Kind::NotInTrash, None),
        Refusal::NoWayBack { .. } => (Kind::NoWayBack, Some("parent")),
        Refusal::HasChildren => (Kind::HasChildren, Some("children")),
        Refusal::NotUpToDate => (Kind::NotUpToDate, None),
        Refusal::SiblingsNotUpToDate => (Kind::NotUpToDate, Some("position")),
        Refusal::PreconditionFailed(Precondition::IfMatch) => (Kind::PreconditionFailed, Some("if-match")),
        Refusal::PreconditionFailed(Precondition::IfNoneMatch) => (Kind::PreconditionFailed, Some("if-none-match")),
        Refusal::PreconditionFailed(Precondition::IfMatchOfRevision) => {
            (Kind::PreconditionFailed, Some("revision.if_match"))
        }
        Refusal::NotByHand | Refusal::RootsUnordered | Refusal::PlacedTwice(_) | Refusal::PlaceNotText { .. } => {
            (Kind::BadValue, Some("position"))
        }
        Refusal::Link(_) => (Kind::BadValue, Some("attributes")),
        Refusal::NotASibling(_) => (Kind::NotASibling, Some("position")),
        Refusal::NoRoom { .. } => (Kind::NoRoom, Some("position")),
        Refusal::SiblingsTooLarge { .. } => (Kind::ItemTooLarge, Some("position")),
        Refusal::ReservedName(_) => (Kind::ReservedName, Some("attributes")),
        Refusal::TooLarge { .. } | Refusal::TooLongAsJson { .. } | Refusal::TooManyAttributes(_) => {
            (Kind::ItemTooLarge, Some("attributes"))
        }
        Refusal::Contended => (Kind::Contended, None),
        Refusal::OutcomeUnknown => (Kind::OutcomeUnknown, None),
        Refusal::TooManyCopies(_) => (Kind::TooManyCopies, None),
        Refusal::InProgress(_) => (Kind::InProgress, Some("idempotency-key")),
        Refusal::IdempotencyMismatch => (Kind::IdempotencyMismatch, Some("idempotency-key")),
    }
}
