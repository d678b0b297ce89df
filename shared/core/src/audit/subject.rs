//! What is looked at.

use crate::keys::{ItemKey, NodeRef, Schema, SortKey};
use crate::model::{Item, key_of, shown_by};

/// What is looked at: an item of the table, with all that belongs to it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// A node: its lineage, and the rows that this names.
    Node(NodeRef),
    /// A row, and the lineage that has to name it.
    Row {
        /// The row's key.
        key: ItemKey,
        /// The node that the row shows.
        node: NodeRef,
    },
    /// All `v0_` copies of a node, and its revisions.
    History(NodeRef),
    /// A cursor.
    Cursor(NodeRef),
    /// An item of the table's owner whose key is of a form that rows have.
    Foreign {
        /// The item's key.
        key: ItemKey,
        /// The node in whose partition the item is.
        node: NodeRef,
    },
}

impl Subject {
    /// Returns what an item asks to look at. `None` for an item that isn't Sapwood's, or that nothing is derived from.
    #[must_use]
    pub fn of(item: &Item, schema: &Schema) -> Option<Self> {
        let key = key_of(item, schema)?;
        let owner = schema.parse_partition(&key.pk).ok()?;
        match schema.parse_sort_key(&key.sk)? {
            SortKey::Node | SortKey::Lineage => Some(Self::Node(owner)),
            SortKey::Cascade => Some(Self::Cursor(owner)),
            SortKey::Revision { .. } | SortKey::Latest { .. } => Some(Self::History(owner)),
            SortKey::Operation(_) | SortKey::Deleted | SortKey::Idempotency { .. } => None,
            sort_key => match shown_by(item, &key, schema) {
                Some(node) => Some(Self::Row { key, node }),
                None if stands_in(&sort_key, &owner, &key, schema) => Some(Self::Foreign { key, node: owner }),
                None => None,
            },
        }
    }
}

/// True if a row with this key could stand in this partition.
fn stands_in(sort_key: &SortKey, owner: &NodeRef, key: &ItemKey, schema: &Schema) -> bool {
    match sort_key {
        SortKey::Root(_) | SortKey::OrderedRoot { .. } => key.pk == schema.roots_partition(owner.tenant.as_ref()),
        SortKey::Orphan(_) => false,
        _ => true,
    }
}
