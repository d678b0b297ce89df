//! What can be wrong.

use std::collections::BTreeSet;

use super::Subject;
use crate::hash;
use crate::keys::{CASCADE, ItemKey, LINEAGE, NodeRef};
use crate::model::{Item, encode_item};
use crate::words::words;

words! {
    /// The fault of an item. Kinds up to [`Kind::RecordPutBack`] are faults of derived items, and can be repaired. The
    /// others are findings about base records: its owner has to decide what the record should be.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Kind {
        /// A node has no lineage, a tombstone, or a lineage that no handler wrote.
        LineageMissing = "lineage-missing",
        /// A lineage has wrong ancestors, a wrong path or a wrong trash state.
        LineageWrong = "lineage-wrong",
        /// A lineage names other rows than the record and the settings ask for, or says that rows are pending.
        LineageRows = "lineage-rows",
        /// A lineage without a valid base record.
        LineageSurplus = "lineage-surplus",
        /// A row that the lineage names is missing.
        RowMissing = "row-missing",
        /// A row has other attributes than its base record asks for.
        RowWrong = "row-wrong",
        /// No lineage names the row.
        RowSurplus = "row-surplus",
        /// A topic with revisions has no `v0_` item.
        CopyMissing = "copy-missing",
        /// A `v0_` item isn't that of the newest revision.
        CopyWrong = "copy-wrong",
        /// A `v0_` item of a topic without revisions.
        CopySurplus = "copy-surplus",
        /// A checkpoint doesn't advance, or blocks a node that isn't being deleted.
        CursorStuck = "cursor-stuck",
        /// A deletion has stopped.
        DeletionStuck = "deletion-stuck",
        /// A subtree copy has stopped.
        CopyStuck = "copy-stuck",
        /// Another client moved the node out of the trash, but left `_trashed`.
        TrashLeft = "trash-left",
        /// A node isn't counted right in the totals of its ancestors.
        CountWrong = "count-wrong",
        /// A deleted node is still counted.
        CountSurplus = "count-surplus",
        /// A node is counted in a later epoch.
        CountAhead = "count-ahead",
        /// The epoch and its copy differ, or one is invalid. Until it is repaired, no totals are compared.
        EpochWrong = "epoch-wrong",
        /// A part of a total of an earlier epoch, or in an unused counter shard.
        TotalsLeft = "totals-left",
        /// A part of a total of a later epoch.
        TotalsAhead = "totals-ahead",
        /// The totals aren't the sum of the children.
        TotalWrong = "total-wrong",
        /// A child isn't counted as a child of this node, so the total is unknown.
        TotalUnsettled = "total-unsettled",
        /// A checkpoint that no handler wrote.
        CursorUnreadable = "cursor-unreadable",
        /// A repair ended before it deleted the record that it had put.
        RecordPutBack = "record-put-back",
        /// `parent` or `segment` isn't a string, is empty or is too long. The record counts as absent.
        Unreadable = "unreadable",
        /// The parent doesn't exist.
        Orphan = "orphan",
        /// The node is its own ancestor.
        Cycle = "cycle",
        /// The node is deeper than 98 levels.
        TooDeep = "too-deep",
        /// The key of the path row would be too long.
        PathTooLong = "path-too-long",
        /// The node has no valid value in `OrderAttribute`, and is last among its siblings.
        NoOrder = "no-order",
        /// An attribute of `LinkAttributes` holds an invalid id, or more than 100.
        LinkLeftOut = "link-left-out",
        /// An item of yours has a reserved key, which a row, lineage or reservation would replace.
        ReservedKey = "reserved-key",
        /// The record is too large: its rows carry no copied attributes.
        NoRoomForCopies = "no-room-for-copies",
        /// The record is too large to be requeued: its rows don't follow a move above.
        NoRoomForTouch = "no-room-for-touch",
        /// `_deleting` or `_copying` is invalid, and has no effect.
        MarkUnreadable = "mark-unreadable",
        /// `_trashed` is invalid. The node is in the trash.
        TrashUnreadable = "trash-unreadable",
        /// The id is too long for a trash row.
        TrashUnlisted = "trash-unlisted",
        /// A sibling has the same name and its reservation.
        NameClash = "name-clash",
        /// The name isn't reserved.
        NameUnclaimed = "name-unclaimed",
        /// A reservation that its node no longer uses.
        NameLeft = "name-left",
        /// A deleted node has totals that say 0.
        TotalsEmpty = "totals-empty",
        /// A recount is running, or has stopped.
        RecountLeft = "recount-left",
        /// An attribute to add up isn't a number of at most 18 digits before the point. It counts as 0.
        TotalLeftOut = "total-left-out",
        /// The total is in a cycle, above 98 levels, above a newer count, or has too many children.
        TotalNotCompared = "total-not-compared",
        /// A lineage names items that can't be its rows. They aren't deleted.
        ForeignRows = "foreign-rows",
        /// The table rejects a change of a child of a node being deleted.
        DeletionBlocked = "deletion-blocked",
        /// A newer version wrote this item.
        NewerFormat = "newer-format",
        /// A newer version wrote the lineage that this item depends on.
        NotCompared = "not-compared",
    }
}

