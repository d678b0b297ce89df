//! Derived rows: a node as it appears in other partitions.

mod ancestor;
mod contents;
mod kind;
mod link;
mod ordered;
mod orphan;
mod path;
mod root;
mod trash;

use std::sync::Arc;

use super::item::{ITEM_BYTES_MAX, Item, attribute_bytes, item_bytes, text};
use super::wire::{sent_attribute_bytes, text_size};
use super::{AttributeValue, BaseNode, FORMAT, Placement, Settings, Shortfall, TRASHED, Trashed, format};
use crate::keys::{Id, ItemKey, NodeRef, Schema};
pub use contents::ID;
use contents::{Contents, TRUNCATED};
pub use contents::{
    ORPHAN_ROW, ROW_ATTRIBUTES, is_truncated, orphan_row_parent, own_ancestors, own_id, own_order, row_parent,
};
pub use kind::PlacementInput;
use kind::{Kind, Named, Rows};
pub use link::{LINKS_MAX, LinkFault, TARGETS_BYTES_MAX, check_links};

/// All kinds of rows, in the order in which a node's rows are put, each with the attribute of a lineage that says which
/// rows of the kind the node has.
const KINDS: [(&str, &dyn Kind); 7] = [
    (ancestor::ANCESTORS, &ancestor::Ancestor),
    (path::PATH, &path::Path),
    (root::ROOT, &root::Root),
    (orphan::ORPHAN, &orphan::Orphan),
    (ordered::PLACE, &ordered::Ordered),
    (link::LINKS, &link::Link),
    (trash::TRASH, &trash::Trash),
];

/// A row that a placement names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The row's key.
    pub key: ItemKey,
    contents: Contents,
}

/// Returns the rows that a placement names. All rows of a node in the table are among these and its lineage's
/// `stale_rows`. A row whose key would be too long is left out; the other rows are still written.
#[must_use]
pub fn rows(placement: &Placement, node: &NodeRef, schema: &Schema) -> Vec<Row> {
    let mut rows = Rows { node, schema, rows: Vec::with_capacity(placement.ancestors.len() + KINDS.len()) };
    for (_, kind) in KINDS {
        kind.add_rows(placement, &mut rows);
    }
    rows.rows
}

/// Returns the placement with these ancestors.
#[must_use]
pub fn placement_below(ancestors: Vec<Id>, wanted: &PlacementInput<'_>) -> Placement {
    let trash = wanted.in_trash(&ancestors);
    let mut placement = Placement { ancestors, trash, ..Placement::default() };
    for (_, kind) in KINDS {
        kind.place(wanted, &mut placement);
    }
    placement
}

/// Adds a placement to a lineage's item, and the format that it needs.
pub(super) fn write(placement: &Placement, lineage: &mut Item) {
    for (_, kind) in KINDS {
        kind.write(placement, lineage);
    }
    format::mark_as(format_of(placement), lineage);
}

/// The format that a lineage with this placement needs.
pub(super) fn format_of(placement: &Placement) -> u64 {
    let written = KINDS.iter().filter(|(_, kind)| kind.is_written(placement));
    written.map(|(_, kind)| kind.format(placement)).max().unwrap_or(FORMAT)
}

/// How many attributes a lineage has for this placement. `None` if this one lacks some of them.
pub(super) fn attributes_of(placement: &Placement, lineage: &Item) -> Option<usize> {
    let mut written = KINDS.iter().filter(|(_, kind)| kind.is_written(placement));
    written.try_fold(0, |count, (attribute, _)| lineage.contains_key(*attribute).then_some(count + 1))
}

/// Reads a placement from a lineage's item. `None` if no handler has written it so.
pub(super) fn read(lineage: &Item) -> Option<Placement> {
    let mut placement = Placement::default();
    for (_, kind) in KINDS {
        kind.read(lineage, &mut placement)?;
    }
    Some(placement)
}

/// The attributes of a lineage that make its placement.
pub(super) fn attributes() -> impl Iterator<Item = &'static str> {
    KINDS.iter().map(|(attribute, _)| *attribute)
}

pub(super) fn shortfalls(wanted: &PlacementInput<'_>, placement: &Placement) -> impl Iterator<Item = Shortfall> {
    KINDS.iter().flat_map(|(_, kind)| kind.shortfalls(wanted, placement))
}

/// Returns the node that a row shows: that of its key, if the item's `_id` names the same. Nothing else makes a row,
/// and whatever else is wrong in it makes it no item of the table's owner. `None` if the item is no row.
#[must_use]
pub fn shown_by(item: &Item, key: &ItemKey, schema: &Schema) -> Option<NodeRef> {
    let owner = schema.parse_partition(&key.pk).ok()?;
    let (shown, id) = (schema.shown(&key.sk)?, own_id(item)?);
    (shown == id.as_str()).then(|| owner.sibling(id))
}

/// True if a row of this node can have this key. Nothing else is ever deleted because a lineage names it: base records,
/// revisions, rows of other nodes and what isn't ours have other keys.
#[must_use]
pub fn is_row_key(key: &ItemKey, node: &NodeRef, schema: &Schema) -> bool {
    let Ok(owner) = schema.parse_partition(&key.pk) else { return false };
    let Some(sort_key) = schema.parse_sort_key(&key.sk) else { return false };
    let named = Named { key, sort_key: &sort_key, owner: &owner, node, schema };
    owner.tenant == node.tenant && KINDS.iter().any(|(_, kind)| kind.can_have(&named))
}

