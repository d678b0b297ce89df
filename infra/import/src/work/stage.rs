//! How far a working file is.

use rusqlite::Connection;

use super::tables::{integer, set};
use super::{Work, WorkError};

/// The next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stage {
    /// Records are taken in.
    Loading,
    /// Nodes that paths imply are added, and keys are sorted.
    Sorting,
    /// Duplicates are found.
    Duplicates,
    /// Missing parents are found.
    Parents,
    /// Nodes are linked with their parents.
    Linking,
    /// Nodes are placed, level by level.
    Placing,
    /// Cycles and depths are found.
    Cycles,
    /// Costs are counted, and records wait to be written.
    Counting,
    /// Everything was checked.
    Checked,
}

impl Stage {
    /// All stages, in their order.
    pub(super) const ALL: [Self; 9] = [
        Self::Loading,
        Self::Sorting,
        Self::Duplicates,
        Self::Parents,
        Self::Linking,
        Self::Placing,
        Self::Cycles,
        Self::Counting,
        Self::Checked,
    ];
}

const STAGE: &str = "stage";

/// Says what is to be done next, in the transaction that did what was before.
pub(super) fn enter(connection: &Connection, stage: Stage) -> rusqlite::Result<()> {
    set(connection, STAGE, stage as i64)
}

impl Work {
    pub(super) fn stage(&self) -> Result<Stage, WorkError> {
        let number = integer(&self.connection, STAGE)?;
        let stage = Stage::ALL.into_iter().find(|stage| *stage as i64 == number);
        stage.ok_or_else(|| WorkError::NotOurs { path: self.path.clone() })
    }
}
