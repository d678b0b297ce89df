//! Why a read fails.

use thiserror::Error;

use sapwood_core::keys::KeyError;
use sapwood_core::model::Unreadable;
use sapwood_store::TableError;

/// Why a read fails. A client may be shown the text, except that of [`ReadError::Table`].
#[derive(Clone, Debug, Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The table didn't answer.
    #[error(transparent)]
    Table(#[from] TableError),
    /// The node, revision or topic doesn't exist.
    #[error("there is no {what}")]
    Absent {
        /// The node, topic or revision, by its ids.
        what: String,
    },
    /// The node's base record can't be understood, so the node counts as absent.
    #[error("the node's record can't be understood, so the node counts as absent: {0}")]
    Unreadable(Unreadable),
    /// The deployment keeps no rows of this kind.
    #[error("this deployment keeps no {what}; switch them on: `--parameter {parameter}`")]
    SwitchedOff {
        /// The lists that the rows are for.
        what: &'static str,
        /// The template's parameter that switches them on, with a value.
        parameter: &'static str,
    },
    /// The nodes were placed before the deployment kept rows of this kind.
    #[error("these nodes were placed before the deployment kept {what}; run `sapwood backfill`, and ask again")]
    NotBackfilled {
        /// The lists that the rows are for.
        what: &'static str,
    },
    /// No key can be made of a parameter.
    #[error("{source}")]
    Key {
        /// The parameter.
        parameter: &'static str,
        /// Why no key can be made.
        source: KeyError,
    },
    /// Parameters contradict each other, or are out of bounds.
    #[error("{reason}")]
    Parameter {
        /// The parameter.
        parameter: &'static str,
        /// The remedy.
        reason: &'static str,
    },
    /// A question about an attribute that isn't the user's own.
    #[error(
        "`{name}` is no attribute of your own: it is a part of the key, the parent, the segment, or one of Sapwood's"
    )]
    Reserved {
        /// The parameter.
        parameter: &'static str,
        /// The attribute.
        name: String,
    },
    /// The answer would be larger than a function's can be.
    #[error("the {what} have more than the 4 MB that there can be; {instead}")]
    TooLarge {
        /// The part that is too large.
        what: &'static str,
        /// The remedy.
        instead: &'static str,
    },
    /// A newer version has written what the auditor keeps, so the auditor of this version does nothing.
    #[error(
        "the audit can't be told: the auditor's item (SAPWOOD, AUDIT) has format {format}, which a newer version has written. The auditor \
         of this version compares and mends nothing; deploy that version, or delete the item"
    )]
    NewerAudit {
        /// The item's format.
        format: u64,
    },
    /// The list has no such position. The cursor was made when the table's keys were spelt differently.
    #[error("this cursor no longer works; read the list from its beginning")]
    Position,
}