/// About how many attributes of its own a row has, its key among them.
const OWN_MAX: usize = 7;

/// The node as its rows show it. All of them share one, because together they can be a hundred times the base record.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    id: Id,
    parent: Option<Id>,
    trashed: Option<Trashed>,
    record: Arc<Item>,
    /// For each attribute of the record, in its order, true if rows carry it. A record can have 200,000 attributes.
    is_copied: Vec<bool>,
    copied_bytes: usize,
    /// How many bytes these take in a request.
    sent_bytes: usize,
}

impl Shown {
    /// Returns what the rows of a node show of it.
    #[must_use]
    pub fn of(node: &NodeRef, base: &BaseNode, settings: &Settings) -> Self {
        let mut shown = Self {
            id: node.id.clone(),
            parent: base.parent.clone(),
            trashed: base.trashed.clone(),
            record: Arc::clone(&base.item),
            is_copied: base.item.keys().map(|name| settings.is_copied(name)).collect(),
            copied_bytes: 0,
            sent_bytes: 0,
        };
        shown.copied_bytes = shown.copies().map(|(name, value)| attribute_bytes(name, value)).sum();
        shown.sent_bytes = shown.copies().map(|(name, value)| sent_attribute_bytes(name, value)).sum();
        shown
    }

    fn copies(&self) -> impl Iterator<Item = (&String, &AttributeValue)> {
        self.record.iter().zip(&self.is_copied).filter(|(_, is_copied)| **is_copied).map(|(attribute, _)| attribute)
    }
}

impl Row {
    /// The row's own attributes, and those copied from the base record: together its item ([`Row::item`]).
    pub fn attributes<'a>(
        &self,
        shown: &'a Shown,
        schema: &'a Schema,
    ) -> (Vec<(&'a str, AttributeValue)>, impl Iterator<Item = (&'a String, &'a AttributeValue)>) {
        let (names, ItemKey { pk, sk }) = (schema.names(), &self.key);
        let mut own = Vec::with_capacity(OWN_MAX);
        own.extend([
            (names.partition_key.as_str(), text(pk)),
            (names.sort_key.as_str(), text(sk)),
            (ID, text(shown.id.as_str())),
        ]);
        own.extend(self.contents.attributes(shown.parent.as_ref()));
        own.extend(self.contents.trashed.then_some(shown.trashed.as_ref()).flatten().map(|of| (TRASHED, of.value())));
        let is_copy = self.contents.copies;
        let own_bytes: usize = own.iter().map(|(name, value)| attribute_bytes(name, value)).sum();
        let fits = own_bytes + shown.copied_bytes <= ITEM_BYTES_MAX;
        if is_copy && !fits {
            own.push((TRUNCATED, AttributeValue::Bool(true)));
        }
        (own, shown.copies().filter(move |_| is_copy && fits))
    }

    /// About how many bytes the row takes in a request, without the few that say where it belongs.
    pub(crate) fn sent_bytes(&self, shown: &Shown) -> usize {
        let copies = if self.contents.copies { shown.sent_bytes } else { 0 };
        text_size(&self.key.pk) + text_size(&self.key.sk) + self.contents.sent_bytes() + copies
    }

    /// The item of a row: an ancestor row, a path row, a root row, an entry of the register of orphans, a row of the
    /// trash. `name`
    /// stands for the attributes that are copied from the base record. A row that would pass 400 KB has `"_truncated":
    /// true` instead of them.
    ///
    /// ```json
    /// {"PK": "D", "SK": "NODE#0002#d", "_id": "d", "_depth": 2, "_parent": "V", "name": "Folder d"}
    /// {"PK": "D", "SK": "PATH#V#d", "_id": "d", "_depth": 2, "_parent": "V", "name": "Folder d"}
    /// {"PK": "ROOTS", "SK": "ROOT#D", "_id": "D", "name": "Drive D"}
    /// {"PK": "ORPHANS#c", "SK": "ORPHAN#d", "_id": "d", "_parent": "V"}
    /// {"PK": "TRASH", "SK": "TRASH#2026-02-03T04:05:06.789Z#d", "_id": "d", "_trashed": {"by": "anna", …}, "name": "Folder d"}
    /// ```
    #[must_use]
    pub fn item(&self, node: &NodeRef, base: &BaseNode, settings: &Settings) -> Item {
        self.item_of(&Shown::of(node, base, settings), &settings.schema)
    }

    /// Like [`Row::item`], for whoever needs several rows of a node.
    #[must_use]
    pub fn item_of(&self, shown: &Shown, schema: &Schema) -> Item {
        let (own, copies) = self.attributes(shown, schema);
        let own = own.into_iter().map(|(name, value)| (name.to_owned(), value));
        own.chain(copies.map(|(name, value)| (name.clone(), value.clone()))).collect()
    }
}

/// Adds the attributes copied from `base` to `own`. If both together pass 400 KB it adds `"_truncated": true` instead.
pub(super) fn with_copies(mut own: Item, base: &Item, settings: &Settings) -> Item {
    let copies = settings.copies(base);
    if item_bytes(&own) + item_bytes(&copies) > ITEM_BYTES_MAX {
        own.insert(TRUNCATED.into(), AttributeValue::Bool(true));
    } else {
        own.extend(copies);
    }
    own
}
