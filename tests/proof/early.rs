//! Nodes that arrive before their parents are placed: they wait a moment, and then stand where their parents will be.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use sapwood_core::fanout::StreamRecord;
use sapwood_core::keys::{Id, ItemKey};
use sapwood_core::model::{AttributeValue, CopyOf, Item, TOUCHED, text};
use sapwood_engine::fanout::{Fanout, Report, Run};
use sapwood_simulation::fixture::{Fixture, at_once};
use sapwood_simulation::intercept::{Intercept, Observer, Request};
use sapwood_simulation::memory::{MemoryTable, Patient};
use sapwood_store::{Condition, ErrorKind, Table, TableError, Write};

/// A chain of nodes, the deepest first, whose records nobody has handled.
fn chain(ids: &[&str]) -> (Fixture, Vec<StreamRecord>) {
    let mut fixture = Fixture::default();
    for (position, id) in ids.iter().enumerate() {
        fixture.put_node(id, ids.get(position + 1).copied(), &[]);
    }
    let records = fixture.take_records();
    (fixture, records)
}

fn sort_keys(fixture: &Fixture, pk: &str) -> Vec<String> {
    fixture.sort_keys(&fixture.query(pk))
}

#[test]
fn a_node_stands_where_its_parent_will_be_and_only_its_orphan_row_goes_later() {
    let (mut fixture, waiting) = chain(&["e", "d", "c", "b", "a"]);
    let mut touches = Vec::new();
    for record in waiting {
        // One batch each, as if lanes were far apart.
        fixture.deliver(&[record]);
        if fixture.get("e", "LINEAGE").is_some() && touches.is_empty() && fixture.get("d", "LINEAGE").is_none() {
            assert!(sort_keys(&fixture, "a").contains(&"NODE#0004#e".to_owned()), "{:?}", sort_keys(&fixture, "a"));
            assert_eq!(fixture.get("e", "LINEAGE").unwrap().get("orphan"), Some(&AttributeValue::Bool(true)));
        }
        let mut next = fixture.take_records();
        while !next.is_empty() {
            touches.extend(next.iter().filter_map(|record| record.new.as_ref()?.get(TOUCHED).cloned()));
            fixture.deliver(&next);
            next = fixture.take_records();
        }
    }
    // Each node is touched once, by its own parent, and never for what is above that.
    assert_eq!(touches.len(), 4, "{touches:?}");
    fixture.settle();
    assert!(sort_keys(&fixture, "e").iter().all(|sk| sk != "ORPHAN#e"));
}

#[test]
fn a_circle_of_nodes_that_nobody_has_placed_predicts_nothing() {
    let mut fixture = Fixture::default();
    for (id, parent) in [("c", "b"), ("b", "a"), ("a", "b")] {
        fixture.put_node(id, Some(parent), &[]);
    }
    let waiting = fixture.take_records();
    fixture.deliver(&waiting[..1]);
    let AttributeValue::L(ancestors) = &fixture.get("c", "LINEAGE").unwrap()["ancestors"] else { panic!("no list") };
    assert_eq!(ancestors.len(), 1, "{ancestors:?}");
    fixture.deliver(&waiting[1..]);
    fixture.settle();
}

#[test]
fn a_lineage_is_never_climbed_past() {
    let mut fixture = Fixture::default();
    for (id, parent) in [("x", None), ("y", None), ("g", Some("x"))] {
        fixture.put_node(id, parent, &[]);
    }
    fixture.settle();
    // The lineage of g says x for a moment longer.
    fixture.put_node("g", Some("y"), &[]);
    let of_g = fixture.take_records();
    for (id, parent) in [("n", "p"), ("p", "g")] {
        fixture.put_node(id, Some(parent), &[]);
    }
    let of_others = fixture.take_records();
    fixture.deliver(&of_others[..1]);
    assert!(sort_keys(&fixture, "x").contains(&"NODE#0003#n".to_owned()));
    assert!(!sort_keys(&fixture, "y").contains(&"NODE#0003#n".to_owned()));
    fixture.deliver(&of_g);
    fixture.deliver(&of_others[1..]);
    fixture.settle();
    assert!(sort_keys(&fixture, "y").contains(&"NODE#0003#n".to_owned()));
}

/// Another batch places nodes when somebody looks at this lineage for the nth time.
struct OtherBatch {
    table: MemoryTable,
    lineage: ItemKey,
    looks: AtomicUsize,
    comes_at: usize,
    batch: Mutex<Vec<StreamRecord>>,
    /// A base record that somebody else puts at that moment.
    put: Option<Item>,
    /// A row that the table refuses until then.
    refused: Option<ItemKey>,
}

impl Observer for OtherBatch {
    async fn before(&self, request: &Request<'_>) {
        let Request::BatchGet(keys) = request else { return };
        if keys.contains(&self.lineage) && self.looks.fetch_add(1, Ordering::SeqCst) + 1 == self.comes_at {
            let batch = std::mem::take(&mut *self.batch.lock().unwrap());
            let run = Run { name: "another", now: 0 };
            let report = at_once(Fanout::default().run(&self.table, &Patient, run, &batch));
            assert_eq!(report.failed, Vec::<String>::new());
            let put = self.put.clone().map(|item| at_once(self.table.put(&item, &Condition::Always)));
            assert!(put.is_none_or(|put| put.unwrap().value));
        }
    }

