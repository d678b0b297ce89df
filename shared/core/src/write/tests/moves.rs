//! What a move checks: a forest drawn in, the checked nodes out.

use crate::keys::{Id, Schema};
use crate::model::{DELETING, DeletionMark, DeletionMode, Item, text};
use crate::plan::ancestry::{Ancestry, Edge};
use crate::plan::{Rule, Rules};
use crate::write::Refusal;
use crate::write::moves::Move;

/// Edges as `a>b` (b's parent is a), roots as `a`, nodes that are being deleted with `!`. What is only a parent isn't
/// there.
fn forest(drawn: &str) -> Ancestry {
    let schema = Schema::default();
    let mut ancestry = Ancestry::default();
    for above in drawn.split_whitespace().filter_map(|word| Some(word.split_once('>')?.0)) {
        ancestry.add(Edge::read(&Id::new(above).unwrap().into(), None, &schema), None);
    }
    for word in drawn.split_whitespace() {
        let (parent, name) = word.split_once('>').map_or((None, word), |(parent, name)| (Some(parent), name));
        let mut item: Item = parent.map(|parent| ("parent".to_owned(), text(parent))).into_iter().collect();
        if name.ends_with('!') {
            let mark = DeletionMark { mode: DeletionMode::Delete, operation: "o".into(), revisions: false, mark: None };
            item.insert(DELETING.to_owned(), mark.value());
        }
        let node = Id::new(name.trim_end_matches('!')).unwrap();
        ancestry.add(Edge::read(&node.into(), Some(&item), &schema), None);
    }
    ancestry
}

/// `n` goes under `p`.
fn check_with(rules: Rules, drawn: &str, room: usize, wanted: &str) {
    let ancestry = forest(drawn);
    let (n, p) = (Id::new("n").unwrap(), Id::new("p").unwrap());
    let own = ancestry.resolve(&n).ok().filter(|path| path.edges[0].gone.is_none());
    let target = ancestry.resolve(&p).unwrap();
    let moved = Move { node: &n, own: own.as_ref(), target: &target, height: 0 };
    let found = match moved.checks(room, rules) {
        Ok(edges) => edges.iter().map(|edge| edge.node.as_str()).collect::<Vec<_>>().join(" "),
        Err(Refusal::Cycle { .. }) => "cycle".to_owned(),
        Err(Refusal::Circle(_)) => "circle".to_owned(),
        Err(Refusal::BeingDeleted { id, .. }) => format!("{id} is being deleted"),
        Err(error) => panic!("{error}"),
    };
    assert_eq!(found, wanted, "{drawn}");
}

fn check(drawn: &str, room: usize, wanted: &str) {
    check_with(Rules::default(), drawn, room, wanted);
}

#[test]
fn both_paths_below_the_lowest_common_ancestor_are_checked() {
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
fn the_whole_path_of_the_new_parent_is_checked_where_there_is_no_such_ancestor_or_no_room() {
    for (drawn, room, wanted) in [
        ("r r>n s s>p", 99, "p s"),
        ("n s s>p", 99, "p s"),
        ("n x>p", 99, "p x"),
        // n isn't there yet.
        ("s s>p", 99, "p s"),
        // n's own path is a circle.
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
fn a_node_on_either_path_that_is_being_deleted_refuses_the_move() {
    for (drawn, wanted) in [("r r>a! a>n r>p", "a"), ("r r>n r>b! b>p", "b"), ("n p!", "p")] {
        check(drawn, 99, &format!("{wanted} is being deleted"));
    }
}

#[test]
fn each_rule_acts_here() {
    let drawn = "t t>r r>a a>n r>b b>p";
    check_with(Rules::without(Rule::OwnAncestorPath), drawn, 99, "p b");
    check_with(Rules::without(Rule::AncestorPathChecks), drawn, 99, "");
}
