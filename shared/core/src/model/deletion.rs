//! What a lineage says of a node that is being deleted, or has been.

use super::item::{AttributeValue, Item, text, text_of, with_key};
use super::own::DeletionMark;
use super::settings::Settings;
use super::{BaseNode, format};
use crate::keys::{Id, NodeRef};

const DELETED: &str = "deleted";
const DELETING: &str = "deleting";
const HEIR: &str = "heir";
const HEIR_SEEN: &str = "heir_seen";

/// That a node is being deleted, as its lineage tells its children.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deletion {
    /// The mark in its base record.
    pub mark: DeletionMark,
    /// Its own parent: to whom its children go where they are adopted.
    pub heir: Option<Heir>,
}

/// The parent of a node that is being deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heir {
    /// Its id.
    pub id: Id,
    /// Whether the API has seen it there. A parent that nobody has seen may be yet to come.
    pub seen: bool,
}

impl Deletion {
    /// That of a node with this base record, if it is being deleted. One that is its own parent has no heir.
    #[must_use]
    pub fn of(node: &NodeRef, base: &BaseNode) -> Option<Self> {
        let mark = base.deleting.clone()?;
        let heir = base.parent.as_ref().filter(|parent| **parent != node.id);
        Some(Self { mark, heir: heir.map(|id| Heir { id: id.clone(), seen: base.is_under(id) }) })
    }

    /// The tombstone: what stands in the place of a lineage whose node has been removed, until its time has come. It
    /// holds no ancestors, so that whoever doesn't know tombstones takes it for no lineage.
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

    /// Adds it to a lineage.
    pub(super) fn write(&self, item: &mut Item) {
        let AttributeValue::M(mut map) = self.mark.value() else { return };
        if let Some(Heir { id, seen }) = &self.heir {
            map.insert(HEIR.to_owned(), text(id.as_str()));
            map.insert(HEIR_SEEN.to_owned(), AttributeValue::Bool(*seen));
        }
        item.insert(DELETING.into(), AttributeValue::M(map));
    }

    /// Reads it off a lineage. On the outside `None` where it is there and no handler has written it.
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
