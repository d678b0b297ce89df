//! Finding a node and what is below it, on a table with lost rows: whatever the walk remembers, it finds the same.

use std::collections::BTreeSet;

use sapwood_core::keys::{Id, NodeRef};
use sapwood_engine::subtree::Subtree;
use sapwood_simulation::fixture::{Fixture, NoRetries, at_once};
use sapwood_store::Client;

/// The ids below `n0`, and how many requests that took. None comes twice.
fn found(fixture: &Fixture, memory_bytes_max: Option<usize>) -> (BTreeSet<String>, u64) {
    let client = Client::new(fixture.table(), &NoRetries, fixture.schema());
    let mut below = Subtree::new(&client, NodeRef::from(Id::new("n0").unwrap()));
    if let Some(bytes) = memory_bytes_max {
        below = below.remembering(bytes);
    }
    let mut ids = BTreeSet::new();
    loop {
        let nodes = at_once(below.next()).unwrap();
        if nodes.is_empty() {
            return (ids, client.usage().requests);
        }
        for node in nodes {
            let id = node.node.id.as_str().to_owned();
            assert!(ids.insert(id.clone()), "{id} comes twice");
        }
    }
}

#[test]
fn a_walk_that_forgets_where_it_was_finds_the_same_nodes_with_more_requests() {
    let mut fixture = Fixture::default();
    for n in 0..150_usize {
        fixture.put_node(&format!("n{n}"), n.checked_sub(1).map(|n| format!("n{}", n / 3)).as_deref(), &[]);
    }
    fixture.settle();
    // The rows of these in their parents' partitions are lost: other rows lead to them.
    for n in [1_usize, 7, 40, 149] {
        fixture.delete(&format!("n{}", (n - 1) / 3), &format!("NODE#0001#n{n}"));
    }
    let wanted: BTreeSet<String> = (0..150).map(|n| format!("n{n}")).collect();
    let (all, few) = found(&fixture, None);
    assert_eq!(all, wanted);
    // Room for some 50 nodes, and for none.
    let (some, more) = found(&fixture, Some(50 * 68));
    let (none, most) = found(&fixture, Some(0));
    assert_eq!((some, none), (wanted.clone(), wanted));
    assert!(few < more && more <= most, "{few}, {more}, {most} requests");
}
