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
        /// A node has no lineage.
        LineageMissing = "lineage-missing",
        /// A lineage says that the node stands elsewhere than its record and its parent's lineage ask for.
        LineageWrong = "lineage-wrong",
        /// A lineage places its node rightly but names other rows than it has, or says that rows are pending.
        LineageRows = "lineage-rows",
        /// A lineage's node has no base record.
        LineageSurplus = "lineage-surplus",
        /// A row that a lineage names isn't there.
        RowMissing = "row-missing",
        /// A row isn't as its base record asks for.
        RowWrong = "row-wrong",
        /// A row that no lineage names.
        RowSurplus = "row-surplus",
        /// A topic with revisions has no `v0_` copy.
        CopyMissing = "copy-missing",
        /// A `v0_` copy isn't that of its topic's newest revision.
        CopyWrong = "copy-wrong",
        /// A `v0_` copy of a topic without revisions.
        CopySurplus = "copy-surplus",
        /// A cursor that no handler moves on.
        CursorStuck = "cursor-stuck",
        /// A node is marked for deletion, and no handler deletes it.
        DeletionStuck = "deletion-stuck",
        /// A copy of a subtree that no handler goes on with.
        CopyStuck = "copy-stuck",
        /// A record that says how its node was put into the trash, though it names a parent.
        TrashLeft = "trash-left",
        /// A node isn't counted as it should be in the totals of its ancestors.
        CountWrong = "count-wrong",
        /// A node that has gone is still counted.
        CountSurplus = "count-surplus",
        /// A node is counted in a later epoch than the present one.
        CountAhead = "count-ahead",
        /// The epoch of all totals can't be read, or its copy says another one.
        EpochWrong = "epoch-wrong",
        /// A part of a total of an earlier epoch, or in a lane that nobody reads.
        TotalsLeft = "totals-left",
        /// A part of a total of a later epoch than the present one.
        TotalsAhead = "totals-ahead",
        /// The totals of a node aren't what its children and their totals add up to.
        TotalWrong = "total-wrong",
        /// The totals of a node can't be compared now: one of its children isn't counted as its child.
        TotalUnsettled = "total-unsettled",
        /// A cursor that no handler has written.
        CursorUnreadable = "cursor-unreadable",
        /// A base record that a repair has put back, and died before it could delete it again.
        RecordPutBack = "record-put-back",
        /// A base record that can't be understood. It counts as not there.
        Unreadable = "unreadable",
        /// A node whose parent isn't there.
        Orphan = "orphan",
        /// A node below itself.
        Cycle = "cycle",
        /// A node deeper than 98 levels, which has rows under its nearest 98 ancestors only.
        TooDeep = "too-deep",
        /// A node whose path is too long for a sort key, so that it has no path row.
        PathTooLong = "path-too-long",
        /// A node without a number or a text in the attribute that orders siblings.
        NoOrder = "no-order",
        /// A node with a link that has no row.
        LinkLeftOut = "link-left-out",
        /// An item that isn't ours has a key of a form that rows, lineages or claims have, and may be overwritten.
        ReservedKey = "reserved-key",
        /// A record that is so large that its rows carry no copies.
        NoRoomForCopies = "no-room-for-copies",
        /// A record that is so large that the node can't be touched: its rows won't follow a node above it that moves.
        NoRoomForTouch = "no-room-for-touch",
        /// A value in the place of the mark of a deletion or of a copy that is none.
        MarkUnreadable = "mark-unreadable",
        /// A value in the place of how a node was put into the trash that isn't the API's.
        TrashUnreadable = "trash-unreadable",
        /// A node in the trash whose id is too long for the key of its row there.
        TrashUnlisted = "trash-unlisted",
        /// A node with the name of a sibling, which has the claim of it.
        NameClash = "name-clash",
        /// A node whose name nobody has claimed.
        NameUnclaimed = "name-unclaimed",
        /// The claim of a name that its node doesn't have (any more).
        NameLeft = "name-left",
        /// A part of totals that are nothing, of a node that has gone.
        TotalsEmpty = "totals-empty",
        /// A part of a total has the mark of a recount that hasn't ended.
        RecountLeft = "recount-left",
        /// A node with something that can't be added up in an attribute that is.
        TotalLeftOut = "total-left-out",
        /// The totals can't be compared: in a cycle, above 98 levels or too many children, or with a newer count.
        TotalNotCompared = "total-not-compared",
        /// A lineage that names something as a row to delete that can't be a row of its node.
        ForeignRows = "foreign-rows",
        /// The table refuses to change a child of a node that is being deleted.
        DeletionBlocked = "deletion-blocked",
        /// An item that a newer version of the handler has written.
        NewerFormat = "newer-format",
        /// A node or a row whose lineage a newer version has written, so that it can't be compared.
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
