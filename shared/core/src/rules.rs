//! The rules of the protocol. A test breaks one on purpose, and the simulation must find a fault.

use crate::request::Condition;

/// A rule of the protocol. `docs/internals/protocol` has the step of each. The plans ask [`Rules::keeps`] where a rule
/// acts; outside of tests the answer is always yes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Rule {
    /// After the rows of a node are written, its parent's lineage is read again. The parent may have moved meanwhile,
    /// and its propagation may have looked for the node's row before it was there.
    Confirm,
    /// The parent read again is compared with what the plan used (planned or read). A parent planned in this batch
    /// whose write failed isn't where its child was planned to be.
    ConfirmAgainstUsed,
    /// This comparison includes the path: a parent can be renamed and keep its ancestors.
    ConfirmPath,
    /// This comparison includes whether the parent has a lineage. A new root and an absent parent both have no
    /// ancestors and no path.
    ConfirmPresence,
    /// This comparison includes whether the parent is in the trash: a trashed root has no ancestors before and after.
    ConfirmTrash,
    /// A predicted parent's base record is read again. If it went meanwhile, its event may have found no one to
    /// requeue.
    ConfirmBase,
    /// The orphans of a node that is gone and has no lineage are requeued: a prediction may have placed them below it.
    TouchNeverPlaced,
    /// The lineage is written before the rows that it names, so after a crash it still names every row that may exist.
    Intent,
    /// Rows that an earlier placement still had to delete stay named: a second move must not lose them.
    KeepStaleRows,
    /// Of the items that a lineage names only rows of its node are deleted. Any client can write a lineage.
    OwnRows,
    /// A row is deleted only while its `_id` is its node: the key may hold an item of the table's owner.
    RowsById,
    /// An item at a lineage's key is deleted only if it has a `format`. Without one it is the table owner's.
    OwnLineage,
    /// Where a lineage has no room for old and new rows together, the old ones are deleted first.
    RoomForIntent,
    /// Rows are put before others are deleted: a reader may see a moved node twice, but never misses it.
    PutFirst,
    /// A placement made by requeues alone says `rows_pending` until its rows are put. Otherwise a redelivered requeue
    /// finds the lineage as wanted and puts nothing.
    RowsPending,
    /// A row that exists is put again if it shows another placement. A link row keeps its key when ancestors change.
    SameContents,
    /// A node's ancestors end before the node itself. In a cycle they would grow without end.
    CutCycle,
    /// The path is cut to as many segments as there are ancestors, for the same reason.
    CutPath,
    /// A node whose ancestors are cut isn't in the trash because its parent is. In a cycle each node would inherit from
    /// the next forever.
    CutTrash,
    /// A changed path is propagated, not changed ancestors alone: a segment is in the path rows of the subtree.
    CascadePath,
    /// Whether the node is in the trash is propagated.
    CascadeTrash,
    /// Every change of a lineage in a batch counts, not the net of them: a child may have been placed between two.
    CascadeAnyChange,
    /// Children are requeued with the newest change's sequence number. An equal value makes no stream record.
    NewestSequence,
    /// A checkpoint is started only over an older change's. A redelivered record must not take over a newer one, whose
    /// requeues may be written already.
    CursorStart,
    /// A checkpoint is moved on or deleted only while it is still this change's: the newer change starts anew.
    CursorCondition,
    /// A checkpoint replaces an item that no handler moves on. Otherwise no child is requeued.
    CursorObstacle,
    /// A child is requeued only if it exists: the update would create a node.
    TouchExists,
    /// A node whose parent has no lineage has a row in the register of orphans: the parent's insertion finds it there.
    OrphanRow,
    /// Where a partition of the register has more than a page, the children themselves are queried. Orphans of other
    /// parents must not make each insertion expensive.
    OrphanFallback,
    /// "Only requeued" means that every record of the node in the batch is a requeue. One that isn't may have changed
    /// attributes.
    AllTouches,
    /// A latest item is put only over an older one: handlers of different revisions run concurrently.
    LatestCondition,
    /// The copied revision is read again after the put: it may have been amended or deleted meanwhile.
    LatestSecondLook,
    /// Where a record of the batch shows that a revision was deleted, the newest is looked for, even if it is back. An
    /// earlier delivery's write may be carried out just now.
    LatestDeleted,
    /// A write that may be carried out once more, later, leaves its record undone: it could set a lineage or a row
    /// back.
    LateWrites,
    /// Nodes are written in the order of their records, so that each delivery completes the front of the batch.
    RecordOrder,
    /// A failed item fails its first record in the batch, so no earlier record of the item is skipped.
    FailFirstRecord,
    /// A lineage that says its node is being deleted sets off the actions on the children.
    ChildActions,
    /// The handler acts only while base record and lineage both have the deletion: the record may be old, and the node
    /// created anew. Only such a lineage leaves a tombstone.
    DeletionPresent,
    /// The node is read again after its children were read: they were its children while it was being deleted.
    DeletionRecheck,
    /// A child is changed only if it is as it was read: it may have moved away.
    ChildCondition,
    /// A child that changed meanwhile is read again: it may still be a child.
    ChildAgain,
    /// A child is adopted in one transaction with a check of the parent that it leaves. The adopting parent may be
    /// moved below the child otherwise.
    AdoptTogether,
    /// The check includes that parent's own parent, which is the one that adopts.
    AdoptParent,
    /// The adopting parent's incarnation is read, named in `_under`, and checked in the same transaction. A child that
    /// names an ended one is left behind by the next deletion.
    AdoptLife,
    /// A late-arriving child is adopted with a check of every edge up to the root. Its parent is gone, so only that
    /// path shows that the child isn't above it.
    AdoptAncestorPath,
    /// Where the adopting parent has been deleted as well, its own tombstone decides. The child would stay behind.
    AdoptOnwards,
    /// The lineage of an adopting parent that is gone is read once more: a batch may read it before its deletion
    /// begins, and the record after it has ended.
    HeirReadAgain,
    /// That tombstone counts only for the incarnation that adopts: another may be yet to come.
    HeirLife,
    /// The node is deleted after the action on its last child. Until then its marker shows that work is left.
    FinishLast,
    /// The node is deleted only while it has the marker that was read. It may have been created anew.
    FinishCondition,
    /// Each marker that a child is given has a name of its own, not the operation's. One that was taken back and set
    /// again would make no stream record.
    FreshMark,
    /// A checkpoint goes on only with the deletion of the marker that it names, and starts anew for another.
    CursorMark,
    /// A marker that went and is back is propagated anew: the first deletion may have ended.
    MarkReturned,
    /// A checkpoint of any kind carries a deletion on, also one that an operator wrote.
    CursorAnyKind,
    /// The node is deleted before its checkpoint. A crash between the two in the other order leaves the node.
    FinishFirst,
    /// A tombstone replaces a deleted node's lineage, so that late-arriving children find what to do.
    Tombstone,
    /// A tombstone concerns only children that the API has put under the node. Others wait for their parent, as
    /// orphans.
    TombstoneUnder,
    /// A tombstone concerns only children that were put under the incarnation that has ended.
    TombstoneLife,
    /// A child of an earlier incarnation, or of one without a name, is a late-arriving child, too.
    EarlierLives,
    /// `DELETED` gives way to that of a later deletion only while it is as it was read. An incarnation would be
    /// forgotten.
    DeletedAsRead,
    /// A child that arrives after its parent was deleted without children is adopted, as `DELETED` says.
    AdoptAfterRestrict,
    /// A tombstone of more than a week doesn't count: DynamoDB deletes expired items late, or never.
    TombstoneExpires,
    /// Where another client has written `parent`, or put the record there, `_under` is stale.
    UnderOfOthers,
    /// `_under` is stale where the node's own tombstone, or a lineage that is being deleted, names the incarnation of a
    /// base record without a marker: the record was put back.
    PutBack,
    /// `_under` is stale where `DELETED` names the incarnation of the base record.
    PutBackAfterRestrict,
    /// A stale `_under` is removed before the node is placed. Its first lineage would replace the tombstone that shows
    /// it.
    RemoveUnder,
    /// A row that an earlier delivery has put is left out only if it is as it is to be.
    StandingRows,
    /// A late-arriving child is acted on only if the newest record in the batch shows it as it is, requeues included. A
    /// later record may show that it was put back.
    LateChildAsShown,
    /// A tombstone counts only while its node has no base record. A new one requeues its orphans itself.
    TombstoneGone,
    /// When a tombstone replaces a lineage, the children that are still there are requeued: they arrived after the
    /// look.
    TouchRemaining,
    /// When another client takes a marker back, all of the node's rows are put. While it had the marker none was
    /// written.
    UndeletePuts,
    /// A revision is deleted only if it is as it was read.
    RevisionCondition,
    /// A repair writes only into a record that exists: it would create a node.
    RepairExists,
    /// A repair deletes a row only in a transaction that checks that its owner's lineage doesn't name it.
    RepairCheck,
    /// A repair takes away only what it has put there itself: someone may have created the node.
    RepairTakesOwn,
    /// A checkpoint that a redrive starts replaces one that is half way, which may be of an older change.
    RedriveAnew,
    /// A redrive looks again where a record that was gone is back: it may be a copy with its marker.
    RedriveReturned,
    /// A create reads `DELETED`: nodes may still hang under the id, and a plain put would close a cycle.
    DeletedRecord,
    /// After an attempt without an answer a write of the API goes on only if its record is as it was read.
    StandsAsRead,
    /// After an attempt without an answer, a write that would change nothing writes its record's write metadata. The
    /// attempt could be carried out after the answer.
    AttemptEnds,
    /// A create without an answer is found done, or left unknown, by what a deletion of its node has left.
    CreatedAndDeleted,
    /// A create that is tried again checks that what would tell of the first attempt is as it was read. The node may
    /// have been created, seen and deleted.
    TracesStay,
    /// A deletion of a revision without an answer isn't tried again while the revision exists: it may have been put
    /// back.
    RevisionPutBack,
    /// A revision that is appended with its node is written in one transaction with it.
    RevisionWithNode,
    /// After an attempt without an answer such a revision keeps its version, so the answer says which one exists.
    SameVersionAgain,
    /// A write whose attempt got no answer isn't rejected: the attempt may still be carried out.
    UnknownNotRefused,
    /// After an attempt without an answer a batch forgets what it read ahead: seconds have passed.
    ReadAheadForgotten,
    /// An operation of a batch counts the children that those before it have put below its node. They have no rows yet.
    BatchCountsChildren,
    /// An import that may have put a record before goes on only if nothing tells that the record was deleted since.
    ImportLooks,
    /// A move checks the ancestor path of the moved node, too: it shows that the common ancestor is above the node.
    OwnAncestorPath,
    /// A move checks that the root of its new parent's path wasn't put into the trash, which changes no parent.
    TrashedRoot,
    /// Where another client has given a trashed node a parent, `_trashed` is removed. Once the parent goes again the
    /// node would count as trashed long ago.
    RemoveTrashed,
    /// A name is reserved only where no one else has reserved it.
    ClaimName,
    /// After an attempt without an answer a node that gets another name keeps the one that was sent.
    SameNameAgain,
    /// Another node's reservation is replaced only while it is as it was read.
    ClaimAsRead,
    /// Another node's reservation is replaced only while that node still doesn't have the name.
    HolderLeft,
    /// A node that leaves its name deletes its own reservation alone: the name may be another's.
    ReleaseOwn,
    /// The copies of a step are put in one transaction with the mark that says how far their operation is.
    CopyTogether,
    /// The transaction is done only while the mark is as it was read, and the top isn't being deleted.
    CopyMark,
    /// Copies of this operation or a later one aren't copied. Two that copy each other's would never end.
    CopyOwn,
    /// A node is copied only if no copy of it ever existed: a user may have deleted it.
    CopyOnce,
    /// A node is copied only below the copy of its parent, if that exists and isn't being deleted.
    CopyBelow,
    /// A copy names the incarnation of its parent that was seen, so it is a late-arriving child if the parent goes.
    CopyUnder,
    /// The operation's record names each copy from the transaction that makes it until the copy is placed.
    CopyUnplaced,
    /// The operation's record names a copy until its rows are put, and not only until its record is read.
    CopyPlaced,
    /// A copy whose name a sibling has reserved gets another one.
    CopyRenamed,
    /// A node's count and the totals change in one transaction, so a repetition finds nothing left to count.
    CountTogether,
    /// The transaction is done only while the node's count is as it was read.
    CountedAsRead,
    /// Each write of a node's count has a name of its own, so a late attempt does nothing after another's answer.
    CountedName,
    /// The totals get the difference to the node's count as read last: a lost attempt may have done it.
    CountedAgain,
    /// The count of a node that has gone becomes a tombstone: a late transaction must not count it again.
    CountedTombstone,
    /// A node that has gone and was never counted leaves one as well.
    CountedWhereNone,
    /// An ancestor that becomes the parent, or was it, is written whatever else stays: its number of children changes.
    CountChildren,
    /// Totals are added to, whatever they are.
    AddToLanes,
    /// Whatever changes what is counted below a node writes a shard of its totals, even if they stay equal. A recount
    /// relies on it.
    CountWrites,
    /// A recount ends only while the shards are as they were read before the table was.
    RecountAsRead,
    /// A recount marks the shards first, so that shards which come back aren't taken for those that were read.
    RecountMark,
    /// After reading the shards a recount waits for transactions of which only a part is visible.
    RecountWaits,
    /// A recount counts the totals of the nodes above as well: they can lack the same.
    RecountAbove,
    /// Totals of a node that has gone are deleted only while they are zero.
    EmptyAsRead,
    /// A node isn't counted in an earlier epoch than before.
    EpochOnwards,
    /// The epoch is written only while it is as it was read.
    EpochAsRead,
    /// An epoch's name tells its command after a lost answer that it has begun it, and it ends no other.
    EpochByName,
    /// Counts ahead of the present epoch are deleted only while that is the present one: it may begin just now.
    AheadAsRead,
    /// The auditor has a node counted only if the totals of its ancestors hold what it was counted as. Otherwise right
    /// totals become wrong.
    CountHolds,
    /// A node that can't be counted now is requeued, and its record doesn't fail: its rows would be put again.
    CountLater,
    /// A write that places a node next to a sibling checks that this is where it was. Of two opposite requests one
    /// would be lost.
    AnchorStays,
    /// A node that is placed last sorts by its time, and not only after what was seen: rows lag.
    LastByTime,
    /// Followers are told after the rows are put and deleted. Otherwise a listing that begins in between misses a node
    /// whose row is late, and its follower isn't told again.
    TellAfterRows,
    /// Followers are told before the lineage is settled: a redelivered record then finds it unsettled, and tells them
    /// again.
    TellBeforeSettling,
    /// A requeued node whose depth has changed is told. A listing may have passed the one depth before the node left
    /// the other.
    TellDepth,
    /// A requeued node whose lineage is unsettled is told: the invocation before may have died before it told anyone.
    TellUnsettled,
    /// The lineage of a requeued node that is to be told is unsettled until then, if its rows stay as they are, too.
    /// After a death the redelivered requeue would find it settled.
    UnsettledUntilTold,
    /// The trees that a node leaves are named in its lineage until they are told. After a death the redelivered requeue
    /// finds the new tree alone.
    NameLeft,
    /// A node that goes has a lineage that says so, before its trees are told. Otherwise a follower that is told sees
    /// the old lineage, if the node is put back elsewhere before that is deleted.
    GoneIntent,
    /// An entry counts only if its answer comes within 3 seconds of its stamp. Another may be in the table behind a
    /// follower's cursor.
    AnsweredInTime,
    /// A feed is read up to 6 seconds ago: younger entries may still come in any order.
    StayBehind,
    /// Nodes that are listed are looked up. A row below a tree may belong to a node that hangs elsewhere by now.
    LookUpListed,
    /// A move checks the ancestor paths that it has read. Two moves at once could close a cycle.
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
