//! Derived rows: a node as it appears in other partitions.

use std::sync::Arc;

use super::item::{ITEM_BYTES_MAX, Item, attribute_bytes, item_bytes, number, text, text_of};
use super::{AttributeValue, BaseNode, Placement, Settings};
use crate::keys::{Id, ItemKey, NodeRef, Schema, SortKey};

const ID: &str = "_id";
const DEPTH: &str = "_depth";
const PARENT: &str = "_parent";
const TRUNCATED: &str = "_truncated";

/// Most attributes of a row's own: its key, and those above.
const OWN_MAX: usize = 6;

/// A row that a placement names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The row's key.
    pub key: ItemKey,
    kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    /// An ancestor row or a path row, with the node's depth below the ancestor in whose partition the row is.
    Descendant {
        depth: usize,
    },
    Root,
    Orphan,
}

/// Returns the rows that a placement names. All rows of a node in the table are among these and its lineage's `stale_rows`. A
/// row whose key would be too long is left out; the other rows are still written.
#[must_use]
pub fn rows(placement: &Placement, node: &NodeRef, schema: &Schema) -> Vec<Row> {
    let Placement { ancestors, root, orphan, .. } = placement;
    let mut rows = Vec::with_capacity(ancestors.len() + 2);
    let mut add = |pk: String, sort_key: &SortKey, kind| {
        if let Ok(sk) = schema.sort_key(sort_key) {
            rows.push(Row { key: ItemKey { pk, sk }, kind });
        }
    };
    for (position, ancestor) in ancestors.iter().enumerate() {
        let depth = position + 1;
        let pk = schema.partition(&node.sibling(ancestor.clone()));
        add(pk, &SortKey::Ancestor { depth, id: node.id.clone() }, Kind::Descendant { depth });
    }
    if let (Some(farthest), Some(path)) = (ancestors.last(), placement.path_key(node)) {
        let pk = schema.partition(&node.sibling(farthest.clone()));
        add(pk, &path, Kind::Descendant { depth: ancestors.len() });
    }
    if *root {
        add(schema.roots_partition(node.tenant.as_ref()), &SortKey::Root(node.id.clone()), Kind::Root);
    }
    if let (true, Some(parent)) = (*orphan, ancestors.first()) {
        let pk = schema.orphans_partition(&node.sibling(parent.clone()));
        add(pk, &SortKey::Orphan(node.id.clone()), Kind::Orphan);
    }
    rows
}

/// What the rows of a node show of it. All rows of the node share one, because together they can be a hundred times the base record.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    id: Id,
    parent: Option<Id>,
    record: Arc<Item>,
    /// The attributes of the record that no row carries.
    left_out: Vec<String>,
    /// The size of the attributes that rows carry.
    copied_bytes: usize,
}

impl Shown {
    /// Returns what the rows of a node show of it.
    #[must_use]
    pub fn of(node: &NodeRef, base: &BaseNode, settings: &Settings) -> Self {
        let left_out: Vec<String> = base.item.keys().filter(|name| !settings.is_copied(name)).cloned().collect();
        let mut shown = Self {
            id: node.id.clone(),
            parent: base.parent.clone(),
            record: Arc::clone(&base.item),
            left_out,
            copied_bytes: 0,
        };
        shown.copied_bytes = shown.copies().map(|(name, value)| attribute_bytes(name, value)).sum();
        shown
    }

    /// The attributes that rows carry.
    fn copies(&self) -> impl Iterator<Item = (&String, &AttributeValue)> {
        self.record.iter().filter(|(name, _)| !self.left_out.contains(name))
    }
}

impl Row {
    /// The row's own attributes, and those that are copied from the base record. Together they are its item ([`Row::item`]).
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
        if let Kind::Descendant { depth } = self.kind {
            own.push((DEPTH, number(depth)));
        }
        if let (Kind::Descendant { .. } | Kind::Orphan, Some(parent)) = (&self.kind, &shown.parent) {
            own.push((PARENT, text(parent.as_str())));
        }
        let is_copy = self.kind != Kind::Orphan;
        let own_bytes: usize = own.iter().map(|(name, value)| attribute_bytes(name, value)).sum();
        let fits = own_bytes + shown.copied_bytes <= ITEM_BYTES_MAX;
        if is_copy && !fits {
            own.push((TRUNCATED, AttributeValue::Bool(true)));
        }
        (own, shown.copies().filter(move |_| is_copy && fits))
    }

    /// About the size of the row's item, without the few bytes that say where the row belongs.
    pub(crate) fn bytes(&self, shown: &Shown) -> usize {
        self.key.bytes() + if self.kind == Kind::Orphan { 0 } else { shown.copied_bytes }
    }

    /// The item of a row: an ancestor row, a path row, a root row, or an entry of the register of orphans. `name` stands for the
    /// attributes that are copied from the base record. A row that would pass 400 KB has `"_truncated": true` instead of them.
    ///
    /// ```json
    /// {"PK": "D", "SK": "NODE#0002#d", "_id": "d", "_depth": 2, "_parent": "V", "name": "Folder d"}
    /// {"PK": "D", "SK": "PATH#V#d", "_id": "d", "_depth": 2, "_parent": "V", "name": "Folder d"}
    /// {"PK": "ROOTS", "SK": "ROOT#D", "_id": "D", "name": "Drive D"}
    /// {"PK": "ORPHANS#c", "SK": "ORPHAN#d", "_id": "d", "_parent": "V"}
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

/// The attributes that [`row_parent`] and [`is_truncated`] read, which every projection has to include.
pub const ROW_ATTRIBUTES: [&str; 2] = [PARENT, TRUNCATED];

/// Returns the parent of the node that an ancestor row or a path row shows.
#[must_use]
pub fn row_parent(row: &Item) -> Option<Id> {
    text_of(row, PARENT).and_then(|id| Id::new(id).ok())
}

/// Returns true if a row or a `v0_` copy had no room for its copied attributes.
#[must_use]
pub fn is_truncated(row: &Item) -> bool {
    row.get(TRUNCATED) == Some(&AttributeValue::Bool(true))
}

/// Returns the node that a row shows, if the item says so.
#[must_use]
pub fn own_id(row: &Item) -> Option<Id> {
    text_of(row, ID).and_then(|id| Id::new(id).ok())
}

/// Returns the depth at which a row shows its node, if the item says so.
#[must_use]
pub fn own_depth(row: &Item) -> Option<usize> {
    match row.get(DEPTH) {
        Some(AttributeValue::N(digits)) => digits.parse().ok(),
        _ => None,
    }
}

/// Returns the missing parent in an entry of the register of orphans.
#[must_use]
pub fn orphan_row_parent(row: &Item) -> Option<&str> {
    text_of(row, PARENT)
}
