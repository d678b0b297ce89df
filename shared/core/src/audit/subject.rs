//! What is looked at.

use crate::keys::{Id, ItemKey, NodeRef, Schema, SortKey};
use crate::model::{Item, key_of, own_depth, own_id, row_parent};

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
            row => {
                let node = shown(item, &key, &row, &owner, schema)?;
                Some(Self::Row { key, node })
            }
        }
    }
}

/// Returns the node that a row shows. `None` if the item's attributes don't fit its key: it isn't ours, whatever its key looks like.
fn shown(item: &Item, key: &ItemKey, sort_key: &SortKey, owner: &NodeRef, schema: &Schema) -> Option<NodeRef> {
    let node = owner.sibling(own_id(item)?);
    let is_ours = match sort_key {
        SortKey::Ancestor { depth, id } => *id == node.id && own_depth(item) == Some(*depth),
        SortKey::Path { segments, id } => {
            let names_id = id.as_ref().map_or_else(|| segments.last().map(String::as_str), |id| Some(id.as_str()));
            names_id == Some(node.id.as_str()) && own_depth(item) == Some(segments.len())
        }
        SortKey::Root(id) => *id == node.id && key.pk == schema.roots_partition(owner.tenant.as_ref()),
        SortKey::Orphan(id) => {
            let waits_in = |parent: Id| schema.orphans_partition(&owner.sibling(parent)) == key.pk;
            *id == node.id && row_parent(item).is_some_and(waits_in)
        }
        _ => false,
    };
    is_ours.then_some(node)
}
