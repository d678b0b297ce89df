//! Lineages: where a node is in its tree. A node's lineage names every row that the node has.

use std::collections::{BTreeMap, BTreeSet};

use super::cursor::sequence_of;
use super::format::{self, NewerFormat};
use super::item::{AttributeValue, Item, flag_of, key_of, map_of, optional, text, texts_of, with_key};
use super::reserved::name_of;
use super::{Deletion, InTrash, Tombstone, row};
use crate::keys::{Id, ItemKey, NodeRef, Schema, SiblingPlace, SortKey};
use crate::request::Condition;

pub(super) const BORN: &str = "born";
const STALE_ROWS: &str = "stale_rows";
const ROWS_PENDING: &str = "rows_pending";
const RESTARTED: &str = "restarted";
const LEFT: &str = "left";
const GONE: &str = "gone";
pub(super) const EARLIER: &str = "earlier";

/// Most earlier lives that a lineage names: no id comes back so often while one record of the stream waits.
const EARLIER_LIVES_MAX: usize = 8;

/// Where a node is in its tree. Together with the schema it names every row of the node.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Placement {
    /// The node's ancestors, nearest first, at most [`DEPTH_MAX`](crate::keys::DEPTH_MAX).
    pub ancestors: Vec<Id>,
    /// The segments of the path below the farthest ancestor, the node's own last. Empty while path rows are off.
    pub path: Vec<String>,
    /// True if the node has a root row.
    pub root: bool,
    /// True if the node's parent has no lineage. The node is then in the register of orphans.
    pub orphan: bool,
    /// The node's place among its siblings, if these are kept in an order.
    pub order: Option<SiblingPlace>,
    /// The nodes that the node links to, by the attribute that names them.
    pub links: BTreeMap<String, Vec<Id>>,
    /// Whether the node is in the trash.
    pub trash: InTrash,
}

impl Placement {
    /// Returns the sort key of the node's path row, in the partition of the farthest ancestor. The key may be too long
    /// to be written. Returns `None` if the node has no ancestors, if path rows are off, or if there are fewer segments
    /// than ancestors: a parent that was placed before path rows were switched on has no path until it is placed again.
    #[must_use]
    pub fn path_key(&self, node: &NodeRef) -> Option<SortKey> {
        let own = self.path.last().filter(|_| self.path.len() == self.ancestors.len())?;
        let id = (own != node.id.as_str()).then(|| node.id.clone());
        Some(SortKey::Path { segments: self.path.clone(), id })
    }
}

/// A node's lineage, the item `LINEAGE`.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Lineage {
    /// Where the node is.
    pub placement: Placement,
    /// The life of the node: that of its base record, or a name that the handler has given it.
    pub born: Option<String>,
    /// The lives that this id had before, the oldest first. Children put under one of them are the node's as well.
    pub earlier: Vec<String>,
    /// Rows of earlier placements that may still exist.
    pub stale_rows: Vec<ItemKey>,
    /// True while rows of this placement may not exist yet.
    pub rows_pending: bool,
    /// The node's deletion, while it is being deleted. The placement doesn't change until the node is deleted.
    pub deleting: Option<Deletion>,
    /// The trees that the node has left, and whose followers are still to be told.
    pub left: BTreeSet<Id>,
    /// True once the node's record has gone, while its rows are deleted and its trees are told.
    pub is_gone: bool,
    /// The sequence number of the record that had this deletion begin again, padded to 40 digits. Another value is
    /// another change of the lineage, and so sets the deletion off.
    pub restarted: Option<String>,
    /// True if a handler writes this lineage otherwise: in the format that its rows need, and without more attributes.
    pub is_altered: bool,
}

/// The item with a lineage's key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stored {
    /// There is no item.
    Absent,
    /// An item without a format: the table owner's. It counts as absent, may be overwritten, and is never deleted.
    Foreign,
    /// An item with a format, and yet as no handler writes one.
    Malformed,
    /// An item of this format, which a newer version of the handler has written.
    Newer(u64),
    /// A lineage.
    Lineage(Lineage),
    /// A tombstone: the node was deleted. For the placing of its children, that is the same as no lineage.
    Tombstone(Tombstone),
}