impl Kind {
    /// True for what is to be mended in the base record.
    #[must_use]
    pub fn is_finding(self) -> bool {
        self > Self::RecordPutBack
    }

    /// True for a finding that a repair mends all the same: names and totals are right without it.
    #[must_use]
    pub fn is_tidied(self) -> bool {
        matches!(self, Self::NameUnclaimed | Self::NameLeft | Self::TotalsEmpty)
    }

    /// True for what only a [recount](super::Recount) mends, which reads the whole table.
    #[must_use]
    pub fn is_recounted(self) -> bool {
        matches!(self, Self::TotalWrong | Self::TotalUnsettled | Self::RecountLeft)
    }

    /// True for what the auditor leaves to `sapwood repair`. A recount reads the whole table, and where the epoch is in
    /// doubt no single item says what is right.
    #[must_use]
    pub fn is_left_to_repair(self) -> bool {
        self.is_recounted() || matches!(self, Self::EpochWrong | Self::CountAhead | Self::TotalsAhead)
    }

    /// True for what says that something couldn't be compared.
    #[must_use]
    pub fn is_unjudged(self) -> bool {
        matches!(self, Self::NewerFormat | Self::NotCompared)
    }

    /// True for what one write of the node's record mends.
    #[must_use]
    pub fn is_of_node(self) -> bool {
        let others =
            [Self::LineageSurplus, Self::CountSurplus, Self::CountAhead, Self::DeletionStuck, Self::RecordPutBack];
        self.is_redriven() || others.contains(&self)
    }

    /// True for what the handler mends once the node's record is written again.
    #[must_use]
    pub fn is_redriven(self) -> bool {
        let is_other =
            [Self::RowMissing, Self::RowWrong, Self::CopyStuck, Self::TrashLeft, Self::CountWrong].contains(&self);
        self.names_rows() || is_other
    }

    /// True for a node that doesn't stand where it belongs: whatever is placed below it now is placed again.
    #[must_use]
    pub fn is_of_placing(self) -> bool {
        matches!(self, Self::LineageMissing | Self::LineageWrong)
    }

    /// True where a node's lineage may be about to name other rows.
    #[must_use]
    pub fn names_rows(self) -> bool {
        self.is_of_placing() || self == Self::LineageRows
    }

    /// True for the copy of a topic's newest revision.
    #[must_use]
    pub fn is_of_copy(self) -> bool {
        matches!(self, Self::CopyMissing | Self::CopyWrong | Self::CopySurplus)
    }
}

/// An item that isn't as it should be.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Difference {
    /// The item that is missing, wrong or surplus.
    pub key: ItemKey,
    /// The fault.
    pub kind: Kind,
    /// The node that the item belongs to.
    pub node: NodeRef,
    /// A hash of all that the item was judged from. If it is the same at a later look, nothing has changed meanwhile.
    pub evidence: u64,
    /// The node that has to be mended first: its lineage decides whether this is a difference at all.
    pub waits_for: Option<NodeRef>,
}

impl Difference {
    pub(super) fn of(kind: Kind, key: ItemKey, node: &NodeRef, evidence: &Evidence) -> Self {
        Self { key, kind, node: node.clone(), evidence: evidence.0, waits_for: None }
    }

    /// A difference that no look has found. Its item is to be mended all the same.
    #[must_use]
    pub fn unseen(kind: Kind, key: ItemKey, node: NodeRef) -> Self {
        Self { key, kind, node, evidence: 0, waits_for: None }
    }

