//! What is looked at.

use super::AuditorState;
use crate::keys::{Id, ItemKey, NodeRef, Schema, SortKey};
use crate::model::{Amounts, Announcement, Item, NameClaim, ROW_ID, key_of, shown_by};

/// An item of the table to look at, with all that belongs to it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the comment of each says what its fields are")]
pub enum Subject {
    /// A node: its lineage, and the rows that this names.
    Node(NodeRef),
    /// A row, by its key and the node that it shows, and the lineage that has to name it.
    Row { key: ItemKey, node: NodeRef },
    /// All `v0_` copies of a node, and its revisions.
    History(NodeRef),
    /// A cursor.
    Cursor(NodeRef),
    /// The claim of a name, and the node that it names.
    Claim { key: ItemKey, node: NodeRef },
    /// A node's totals, and those of its children.
    Totals(NodeRef),
    /// A part of a node's totals, by its key.
    Lane { key: ItemKey, node: NodeRef },
    /// An item of the table's owner, in a node's partition, whose key is of a form that rows have.
    Foreign { key: ItemKey, node: NodeRef },
    /// The epoch of all totals; or what the handler or the auditor remembers, and a newer version of them has written.
    /// The partition counts as a node.
    Remembered { key: ItemKey, node: NodeRef },
}

/// The class of an item, by its key, and of a row by its `_id` as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// A node's base record.
    Node,
    /// A lineage or a tombstone.
    Lineage,
    /// A row.
    Row,
    /// A revision.
    Revision,
    /// A `v0_` copy.
    Copy,
    /// A cursor.
    Cursor,
    /// Another item of Sapwood's: an operation, an answer that was kept, the handler's settings.
    Own,
    /// An item of the table's owner.
    Foreign,
}

impl Class {
    /// Returns what an item is.
    #[must_use]
    pub fn of(item: &Item, schema: &Schema) -> Self {
        let Some(key) = key_of(item, schema) else { return Self::Foreign };
        if schema.is_own(&key) {
            return Self::Own;
        }
        match schema.parse_partition(&key.pk).ok().and_then(|_| schema.parse_sort_key(&key.sk)) {
            Some(SortKey::Node) => Self::Node,
            Some(SortKey::Lineage) => Self::Lineage,
            Some(SortKey::Cascade) => Self::Cursor,
            Some(SortKey::Revision { .. }) => Self::Revision,
            Some(SortKey::Latest { .. }) => Self::Copy,
            Some(SortKey::Operation(_) | SortKey::Deleted | SortKey::Idempotency { .. }) => Self::Own,
            Some(SortKey::Counted | SortKey::Totals { .. }) => Self::Own,
            Some(SortKey::Change { .. }) if schema.is_of_changes(&key.pk) => Self::Own,
            Some(SortKey::Name(_) | SortKey::RootName(_)) if NameClaim::node_in(item).is_some() => Self::Own,
            _ if shown_by(item, &key, schema).is_some() => Self::Row,
            _ => Self::Foreign,
        }
    }
}

impl Subject {
    /// Returns what an item asks to look at. `None` for an item that isn't Sapwood's, or that nothing is derived from.
    #[must_use]
    pub fn of(item: &Item, schema: &Schema) -> Option<Self> {
        let key = key_of(item, schema)?;
        if is_newer_memory(item, &key, schema) {
            let node = NodeRef::from(Id::new(&key.pk).ok()?);
            return Some(Self::Remembered { key, node });
        }
        if [schema.epoch_key(), schema.epoch_copy_key()].contains(&key) {
            let node = NodeRef::from(Id::new(&key.pk).ok()?);
            return Some(Self::Remembered { key: schema.epoch_key(), node });
        }
        let owner = schema.parse_partition(&key.pk).ok()?;
        let Some(sort_key) = schema.parse_sort_key(&key.sk) else {
            // A path that no handler spells so. Who asks for a path may see the row all the same.
            return match shown_by(item, &key, schema) {
                Some(node) => Some(Self::Row { key, node }),
                None if item.contains_key(ROW_ID) && schema.begins_as_row(&key.sk) => {
                    Some(Self::Foreign { key, node: owner })
                }
                None => None,
            };
        };
        match sort_key {
            SortKey::Node | SortKey::Lineage | SortKey::Counted => Some(Self::Node(owner)),
            SortKey::Totals { .. } => Amounts::is_lane(item, schema).then_some(Self::Lane { key, node: owner }),
            SortKey::Cascade => Some(Self::Cursor(owner)),
            SortKey::Revision { .. } | SortKey::Latest { .. } => Some(Self::History(owner)),
            SortKey::Operation(_) | SortKey::Deleted | SortKey::Idempotency { .. } | SortKey::Change { .. } => None,
            SortKey::Name(_) | SortKey::RootName(_) => {
                Some(Self::Claim { node: owner.sibling(NameClaim::node_in(item)?), key })
            }
            sort_key => match shown_by(item, &key, schema) {
                Some(node) => Some(Self::Row { key, node }),
                None if item.contains_key(ROW_ID) || stands_in(&sort_key, &owner, &key, schema) => {
                    Some(Self::Foreign { key, node: owner })
                }
                None => None,
            },
        }
    }
}

impl Subject {
    /// The totals that an item with this key shows to be there, or due: those of a node with children.
    #[must_use]
    pub fn totals_at(key: &ItemKey, schema: &Schema) -> Option<Self> {
        match schema.parse_sort_key(&key.sk)? {
            SortKey::Totals { .. } | SortKey::Ancestor { depth: 1, .. } => {
                Some(Self::Totals(schema.parse_partition(&key.pk).ok()?))
            }
            _ => None,
        }
    }
}

/// True for the handler's settings or the auditor's state, if a newer version has written them.
pub(super) fn is_newer_memory(item: &Item, key: &ItemKey, schema: &Schema) -> bool {
    (*key == schema.settings_key() && Announcement::read(item).is_err())
        || (*key == schema.audit_key() && AuditorState::read(item, None, 0).is_err())
}

/// True if a row with this key could stand in this partition.
fn stands_in(sort_key: &SortKey, owner: &NodeRef, key: &ItemKey, schema: &Schema) -> bool {
    match sort_key {
        SortKey::Root(_) | SortKey::OrderedRoot { .. } => key.pk == schema.roots_partition(owner.tenant.as_ref()),
        SortKey::Trash { .. } => key.pk == schema.trash_partition(owner.tenant.as_ref()),
        SortKey::Orphan(_) => false,
        _ => true,
    }
}
