//! Errors of `sapwood backfill`.

use sapwood_import::work::WorkError;
use sapwood_table::TableError;

use crate::connect::ConnectError;
use crate::exit::Failure;
use crate::placed::NotPlaced;
use crate::recognised::Unrecognised;

/// Why a backfill can't go on. The message says what to do.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BackfillError {
    /// The table can't be reached.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// Nothing in the table is recognised.
    #[error(transparent)]
    Unrecognised(#[from] Unrecognised),
    /// The working file can't be used.
    #[error(transparent)]
    Work(#[from] WorkError),
    /// A request failed for good.
    #[error("the table can't be read or written: {0}. The same command goes on from here")]
    Table(#[from] TableError),
    /// The stream handler doesn't place the parents.
    #[error(transparent)]
    NotPlaced(#[from] NotPlaced),
    /// Siblings may have the same name.
    #[error(
        "UniqueNames is off here (UNIQUE_NAMES), so there are no names to claim: deploy the parameter first, or name it with --parameter"
    )]
    NoNames,
    /// No totals are kept.
    #[error(
        "Totals is empty here (TOTALS), so there is nothing to count: deploy the parameter first, or name it with --parameter"
    )]
    NoTotals,
    /// The epoch of totals can't be begun.
    #[error("the totals can't be begun anew: {0}. The same command tries again")]
    Epoch(String),
    /// There is no terminal to ask on.
    #[error("there is no terminal to ask on: give --yes to write without asking, or --dry-run")]
    NobodyToAsk,
}

impl Failure for BackfillError {}
