//! What a lineage says of a node that is being removed, or has been.

use super::BaseNode;
use super::item::{AttributeValue, Item, text, text_of, with_key};
use super::own::Leaving;
use super::settings::Settings;
use crate::keys::{Id, NodeRef};

const GONE: &str = "gone";
const LEAVING: &str = "leaving";
const TO: &str = "to";
const SEEN: &str = "seen";

/// That a node is being removed, as its lineage tells its children.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Departure {
    /// What its base record says.
    pub leaving: Leaving,
    /// Its own parent: to whom its children go where they are adopted.
    pub heir: Option<Heir>,
}

/// The parent of a node that is being removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heir {
    /// Its id.
    pub id: Id,
    /// Whether the API has seen it there. A parent that nobody has seen may be yet to come.
    pub seen: bool,
}

impl Departure {
    /// That of a node with this base record, if it is being removed. One that is its own parent has no heir.
    #[must_use]
    pub fn of(node: &NodeRef, base: &BaseNode) -> Option<Self> {
        let leaving = base.leaving.clone()?;
        let heir = base.parent.as_ref().filter(|parent| **parent != node.id);
        Some(Self { leaving, heir: heir.map(|id| Heir { id: id.clone(), seen: base.is_under(id) }) })
    }

    /// The tombstone: what stands in the place of a lineage whose node has been removed, until its time has come. It
    /// holds no ancestors, so that whoever doesn't know tombstones takes it for no lineage.
    #[must_use]
    pub fn tombstone(&self, node: &NodeRef, settings: &Settings) -> Item {
        let mut item = with_key(&settings.schema.lineage_key(node), &settings.schema);
        item.insert(GONE.into(), AttributeValue::Bool(true));
        self.write(&mut item);
        item.insert(settings.expires().into(), AttributeValue::N(self.leaving.expires.to_string()));
        item
    }

    pub(super) fn is_tombstone(item: &Item) -> bool {
        item.get(GONE) == Some(&AttributeValue::Bool(true))
    }

    /// Adds it to a lineage.
    pub(super) fn write(&self, item: &mut Item) {
        let AttributeValue::M(mut map) = self.leaving.value() else { return };
        if let Some(Heir { id, seen }) = &self.heir {
            map.insert(TO.to_owned(), text(id.as_str()));
            map.insert(SEEN.to_owned(), AttributeValue::Bool(*seen));
        }
        item.insert(LEAVING.into(), AttributeValue::M(map));
    }

    /// Reads it off a lineage. On the outside `None` where it is there and no handler has written it.
    pub(super) fn read(item: &Item) -> Option<Option<Self>> {
        let Some(value) = item.get(LEAVING) else { return Some(None) };
        let AttributeValue::M(map) = value else { return None };
        let map: Item = map.clone().into_iter().collect();
        let heir = match (map.get(TO), map.get(SEEN)) {
            (None, _) => None,
            (Some(_), Some(AttributeValue::Bool(seen))) => {
                Some(Heir { id: Id::new(text_of(&map, TO)?).ok()?, seen: *seen })
            }
            _ => return None,
        };
        Some(Some(Self { leaving: Leaving::parse(value)?, heir }))
    }
}
