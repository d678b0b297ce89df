//! What a lineage says of a node that is being deleted, and the tombstone that a deleted node leaves.

use super::item::{AttributeValue, Item, map_of, optional, text, text_of, whole_of, with_key};
use super::lineage::{BORN as LINEAGE_BORN, lives_in, write_lives};
use super::reserved::{DeletionMark, is_same_life, name_of};
use super::settings::Settings;
use super::{BaseNode, DeletionMode, Under, format};
use crate::keys::{Id, NodeRef};
use crate::rules::{Rule, Rules};

const DELETED: &str = "deleted";
const DELETING: &str = "deleting";
const HEIR: &str = "heir";
const HEIR_BORN: &str = "heir_born";

/// How long a tombstone counts, in seconds: a week from its writing. A record waits in the stream for a day at most,
/// and a record that the handler has given up may be redriven within the week.
const TOMBSTONE_SECONDS: u64 = 7 * 24 * 60 * 60;

/// How long a tombstone is kept, in seconds: two weeks. A copy of its node may be put back a week after the deletion,
/// and the tombstone of a parent that was deleted then counts for another week.
const TOMBSTONE_KEPT_SECONDS: u64 = 14 * 24 * 60 * 60;

/// A node's deletion, as its lineage tells its children.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deletion {
    /// The mark in its base record.
    pub mark: DeletionMark,
    /// The node's own parent, which adopts its children in [`DeletionMode::Adopt`].
    pub heir: Option<Heir>,
}

/// The parent of a node that is being deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heir {
    /// The parent's id.
    pub id: Id,
    /// The parent's life that the API saw. `None` if another client put the node there, maybe before the parent.
    pub born: Option<String>,
}

impl Deletion {
    /// The deletion of a node with this base record, if it has a mark. A node that is its own parent has no heir.
    #[must_use]
    pub fn of(node: &NodeRef, base: &BaseNode) -> Option<Self> {
        base.deleting.clone().map(|mark| Self::by(mark, node, base))
    }

    /// The deletion of this node by this mark.
    #[must_use]
    pub fn by(mark: DeletionMark, node: &NodeRef, base: &BaseNode) -> Self {
        let heir = base.parent.as_ref().filter(|parent| **parent != node.id);
        Self { mark, heir: heir.map(|id| Heir { id: id.clone(), born: base.born_of(id) }) }
    }

    /// The node that adopts the children, if they are adopted.
    #[must_use]
    pub fn adopter(&self) -> Option<&Heir> {
        self.heir.as_ref().filter(|_| self.mark.mode == DeletionMode::Adopt)
    }

    /// Adds the deletion to a lineage or tombstone, for example `"deleting": {"mode": "delete", "operation":
    /// "5a1c7ab2-…", "revisions": true, "heir": "D", "heir_born": "0b6a…"}`.
    pub(super) fn write(&self, item: &mut Item) {
        let AttributeValue::M(mut map) = self.mark.value() else { return };
        if let Some(Heir { id, born }) = &self.heir {
            map.insert(HEIR.to_owned(), text(id.as_str()));
            map.extend(born.iter().map(|born| (HEIR_BORN.to_owned(), text(born))));
        }
        item.insert(DELETING.into(), AttributeValue::M(map));
    }

    /// Reads the deletion from a lineage or tombstone. `Some(None)`: there is none; `None`: no handler has written it.
    pub(super) fn read(item: &Item) -> Option<Option<Self>> {
        let Some(value) = item.get(DELETING) else { return Some(None) };
        let map = map_of(value)?;
        let born = name_of(&map, HEIR_BORN).map(str::to_owned);
        let heir = match optional(&map, HEIR, text_of)? {
            None => None,
            Some(id) => Some(Heir { id: Id::new(id).ok()?, born }),
        };
        Some(Some(Self { mark: DeletionMark::parse(value)?, heir }))
    }
}

