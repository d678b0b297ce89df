//! What judges in the other suites sees what it is there to see.

use std::collections::BTreeSet;

use sapwood_core::model::text;
use sapwood_simulation::fixture::Fixture;
use sapwood_simulation::forest::Forest;

fn small() -> Fixture {
    let mut fixture = Fixture::default();
    fixture.put_node("D", None, &[]);
    fixture.put_node("V", Some("D"), &[]);
    fixture.settle();
    fixture
}

#[test]
#[should_panic(expected = "left over D | NODE#0002#gone")]
fn a_row_that_no_base_record_calls_for_is_seen() {
    let mut fixture = small();
    fixture.put("D", "NODE#0002#gone", &[("_id", text("gone"))]);
    fixture.settle();
}

#[test]
#[should_panic(expected = "missing D | PATH#V")]
fn a_row_taken_away_is_seen() {
    let mut fixture = small();
    fixture.delete("D", "PATH#V");
    fixture.settle();
}

#[test]
#[should_panic(expected = "hasn't come to rest")]
fn a_table_that_never_rests_is_seen() {
    let mut fixture = small();
    fixture.batches_max = 1;
    fixture.put_node("V", None, &[]);
    fixture.settle();
}

#[test]
fn what_the_filter_holds_back_is_not_delivered() {
    let mut fixture = small();
    let before = fixture.delivered;
    fixture.put("D", "v0_Audit#by-hand", &[]);
    assert!(fixture.delivered == before && !fixture.passes_filter("v0_Audit#by-hand"));
    assert!(["NODE", "LINEAGE", "CASCADE", "v001_Audit", "va1000_Audit"].iter().all(|sk| fixture.passes_filter(sk)));
    assert!(!["NODE#0001#V", "PATH#V", "ROOT#D", "vacation"].iter().any(|sk| fixture.passes_filter(sk)));
}

fn forest(nodes: &[(&str, Option<&str>)]) -> Forest {
    let item = |parent: &Option<&str>| parent.iter().map(|id| ("parent".to_owned(), text(*id))).collect();
    Forest(nodes.iter().map(|(id, parent)| ((*id).to_owned(), item(parent))).collect())
}

#[test]
fn a_cycle_what_hangs_below_it_and_an_orphan_are_found() {
    let found = forest(&[("a", Some("b")), ("b", Some("a")), ("c", Some("b")), ("d", None), ("e", Some("x"))]);
    assert_eq!(found.in_cycles(), BTreeSet::from(["a", "b", "c"]));
    assert_eq!(found.orphans(), BTreeSet::from(["e"]));
    forest(&[("a", None), ("b", Some("a")), ("c", Some("b"))]).assert_whole();
}
