//! Moves at the same time.

use std::collections::BTreeMap;

use rand::RngExt;
use sapwood_tests::api::Asked;

use super::support::{Node, Race, Writer, at_once, kind, moved, said, statuses};

fn owned(run: u64, nodes: &[(&str, Option<&str>)]) -> Vec<Node> {
    let name = |id: &str| format!("r{run}-{id}");
    nodes.iter().map(|(id, parent)| (name(id), parent.map(name))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn two_nodes_that_go_under_each_others_children_make_no_cycle() {
    let mut race = Race::start(1).await;
    let tree = |run| {
        let top = (run % 3 == 0).then_some("top");
        let nodes = [("top", None), ("A", top), ("B", top), ("a", Some("A")), ("b", Some("B")), ("bb", Some("b"))];
        owned(run, &nodes)
    };
    let mut won = [0, 0];
    let mut wins = BTreeMap::new();
    race.run(tree, async |serving, chance, run| {
        let name = |id: &str| format!("r{run}-{id}");
        let below_b = if chance.random() { "b" } else { "bb" };
        let all = vec![(0, moved(&name("A"), Some(&name(below_b)))), (0, moved(&name("B"), Some(&name("a"))))];
        let answers = at_once(serving, all).await;
        let winner = answers.iter().position(|answered| answered.status == 200);
        let winner = winner.unwrap_or_else(|| panic!("run {run}: nobody moved: {:?}", said(&answers)));
        let loser = &answers[1 - winner];
        assert_eq!(loser.status, 409, "run {run}: {:?}", said(&answers));
        assert_eq!(kind(loser), "cycle", "run {run}: {:?}", said(&answers));
        won[winner] += 1;
        wins.insert(name(["A", "B"][winner]), name([below_b, "a"][winner]));
    })
    .await;
    println!("A went under B's child {} times, B under A's {} times", won[0], won[1]);
    let forest = race.rest().await;
    for (id, parent) in wins {
        assert_eq!(forest.parent(&id), Some(parent.as_str()), "{id} was moved");
    }
}

/// ```text
/// 0 - 1 - 3 - 6     8 - 9
///   \   \ 4 - 7
///     2 - 5
/// ```
const SMALL: [(&str, Option<&str>); 10] = [
    ("0", None),
    ("1", Some("0")),
    ("2", Some("0")),
    ("3", Some("1")),
    ("4", Some("1")),
    ("5", Some("2")),
    ("6", Some("3")),
    ("7", Some("4")),
    ("8", None),
    ("9", Some("8")),
];

#[tokio::test(flavor = "multi_thread")]
async fn eight_random_moves_at_the_same_time_make_no_cycle() {
    let mut race = Race::start(1).await;
    let (mut done, mut refused) = (0, BTreeMap::<String, usize>::new());
    // Where each node was put by those moves that were done, or is where none was.
    let mut wanted: BTreeMap<String, Vec<Option<String>>> = BTreeMap::new();
    race.run(
        |run| owned(run, &SMALL),
        async |serving, chance, run| {
            let name = |id: &str| format!("r{run}-{id}");
            let mut all: Vec<(u64, Asked)> = Vec::new();
            let mut moves: Vec<(usize, Option<String>)> = Vec::new();
            for _ in 0..8 {
                let id = chance.random_range(0..SMALL.len());
                let to = chance.random_range(0..SMALL.len());
                let to = (to != id || chance.random()).then(|| name(SMALL[to].0));
                all.push((chance.random_range(0..3), moved(&name(SMALL[id].0), to.as_deref())));
                moves.push((id, to));
            }
            let answers = at_once(serving, all).await;
            let mut ends: Vec<Vec<Option<String>>> = vec![Vec::new(); SMALL.len()];
            for ((id, to), answered) in moves.into_iter().zip(&answers) {
                match answered.status {
                    200 => {
                        assert_eq!(answered.json()["parent"].as_str(), to.as_deref());
                        ends[id].push(to);
                        done += 1;
                    }
                    409 => *refused.entry(kind(answered)).or_default() += 1,
                    _ => panic!("run {run}: {:?}", said(&answers)),
                }
            }
            for ((id, parent), mut ends) in SMALL.into_iter().zip(ends) {
                if ends.is_empty() {
                    ends.push(parent.map(name));
                }
                wanted.insert(name(id), ends);
            }
        },
    )
    .await;
    println!("{done} moves were done, refused were {refused:?}");
    let forest = race.rest().await;
    for (id, ends) in wanted {
        let parent = forest.parent(&id).map(str::to_owned);
        assert!(forest.has(&id) && ends.contains(&parent), "{id} is under {parent:?}, was moved to {ends:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn moves_of_one_node_are_done_one_after_the_other() {
    let mut race = Race::start(4).await;
    let mut writers = BTreeMap::new();
    let mut wanted = BTreeMap::new();
    race.run(
        |run| owned(run, &SMALL),
        async |serving, _, run| {
            let name = |id: &str| format!("r{run}-{id}");
            let ends = ["0", "2", "5", "8", "9"];
            let all = ends.iter().map(|to| (0, moved(&name("4"), Some(&name(to))))).collect();
            let answers = at_once(serving, all).await;
            assert_eq!(statuses(&answers), [200; 5], "run {run}: {:?}", said(&answers));
            wanted.insert(name("4"), ends.map(name));
            writers.insert(name("4"), Writer::of(run));
        },
    )
    .await;
    let forest = race.rest().await;
    for (id, ends) in wanted {
        assert!(ends.iter().any(|end| forest.parent(&id) == Some(end)), "{id}");
        // Each move counts on from the one before it.
        let moves = if writers[&id] == Writer::Api { "6" } else { "5" };
        assert_eq!(forest.0[&id].get("_rev"), Some(&serde_dynamo::AttributeValue::N(moves.to_owned())), "{id}");
    }
}
