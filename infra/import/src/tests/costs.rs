use proptest::prelude::*;
use sapwood_core::keys::{Id, Names, NodeRef, Schema, Tenant, path_segment_bytes};
use sapwood_core::model::{BaseNode, Lineage, Placement, Settings, SiblingOrder, item_bytes, rows, text};
use sapwood_json::Attributes;

use super::fixture::Checked;
use crate::cost::{Above, NodeSizes, Sizes, dollars, units};
use crate::{Node, Options, Record};

/// A chain of so many nodes, as `tests/stack/counts.rs` has them.
fn chain(length: usize) -> String {
    let node = |n: usize| {
        let parent = n.checked_sub(1).map(|above| format!("\"parent\":\"n{above}\",")).unwrap_or_default();
        format!("{{\"id\":\"n{n}\",{parent}\"attributes\":{{\"name\":\"a name\"}}}}\n")
    };
    (0..length).map(node).collect()
}

#[test]
fn a_node_costs_what_the_documentation_says() {
    for path_rows in [true, false] {
        let options = Options { settings: Settings { path_rows, ..Settings::default() }, ..Options::default() };
        let checked = Checked::of("a.jsonl", chain(10), &options);
        for (depth, level) in checked.work.levels().unwrap().iter().enumerate() {
            // The base record, the lineage, a row for each ancestor, and a path row; a root has a root row.
            let path_row = usize::from(path_rows || depth == 0);
            assert_eq!(level.units, (2 + depth + path_row) as u64, "depth {depth}");
        }
    }
    let million = |units: u64| dollars(units * 1_000_000);
    // The figures of docs/reference/costs.md, which rounds to cents.
    for (units, price) in [(5, 3.13), (7, 4.38), (11, 6.88), (2, 1.25)] {
        assert!((million(units) - price).abs() < 0.0051, "{units}");
    }
}

#[test]
fn roots_cost_less_without_root_rows_and_revisions_cost_two_units() {
    let options = Options { settings: Settings { root_rows: false, ..Settings::default() }, ..Options::default() };
    let revision = format!(
        "{{\"node\":\"n0\",\"topic\":\"t\",\"version\":1,\"attributes\":{{\"x\":\"{}\"}}}}\n",
        "x".repeat(1_100)
    );
    let small = "{\"node\":\"n0\",\"topic\":\"t\",\"version\":2}\n";
    let checked = Checked::of("a.jsonl", format!("{}{revision}{small}", chain(1)), &options);
    let units: Vec<u64> = checked.work.levels().unwrap().iter().map(|level| level.units).collect();
    assert_eq!(units, [2, 2 * 2 + 2]);
    assert_eq!(checked.work.summary().unwrap().units, 8);
}

#[test]
fn an_order_costs_a_unit_for_each_node_and_each_link_costs_one() {
    let order = Some(SiblingOrder::by("name"));
    let settings = Settings { order, links: ["tags".to_owned()].into(), ..Settings::default() };
    let options = Options { settings, ..Options::default() };
    let tagged = "{\"id\":\"t\",\"parent\":\"n0\",\"attributes\":{\"tags\":[\"a\",\"b\",\"a\",1]}}\n";
    let checked = Checked::of("a.jsonl", format!("{}{tagged}", chain(2)), &options);
    let units: Vec<u64> = checked.work.levels().unwrap().iter().map(|level| level.units).collect();
    // A root: record, lineage, root row, ordered row. Below it twice: record, lineage, ancestor row, path row, child
    // row; and two links.
    assert_eq!(units, [4, 5 + 5 + 2]);
}

/// The units of a node by the items that would be written.
fn counted(node: &Node, ancestors: &[Id], path: &[String], settings: &Settings) -> u64 {
    let schema = &settings.schema;
    let item = Record::Node(node.clone()).item(schema).unwrap();
    let base = BaseNode::read(item.clone(), &node.node, schema).unwrap();
    let placement = Placement {
        ancestors: ancestors.to_vec(),
        path: if settings.path_rows && !ancestors.is_empty() { path.to_vec() } else { Vec::new() },
        root: ancestors.is_empty() && settings.root_rows,
        ..Placement::default()
    };
    let rows = rows(&placement, &node.node, schema);
    let rows: u64 = rows.iter().map(|row| units(item_bytes(&row.item(&node.node, &base, settings)))).sum();
    let lineage = Lineage { placement, born: Some("x".repeat(40)), ..Lineage::default() };
    units(item_bytes(&item)) + units(item_bytes(&lineage.item(&node.node, schema))) + rows
}

fn computed(node: &Node, ancestors: &[Id], path: &[String], settings: &Settings) -> u64 {
    let schema = &settings.schema;
    let item = Record::Node(node.clone()).item(schema).unwrap();
    let id = node.node.id.as_str();
    let segment = node.segment.as_deref().unwrap_or(id);
    let explicit = node.segment.as_deref().filter(|segment| *segment != id);
    let sizes = NodeSizes {
        base: item_bytes(&item),
        copied: item_bytes(&settings.copies(&item)),
        id: id.len(),
        tenant: schema.partition(&node.node).len() - id.len(),
        parent: node.parent.as_ref().map_or(0, |parent| parent.as_str().len()),
        segment: segment.len(),
        path_end: path_segment_bytes(segment) + explicit.map_or(0, |_| 1 + path_segment_bytes(id)),
        other_units: 0,
    };
    let lengths = || ancestors.iter().map(|id| id.as_str().len());
    let others = &path[..path.len().saturating_sub(1)];
    let above = Above {
        depth: ancestors.len(),
        ids: lengths().sum(),
        longest_id: lengths().max().unwrap_or_default(),
        farthest_id: lengths().next_back().unwrap_or_default(),
        segments: others.iter().map(String::len).sum(),
        path: others.iter().map(|segment| path_segment_bytes(segment) + 1).sum(),
    };
    Sizes::of(settings).unwrap().node_units(&sizes, &above)
}

proptest! {
    #[test]
    fn the_cost_is_that_of_the_items(
        ancestors in prop::collection::vec("[a-z #%]{9}", 0..40),
        id in "[a-z #%]{1,300}",
        segment in prop::option::of("[a-z/ %]{1,60}"),
        bulk in prop_oneof![0..3_000_usize, 380_000..408_000_usize],
        tenants: bool, path_rows: bool, root_rows: bool,
    ) {
        // All ancestors have ids of one length: then the cost is exact.
        let schema = Schema::new(Names::default(), tenants).unwrap();
        let settings = Settings { schema, path_rows, root_rows, ..Settings::default() };
        let ancestors: Vec<Id> = ancestors.into_iter().map(|id| Id::new(id).unwrap()).collect();
        let tenant = tenants.then(|| Tenant::new("acme").unwrap());
        let node = Node {
            node: NodeRef { tenant, id: Id::new(id).unwrap() },
            parent: ancestors.first().cloned(),
            trashed: None,
            segment,
            attributes: Attributes([("bulk".to_owned(), text("x".repeat(bulk)))].into()),
        };
        let own = node.segment.clone().unwrap_or_else(|| node.node.id.to_string());
        let above = ancestors.iter().rev().skip(1).map(ToString::to_string);
        let path: Vec<String> = if ancestors.is_empty() { Vec::new() } else { above.chain([own]).collect() };
        prop_assert_eq!(computed(&node, &ancestors, &path, &settings), counted(&node, &ancestors, &path, &settings));
    }
}