/// The item that replaces the lineage of a deleted node until DynamoDB expires it. Where the API has deleted a node
/// that showed no children, the record of that (`DELETED`) says the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tombstone {
    /// The deletion, as the lineage had it.
    pub deletion: Deletion,
    /// The life that has ended. The tombstone concerns no child that was put under another life of the same id.
    pub born: Option<String>,
    /// The lives that the id had before, the oldest first.
    pub earlier: Vec<String>,
    /// When the tombstone was written, in seconds since 1970.
    pub deleted: u64,
}

impl Tombstone {
    pub(super) const DELETING: &str = DELETING;
    pub(super) const DELETED: &str = DELETED;

    /// The tombstone's item. It has no `ancestors`, so that a reader that doesn't know tombstones takes it for no
    /// lineage.
    ///
    /// ```json
    /// {"PK": "V", "SK": "LINEAGE", "format": 1, "born": "0b6a…", "deleted": 1794631800, "_expires": 1795841400,
    ///  "deleting": {"mode": "adopt", "operation": "5a1c7ab2-…", "revisions": false, "heir": "D", "heir_born": "93ce…"}}
    /// ```
    #[must_use]
    pub fn item(&self, node: &NodeRef, settings: &Settings) -> Item {
        let mut item = with_key(&settings.schema.lineage_key(node), &settings.schema);
        format::mark(&mut item);
        self.write(&mut item, settings);
        item
    }

    /// Adds what the tombstone says to an item.
    pub fn write(&self, item: &mut Item, settings: &Settings) {
        item.extend(self.born.iter().map(|born| (LINEAGE_BORN.to_owned(), text(born))));
        write_lives(&self.earlier, item);
        item.insert(DELETED.into(), AttributeValue::N(self.deleted.to_string()));
        self.deletion.write(item);
        let expires = self.deleted.saturating_add(TOMBSTONE_KEPT_SECONDS);
        item.insert(settings.expires().into(), AttributeValue::N(expires.to_string()));
    }

    /// Reads a tombstone. Returns `None` if the item is none, or says nothing of children.
    #[must_use]
    pub fn read(item: &Item) -> Option<Self> {
        let (born, deleted) = (name_of(item, LINEAGE_BORN).map(str::to_owned), whole_of(item, DELETED)?);
        Some(Self { deletion: Deletion::read(item)??, born, earlier: lives_in(item), deleted })
    }

    /// The action of the deletion on a child that was put under a life of its node. A child of an earlier life was the
    /// last one's as well. Nobody has asked to delete it, so it is adopted at most.
    #[must_use]
    pub fn deletion_of_child(&self, life: Option<&str>, rules: Rules) -> Option<Deletion> {
        if is_same_life(self.born.as_deref(), life) {
            return Some(self.deletion.clone());
        }
        let is_earlier = self.earlier.iter().any(|earlier| Some(earlier.as_str()) == life);
        (is_earlier && rules.keeps(Rule::EarlierLives)).then(|| self.adoption())
    }

    /// The same for a child that says under which life it was put. Where it names none, the API has seen the node
    /// before any lineage gave it a name. That may have been any of its lives.
    #[must_use]
    pub fn deletion_of_late_child(&self, under: &Under, rules: Rules) -> Option<Deletion> {
        let is_nameless = under.born.is_none() && rules.keeps(Rule::EarlierLives);
        self.deletion_of_child(under.born.as_deref(), rules).or_else(|| is_nameless.then(|| self.adoption()))
    }

    fn adoption(&self) -> Deletion {
        let Deletion { mut mark, heir } = self.deletion.clone();
        if mark.mode == DeletionMode::Delete {
            mark.mode = DeletionMode::Adopt;
        }
        Deletion { mark, heir }
    }

    /// When the tombstone ceases to count, in seconds since 1970.
    #[must_use]
    pub fn counts_until(&self) -> u64 {
        self.deleted.saturating_add(TOMBSTONE_SECONDS)
    }
}
