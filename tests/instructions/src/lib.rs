//! What the benchmark measures: nodes at a depth, and the records of their changes.
#![allow(clippy::unwrap_used, clippy::missing_panics_doc, reason = "names that are right by their making")]

use sapwood_core::fanout::{Event, StreamRecord};
use sapwood_core::keys::{Id, ItemKey, NodeRef, SortKey};
use sapwood_core::model::{AttributeValue, BaseNode, Item, Placement, Settings, rows};

/// A node at a depth, as its base record and its parent's placement say.
#[derive(Debug)]
pub struct Node {
    /// The settings, with path rows.
    pub settings: Settings,
    /// The node.
    pub node: NodeRef,
    /// Its base record.
    pub base: BaseNode,
    /// Its parent's placement.
    pub parent: Placement,
}

fn id(number: usize) -> Id {
    Id::new(format!("PLACE#{number:05}")).unwrap()
}

fn node_ref(number: usize) -> NodeRef {
    NodeRef { tenant: None, id: id(number) }
}

fn text(value: impl Into<String>) -> AttributeValue {
    AttributeValue::S(value.into())
}

/// The settings of all measurements: the defaults, with path rows.
#[must_use]
pub fn settings() -> Settings {
    Settings { path_rows: true, ..Settings::default() }
}

/// A base record with ten attributes, 400 bytes in all.
fn record(settings: &Settings, number: usize, parent: usize) -> (ItemKey, Item) {
    let (schema, names) = (&settings.schema, settings.schema.names());
    let key = schema.node_key(&node_ref(number));
    let mut item: Item = (0..8).map(|at| (format!("attribute{at}"), text("a value of 30 bytes, as usual."))).collect();
    item.insert(names.segment.clone(), text(format!("Place {number}")));
    item.insert(names.parent.clone(), text(id(parent).as_str()));
    item.insert(names.partition_key.clone(), text(key.pk.clone()));
    item.insert(names.sort_key.clone(), text(key.sk.clone()));
    (key, item)
}

/// A node with this many ancestors.
#[must_use]
pub fn node_at(depth: usize) -> Node {
    let settings = settings();
    let node = node_ref(depth);
    let (_, item) = record(&settings, depth, depth - 1);
    let base = BaseNode::read(item, &node, &settings.schema).unwrap();
    let above = (0..depth - 1).rev().map(id).collect();
    let path = (1..depth).map(|number| format!("Place {number}")).collect();
    let parent = Placement { ancestors: above, path, root: depth == 1, ..Placement::default() };
    Node { settings, node, base, parent }
}

/// The records of 100 new nodes below one another's neighbours.
#[must_use]
pub fn records() -> (Settings, Vec<StreamRecord>) {
    let settings = settings();
    let records = (1..=100).map(|number| {
        let (key, item) = record(&settings, number, number / 8);
        StreamRecord { key, sequence: format!("{number:021}"), event: Event::Insert, old: None, new: Some(item) }
    });
    let records = records.collect();
    (settings, records)
}

/// The sort keys of all rows of a node with this many ancestors.
#[must_use]
pub fn row_keys(depth: usize) -> (Settings, Vec<String>) {
    let Node { settings, node, parent, .. } = node_at(depth);
    let ancestors = std::iter::once(id(depth - 1)).chain(parent.ancestors).collect();
    let path = parent.path.into_iter().chain([format!("Place {depth}")]).collect();
    let placement = Placement { ancestors, path, ..Placement::default() };
    let keys = rows(&placement, &node, &settings.schema).into_iter().map(|row| row.key.sk).collect();
    (settings, keys)
}

/// What a sort key of the schema says.
#[must_use]
pub fn read_all((settings, keys): &(Settings, Vec<String>)) -> Vec<Option<SortKey>> {
    keys.iter().map(|key| settings.schema.parse_sort_key(key)).collect()
}
