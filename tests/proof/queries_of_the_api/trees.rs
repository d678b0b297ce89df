//! Trees, nested.

use std::collections::BTreeSet;

use sapwood_core::model::text;
use sapwood_engine::query::{Bounds, ListOptions, Tree};
use sapwood_simulation::fixture::Fixture;

use super::support::*;

/// As `D(V(X(Y)) W(Z))`.
fn drawn(tree: &Tree) -> String {
    // What is still to be written, the next last: a node, or text.
    let mut left: Vec<Result<usize, &str>> = Vec::new();
    let push = |left: &mut Vec<_>, nodes: &[usize]| {
        for (position, index) in nodes.iter().enumerate().rev() {
            left.push(Ok(*index));
            left.extend((position > 0).then_some(Err(" ")));
        }
    };
    push(&mut left, &tree.tops);
    let mut text = String::new();
    while let Some(next) = left.pop() {
        match next {
            Err(mark) => text += mark,
            Ok(index) => {
                text += tree.nodes[index].id.as_str();
                if !tree.children[index].is_empty() {
                    text.push('(');
                    left.push(Err(")"));
                    push(&mut left, &tree.children[index]);
                }
            }
        }
    }
    text
}

fn bounded(items_max: usize) -> ListOptions {
    ListOptions { bounds: Bounds { items_max, ..Tree::BOUNDS }, ..ListOptions::default() }
}

#[test]
fn a_tree_is_nested_by_one_query() {
    let fixture = small();
    for (max_depth, wanted) in
        [(None, "D(V(X(Y)) W(Z))"), (Some(0), "D"), (Some(1), "D(V W)"), (Some(2), "D(V(X) W(Z))")]
    {
        let (tree, usage) = counted(&fixture, async |r| r.tree(&node("D"), max_depth, &bounded(5_000)).await.unwrap());
        assert_eq!(drawn(&tree), wanted);
        assert_eq!((usage.requests, tree.next), (1, None));
    }
    assert_eq!(drawn(&read(&fixture, async |r| r.tree(&node("V"), None, &bounded(5_000)).await.unwrap())), "V(X(Y))");
}

#[test]
fn a_tree_of_98_levels_is_nested() {
    let mut fixture = Fixture::default();
    fixture.put_node("n0", None, &[]);
    for n in 1..=98 {
        fixture.put_node(&format!("n{n}"), Some(&format!("n{}", n - 1)), &[]);
    }
    fixture.settle();
    let (tree, usage) = counted(&fixture, async |r| r.tree(&node("n0"), None, &bounded(5_000)).await.unwrap());
    assert_eq!((tree.nodes.len(), tree.tops.len(), usage.requests), (99, 1, 1));
    assert_eq!(drawn(&tree).matches('(').count(), 98);
    let way = read(&fixture, async |r| r.ancestors(&node("n98"), &options()).await.unwrap().0);
    assert_eq!(way.items.len(), 98);
    let path: Vec<String> = (1..=98).map(|n| format!("n{n}")).collect();
    let within = sapwood_engine::query::Within::new(path, None, None, None).unwrap();
    let at = read(&fixture, async |r| r.paths(&node("n0"), &within, &options()).await.unwrap());
    assert_eq!(at.items[0].id.as_str(), "n98");
    assert!(read(&fixture, async |r| r.status(&node("n98")).await.unwrap()).is_up_to_date());
}

#[test]
fn a_tree_that_is_cut_goes_on_with_the_children_of_what_came_before() {
    let fixture = small();
    let first = read(&fixture, async |r| r.tree(&node("D"), None, &bounded(3)).await.unwrap());
    assert_eq!(drawn(&first), "D(V W)");
    let rest = ListOptions { after: first.next, ..bounded(3) };
    let second = read(&fixture, async |r| r.tree(&node("D"), None, &rest).await.unwrap());
    assert_eq!((drawn(&second).as_str(), &second.next), ("X(Y) Z", &None));
    let parents: Vec<_> = second.tops.iter().map(|top| second.nodes[*top].parent.as_ref().unwrap().as_str()).collect();
    assert_eq!(parents, ["V", "W"]);
    for items_max in 1..=7 {
        let (mut all, mut options) = (Vec::new(), bounded(items_max));
        loop {
            let tree = read(&fixture, async |r| r.tree(&node("D"), None, &options).await.unwrap());
            assert!(!tree.nodes.is_empty());
            all.extend(tree.nodes.into_iter().map(|below| below.id.to_string()));
            options.after = tree.next;
            if options.after.is_none() {
                break;
            }
        }
        assert_eq!(all, ["D", "V", "W", "X", "Z", "Y"]);
    }
}

#[test]
fn a_wide_tree_is_cut_at_its_bounds_whatever_dynamodbs_pages_are() {
    let mut fixture = Fixture::default();
    fixture.put_node("D", None, &[]);
    for n in 0..200 {
        fixture.put_node(&format!("c{n:03}"), Some("D"), &[("text", text("x".repeat(30_000)))]);
    }
    fixture.settle();
    let (tree, usage) = counted(&fixture, async |r| r.tree(&node("D"), None, &bounded(5_000)).await.unwrap());
    assert!((160..=166).contains(&tree.nodes.len()), "5 MB of 30 KB: {}", tree.nodes.len());
    assert_eq!(usage.requests, 5, "one Query for each megabyte");
    let rest = ListOptions { after: tree.next, ..bounded(5_000) };
    let rest = read(&fixture, async |r| r.tree(&node("D"), None, &rest).await.unwrap());
    let all: BTreeSet<_> = tree.nodes.iter().chain(&rest.nodes).map(|below| &below.id).collect();
    assert_eq!((all.len(), tree.nodes.len() + rest.nodes.len(), rest.next.is_none()), (201, 201, true));
}

#[test]
fn a_node_whose_parent_is_not_where_it_should_be_stands_beside_the_others() {
    let mut fixture = small();
    // In the midst of a move: X's row is gone, Y's is still there.
    fixture.delete("D", "NODE#0002#X");
    let tree = read(&fixture, async |r| r.tree(&node("D"), None, &bounded(5_000)).await.unwrap());
    assert_eq!(drawn(&tree), "D(V W(Z)) Y");
}
