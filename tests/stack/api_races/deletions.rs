//! Moves and creates into a node that is being deleted, and out of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use rand::RngExt;
use rand::rngs::SmallRng;
use sapwood_tests::api::{Answered, Asked};
use sapwood_tests::serving::Serving;
use serde_json::json;

use super::support::{Node, Race, at_once, moved, post, said};

/// What comes in while the node `gone` is removed.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Comes {
    /// The node `m`, with a child, under this one of the removed tree.
    In(&'static str),
    /// A new node, under this one.
    New(&'static str),
    /// `b` goes out of it.
    Out,
}

/// ```text
/// top - gone - a - c - d     outside - m - n
///            \ b - e
/// ```
const NODES: [(&str, Option<&str>); 9] = [
    ("top", None),
    ("outside", None),
    ("gone", Some("top")),
    ("a", Some("gone")),
    ("b", Some("gone")),
    ("c", Some("a")),
    ("e", Some("b")),
    ("d", Some("c")),
    ("m", Some("outside")),
];

fn tree(run: u64) -> Vec<Node> {
    let name = |id: &str| format!("r{run}-{id}");
    let nodes = NODES.iter().chain(&[("n", Some("m"))]);
    nodes.map(|(id, parent)| (name(id), parent.map(name))).collect()
}

/// What came in at a run, and what that was answered.
struct Came {
    comes: Comes,
    answered: Answered,
}

/// Removes `gone` in each run while something comes in, at some moment of the deletion.
async fn remove(race: &mut Race, mode: &str) -> BTreeMap<u64, Came> {
    let mut came = BTreeMap::new();
    // A child of another client's that is placed after the deletion looked for it waits for its parent, as orphans do.
    race.foreign_unplaced = false;
    race.run(tree, async |serving, chance, run| {
        let answered = one(serving, chance, run, mode).await;
        came.insert(run, answered);
    })
    .await;
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for Came { comes, answered } in came.values() {
        *counts.entry(format!("{comes:?} {}", answered.status)).or_default() += 1;
    }
    println!("{mode}: {counts:?}");
    came
}

async fn one(serving: &Arc<Serving>, chance: &mut SmallRng, run: u64, mode: &str) -> Came {
    let name = |id: &str| format!("r{run}-{id}");
    let target = ["gone", "a", "c", "d"][chance.random_range(0..4)];
    let comes = match run % 4 {
        0 | 2 => Comes::In(target),
        1 => Comes::New(target),
        _ => Comes::Out,
    };
    let asked = match comes {
        Comes::In(target) => moved(&name("m"), Some(&name(target))),
        Comes::New(target) => post("/nodes", &json!({"id": name("new"), "parent": name(target)})),
        Comes::Out => moved(&name("b"), Some(&name("outside"))),
    };
    // Some come first, most into the deletion as it goes down.
    let (before, after) = match chance.random_range(0..3) {
        0 => (chance.random_range(5..30), 0),
        1 => (chance.random_range(0..8), chance.random_range(0..8)),
        _ => (0, chance.random_range(0..60)),
    };
    let deletion = Asked::new("DELETE", format!("/nodes/{}?children={mode}", name("gone")));
    let mut answers = at_once(serving, vec![(before, deletion), (after, asked)]).await;
    assert_eq!(answers[0].status, 202, "run {run}: {:?}", said(&answers));
    let answered = answers.remove(1);
    // Refused where the place is being deleted or gone; a node that is being deleted itself, or gone, can't go out.
    let allowed: &[u16] = if comes == Comes::Out { &[200, 404, 409] } else { &[200, 201, 409, 422] };
    assert!(allowed.contains(&answered.status), "run {run} {comes:?}: {:?}", said(&[answered]));
    Came { comes, answered }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_comes_into_a_subtree_that_is_deleted_goes_with_it_or_stays_outside() {
    let mut race = Race::start(1).await;
    let came = remove(&mut race, "delete").await;
    let forest = race.rest().await;
    for (run, Came { comes, answered }) in came {
        let name = |id: &str| format!("r{run}-{id}");
        let is_done = answered.status < 300;
        let there = |id: &str| forest.has(&name(id));
        assert!(there("top") && there("outside"), "run {run}");
        for id in ["gone", "a", "c", "d"] {
            assert!(!there(id), "run {run}: {id} is still there");
        }
        match comes {
            Comes::In(_) if is_done => assert!(!there("m") && !there("n"), "run {run}: {comes:?} came in and is there"),
            Comes::Out if is_done => {
                assert_eq!(forest.parent(&name("b")), Some(name("outside").as_str()), "run {run}");
                assert!(there("e"), "run {run}");
            }
            _ => {}
        }
        if comes != Comes::Out || !is_done {
            assert!(!there("b") && !there("e") && !there("new"), "run {run}: {comes:?} {}", answered.status);
        }
        if !(matches!(comes, Comes::In(_)) && is_done) {
            assert_eq!(forest.parent(&name("m")), Some(name("outside").as_str()), "run {run}");
            assert!(there("n"), "run {run}");
        }
    }
}

/// Where a child of `gone` is afterwards: under `to`, or a root.
async fn children_are_released(mode: &str, to: Option<&str>) {
    let mut race = Race::start(2).await;
    let came = remove(&mut race, mode).await;
    let forest = race.rest().await;
    for (run, Came { comes, answered }) in came {
        let name = |id: &str| format!("r{run}-{id}");
        let is_done = answered.status < 300;
        let mut wanted: BTreeMap<&str, Option<&str>> = NODES.into_iter().chain([("n", Some("m"))]).collect();
        wanted.remove("gone");
        wanted.extend([("a", to), ("b", to)]);
        match comes {
            Comes::In(target) if is_done => _ = wanted.insert("m", if target == "gone" { to } else { Some(target) }),
            Comes::New(target) if is_done => _ = wanted.insert("new", if target == "gone" { to } else { Some(target) }),
            Comes::Out if is_done => _ = wanted.insert("b", Some("outside")),
            _ => {}
        }
        assert!(!forest.has(&name("gone")), "run {run}: it is still there");
        for (id, parent) in wanted {
            assert!(forest.has(&name(id)), "run {run} {comes:?}: {id} is lost");
            let parent = parent.map(name);
            assert_eq!(forest.parent(&name(id)), parent.as_deref(), "run {run} {comes:?} {}: {id}", answered.status);
        }
        assert!(is_done || !forest.has(&name("new")), "run {run}: what was refused is there");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_comes_in_while_children_are_adopted_is_adopted() {
    children_are_released("adopt", Some("top")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_comes_in_while_children_are_detached_is_detached() {
    children_are_released("detach", None).await;
}
