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
    /// Rows that an earlier placement was still stale_rows stay named.
    KeepStaleRows,
    /// Rows are put before others are deleted.
    PutFirst,
    /// A placement made by touches alone is marked until its rows are put.
    RowsPending,
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
    /// A lineage that says its node is being deleted releases the node's children.
    ChildActions,
    /// Children are released, and the node deleted, only while its base record and its lineage both say so.
    DeletionPresent,
    /// The node is looked at again after its children were read.
    DeletionRecheck,
    /// A child is released only if it is as it was read.
    ChildCondition,
    /// A child that changed meanwhile is looked at again.
    ChildAgain,
    /// A child is adopted together with a check of the parent that it goes from.
    AdoptTogether,
    /// A child whose parent is gone is adopted together with a check of the whole way up.
    AdoptAncestorPath,
    /// Where the one who should adopt has been removed as well, that decides.
    AdoptOnwards,
    /// A node being deleted is deleted after its last child is released.
    FinishLast,
    /// It is deleted only while it is being deleted by this operation.
    FinishCondition,
    /// Each mark that a child is given is one of its own, not that of the operation.
    FreshMark,
    /// A cursor goes on with the removal that its own mark stands for only.
    CursorMark,
    /// A cursor goes after the node, not before.
    FinishFirst,
    /// A removed node's lineage gives way to a tombstone.
    Tombstone,
    /// A tombstone releases only children that the API has put under the node.
    TombstoneUnder,
    /// A tombstone counts only while its node isn't there.
    TombstoneGone,
    /// A lineage that gives way to a tombstone touches the children that are still there.
    TouchRemaining,
    /// A node that isn't removed after all has all its rows put.
    UndeletePuts,
    /// A revision is deleted only if it is as it was read.
    RevisionCondition,
    /// A move checks the way of the moved node, not that of its new parent alone.
    OwnAncestorPath,
    /// A move checks the ways it has read at all.
    AncestorPathChecks,
}

/// Which rules are kept: all of them, outside of tests. Asking costs one comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    broken: Option<Rule>,
}

impl Rules {
    /// All rules but one: what a test breaks on purpose.
    #[must_use]
    pub fn without(rule: Rule) -> Self {
        Self { broken: Some(rule) }
    }

    /// True while the rule is kept.
    #[must_use]
    pub fn keeps(self, rule: Rule) -> bool {
        self.broken != Some(rule)
    }
}
