//! What an import costs: write units, and dollars at the list price.
//!
//! A node is written as its base record. Its fan-out then writes a lineage, a row for each ancestor, and a path row;
//! for a root it writes a root row, and in a table with an order or links it has rows of these. Each item costs a unit
//! for each KB begun ([docs/reference/costs.md](../../../docs/reference/costs.md)). The sizes are those of the codecs
//! of `sapwood-core`: [`Sizes`] measures one item of each kind, and adds what differs from node to node.

use std::collections::BTreeMap;
use std::sync::Arc;

use sapwood_core::fanout::placement;
use sapwood_core::keys::{Id, ItemKey, KeyError, NodeRef, SORT_KEY_BYTES_MAX, Schema};
use sapwood_core::model::{
    AttributeValue, BaseNode, ITEM_BYTES_MAX, Item, Lineage, Placement, PlacementInput, Settings, item_bytes, rows,
};
use sapwood_core::plan::Rules;

/// The price of a million write units on demand, in dollars: the list price of us-east-1 in docs/decide/pricing.md.
pub const DOLLARS_PER_MILLION_UNITS: f64 = 0.625;

/// The bytes that a write unit pays for.
const UNIT_BYTES: usize = 1_024;

/// The length of the name that the stream handler gives a node's life, in bytes: the id of an invocation, and a number.
const LIFE_BYTES: usize = 40;

/// Returns the write units of an item, by its size in bytes.
#[must_use]
pub fn units(bytes: usize) -> u64 {
    bytes.div_ceil(UNIT_BYTES).max(1) as u64
}

/// Returns the price of write units in dollars.
#[must_use]
pub fn dollars(units: u64) -> f64 {
    units as f64 * DOLLARS_PER_MILLION_UNITS / 1e6
}

/// The sizes that the cost of a node depends on, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeSizes {
    /// The base record.
    pub base: usize,
    /// The attributes that rows copy.
    pub copied: usize,
    /// The id.
    pub id: usize,
    /// The part of a partition key before the id: `TENANT#<tenant>#`, or nothing.
    pub tenant: usize,
    /// The parent's id; 0 for a root.
    pub parent: usize,
    /// The node's own segment, or its id.
    pub segment: usize,
    /// The end of the key of its path row: the escaped segment, and `!` with the escaped id if the segment is explicit.
    pub path_end: usize,
    /// The write units of its child row and its link rows ([`other_units`]). This one isn't a size.
    pub other_units: usize,
}

/// Where a node stands, as far as its cost depends on it. All sizes are in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Above {
    /// The number of ancestors.
    pub depth: usize,
    /// The ids of all ancestors together.
    pub ids: usize,
    /// The longest id of an ancestor.
    pub longest_id: usize,
    /// The id of the farthest ancestor.
    pub farthest_id: usize,
    /// The segments of all ancestors but the farthest.
    pub segments: usize,
    /// The same segments, escaped, with a separator after each.
    pub path: usize,
}

/// The sizes of derived items without the parts that differ between nodes, in bytes, measured on one item of each kind.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    ancestor_row: usize,
    path_row: Option<usize>,
    path_key: usize,
    root_row: Option<usize>,
    lineage: usize,
    truncated: usize,
}

