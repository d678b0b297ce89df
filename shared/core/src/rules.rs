//! The rules of the protocol. A test breaks one on purpose, and the simulation must find a fault.

use crate::request::Condition;

/// A rule of the protocol. `docs/internals/protocol` has the step of each. The plans ask [`Rules::keeps`] where a rule
/// acts; outside of tests the answer is always yes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Rule {
    /// After the rows of a node are written, its parent is read again.
    Confirm,
    /// The parent read again is compared with what the plan used (planned or read), not with what was read first.
    ConfirmAgainstUsed,
    /// This comparison includes the path, not the ancestors alone.
    ConfirmPath,
    /// This comparison includes whether the parent has a lineage at all.
    ConfirmPresence,
    /// This comparison includes whether the parent is in the trash.
    ConfirmTrash,
    /// The base record of a parent that was predicted is read again as well.
    ConfirmBase,
    /// The orphans of a node that is gone and was never placed are touched.
    TouchNeverPlaced,
    /// The lineage is written before the rows that it names.
    Intent,
    /// Rows that an earlier placement still had to delete stay named in the lineage.
    KeepStaleRows,
    /// Of the items that a lineage names only rows of its node are deleted.
    OwnRows,
    /// A row is deleted only while its `_id` says that it shows its node.
    RowsById,
    /// An item in the place of a lineage is deleted only if it has a format.
    OwnLineage,
    /// Where a lineage has no room for old and new rows together, the old ones are deleted first.
    RoomForIntent,
    /// Rows are put before others are deleted.
    PutFirst,
    /// A placement made by touches alone is marked until its rows are put.
    RowsPending,
    /// A row that stands is put again if it shows another placement.
    SameContents,
    /// A node's ancestors end before the node itself.
    CutCycle,
    /// The path is cut to as many segments as there are ancestors.
    CutPath,
    /// A node whose ancestors are cut isn't in the trash because its parent is.
    CutTrash,
    /// A changed path is handed down, not changed ancestors alone.
    CascadePath,
    /// Whether the node is in the trash is handed down.
    CascadeTrash,
    /// Every change of a lineage in a batch counts, not the net of them.
    CascadeAnyChange,
    /// Children are touched with the newest change's sequence number.
    NewestSequence,
    /// A cursor is started only if no cursor of this change or a newer one stands there.
    CursorStart,
    /// A cursor is moved on or deleted only while it is still this change's.
    CursorCondition,
    /// A cursor doesn't give way to an item that no handler moves on.
    CursorObstacle,
    /// A child is touched only if it exists.
    TouchExists,
    /// A node whose parent has no lineage has a row in the register of orphans.
    OrphanRow,
    /// Where a partition of the register has more than a page, the children themselves are touched.
    OrphanFallback,
    /// "Only touched" means that every record of the node in the batch is a touch.
    AllTouches,
    /// A copy is put only over an older one.
    LatestCondition,
    /// The revision that was copied is read again after the copy is put.
    LatestSecondLook,
    /// Where a record of the batch shows that a revision was deleted, the newest is looked for, even if it is back.
    LatestDeleted,
    /// A write that may be carried out once more, later, leaves its record undone.
    LateWrites,
    /// Nodes are written in the order of their records, not of their ids.
    RecordOrder,
    /// A failed item fails its first record in the batch.
    FailFirstRecord,
    /// A lineage that says its node is being deleted sets off the actions on the children.
    ChildActions,
    /// The handler acts on children, and deletes the node, only while base record and lineage both have its deletion.
    DeletionPresent,
    /// The node is read again after its children were read.
    DeletionRecheck,
    /// A child is changed only if it is as it was read.
    ChildCondition,
    /// A child that changed meanwhile is looked at again.
    ChildAgain,
    /// A child is adopted in one transaction with a check of the parent that it leaves.
    AdoptTogether,
    /// The check includes the parent's own parent, which is the heir.
    AdoptParent,
    /// The heir's present life is read, named in `_under`, and checked in the same transaction.
    AdoptLife,
    /// A late child is adopted in one transaction with a check of every edge up to the root.
    AdoptAncestorPath,
    /// Where the adopting node has been deleted as well, its own tombstone decides.
    AdoptOnwards,
    /// The heir's tombstone counts only for the life that adopts.
    HeirLife,
    /// The node is deleted after the action on its last child.
    FinishLast,
    /// The node is deleted only while it has the mark that was read.
    FinishCondition,
    /// Each mark that a child is given has a name of its own, not the operation's.
    FreshMark,
    /// A cursor goes on only with the deletion of the mark that it names.
    CursorMark,
    /// A mark that went and is back is handed down anew.
    MarkReturned,
    /// A cursor of any kind carries a deletion on.
    CursorAnyKind,
    /// The node is deleted before its cursor.
    FinishFirst,
    /// A tombstone takes the place of a deleted node's lineage.
    Tombstone,
    /// A tombstone concerns only children that the API has put under the node.
    TombstoneUnder,
    /// A tombstone concerns only children that were put under the life that has ended.
    TombstoneLife,
    /// A child put under an earlier life of a deleted node, or under one without a name, is its late child as well.
    EarlierLives,
    /// The record that a node was deleted gives way to that of a later deletion only while it is as it was read.
    DeletedAsRead,
    /// A child that comes in after its parent was deleted without children is adopted, as the record of that says.
    AdoptAfterRestrict,
    /// A tombstone of more than a week doesn't count, although it is still there.
    TombstoneExpires,
    /// Where another client has written `parent`, or put the record there, `_under` is stale.
    UnderOfOthers,
    /// `_under` is stale as well where the node's own tombstone, or a lineage that is being deleted, names the life of
    /// a base record without a mark: the record was put back.
    PutBack,
    /// `_under` is stale as well where the API's record that the id was deleted names the life of the base record.
    PutBackAfterRestrict,
    /// A stale `_under` is removed before the node is placed, and not only passed over.
    RemoveUnder,
    /// A row that an earlier delivery has put is left out only if it is as it is to be.
    StandingRows,
    /// A late child is acted on only if the newest record in the batch shows it as it is, touches included: a later one
    /// may show that it was put back.
    LateChildAsShown,
    /// A tombstone counts only while its node has no base record.
    TombstoneGone,
    /// When a tombstone takes the place of a lineage, the children that are still there are touched.
    TouchRemaining,
    /// When another client takes a mark back, all of the node's rows are put.
    UndeletePuts,
    /// A revision is deleted only if it is as it was read.
    RevisionCondition,
    /// A repair writes only into a record that exists.
    RepairExists,
    /// A repair deletes a row only while its owner's lineage doesn't name it.
    RepairCheck,
    /// A repair takes away only what it has put there itself.
    RepairTakesOwn,
    /// A cursor that a redrive starts takes the place of one that is half way.
    RedriveAnew,
    /// A redrive looks again where a record that was gone is back.
    RedriveReturned,
    /// A create looks for the record that the API has deleted the id: nodes may still hang under it.
    DeletedRecord,
    /// After an attempt without an answer a write of the API goes on only if its record stands as it was read.
    StandsAsRead,
    /// After an attempt without an answer, a write that would change nothing writes its record's stamps.
    AttemptEnds,
    /// A create without an answer is found done, or left unknown, by what a deletion of its node has left.
    CreatedAndDeleted,
    /// A create that is tried again after an attempt without an answer checks that what would tell of that attempt is
    /// as it was read.
    TracesStay,
    /// A deletion of a revision without an answer isn't tried again while the revision stands as it was: it may have
    /// been put back.
    RevisionPutBack,
    /// A revision that is appended with its node is written in one transaction with it.
    RevisionWithNode,
    /// After an attempt without an answer a revision that is appended with its node keeps its version.
    SameVersionAgain,
    /// A write whose attempt got no answer isn't refused: the attempt may still be carried out.
    UnknownNotRefused,
    /// After an attempt without an answer nothing counts that a batch has read ahead.
    ReadAheadForgotten,
    /// An operation of a batch counts the children that those before it have put below its node.
    BatchCountsChildren,
    /// An import that may have put a record before goes on only if nothing tells that the record was deleted since.
    ImportLooks,
    /// A move checks the ancestor path of the moved node, not that of its new parent alone.
    OwnAncestorPath,
    /// A move checks that the root of its new parent's path wasn't put into the trash.
    TrashedRoot,
    /// Where another client has given a node in the trash a parent, `_trashed` is removed.
    RemoveTrashed,
    /// A name is claimed only where nobody else has claimed it.
    ClaimName,
    /// After an attempt without an answer a node that gets another name keeps the one that it was sent with.
    SameNameAgain,
    /// A claim of another node is taken over only while it is as it was read.
    ClaimAsRead,
    /// A claim of another node is taken over only while that node still doesn't have the name.
    HolderLeft,
    /// A node that leaves its name deletes its own claim alone.
    ReleaseOwn,
    /// The copies of a step are put in one transaction with the mark that says how far their operation is.
    CopyTogether,
    /// The transaction is done only while the mark is as it was read, and the top isn't being deleted.
    CopyMark,
    /// Copies of this or a later operation aren't copied.
    CopyOwn,
    /// A node is copied only if no copy of it was ever there.
    CopyOnce,
    /// A node is copied only below the copy of its parent, if that is there and isn't being deleted.
    CopyBelow,
    /// A copy names the life of its parent that was seen.
    CopyUnder,
    /// The operation's record names each copy from the transaction that makes it until the copy is placed.
    CopyUnplaced,
    /// The operation's record names a copy until its rows are put, and not only until its record is read.
    CopyPlaced,
    /// A copy whose name a sibling has claimed gets another one.
    CopyRenamed,
    /// The count of a node and the totals change in one transaction.
    CountTogether,
    /// The transaction is done only while the node's count is as it was read.
    CountedAsRead,
    /// Each write of what a node is counted as has a name of its own.
    CountedName,
    /// The totals get the difference to the node's count as it was read last.
    CountedAgain,
    /// The count of a node gives way to a tombstone when the node has gone.
    CountedTombstone,
    /// A node that has gone and was never counted leaves one as well.
    CountedWhereNone,
    /// An ancestor that becomes the parent, or was it, is concerned whatever else stays.
    CountChildren,
    /// Totals are added to, whatever they are.
    AddToLanes,
    /// Whatever changes what is counted below a node writes a lane of its totals, even if they stay what they are.
    CountWrites,
    /// A recount ends only while the lanes are as they were read before the table was.
    RecountAsRead,
    /// A recount marks the lanes first, so that lanes which come back aren't taken for those that were read.
    RecountMark,
    /// Once a recount has read the lanes it waits for transactions of which only a part is seen.
    RecountWaits,
    /// A recount counts the totals of the nodes above as well: they can lack the same.
    RecountAbove,
    /// Totals of a node that has gone are deleted only while they are nothing.
    EmptyAsRead,
    /// A node isn't counted in an earlier epoch than before.
    EpochOnwards,
    /// The epoch is written only while it is as it was read.
    EpochAsRead,
    /// The name of an epoch tells its command after a lost answer that it has begun it, and it ends no other.
    EpochByName,
    /// Counts ahead of the present epoch are deleted only while that is the present one.
    AheadAsRead,
    /// The auditor has a node counted only if the totals of its ancestors hold what it was counted as.
    CountHolds,
    /// A node that can't be counted now is touched, and its record doesn't fail.
    CountLater,
    /// A write that places a node next to a sibling checks that this is where it was.
    AnchorStays,
    /// A node that is placed last sorts by its time, and not only after what was seen.
    LastByTime,
    /// A move checks the ancestor paths that it has read.
    AncestorPathChecks,
}

/// The rules that are kept: all of them, outside of tests. Asking costs one comparison.
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

    /// The condition, while the rule is kept.
    pub(crate) fn on(self, rule: Rule, condition: Condition) -> Condition {
        if self.keeps(rule) { condition } else { Condition::Always }
    }
}