impl Stored {
    /// Reads the item with a lineage's key.
    #[must_use]
    pub fn read(item: Option<&Item>, schema: &Schema) -> Self {
        let Some(item) = item else { return Self::Absent };
        let read = match format::is_known(item) {
            Err(NewerFormat { format }) => return Self::Newer(format),
            Ok(false) => return Self::Foreign,
            Ok(true) if item.contains_key(Tombstone::DELETED) => Tombstone::read(item).map(Self::Tombstone),
            Ok(true) => Lineage::read(item, schema).map(Self::Lineage),
        };
        read.unwrap_or(Self::Malformed)
    }

    /// Checks that this version of the handler may act on the item and replace it: no newer one has written it.
    pub fn check_format(&self) -> Result<(), NewerFormat> {
        match self {
            Self::Newer(format) => Err(NewerFormat { format: *format }),
            Self::Absent | Self::Foreign | Self::Malformed | Self::Lineage(_) | Self::Tombstone(_) => Ok(()),
        }
    }

    /// The life that a lineage names. `None` for a tombstone, because the life that it names has ended.
    #[must_use]
    pub fn born_now(&self) -> Option<&str> {
        self.lineage().and_then(|lineage| lineage.born.as_deref())
    }

    /// The life that the item names: that of a node which has a lineage, or the one that a tombstone has ended.
    #[must_use]
    pub fn born(&self) -> Option<&str> {
        match self {
            Self::Lineage(lineage) => lineage.born.as_deref(),
            Self::Tombstone(tombstone) => tombstone.born.as_deref(),
            Self::Absent | Self::Foreign | Self::Malformed | Self::Newer(_) => None,
        }
    }

    /// The lives that the id had before this one, as far as the item names them, the oldest first.
    #[must_use]
    pub fn lives_before(&self, born: Option<&str>) -> Vec<String> {
        let (earlier, last) = match self {
            Self::Lineage(Lineage { earlier, born, .. }) | Self::Tombstone(Tombstone { earlier, born, .. }) => {
                (earlier, born)
            }
            Self::Absent | Self::Foreign | Self::Malformed | Self::Newer(_) => return Vec::new(),
        };
        lives(earlier.iter().chain(last).filter(|life| Some(life.as_str()) != born))
    }

    /// The condition that the item names the same life as an item that was read, and says the same of its end.
    pub fn same_life(item: Option<&Item>) -> Condition {
        let as_read = |name| Condition::is(name, item.and_then(|item| item.get(name)).cloned());
        Condition::All([BORN, Tombstone::DELETED].map(as_read).to_vec())
    }

    /// Returns the lineage, if the item is one.
    #[must_use]
    pub fn lineage(&self) -> Option<&Lineage> {
        match self {
            Self::Lineage(lineage) => Some(lineage),
            Self::Absent | Self::Foreign | Self::Malformed | Self::Newer(_) | Self::Tombstone(_) => None,
        }
    }
}