    fn refuses(&self, request: &Request<'_>) -> Option<TableError> {
        let Request::BatchWrite(writes) = request else { return None };
        let is_refused = |write: &Write| Some(write.key()) == self.refused.as_ref();
        let is_early = self.looks.load(Ordering::SeqCst) < self.comes_at;
        (is_early && writes.iter().any(is_refused)).then(|| TableError::new(ErrorKind::Refuse, "refused"))
    }
}

/// Handles the record of `c` while `p`, its parent, is placed by another batch at this look. Returns how often somebody
/// looked at the lineage of `p`, and the report.
fn beside(comes_at: usize) -> (usize, Report, Fixture) {
    beside_with(comes_at, None, None)
}

/// The same, while somebody puts this base record at that look, and the table refuses this row until then.
fn beside_with(comes_at: usize, put: Option<Item>, refused: Option<ItemKey>) -> (usize, Report, Fixture) {
    let (fixture, mut waiting) = chain(&["c", "p"]);
    let of_parent = waiting.split_off(1);
    let observer = OtherBatch {
        table: fixture.table().clone(),
        lineage: ItemKey::new("p", "LINEAGE"),
        looks: AtomicUsize::default(),
        comes_at,
        batch: Mutex::new(of_parent),
        put,
        refused,
    };
    let table = Intercept { table: fixture.table().clone(), observer };
    let report = at_once(Fanout::default().run(&table, &Patient, Run { name: "one", now: 0 }, &waiting));
    (table.observer.looks.load(Ordering::SeqCst), report, fixture)
}

#[test]
fn a_node_whose_parent_is_placed_a_moment_later_is_placed_once() {
    // The first look is the one before the plan.
    let (_, report, fixture) = beside(3);
    assert_eq!((report.counts.tally.rows_put, report.counts.tally.rows_deleted), (2, 0), "{report:?}");
    assert!(!fixture.get("c", "LINEAGE").unwrap().contains_key("orphan"));
}

#[test]
fn a_node_whose_parent_doesnt_come_waits_for_three_looks() {
    let (looks, report, fixture) = beside(usize::MAX);
    // One before the plan, three while it waits, one before the second plan, and one that confirms.
    assert_eq!(looks, 6, "{report:?}");
    assert_eq!(fixture.get("c", "LINEAGE").unwrap().get("orphan"), Some(&AttributeValue::Bool(true)));
}

/// The look that confirms.
const CONFIRMS: usize = 6;

#[test]
fn a_node_that_is_placed_a_second_time_puts_no_row_again() {
    let (_, report, fixture) = beside(CONFIRMS);
    // Its ancestor row, its path row and its orphan row, which goes.
    assert_eq!((report.counts.tally.rows_put, report.counts.tally.rows_deleted), (3, 1), "{report:?}");
    assert_eq!(sort_keys(&fixture, "p"), ["LINEAGE", "NODE", "NODE#0001#c", "PATH#c"]);
    assert!(!fixture.get("c", "LINEAGE").unwrap().contains_key("orphan"));
    assert_eq!(report.counts.tally.rounds, 3, "one that leaves the node for later, and two: {report:?}");
}

#[test]
fn a_node_that_has_changed_since_puts_its_rows_again() {
    let base = |attributes: &[(&str, &str)]| {
        let own = [("PK", "c"), ("SK", "NODE"), ("parent", "p")];
        own.iter().chain(attributes).map(|(name, value)| ((*name).to_owned(), text(*value))).collect::<Item>()
    };
    let rows_put = |put: Item| beside_with(CONFIRMS, Some(put), None).1.counts.tally.rows_put;
    assert_eq!(rows_put(base(&[("name", "changed")])), 5);
    assert_eq!(rows_put(base(&[(TOUCHED, "1")])), 3, "a touch changes no row");
}

#[test]
fn a_node_that_lacks_a_row_puts_its_rows_again() {
    let row = ItemKey::new("p", "NODE#0001#c");
    let (_, report, fixture) = beside_with(CONFIRMS, None, Some(row));
    // The orphan row and the path row, and then all but the orphan row.
    assert_eq!(report.counts.tally.rows_put, 4, "{report:?}");
    assert_eq!(sort_keys(&fixture, "p"), ["LINEAGE", "NODE", "NODE#0001#c", "PATH#c"]);
}

/// A table that refuses to read this base record.
struct Unread(ItemKey);

impl Observer for Unread {
    async fn before(&self, _: &Request<'_>) {}

    fn refuses(&self, request: &Request<'_>) -> Option<TableError> {
        let is_refused = matches!(request, Request::BatchGet(keys) if keys.contains(&self.0));
        is_refused.then(|| TableError::new(ErrorKind::Refuse, "refused"))
    }
}

#[test]
fn a_copy_waits_for_a_read_that_says_where_its_parent_will_be() {
    let of = CopyOf { operation: "o".to_owned(), node: Id::new("n").unwrap() };
    for (attributes, is_placed) in [(vec![], true), (vec![("_copy_of", of.value())], false)] {
        let mut fixture = Fixture::default();
        for (id, parent) in [("c", Some("p")), ("p", Some("a")), ("a", None)] {
            fixture.put_node(id, parent, &attributes);
        }
        let of_copy = &fixture.take_records()[..1];
        let table = Intercept { table: fixture.table().clone(), observer: Unread(ItemKey::new("a", "NODE")) };
        let report = at_once(Fanout::default().run(&table, &Patient, Run { name: "one", now: 0 }, of_copy));
        assert_eq!(report.failed.is_empty(), is_placed, "{report:?}");
        // An orphan is in no list of `a` until `p` is placed.
        assert_eq!(fixture.get("c", "LINEAGE").is_some(), is_placed);
    }
}
