//! Why a read fails.

use thiserror::Error;

use sapwood_core::keys::KeyError;
use sapwood_core::model::Unreadable;
use sapwood_store::TableError;

/// Why a read fails. A client may be shown the text, except that of [`ReadError::Table`].
#[derive(Clone, Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum ReadError {
    /// The table didn't answer.
    #[error(transparent)]
    Table(#[from] TableError),
    /// The node, revision or topic doesn't exist.
    #[error("there is no {what}")]
    Absent { what: String },
    /// The node's base record can't be understood, so the node counts as absent.
    #[error("the node's record can't be understood, so the node counts as absent: {0}")]
    Unreadable(Unreadable),
    /// The deployment keeps no rows for these lists. A parameter of the template, with this value, switches them on.
    #[error("this deployment keeps no {what}; switch them on: `--parameter {parameter}`")]
    SwitchedOff { what: &'static str, parameter: &'static str },
    /// The nodes were placed before the deployment kept rows for these lists.
    #[error("these nodes were placed before the deployment kept {what}; run `sapwood backfill`, and ask again")]
    NotBackfilled { what: &'static str },
    /// No key can be made of a parameter.
    #[error("{source}")]
    Key { parameter: &'static str, source: KeyError },
    /// Parameters contradict each other, or are out of bounds. The reason says what to do.
    #[error("{reason}")]
    Parameter { parameter: &'static str, reason: &'static str },
    /// A question about an attribute that isn't the user's own.
    #[error(
        "`{name}` is no attribute of your own: it is a part of the key, the parent, the segment, or one of Sapwood's"
    )]
    Reserved { parameter: &'static str, name: String },
    /// The answer would be larger than a function's can be.
    #[error("the {what} have more than the 4 MB that there can be; {instead}")]
    TooLarge { what: &'static str, instead: &'static str },
    /// A newer version has written what the auditor keeps, so the auditor of this version does nothing.
    #[error(
        "the audit can't be told: the auditor's item (SAPWOOD, AUDIT) has format {format}, which a newer version has written. The auditor \
         of this version compares and mends nothing; deploy that version, or delete the item"
    )]
    NewerAudit { format: u64 },
    /// The list has no such position. The cursor was made when the table's keys were spelt differently.
    #[error("this cursor no longer works; read the list from its beginning")]
    Position,
}
