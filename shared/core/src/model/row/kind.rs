//! Kinds of rows. All that is particular to a kind is in its module: which rows a node has, what the lineage says of
//! them, what they show, and what a node can't have. Whoever plans, writes, compares or counts rows goes through
//! `KINDS`.

use super::Row;
use super::contents::Contents;
use crate::keys::{Id, ItemKey, NodeRef, Schema, SortKey};
use crate::model::{BaseNode, FORMAT, InTrash, Item, Placement, Settings, Shortfall};
use crate::rules::{Rule, Rules};

/// The input of a placement, besides its ancestors.
#[derive(Clone, Copy, Debug)]
pub struct PlacementInput<'a> {
    /// The node.
    pub node: &'a NodeRef,
    /// Its base record.
    pub base: &'a BaseNode,
    /// The placement of its parent; `None` if the parent has no lineage, or the node has no parent.
    pub parent: Option<&'a Placement>,
    /// The table's settings. They switch kinds on and off.
    pub settings: &'a Settings,
    /// The rules of the protocol.
    pub rules: Rules,
}

impl PlacementInput<'_> {
    /// Whether the node is in the trash, with these ancestors. It is there if its record says so, or if its parent is
    /// and has the same ancestors above it: where these are cut, in a cycle or below the deepest level, nobody would
    /// tell the nodes that the one at the top has come back.
    pub(super) fn in_trash(&self, ancestors: &[Id]) -> InTrash {
        if let Some(trashed) = &self.base.trashed {
            return InTrash::Top(trashed.at.clone());
        }
        let is_whole =
            |parent: &Placement| ancestors.len() == parent.ancestors.len() + 1 || !self.rules.keeps(Rule::CutTrash);
        let is_below = self.parent.is_some_and(|parent| parent.trash.is_in() && is_whole(parent));
        if is_below { InTrash::Below } else { InTrash::No }
    }
}

/// A key that may be that of a node's row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Named<'a> {
    pub(super) key: &'a ItemKey,
    pub(super) sort_key: &'a SortKey,
    /// The node in whose partition the key is.
    pub(super) owner: &'a NodeRef,
    pub(super) node: &'a NodeRef,
    pub(super) schema: &'a Schema,
}

impl Named<'_> {
    /// True if the key is in the list of all trees.
    pub(super) fn is_among_roots(&self) -> bool {
        self.key.pk == self.schema.roots_partition(self.owner.tenant.as_ref())
    }
}

/// A kind of rows.
pub(super) trait Kind: Sync {
    /// Adds what the node's rows of this kind follow from to a placement that has its ancestors. While the kind is
    /// switched off it adds nothing, so that rows which stand become stale.
    fn place(&self, wanted: &PlacementInput<'_>, placement: &mut Placement);

    /// Adds the rows that a placement names.
    fn add_rows(&self, placement: &Placement, rows: &mut Rows<'_>);

    /// The least format of a lineage that names these rows, and so the handlers that may act on it.
    fn format(&self, _placement: &Placement) -> u64 {
        FORMAT
    }

    /// True if a lineage with this placement has the attribute.
    fn is_written(&self, _placement: &Placement) -> bool {
        true
    }

    /// Adds to a lineage what the placement says of these rows.
    fn write(&self, placement: &Placement, lineage: &mut Item);

    /// Reads that again. `None` if no handler has written it so.
    fn read(&self, lineage: &Item, placement: &mut Placement) -> Option<()>;

    /// True if a row of this kind of the node can have this key.
    fn can_have(&self, named: &Named<'_>) -> bool;

    fn shortfalls(&self, _wanted: &PlacementInput<'_>, _placement: &Placement) -> Vec<Shortfall> {
        Vec::new()
    }
}

#[derive(Debug)]
pub(super) struct Rows<'a> {
    pub(super) node: &'a NodeRef,
    pub(super) schema: &'a Schema,
    pub(super) rows: Vec<Row>,
}

impl Rows<'_> {
    /// Adds a row in the partition of a node, unless its key would be too long.
    pub(super) fn add(&mut self, partition: &Id, sort_key: &SortKey, contents: Contents) {
        let pk = self.schema.partition(&self.node.sibling(partition.clone()));
        self.add_in(pk, sort_key, contents);
    }

    /// Adds a row in a partition that belongs to no node.
    pub(super) fn add_in(&mut self, pk: String, sort_key: &SortKey, contents: Contents) {
        if let Ok(sk) = self.schema.sort_key(sort_key) {
            self.rows.push(Row { key: ItemKey { pk, sk }, contents });
        }
    }
}