impl Sizes {
    /// Measures the items of a table with these settings. Ids of one byte fit every key, so it doesn't fail.
    pub fn of(settings: &Settings) -> Result<Self, KeyError> {
        // The sizes of a tenant's partition keys are added to each node's.
        let schema = Schema::new(settings.schema.names().clone(), false)?;
        let settings = &Settings { schema, ..settings.clone() };
        let (id, parent) = (Id::new("i")?, Id::new("p")?);
        let node = NodeRef::from(id);
        let base = |parent: Option<&Id>| BaseNode {
            parent: parent.cloned(),
            segment: None,
            deleting: None,
            trashed: None,
            item: Arc::default(),
        };
        let sizes = |placement: &Placement, parent: Option<&Id>| -> Vec<(ItemKey, usize)> {
            let rows = rows(placement, &node, &settings.schema).into_iter();
            rows.map(|row| (row.key.clone(), item_bytes(&row.item(&node, &base(parent), settings)))).collect()
        };
        let path = if settings.path_rows { vec!["i".to_owned()] } else { Vec::new() };
        let below = Placement { ancestors: vec![parent.clone()], path, ..Placement::default() };
        let below = sizes(&below, Some(&parent));
        let root = sizes(&Placement { root: settings.root_rows, ..Placement::default() }, None);
        let size = |row: Option<&(ItemKey, usize)>, ids: usize| row.map(|(_, bytes)| bytes - ids);
        let lineage = Lineage { born: Some("l".repeat(LIFE_BYTES)), ..Lineage::default() };
        Ok(Self {
            // Partition key, sort key, `_id` and `_parent` have a byte each.
            ancestor_row: size(below.first(), 4).unwrap_or_default(),
            path_row: size(below.get(1), 4),
            path_key: below.get(1).map_or(0, |(key, _)| key.sk.len() - 1),
            root_row: size(root.first(), 2),
            lineage: item_bytes(&lineage.item(&node, &settings.schema)) - 1,
            truncated: item_bytes(&truncation(&node, &base(Some(&parent)), settings)),
        })
    }

    /// Returns the write units of a node, its lineage and its rows, if it is placed once. All rows count with the
    /// longest id, and neither links nor an order add to the lineage or to ancestor rows.
    #[must_use]
    pub fn node_units(&self, node: &NodeSizes, above: &Above) -> u64 {
        let row = |own: usize| {
            let whole = own + node.copied;
            units(if whole > ITEM_BYTES_MAX { own + self.truncated } else { whole })
        };
        let shown = node.tenant + node.parent + 2 * node.id;
        let path_segments = above.segments + node.segment + above.depth;
        let lineage = self.lineage + node.tenant + node.id + above.ids + above.depth;
        if above.depth == 0 {
            let root_row = self.root_row.map_or(0, |fixed| row(fixed + node.tenant + 2 * node.id));
            return units(node.base) + units(lineage) + root_row + node.other_units as u64;
        }
        let ancestor_rows = above.depth as u64 * row(self.ancestor_row + shown + above.longest_id);
        let key = self.path_key + above.path + node.path_end;
        let path_row = match self.path_row {
            Some(fixed) if key <= SORT_KEY_BYTES_MAX => {
                let ends = above.path + node.path_end;
                row(fixed + node.tenant + above.farthest_id + ends + node.id + node.parent)
            }
            _ => 0,
        };
        let path = if self.path_row.is_some() { path_segments } else { 0 };
        units(node.base) + units(lineage + path) + ancestor_rows + path_row + node.other_units as u64
    }
}

/// Returns the write units of the rows of other kinds than those of ancestors, paths and roots.
#[must_use]
pub fn other_units(node: &NodeRef, base: &BaseNode, settings: &Settings) -> u64 {
    if settings.order.is_none() && settings.links.is_empty() {
        return 0;
    }
    let wanted = PlacementInput { node, base, parent: None, settings, rules: Rules::default() };
    let all = Placement { orphan: false, ..placement(&wanted) };
    let Placement { ancestors, path, root, .. } = all.clone();
    let frame = rows(&Placement { ancestors, path, root, ..Placement::default() }, node, &settings.schema);
    let others =
        rows(&all, node, &settings.schema).into_iter().filter(|row| !frame.iter().any(|one| one.key == row.key));
    others.map(|row| units(item_bytes(&row.item(node, base, settings)))).sum()
}

/// Returns what a row has instead of copies that would make it too large.
fn truncation(node: &NodeRef, base: &BaseNode, settings: &Settings) -> Item {
    let own = |base: &BaseNode| -> BTreeMap<String, AttributeValue> {
        let placement = Placement { ancestors: base.parent.iter().cloned().collect(), ..Placement::default() };
        let rows = rows(&placement, node, &settings.schema);
        rows.first().map(|row| row.item(node, base, settings)).unwrap_or_default()
    };
    let large = AttributeValue::S("x".repeat(ITEM_BYTES_MAX));
    let copied = BaseNode { item: Arc::new(Item::from([("x".to_owned(), large)])), ..base.clone() };
    let plain = own(base);
    own(&copied).into_iter().filter(|(name, _)| !plain.contains_key(name)).collect()
}
