//! What a move checks: a forest drawn in, the checked nodes out.
#![allow(clippy::unwrap_used, clippy::panic)]

use super::WriteError;
use super::way::{Known, Rung, Ways};
use sapwood_core::keys::{Id, Schema};
use sapwood_core::model::{DELETING, Item, text};
use sapwood_core::plan::Rules;

/// Edges as `a>b` (b's parent is a), roots as `a`, nodes that are being deleted with `!`; what is only a parent isn't there.
fn forest(drawn: &str) -> Known {
    let schema = Schema::default();
    let mut known = Known::default();
    for above in drawn.split_whitespace().filter_map(|word| Some(word.split_once('>')?.0)) {
        known.add(Rung::read(&Id::new(above).unwrap().into(), None, &schema));
    }
    for word in drawn.split_whitespace() {
        let (parent, name) = word.split_once('>').map_or((None, word), |(parent, name)| (Some(parent), name));
        let mut item: Item = parent.map(|parent| ("parent".to_owned(), text(parent))).into_iter().collect();
        if name.ends_with('!') {
            item.insert(DELETING.to_owned(), text("soon"));
        }
        let node = Id::new(name.trim_end_matches('!')).unwrap();
        known.add(Rung::read(&node.into(), Some(&item), &schema));
    }
    known
}

/// `n` goes under `p`.
fn check(drawn: &str, room: usize, wanted: &str) {
    let known = forest(drawn);
    let (n, p) = (Id::new("n").unwrap(), Id::new("p").unwrap());
    let own = known.climb(&n).ok().filter(|way| way.rungs[0].there);
    let target = known.climb(&p).unwrap();
    let ways = Ways { node: &n, own: own.as_ref(), target: &target, height: 0 };
    let found = match ways.checks(room, Rules::default()) {
        Ok(rungs) => rungs.iter().map(|rung| rung.node.as_str()).collect::<Vec<_>>().join(" "),
        Err(WriteError::Cycle { .. }) => "cycle".to_owned(),
        Err(WriteError::Circle(_)) => "circle".to_owned(),
        Err(WriteError::BeingDeleted(node)) => format!("{node} leaves"),
        Err(error) => panic!("{error}"),
    };
    assert_eq!(found, wanted, "{drawn}");
}

#[test]
fn both_ways_below_the_lowest_common_ancestor_are_checked() {
    for (drawn, wanted) in [
        ("r r>n r>p", "p"),
        ("t t>r r>a a>n r>b b>p", "a p b"),
        ("r r>p p>a a>b b>n", "b a"),
        ("r r>p p>n", ""),
        ("r r>a a>n a>b b>p", "p b"),
        // They meet at a node that isn't there.
        ("x>a a>n x>p", "a p"),
    ] {
        check(drawn, 99, wanted);
    }
}

#[test]
fn the_whole_way_of_the_new_parent_is_checked_where_there_is_no_such_ancestor_or_no_room() {
    for (drawn, room, wanted) in [
        ("r r>n s s>p", 99, "p s"),
        ("n s s>p", 99, "p s"),
        ("n x>p", 99, "p x"),
        // n isn't there yet.
        ("s s>p", 99, "p s"),
        // n's own way is a circle.
        ("a>n n>a s s>p", 99, "p s"),
        ("r r>a a>n r>b b>p", 2, "p b r"),
    ] {
        check(drawn, room, wanted);
    }
}

#[test]
fn a_new_parent_below_the_node_or_on_a_circle_is_refused() {
    check("n n>p", 99, "cycle");
    check("r r>n n>a a>p", 99, "cycle");
    check("n>a a>p", 99, "cycle");
    check("n b>p p>b", 99, "circle");
    check("n p>p", 99, "circle");
}

#[test]
fn a_node_on_either_way_that_is_being_removed_refuses_the_move() {
    for (drawn, wanted) in [("r r>a! a>n r>p", "a"), ("r r>n r>b! b>p", "b"), ("n p!", "p")] {
        check(drawn, 99, &format!("{wanted} leaves"));
    }
}
