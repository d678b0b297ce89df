//! Records: what a source consists of, and what is written into the table.

use sapwood_core::keys::{Id, ItemKey, KeyError, NodeRef, Schema, SortKey, Version, check_segment};
use sapwood_core::model::{
    BaseNode, ITEM_BYTES_MAX, Item, JSON_BYTES_MAX, PUT_BACK, TRASHED, Trashed, Unreadable, item_bytes, json_bytes,
    text, with_key,
};
use sapwood_core::write::ROOM_BYTES;
use sapwood_json::Attributes;

use crate::fault::Fault;

/// A node.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The node's id, and its tenant where the table has tenants.
    pub node: NodeRef,
    /// The parent, in the same tenant; a root has none.
    pub parent: Option<Id>,
    /// The node's name in paths, if that isn't the id.
    pub segment: Option<String>,
    /// How the node was put into the trash, if it is there.
    pub trashed: Option<Trashed>,
    /// The user's attributes.
    pub attributes: Attributes,
}

/// A revision of a topic.
#[derive(Clone, Debug, PartialEq)]
pub struct Revision {
    /// The node that the revision belongs to.
    pub node: NodeRef,
    /// The topic, free text.
    pub topic: String,
    /// The version.
    pub version: Version,
    /// The user's attributes.
    pub attributes: Attributes,
}

/// A record of a source.
#[derive(Clone, Debug, PartialEq)]
pub enum Record {
    /// A node.
    Node(Node),
    /// A revision.
    Revision(Revision),
}

impl Record {
    /// Reads the record that an item of this key is. `None` for derived items.
    pub fn read(item: Item, node: NodeRef, key: SortKey, schema: &Schema) -> Result<Option<Self>, Unreadable> {
        Ok(match key {
            // A repair has put the record back, only to delete it again: it counts as none.
            SortKey::Node if item.contains_key(PUT_BACK) => None,
            SortKey::Node => {
                let attributes = Attributes::of_node(&item, schema);
                let base = BaseNode::read(item, &node, schema)?;
                let segment = base.written_segment(&node, schema);
                Some(Self::Node(Node { node, parent: base.parent, segment, trashed: base.trashed, attributes }))
            }
            SortKey::Revision { version, topic } => {
                let attributes = Attributes::of_revision(&item, schema);
                Some(Self::Revision(Revision { node, topic, version, attributes }))
            }
            _ => None,
        })
    }

    /// The node that the record is, or belongs to.
    #[must_use]
    pub fn node(&self) -> &NodeRef {
        match self {
            Self::Node(node) => &node.node,
            Self::Revision(revision) => &revision.node,
        }
    }

    /// Returns the key of the record's item, unless it is too long, or only the record or only the table has tenants.
    pub fn key(&self, schema: &Schema) -> Result<ItemKey, KeyError> {
        match self {
            Self::Node(node) => schema.item_key(&node.node, &SortKey::Node),
            Self::Revision(Revision { node, topic, version, .. }) => {
                schema.item_key(node, &SortKey::Revision { version: *version, topic: topic.clone() })
            }
        }
    }

    /// Returns the item that is written, unless it has no key.
    ///
    /// ```json
    /// {"PK": "d", "SK": "NODE", "parent": "V", "segment": "docs", "name": "Documents"}
    /// {"PK": "eq", "SK": "v002_Audit", "auditor": "Padma"}
    /// ```
    pub fn item(&self, schema: &Schema) -> Result<Item, KeyError> {
        let mut item = with_key(&self.key(schema)?, schema);
        let names = schema.names();
        match self {
            Self::Node(node) => {
                item.extend(node.attributes.0.clone());
                item.extend(node.parent.iter().map(|parent| (names.parent.clone(), text(parent.as_str()))));
                item.extend(node.segment.iter().map(|segment| (names.segment.clone(), text(segment))));
                item.extend(node.trashed.iter().map(|trashed| (TRASHED.to_owned(), trashed.value())));
            }
            Self::Revision(revision) => item.extend(revision.attributes.0.clone()),
        }
        Ok(item)
    }

    /// Returns the item, if Sapwood takes its names, key, segment and size. `as_is`: if a table can hold it.
    pub(crate) fn accepted(&self, schema: &Schema, as_is: bool) -> Result<Item, Fault> {
        let refused = |error: &dyn std::fmt::Display| Fault::refused(error.to_string());
        match self {
            Self::Node(node) => {
                if node.trashed.is_some() && node.parent.is_some() {
                    let reason = "a node in the trash has no `parent`; that of `trashed` is where it goes back";
                    return Err(Fault::refused(reason));
                }
                node.attributes.check_node(schema).map_err(|error| refused(&error))?;
                node.segment.as_deref().map_or(Ok(()), check_segment).map_err(|error| refused(&error))?;
            }
            Self::Revision(revision) => {
                revision.attributes.check_revision(schema).map_err(|error| refused(&error))?;
            }
        }
        let item = self.item(schema).map_err(|error| refused(&error))?;
        let room = if as_is { 0 } else { ROOM_BYTES };
        let (bytes, limit) = (item_bytes(&item), ITEM_BYTES_MAX - room);
        if bytes > limit {
            return Err(Fault::refused(format!(
                "the item has {bytes} bytes, over its limit of {limit}; make it smaller"
            )));
        }
        let (bytes, limit) = (json_bytes(&item), JSON_BYTES_MAX);
        if bytes > limit && !as_is {
            let message = format!("the item has {bytes} bytes as JSON, over its limit of {limit}; make it smaller");
            return Err(Fault::refused(message));
        }
        Ok(item)
    }
}
