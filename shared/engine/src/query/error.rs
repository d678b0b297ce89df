//! Why a read has no answer.

use thiserror::Error;

use sapwood_core::keys::KeyError;
use sapwood_core::model::Unreadable;
use sapwood_table::TableError;

/// Why a read has no answer. The text may be shown to a client, but for that of [`ReadError::Table`].
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The table didn't answer.
    #[error(transparent)]
    Table(#[from] TableError),
    /// There is no such node, revision or topic.
    #[error("there is no such {what}")]
    Absent {
        /// What was asked for.
        what: &'static str,
    },
    /// The node's base record can't be understood, and counts as not there.
    #[error("the node's record can't be understood, and counts as not there: {0}")]
    Unreadable(Unreadable),
    /// Rows of this kind are switched off in this deployment.
    #[error("this deployment keeps no {what} rows; switch them on with {variable}")]
    SwitchedOff {
        /// The kind of row.
        what: &'static str,
        /// The variable that switches them on.
        variable: &'static str,
    },
    /// A parameter out of which no key can be made.
    #[error("{source}")]
    Key {
        /// The parameter.
        parameter: &'static str,
        /// What is wrong with it.
        source: KeyError,
    },
    /// Parameters that don't go together, or are out of bounds.
    #[error("{reason}")]
    Parameter {
        /// The parameter.
        parameter: &'static str,
        /// What to do about it.
        reason: &'static str,
    },
    /// A position that this list doesn't have: its cursor was made when the table's keys were spelt otherwise.
    #[error("this cursor is of no use any more; read the list from its beginning")]
    Position,
}
