//! Why a write wasn't done, by what to tell the caller.

use thiserror::Error;

use sapwood_core::keys::{DEPTH_MAX, Id, KeyError};
use sapwood_core::model::Unreadable;
use sapwood_table::TableError;

/// Why a write wasn't done. Nothing of it is, unless the table gave no answer ([`WriteError::Table`]).
#[derive(Debug, Error)]
pub enum WriteError {
    /// There is no such node or revision.
    #[error("it doesn't exist")]
    NotFound,
    /// There is one already.
    #[error("it exists already")]
    Exists,
    /// The parent isn't there.
    #[error("the parent `{0}` doesn't exist; create it first")]
    ParentMissing(Id),
    /// The parent's record can't be understood, so nothing can be put under it.
    #[error("the record of the parent `{id}` can't be understood: {source}")]
    ParentUnreadable {
        /// The parent.
        id: Id,
        /// What is wrong with it.
        source: Unreadable,
    },
    /// The node would come to be below itself.
    #[error("`{parent}` is `{node}` itself or below it; move it somewhere else")]
    Cycle {
        /// The node.
        node: Id,
        /// Its new parent.
        parent: Id,
    },
    /// The way up from the new parent runs in a circle that another client has made.
    #[error("the way up from `{0}` runs in a circle; make one of its nodes a root first")]
    Circle(Id),
    /// The node, or what is below it, would come to be too deep.
    #[error("it would be {depth} levels deep, over the limit of {DEPTH_MAX}; put it under a node further up")]
    TooDeep {
        /// How deep at least.
        depth: usize,
    },
    /// The node, or one above it or above its new parent, is being deleted.
    #[error("`{0}` is being deleted")]
    BeingDeleted(Id),
    /// It has children, and they were to be spared.
    #[error("it has children; remove or move them first, or say what becomes of them")]
    HasChildren,
    /// `If-Match` or `If-None-Match` doesn't hold of what is there.
    #[error("it isn't in the state that the request asks for; read it again")]
    PreconditionFailed,
    /// An attribute's name that is the table's.
    #[error("`{0}` is a reserved name; give the attribute another one")]
    ReservedName(String),
    /// The item would be too large.
    #[error("it has {bytes} bytes as an item, over the limit of {limit}; make it smaller")]
    TooLarge {
        /// Its size.
        bytes: usize,
        /// The largest there can be.
        limit: usize,
    },
    /// No key can be made of an id, a topic or a version, or a segment can't be one.
    #[error("{0}")]
    Key(#[from] KeyError),
    /// Others kept writing the same records, until time was up.
    #[error("others keep changing the same nodes; try again")]
    Contended,
    /// Another request with this `Idempotency-Key` is being worked on.
    #[error("a request with this key is still being worked on; try again later")]
    InProgress,
    /// The `Idempotency-Key` came with another request before.
    #[error("this key came with another request before; use a new one")]
    IdempotencyMismatch,
    /// The table failed. Where it gave no answer the write may have been applied all the same.
    #[error("{0}")]
    Table(#[from] TableError),
}