    /// A hash of what is counted once: a node, if one write of its record mends it, or else an item.
    pub(super) fn identity(&self) -> u64 {
        if self.kind.is_of_node() {
            return identity_of(&self.node);
        }
        Evidence::new().part(&self.key.pk).part(&self.key.sk).hash()
    }

    /// Returns what has to be looked at again to see whether the difference is still there.
    #[must_use]
    pub fn subject(&self) -> Subject {
        let (key, node) = (self.key.clone(), self.node.clone());
        match self.kind {
            Kind::RowSurplus => Subject::Row { key, node },
            Kind::TotalsLeft | Kind::TotalsAhead | Kind::TotalsEmpty | Kind::RecountLeft => Subject::Lane { key, node },
            Kind::TotalWrong | Kind::TotalUnsettled | Kind::TotalNotCompared => Subject::Totals(node),
            Kind::EpochWrong => Subject::Remembered { key, node },
            Kind::NameLeft => Subject::Claim { key, node },
            _ if key.sk == CASCADE => Subject::Cursor(node),
            Kind::ReservedKey if key.sk != LINEAGE => Subject::Foreign { key, node },
            kind if kind.is_of_copy() => Subject::History(node),
            Kind::NewerFormat if key.sk != LINEAGE => Subject::Remembered { key, node },
            Kind::NotCompared if key.sk != LINEAGE => Subject::Row { key, node },
            _ => Subject::Node(node),
        }
    }
}

/// The identity of whatever one write of a node's record mends.
pub(super) fn identity_of(node: &NodeRef) -> u64 {
    let tenant = node.tenant.as_ref().map_or("", |tenant| tenant.as_str());
    Evidence::new().part("").part(tenant).part(node.id.as_str()).hash()
}

/// Returns what can be mended now, a difference for each write that it takes. A node's record is written once, however
/// much of the node is wrong. A row that no lineage names waits until the lineage itself is right: it may name the row
/// then. So does whatever [waits for](Difference::waits_for) another node.
#[must_use]
pub fn due(differences: Vec<Difference>) -> Vec<Difference> {
    let mut due = one_a_node(differences);
    let nodes: BTreeSet<NodeRef> = due.iter().filter(|one| one.kind.is_of_node()).map(|one| one.node.clone()).collect();
    let is_mended = |kind: Kind| !kind.is_finding() || kind.is_tidied() || kind.is_recounted();
    due.retain(|one| is_mended(one.kind) && (one.kind != Kind::RowSurplus || !nodes.contains(&one.node)));
    // Nodes of a circle may wait for one another. Then one has to be the first: a node without a lineage, since
    // the others are placed by what base records predict for it, and that can be wrong in a circle.
    if due.iter().any(|one| one.waits_for.is_none()) {
        due.retain(|one| one.waits_for.is_none());
    } else {
        due.sort_by_key(|one| one.kind != Kind::LineageMissing);
    }
    due
}

/// Returns the first of the differences that one write of a node's record mends, for each node, and all others.
#[must_use]
pub fn one_a_node(differences: Vec<Difference>) -> Vec<Difference> {
    let mut nodes = BTreeSet::new();
    let is_first = |one: &Difference| !one.kind.is_of_node() || nodes.insert(one.node.clone());
    differences.into_iter().filter(is_first).collect()
}

/// A hash of items, in the order in which they were added. A report that another release reads means the same there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Evidence(u64);

impl Evidence {
    pub(super) fn new() -> Self {
        Self(hash::EMPTY)
    }

    pub(super) fn hash(self) -> u64 {
        self.0
    }

    /// Hashes of several kinds of evidence, some of which may be missing.
    pub(super) fn joined<'e>(all: impl IntoIterator<Item = Option<&'e Self>>) -> Self {
        Self::new().with(all.into_iter().flat_map(|one| one.map_or(0, |one| one.0).to_le_bytes()))
    }

    pub(super) fn and(self, item: Option<&Item>) -> Self {
        let bytes = item.map(encode_item);
        let absent = u8::from(bytes.is_none());
        self.with(bytes.into_iter().flatten().chain([absent]))
    }

    /// Adds a text, and its end.
    pub(super) fn part(self, text: &str) -> Self {
        self.with(text.bytes().chain([0xff]))
    }

    fn with(self, bytes: impl Iterator<Item = u8>) -> Self {
        Self(hash::continued(self.0, bytes))
    }
}
