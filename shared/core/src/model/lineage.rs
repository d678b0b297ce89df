//! Where a node stands: the one item that names every row that describes it.

use super::Deletion;
use super::format::{self, NewerFormat};
use super::item::{AttributeValue, Item, text, text_of, with_key};
use crate::keys::{Id, ItemKey, NodeRef, Schema, SortKey};

const ANCESTORS: &str = "ancestors";
const PATH: &str = "path";
const ROOT: &str = "root";
const ORPHAN: &str = "orphan";
const STALE_ROWS: &str = "stale_rows";
const ROWS_PENDING: &str = "rows_pending";

/// Where a node stands. With the schema it names every row of the node there is.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Placement {
    /// Its ancestors, nearest first, at most [`DEPTH_MAX`](crate::keys::DEPTH_MAX).
    pub ancestors: Vec<Id>,
    /// The segments of the path below the farthest of them, its own last. Empty where path rows are off.
    pub path: Vec<String>,
    /// Whether it has a root row.
    pub root: bool,
    /// Whether its parent has no lineage: then it stands in the register of orphans.
    pub orphan: bool,
}

impl Placement {
    /// The sort key of the node's path row, below the farthest ancestor; it may be impossible for its size. None where
    /// there are no ancestors, path rows are off, or the path is shorter than the way up: that of a parent placed before
    /// path rows were switched on, until it is placed again.
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
    /// Where the node stands now.
    pub placement: Placement,
    /// Rows of an earlier placement that may still be there.
    pub stale_rows: Vec<ItemKey>,
    /// Whether rows of this placement may not be there yet.
    pub rows_pending: bool,
    /// That the node is being deleted. Its placement then stays as it is until it is gone.
    pub deleting: Option<Deletion>,
}

/// What stands in the place of a lineage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stored {
    /// Nothing.
    Absent,
    /// An item that no handler has written.
    Malformed,
    /// An item of this format, which a newer version of the handler has written.
    Newer(u64),
    /// A lineage.
    Lineage(Lineage),
    /// A tombstone: the node has been removed. For placing its children that is no lineage at all.
    Tombstone(Deletion),
}

impl Stored {
    /// Reads what stands there.
    #[must_use]
    pub fn read(item: Option<&Item>, schema: &Schema) -> Self {
        let Some(item) = item else { return Self::Absent };
        let read = match format::is_known(item) {
            Err(NewerFormat { format }) => return Self::Newer(format),
            Ok(false) => None,
            Ok(true) if Deletion::is_tombstone(item) => Deletion::read(item).flatten().map(Self::Tombstone),
            Ok(true) => Lineage::read(item, schema).map(Self::Lineage),
        };
        read.unwrap_or(Self::Malformed)
    }

    /// Checks that this version of the handler may act on the item and replace it.
    ///
    /// # Errors
    /// [`NewerFormat`] where a newer version has written it.
    pub fn check_format(&self) -> Result<(), NewerFormat> {
        match self {
            Self::Newer(format) => Err(NewerFormat { format: *format }),
            Self::Absent | Self::Malformed | Self::Lineage(_) | Self::Tombstone(_) => Ok(()),
        }
    }

    /// The lineage, if it is one.
    #[must_use]
    pub fn lineage(&self) -> Option<&Lineage> {
        match self {
            Self::Lineage(lineage) => Some(lineage),
            Self::Absent | Self::Malformed | Self::Newer(_) | Self::Tombstone(_) => None,
        }
    }
}

impl Lineage {
    /// As an item.
    #[must_use]
    pub fn item(&self, node: &NodeRef, schema: &Schema) -> Item {
        let Placement { ancestors, path, root, orphan } = &self.placement;
        let mut item = with_key(&schema.lineage_key(node), schema);
        format::mark(&mut item);
        item.insert(ANCESTORS.into(), AttributeValue::L(ancestors.iter().map(|id| text(id.as_str())).collect()));
        item.insert(PATH.into(), AttributeValue::L(path.iter().map(text).collect()));
        item.insert(ROOT.into(), AttributeValue::Bool(*root));
        if *orphan {
            item.insert(ORPHAN.into(), AttributeValue::Bool(true));
        }
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
        item
    }

    fn read(item: &Item, schema: &Schema) -> Option<Self> {
        let ancestors = texts(item, ANCESTORS)?.into_iter().map(|id| Id::new(id).ok()).collect::<Option<_>>()?;
        let stale_rows = match item.get(STALE_ROWS) {
            None => Vec::new(),
            Some(AttributeValue::L(rows)) => rows.iter().map(|row| row_key(row, schema)).collect::<Option<_>>()?,
            Some(_) => return None,
        };
        Some(Self {
            placement: Placement {
                ancestors,
                path: texts(item, PATH)?,
                root: flag(item, ROOT)?,
                orphan: flag(item, ORPHAN)?,
            },
            stale_rows,
            rows_pending: flag(item, ROWS_PENDING)?,
            deleting: Deletion::read(item)?,
        })
    }

    /// Whether all rows of this placement, and none of another, are known to be there.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.stale_rows.is_empty() && !self.rows_pending
    }
}

fn texts(item: &Item, name: &str) -> Option<Vec<String>> {
    match item.get(name) {
        Some(AttributeValue::L(list)) => list
            .iter()
            .map(|value| if let AttributeValue::S(text) = value { Some(text.clone()) } else { None })
            .collect(),
        _ => None,
    }
}

fn flag(item: &Item, name: &str) -> Option<bool> {
    match item.get(name) {
        None => Some(false),
        Some(AttributeValue::Bool(value)) => Some(*value),
        Some(_) => None,
    }
}

fn row_key(row: &AttributeValue, schema: &Schema) -> Option<ItemKey> {
    let AttributeValue::M(map) = row else { return None };
    let map: Item = map.clone().into_iter().collect();
    let names = schema.names();
    Some(ItemKey::new(text_of(&map, &names.partition_key)?, text_of(&map, &names.sort_key)?))
}
