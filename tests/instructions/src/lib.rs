//! What the benchmark measures: nodes at a depth, the records of their changes, and plans on a table in memory.
#![allow(clippy::unwrap_used, clippy::missing_panics_doc, reason = "names that are right by their making")]

use std::collections::BTreeMap;
use std::sync::Arc;

use sapwood_core::fanout::{Event, StreamRecord};
use sapwood_core::keys::{Id, ItemKey, NodeRef, SortKey};
use sapwood_core::model::{AttributeValue, BaseNode, Item, Placement, Settings, rows};
use sapwood_core::plan::{Facts, Plan, Read, Step, TaskOutcome};
use sapwood_core::request::{Page, Write};
use sapwood_core::write::{Command, Content, Request, Stamp};

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

/// A table in memory. It answers what plans ask for, and takes what they put; every condition holds.
pub type Contents = BTreeMap<ItemKey, Arc<Item>>;

/// A table with the base records of [`records`].
#[must_use]
pub fn table() -> Contents {
    let (_, records) = records();
    records.into_iter().filter_map(|record| Some((record.key, Arc::new(record.new?)))).collect()
}

/// Runs a plan to its end.
pub fn run<D>(mut plan: Plan<'_, D>, table: &mut Contents) -> D {
    let mut facts = Facts::None;
    loop {
        facts = match plan.next(facts).unwrap() {
            Step::Need(need) => {
                let found = |key: &ItemKey| Some((key.clone(), Arc::clone(table.get(key)?)));
                let page = need.query.as_ref().map(|_| Page { items: Vec::new(), next: None });
                Facts::Read(Read { items: need.keys.iter().filter_map(found).collect(), page, ..Read::default() })
            }
            Step::Do(tasks) => Facts::Done(tasks.iter().map(|_| Ok(TaskOutcome::Held)).collect()),
            Step::Try(_) => Facts::Tried(Some(TaskOutcome::Held)),
            Step::Write(writes) => {
                for write in writes.writes.iter() {
                    if let Write::Put { key, item } = write {
                        table.insert(key.clone(), Arc::new(item.clone()));
                    }
                }
                Facts::Written(BTreeMap::new())
            }
            Step::Wait(_) => Facts::Waited(true),
            Step::Done(done) => return done,
        };
    }
}

/// The creation of a node below one that [`table`] has.
#[must_use]
pub fn create() -> (Settings, Command, Request) {
    let settings = settings();
    let (_, attributes) = record(&settings, 101, 12);
    let attributes = attributes.into_iter().filter(|(name, _)| name.starts_with("attribute")).collect();
    let content = Content { parent: Some(id(12)), attributes, ..Content::default() };
    let stamp = Stamp { at: "2026-01-01T00:00:00.000Z".to_owned(), token: "write".to_owned(), ..Stamp::default() };
    (settings, Command::Create { node: node_ref(101), is_made_id: false, content }, Request::new(stamp))
}
