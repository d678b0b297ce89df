//! Moves: what they check, what they take, and what they refuse.

use std::collections::BTreeSet;

use sapwood_core::model::{DeletionMark, DeletionMode, text};
use sapwood_core::plan::Rules;
use sapwood_engine::write::{Limits, Refusal, Request, WriteError, Writer};
use sapwood_simulation::memory::Patient;
use sapwood_store::{Action, Client};

use super::fixture::{Fixture, Took, Written, id, moved, n, patch, run, under};

/// `a1` … `a<levels>` below one another, the first of them below `top`.
fn chain(fixture: &Fixture, letter: &str, levels: usize, top: &str) {
    for level in 1..=levels {
        let above = if level == 1 { top.to_owned() } else { format!("{letter}{}", level - 1) };
        let above = Some(above.as_str()).filter(|above| !above.is_empty());
        let parent: Vec<_> = above.iter().map(|above| ("parent", text(*above))).collect();
        fixture.foreign(&format!("{letter}{level}"), &parent);
    }
}

fn last_transaction(fixture: &Fixture) -> Vec<Action> {
    fixture.transactions.lock().unwrap().last().cloned().unwrap_or_default()
}

fn keys(actions: &[Action]) -> BTreeSet<String> {
    actions.iter().map(|action| action.key().pk.clone()).collect()
}

