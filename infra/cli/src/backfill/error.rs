//! Errors of `sapwood backfill`.

use sapwood_core::audit::NotBegun;
use sapwood_import::work::WorkError;
use sapwood_store::TableError;

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
    /// The totals can't be begun anew.
    #[error("{}", not_begun(.0))]
    Epoch(NotBegun),
    /// There is no terminal to ask on.
    #[error("there is no terminal to ask on: give --yes to write without asking, or --dry-run")]
    NobodyToAsk,
}

fn not_begun(reason: &NotBegun) -> String {
    match reason {
        NotBegun::Taken => "somebody else has begun all totals anew meanwhile. Let that end; the same command begins them once more".to_owned(),
        NotBegun::Newer(newer) => format!("the totals can't be begun anew: {newer}. Use the version of sapwood that has written it"),
        NotBegun::AllAround => {
            "the totals can't be begun anew: somebody has written epochs that lie all around the circle of their numbers. `sapwood repair` brings them \
             together first"
                .to_owned()
        }
    }
}

impl Failure for BackfillError {}
