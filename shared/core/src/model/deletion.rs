//! What a lineage says of a node that is being deleted, and the tombstone that a deleted node leaves.

use super::item::{AttributeValue, Item, text, text_of, with_key};
use super::own::DeletionMark;
use super::settings::Settings;
use super::{BaseNode, format};
use crate::keys::{Id, NodeRef};

const DELETED: &str = "deleted";
const DELETING: &str = "deleting";
const HEIR: &str = "heir";
const HEIR_SEEN: &str = "heir_seen";

/// A node's deletion, as its lineage tells its children.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deletion {
    /// The mark in its base record.
    pub mark: DeletionMark,
    /// The node's own parent, which adopts its children in [`DeletionMode::Adopt`](super::DeletionMode::Adopt).
    pub heir: Option<Heir>,
}

/// The parent of a node that is being deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heir {
    /// The parent's id.
    pub id: Id,
    /// True if the API has seen the parent in the table. Any other parent may not have been written yet.
    pub seen: bool,
}

impl Deletion {
    /// Returns the deletion of a node with this base record, if it is being deleted. A node that is its own parent has no heir.
    #[must_use]
    pub fn of(node: &NodeRef, base: &BaseNode) -> Option<Self> {
        let mark = base.deleting.clone()?;
        let heir = base.parent.as_ref().filter(|parent| **parent != node.id);
        Some(Self { mark, heir: heir.map(|id| Heir { id: id.clone(), seen: base.is_under(id) }) })
    }

    /// The tombstone, which replaces the lineage of a deleted node until DynamoDB expires it. It has no `ancestors`, so that a
    /// reader that doesn't know tombstones takes it for no lineage.
    ///
    /// ```json
    /// {"PK": "V", "SK": "LINEAGE", "format": 1, "deleted": true, "_expires": 1795236600,
    ///  "deleting": {"mode": "adopt", "operation": "5a1c7ab2-…", "revisions": false, "expires": 1795236600,
    ///               "heir": "D", "heir_seen": true}}
    /// ```
    #[must_use]
    pub fn tombstone(&self, node: &NodeRef, settings: &Settings) -> Item {
        let mut item = with_key(&settings.schema.lineage_key(node), &settings.schema);
        format::mark(&mut item);
        item.insert(DELETED.into(), AttributeValue::Bool(true));
        self.write(&mut item);
        item.insert(settings.expires().into(), AttributeValue::N(self.mark.expires.to_string()));
        item
    }

    pub(super) fn is_tombstone(item: &Item) -> bool {
        item.get(DELETED) == Some(&AttributeValue::Bool(true))
    }

    /// Adds the deletion to a lineage or tombstone, for example `"deleting": {"mode": "delete", "operation": "5a1c7ab2-…",
    /// "revisions": true, "expires": 1795236600, "heir": "D", "heir_seen": false}`.
    pub(super) fn write(&self, item: &mut Item) {
        let AttributeValue::M(mut map) = self.mark.value() else { return };
        if let Some(Heir { id, seen }) = &self.heir {
            map.insert(HEIR.to_owned(), text(id.as_str()));
            map.insert(HEIR_SEEN.to_owned(), AttributeValue::Bool(*seen));
        }
        item.insert(DELETING.into(), AttributeValue::M(map));
    }

    /// Reads the deletion from a lineage or tombstone: `Some(None)` if there is none, `None` if no handler has written it.
    pub(super) fn read(item: &Item) -> Option<Option<Self>> {
        let Some(value) = item.get(DELETING) else { return Some(None) };
        let AttributeValue::M(map) = value else { return None };
        let map: Item = map.clone().into_iter().collect();
        let heir = match (map.get(HEIR), map.get(HEIR_SEEN)) {
            (None, _) => None,
            (Some(_), Some(AttributeValue::Bool(seen))) => {
                Some(Heir { id: Id::new(text_of(&map, HEIR)?).ok()?, seen: *seen })
            }
            _ => return None,
        };
        Some(Some(Self { mark: DeletionMark::parse(value)?, heir }))
    }
}