fn move_counted(fixture: &Fixture, of: &str, to: &str) -> Took {
    let (took, written) = fixture.carry_out_counted(&patch(of, &moved(Some(to))));
    written.unwrap();
    assert_eq!(fixture.parent(of), Some(text(to)));
    took
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn a_move_checks_what_lies_below_the_lowest_common_ancestor_and_no_more() {
    let fixture = Fixture::default();
    fixture.tree(&[("top", ""), ("l", "top"), ("p1", "l"), ("p", "p1"), ("n1", "l"), ("n", "n1")]);
    fixture.place_all();
    let took = move_counted(&fixture, "n", "p");
    assert_eq!(took, Took { round_trips: 3, reads: 3, writes: 1 });
    assert_eq!(keys(&last_transaction(&fixture)), set(&["n", "n1", "p", "p1"]));
}

#[test]
fn a_move_to_an_ancestor_checks_the_own_way_up_to_it_alone() {
    let fixture = Fixture::default();
    fixture.tree(&[("top", ""), ("l", "top"), ("n1", "l"), ("n2", "n1"), ("n", "n2")]);
    fixture.place_all();
    move_counted(&fixture, "n", "l");
    assert_eq!(keys(&last_transaction(&fixture)), set(&["n", "n1", "n2"]));
}

#[test]
fn moves_in_different_branches_touch_no_item_in_common() {
    let fixture = Fixture::default();
    let branch = |b: &str| {
        [(format!("{b}1"), b.to_owned()), (format!("{b}2"), b.to_owned()), (format!("{b}n"), format!("{b}1"))]
    };
    fixture.tree(&[("top", ""), ("a", "top"), ("b", "top")]);
    for (of, parent) in branch("a").iter().chain(&branch("b")) {
        fixture.tree(&[(of, parent)]);
    }
    fixture.place_all();
    move_counted(&fixture, "an", "a2");
    let first = keys(&last_transaction(&fixture));
    move_counted(&fixture, "bn", "b2");
    assert!(first.is_disjoint(&keys(&last_transaction(&fixture))));
}

#[test]
fn between_two_trees_the_whole_way_of_the_new_parent_is_checked() {
    let fixture = Fixture::default();
    fixture.tree(&[("x", ""), ("n", "x"), ("y", ""), ("p", "y")]);
    fixture.place_all();
    move_counted(&fixture, "n", "p");
    assert_eq!(keys(&last_transaction(&fixture)), set(&["n", "p", "y"]));
    move_counted(&fixture, "x", "n");
    assert_eq!(keys(&last_transaction(&fixture)), set(&["x", "n", "p", "y"]));
}

#[test]
fn at_depths_98_and_97_a_move_takes_three_round_trips_and_fits_100_actions() {
    let fixture = Fixture::default();
    fixture.foreign("top", &[]);
    chain(&fixture, "a", 98, "top");
    chain(&fixture, "b", 97, "top");
    fixture.place_all();
    let took = move_counted(&fixture, "a98", "b97");
    assert_eq!((took.round_trips, took.writes), (3, 1));
    let actions = last_transaction(&fixture);
    assert_eq!(actions.len(), 99);
    assert!(keys(&actions).contains("top"), "the whole way of the new parent, since both don't fit");
    // Between two trees it is as deep.
    chain(&fixture, "c", 98, "");
    fixture.foreign("leaf", &[("parent", text("a97"))]);
    fixture.place_all();
    assert_eq!(move_counted(&fixture, "leaf", "c98").round_trips, 3);
    assert_eq!(last_transaction(&fixture).len(), 99);
}

#[test]
fn past_98_levels_it_is_refused_for_the_node_and_for_what_is_below_it() {
    let fixture = Fixture::default();
    chain(&fixture, "a", 99, "");
    fixture.tree(&[("n", ""), ("below", "n")]);
    fixture.place_all();
    // The last of the chain is 98 levels deep.
    assert!(matches!(fixture.create("new", &under(Some("a99"), &[])), Err(Refusal::TooDeep { depth: 99 })));
    assert!(matches!(fixture.patch("n", &moved(Some("a98"))), Err(Refusal::TooDeep { depth: 99 })));
    assert!(matches!(fixture.patch("below", &moved(Some("a99"))), Err(Refusal::TooDeep { depth: 99 })));
    fixture.patch("n", &moved(Some("a97"))).unwrap();
    fixture.create("last", &under(Some("a98"), &[])).unwrap();
    assert_eq!(fixture.base("new"), None);
}

#[test]
fn past_98_levels_a_create_is_refused_before_anything_is_placed() {
    let fixture = Fixture::default();
    chain(&fixture, "a", 99, "");
    assert!(matches!(fixture.create("new", &under(Some("a99"), &[])), Err(Refusal::TooDeep { .. })));
    fixture.create("last", &under(Some("a98"), &[])).unwrap();
}

#[test]
fn a_node_never_comes_to_be_below_itself() {
    let fixture = Fixture::default();
    fixture.tree(&[("a", ""), ("b", "a"), ("c", "b")]);
    for _ in 0..2 {
        for to in ["a", "b", "c"] {
            assert!(matches!(fixture.patch("a", &moved(Some(to))), Err(Refusal::Cycle { .. })), "{to}");
        }
        // The same with lineages to guess from.
        fixture.place_all();
    }
}

#[test]
fn guesses_that_are_wrong_cost_round_trips_and_nothing_else() {
    let fixture = Fixture::default();
    fixture.tree(&[("top", ""), ("l", "top"), ("p1", "l"), ("p", "p1"), ("n1", "l"), ("n", "n1"), ("other", "top")]);
    fixture.place_all();
    // The lineages of what is below still say `l`.
    fixture.patch("p1", &moved(Some("other"))).unwrap();
    let took = move_counted(&fixture, "n", "p");
    assert!(took.round_trips <= 5, "{took:?}");
    assert_eq!(keys(&last_transaction(&fixture)), set(&["n", "n1", "l", "p", "p1", "other"]));
}

#[test]
fn to_make_a_root_nothing_has_to_be_checked() {
    let fixture = Fixture::default();
    fixture.tree(&[("a", ""), ("b", "a")]);
    let (took, written) = fixture.carry_out_counted(&patch("b", &moved(None)));
    assert_eq!(took, Took { round_trips: 2, reads: 1, writes: 1 });
    let item = Written::from(written.unwrap()).item;
    assert_eq!((item.get("parent"), item.get("_under")), (None, None));
}

#[test]
fn a_circle_of_another_client_is_neither_followed_for_ever_nor_joined_and_can_be_mended() {
    let fixture = Fixture::default();
    fixture.tree(&[("a", ""), ("b", "a")]);
    for (of, parent) in [("x", "y"), ("y", "z"), ("z", "x"), ("self", "self")] {
        fixture.foreign(of, &[("parent", text(parent))]);
    }
    assert!(matches!(fixture.patch("b", &moved(Some("x"))), Err(Refusal::Circle(of)) if of == id("x")));
    assert!(matches!(fixture.patch("b", &moved(Some("self"))), Err(Refusal::Circle(of)) if of == id("self")));
    assert!(matches!(fixture.create("new", &under(Some("x"), &[])), Err(Refusal::Circle(_))));
    assert!(matches!(fixture.patch("y", &moved(Some("x"))), Err(Refusal::Cycle { .. })));
    fixture.patch("y", &moved(Some("a"))).unwrap();
    fixture.patch("b", &moved(Some("x"))).unwrap();
}

#[test]
fn a_way_longer_than_a_tree_is_deep_ends_the_climb() {
    let fixture = Fixture::default();
    chain(&fixture, "a", 300, "");
    fixture.tree(&[("n", "")]);
    assert!(matches!(fixture.patch("n", &moved(Some("a300"))), Err(Refusal::TooDeep { .. })));
    fixture.patch("a300", &moved(Some("n"))).unwrap();
}

#[test]
fn a_way_that_ends_at_a_node_that_is_not_there_or_not_readable_is_a_way() {
    let fixture = Fixture::default();
    fixture.tree(&[("n", "")]);
    fixture.foreign("orphan", &[("parent", text("nowhere"))]);
    fixture.foreign("p", &[("parent", text("odd"))]);
    fixture.foreign("odd", &[("parent", n(1))]);
    fixture.patch("n", &moved(Some("orphan"))).unwrap();
    assert_eq!(keys(&last_transaction(&fixture)), set(&["n", "orphan", "nowhere"]));
    fixture.patch("n", &moved(Some("p"))).unwrap();
    assert_eq!(keys(&last_transaction(&fixture)), set(&["n", "p", "odd"]));
    // What can't be read can be put right.
    fixture.patch("odd", &moved(None)).unwrap();
}

#[test]
fn a_node_on_either_way_that_is_being_deleted_refuses_the_move() {
    let fixture = Fixture::default();
    fixture.tree(&[("r", ""), ("n1", "r"), ("n", "n1"), ("p1", "r"), ("p", "p1"), ("q", "r")]);
    for of in ["n1", "p1"] {
        let mut item = fixture.base(of).unwrap();
        let mark = DeletionMark { mode: DeletionMode::Delete, operation: "o".to_owned(), revisions: false, mark: None };
        item.insert("_deleting".to_owned(), mark.value());
        fixture.memory().lock().unwrap().write(&sapwood_core::keys::ItemKey::new(of, "NODE"), Some(item));
    }
    assert!(
        matches!(fixture.patch("n", &moved(Some("q"))), Err(Refusal::BeingDeleted { id: of, .. }) if of == id("n1"))
    );
    assert!(
        matches!(fixture.patch("q", &moved(Some("p"))), Err(Refusal::BeingDeleted { id: of, .. }) if of == id("p1"))
    );
}

#[test]
fn races_that_are_lost_again_and_again_come_to_an_end() {
    let fixture = Fixture::default();
    fixture.tree(&[("a", ""), ("b", "")]);
    let session = Client::new(&fixture.table, &Patient, &fixture.settings.schema);
    let limits = Limits { attempts_max: 3, ..Limits::default() };
    let writer = Writer::new(&session, &fixture.settings).with(limits, Rules::default());
    let request = Request::new(fixture.stamp());
    let (_, result) = run(async {
        let command = patch("a", &moved(Some("b")));
        let mut write = std::pin::pin!(writer.write(&command, &request));
        for round in 0.. {
            if let std::task::Poll::Ready(result) = futures::poll!(write.as_mut()) {
                return result;
            }
            // Another client writes at every moment.
            fixture.foreign("a", &[("round", n(round))]);
        }
        unreachable!()
    });
    assert_eq!(result, Err(WriteError::Refused(Refusal::Contended)));
}
