//! The rules of the protocol that can be broken on purpose, to see that the simulation finds it.

/// A rule of the fan-out protocol. ARCHITECTURE.md has the reason for each. The code asks
/// [`Rules::keeps`] at the one place where a rule acts; outside of tests the answer is always yes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Rule {
    /// After its rows are written a node's parent is read again.
    Confirm,
    /// The parent is compared with what the plan used, planned or read, not with what was read.
    ConfirmAgainstUsed,
    /// The path counts in that comparison, not the ancestors alone.
    ConfirmPath,
    /// So does whether the parent is there at all.
    ConfirmPresence,
    /// The lineage is written before the rows that it names.
    Intent,
    /// Rows that an earlier placement was still retracting stay named.
    KeepRetracting,
    /// Rows are put before others are deleted.
    PutFirst,
    /// A placement made by touches alone is marked until its rows are put.
    Unput,
    /// A node's ancestors end before the node itself.
    CutCycle,
    /// The path is cut to as many segments as there are ancestors.
    CutPath,
    /// A changed path is handed down, not changed ancestors alone.
    CascadePath,
    /// Every change of a lineage in a batch counts, not the net of them.
    CascadeAnyChange,
    /// Children are touched with the newest change's sequence number.
    NewestSequence,
    /// A cursor is advanced and deleted only while it is still this change's.
    CursorCondition,
    /// A node whose parent has no lineage stands in the register of orphans.
    OrphanRow,
    /// "Touches only" means every record of the node in the batch.
    AllTouches,
    /// A copy is put only over an older one.
    LatestCondition,
    /// What a copy was made of is looked at again.
    LatestSecondLook,
    /// A failed item fails its first record in the batch.
    FailFirstRecord,
    /// A move checks the way of the moved node, not that of its new parent alone.
    WayOfMoved,
    /// A move checks the ways it has read at all.
    WayChecks,
}

/// Which rules are kept: all of them, outside of tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    #[cfg(feature = "mutants")]
    broken: Option<Rule>,
}

impl Rules {
    /// All rules but one.
    #[cfg(feature = "mutants")]
    #[must_use]
    pub fn without(rule: Rule) -> Self {
        Self { broken: Some(rule) }
    }

    /// Whether a rule is kept.
    #[must_use]
    #[cfg_attr(not(feature = "mutants"), allow(clippy::unused_self))]
    pub fn keeps(self, rule: Rule) -> bool {
        #[cfg(feature = "mutants")]
        return self.broken != Some(rule);
        #[cfg(not(feature = "mutants"))]
        {
            let _ = rule;
            true
        }
    }
}
