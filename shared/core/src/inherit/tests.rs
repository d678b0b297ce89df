#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeMap;
use std::sync::Arc;

use super::*;
use crate::keys::{Id, ItemKey, NodeRef, Schema};
use crate::model::{Item, Lineage, Placement, text, with_key};
use crate::plan::{Facts, Read, Step};

fn node(id: &str) -> NodeRef {
    Id::new(id).unwrap().into()
}

/// A node with its parent, and with the ancestors that its lineage names, if it has one.
type Drawn<'t> = (&'t str, Option<&'t str>, Option<&'t [&'t str]>);

/// A table with these nodes.
fn table(nodes: &[Drawn<'_>]) -> BTreeMap<ItemKey, Arc<Item>> {
    let schema = Schema::default();
    let mut table = BTreeMap::new();
    for (id, parent, lineage) in nodes {
        let key = schema.node_key(&node(id));
        let mut record = with_key(&key, &schema);
        record.extend(parent.map(|parent| ("parent".to_owned(), text(parent))));
        table.insert(key, Arc::new(record));
        if let Some(ancestors) = lineage {
            let ancestors = ancestors.iter().map(|id| Id::new(*id).unwrap()).collect();
            let lineage = Lineage { placement: Placement { ancestors, ..Placement::default() }, ..Lineage::default() };
            table.insert(schema.lineage_key(&node(id)), Arc::new(lineage.item(&node(id), &schema)));
        }
    }
    table
}

/// What the plan reads, a line for each step, and the chain that it finds.
fn steps(id: &str, table: &BTreeMap<ItemKey, Arc<Item>>) -> (Vec<String>, Chain<()>) {
    let (schema, node) = (Schema::default(), node(id));
    let mut plan = read_chain(&node, ["viewers".to_owned()], &schema, |_| ());
    let (mut facts, mut steps) = (Facts::None, Vec::new());
    loop {
        match plan.next(facts).unwrap() {
            Step::Need(need) => {
                assert!(need.options.strong && need.query.is_none());
                let keys: Vec<String> = need.keys.iter().map(|key| format!("{}|{}", key.pk, key.sk)).collect();
                let attributes = need.options.attributes.iter().flatten().map(String::as_str).collect::<Vec<_>>();
                steps.push(format!("{} [{}]", keys.join(" "), attributes.join(" ")));
                let items = need.keys.iter().filter_map(|key| Some((key.clone(), Arc::clone(table.get(key)?))));
                facts = Facts::Read(Read { items: items.collect(), ..Read::default() });
            }
            Step::Done(chain) => return (steps, chain),
            other => panic!("{other:?}"),
        }
    }
}

fn ids(chain: &Chain<()>) -> Vec<&str> {
    chain.nodes.iter().map(|(id, ())| id.as_str()).collect()
}

const PROJECTED: &str = "[_deleting _put_back _trashed parent segment viewers]";

#[test]
fn a_chain_is_read_by_its_lineage_and_goes_on_where_the_records_lead_elsewhere() {
    let settled = table(&[("D", None, Some(&[])), ("V", Some("D"), Some(&["D"])), ("d", Some("V"), Some(&["V", "D"]))]);
    let (read, chain) = steps("d", &settled);
    assert_eq!(read, ["d|LINEAGE d|NODE []".to_owned(), format!("D|NODE V|NODE {PROJECTED}")]);
    assert_eq!((ids(&chain), &chain.end), (vec!["d", "V", "D"], &ChainEnd::Root));

    // V has moved below Y, and no lineage says so yet but that of Y.
    let moved = table(&[
        ("D", None, Some(&[])),
        ("X", None, Some(&[])),
        ("Y", Some("X"), Some(&["X"])),
        ("V", Some("Y"), Some(&["D"])),
        ("d", Some("V"), Some(&["V", "D"])),
    ]);
    let (read, chain) = steps("d", &moved);
    assert_eq!(read[2..], ["Y|LINEAGE Y|NODE []".to_owned(), format!("X|NODE {PROJECTED}")]);
    assert_eq!(ids(&chain), ["d", "V", "Y", "X"]);

    // The node itself has moved: what its lineage names isn't read in vain.
    let moved = table(&[("D", None, Some(&[])), ("V", Some("D"), Some(&["D"])), ("d", Some("V"), Some(&["x", "y"]))]);
    let (read, chain) = steps("d", &moved);
    assert_eq!(read[1..], ["V|LINEAGE V|NODE []".to_owned(), format!("D|NODE {PROJECTED}")]);
    assert_eq!(ids(&chain), ["d", "V", "D"]);
}

#[test]
fn a_cycle_ends_after_each_of_its_nodes() {
    let cycle = table(&[("a", Some("b"), Some(&["b", "a"])), ("b", Some("c"), None), ("c", Some("a"), None)]);
    let (read, chain) = steps("a", &cycle);
    assert_eq!((read.len(), ids(&chain), &chain.end), (3, vec!["a", "b", "c"], &ChainEnd::Cycle));
    let (_, chain) = steps("nobody", &cycle);
    assert_eq!((chain.nodes, chain.end), (Vec::new(), ChainEnd::Absent));
}
