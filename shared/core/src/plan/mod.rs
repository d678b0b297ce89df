//! How a decision that takes several requests is made, without a table, a clock or randomness.
//!
//! Such a decision is a [`Plan`], a protocol in straight code: it asks for what it needs to know, says
//! what to write, and gets the outcome. Its executor reads and writes, and decides nothing. The plans of the stream
//! handler are in [`fanout`](crate::fanout), those of the API in [`write`](mod@crate::write), and those of the
//! comparison in [`audit`](crate::audit). Here is what they share: [steps](step), and the two searches that all of
//! them make: [the ancestors of a node](ancestry), and [the newest revision](mod@newest).

pub mod ancestry;
pub mod conditions;
pub mod newest;
mod protocol;
pub mod step;

pub use protocol::{Io, Plan};
pub use step::{Added, Counting, Facts, Failure, Need, Read, Step, Task, TaskOutcome, Writes, WritesKind};

pub use crate::rules::{Rule, Rules};

use crate::keys::ItemKey;

/// The report of a plan.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlanReport {
    /// The counts of its work.
    pub tally: Tally,
    /// Faults that no retry can mend.
    pub problems: Vec<Problem>,
}

/// A fault that no retry can mend. The text holds keys, never attributes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// The item that has the fault.
    pub key: ItemKey,
    /// The fault and the remedy.
    pub reason: String,
    /// True if a base record, or a stream record, can't be understood. It is skipped, or counts as not there.
    pub unreadable: bool,
}

/// Counts of the work of plans.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Rounds in which nodes were placed.
    pub rounds: u64,
    /// Rows put. Lineages and copies don't count.
    pub rows_put: u64,
    /// Rows deleted.
    pub rows_deleted: u64,
    /// Children touched.
    pub touches: u64,
    /// `v0_` copies written or deleted.
    pub copies: u64,
    /// Children of deleted nodes that were marked, adopted or detached.
    pub child_actions: u64,
    /// Nodes that the handler deleted.
    pub nodes_deleted: u64,
    /// Nodes that the handler has made as copies of others.
    pub nodes_copied: u64,
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.rounds += other.rounds;
        self.rows_put += other.rows_put;
        self.rows_deleted += other.rows_deleted;
        self.touches += other.touches;
        self.copies += other.copies;
        self.child_actions += other.child_actions;
        self.nodes_deleted += other.nodes_deleted;
        self.nodes_copied += other.nodes_copied;
    }
}