impl Lineage {
    /// The attributes that a lineage or a tombstone can have, besides its key and its format.
    pub(crate) fn attributes() -> impl Iterator<Item = &'static str> {
        row::attributes().chain([BORN, STALE_ROWS, ROWS_PENDING, Tombstone::DELETING, RESTARTED, EARLIER, LEFT, GONE])
    }

    /// The item of a node's lineage. `orphan`, `stale_rows`, `rows_pending`, `deleting`, `restarted`, `earlier`, `left`
    /// and `gone` are left out where they are false or empty.
    ///
    /// ```json
    /// {"PK": "d", "SK": "LINEAGE", "format": 1, "born": "0b6a…", "ancestors": ["V", "D"], "path": ["V", "d"], "root": false,
    ///  "stale_rows": [{"PK": "IV", "SK": "NODE#0001#d"}], "rows_pending": true}
    /// ```
    #[must_use]
    pub fn item(&self, node: &NodeRef, schema: &Schema) -> Item {
        let mut item = with_key(&schema.lineage_key(node), schema);
        item.extend(self.born.iter().map(|born| (BORN.to_owned(), text(born))));
        row::write(&self.placement, &mut item);
        if !self.stale_rows.is_empty() {
            let rows = self.stale_rows.iter().map(|key| AttributeValue::M(with_key(key, schema).into_iter().collect()));
            item.insert(STALE_ROWS.into(), AttributeValue::L(rows.collect()));
        }
        if self.rows_pending {
            item.insert(ROWS_PENDING.into(), AttributeValue::Bool(true));
        }
        if let Some(deletion) = &self.deleting {
            deletion.write(&mut item);
        }
        item.extend(self.restarted.iter().map(|sequence| (RESTARTED.to_owned(), text(sequence))));
        write_lives(&self.earlier, &mut item);
        if !self.left.is_empty() {
            item.insert(LEFT.into(), AttributeValue::L(self.left.iter().map(|id| text(id.as_str())).collect()));
        }
        if self.is_gone {
            item.insert(GONE.into(), AttributeValue::Bool(true));
        }
        format::mark_as(self.format(), &mut item);
        item
    }

    fn read(item: &Item, schema: &Schema) -> Option<Self> {
        let stale_rows = match item.get(STALE_ROWS) {
            None => Vec::new(),
            Some(AttributeValue::L(rows)) => rows.iter().map(|row| row_key(row, schema)).collect::<Option<_>>()?,
            Some(_) => return None,
        };
        let left = if item.contains_key(LEFT) { texts_of(item, LEFT, |id| Id::new(id).ok())? } else { Vec::new() };
        let lineage = Self {
            placement: row::read(item)?,
            born: name_of(item, BORN).map(str::to_owned),
            stale_rows,
            rows_pending: flag_of(item, ROWS_PENDING)?,
            deleting: Deletion::read(item)?,
            restarted: optional(item, RESTARTED, sequence_of)?.map(str::to_owned),
            earlier: lives_in(item),
            left: left.into_iter().collect(),
            is_gone: flag_of(item, GONE)?,
            is_altered: false,
        };
        let is_altered = !lineage.is_as_written(item);
        Some(Self { is_altered, ..lineage })
    }

    /// True if the item has the attributes of this lineage, its key and its format, and nothing else.
    fn is_as_written(&self, item: &Item) -> bool {
        let Self { placement, born, earlier, stale_rows, rows_pending, deleting, restarted, left, is_gone, .. } = self;
        let flags = [born.is_some(), *rows_pending, deleting.is_some(), restarted.is_some(), *is_gone];
        let lists = [!stale_rows.is_empty(), !earlier.is_empty(), !left.is_empty()];
        let optional = flags.into_iter().chain(lists).filter(|is_there| *is_there).count();
        // As many as there are, and none of them is missing: so there is no other.
        row::attributes_of(placement, item).is_some_and(|of_rows| item.len() == 3 + of_rows + optional)
            && format::is(self.format(), item)
    }

    fn format(&self) -> u64 {
        let of_rows = row::format_of(&self.placement);
        if self.left.is_empty() && !self.is_gone { of_rows } else { of_rows.max(format::FORMAT_WITH_LEFT) }
    }

    /// Returns true if the lineage names a row to delete that can't be its node's. Another client has written it.
    #[must_use]
    pub fn names_others(&self, node: &NodeRef, schema: &Schema) -> bool {
        self.stale_rows.iter().any(|key| !row::is_row_key(key, node, schema))
    }

    /// Returns true if all rows of this placement, and no rows of another, are known to exist, and no follower is to
    /// be told of a tree that the node has left.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.stale_rows.is_empty() && !self.rows_pending && self.left.is_empty() && !self.is_gone
    }
}

/// The newest of these lives, each once.
pub(super) fn lives<'a>(all: impl Iterator<Item = &'a String>) -> Vec<String> {
    let mut lives: Vec<String> = Vec::new();
    for life in all {
        lives.retain(|other| other != life);
        lives.push(life.clone());
    }
    lives.split_off(lives.len().saturating_sub(EARLIER_LIVES_MAX))
}

pub(super) fn write_lives(lives: &[String], item: &mut Item) {
    if !lives.is_empty() {
        item.insert(EARLIER.to_owned(), AttributeValue::L(lives.iter().map(text).collect()));
    }
}

/// The earlier lives that an item names. What can't be one is none.
pub(super) fn lives_in(item: &Item) -> Vec<String> {
    let Some(AttributeValue::L(all)) = item.get(EARLIER) else { return Vec::new() };
    lives(all.iter().filter_map(|life| if let AttributeValue::S(life) = life { Some(life) } else { None }))
}

fn row_key(row: &AttributeValue, schema: &Schema) -> Option<ItemKey> {
    key_of(&map_of(row)?, schema)
}
