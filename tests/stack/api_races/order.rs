//! Nodes of one list that many clients put in order by hand, at the same time.
//!
//! `PLACE_RUNS` and `PLACE_CLIENTS` say how often, and how many clients: 200 and 16 in full, 5 and 4 of itself.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use futures::future::join_all;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use sapwood_tests::api::Asked;
use sapwood_tests::seeds::number;
use sapwood_tests::serving::{Serving, Way};
use serde_json::{Value, json};

/// A placement that was answered: the node's value, and the moments when it was asked for and answered.
#[derive(Clone, Debug)]
struct Placed {
    place: Value,
    value: String,
    asked: u64,
    answered: u64,
}

/// What is known of a list: the placements of each node, in their order. One client alone places a node.
type History = BTreeMap<String, Vec<Placed>>;

/// A client of a run: it places its own two nodes, first, last, or next to any node of the list.
async fn client(
    serving: Arc<Serving>,
    history: Arc<Mutex<History>>,
    clock: Arc<AtomicU64>,
    run: u64,
    own: usize,
    seed: u64,
) {
    let mut chance = SmallRng::seed_from_u64(seed);
    for turn in 0..6 {
        let node = format!("r{run}-{own}-{}", turn % 2);
        let others: Vec<String> = history.lock().unwrap().keys().filter(|other| **other != node).cloned().collect();
        let beside = &others[chance.random_range(0..others.len())];
        let place = match chance.random_range(0..6) {
            0 => json!("first"),
            1 | 2 => json!("last"),
            3 => json!({"before": beside}),
            _ => json!({"after": beside}),
        };
        let parent = format!("r{run}");
        let asked = match turn {
            0 | 1 => Asked::new("POST", "/nodes").json(&json!({"id": node, "parent": parent, "position": place})),
            _ => Asked::new("PATCH", format!("/nodes/{node}")).json(&json!({"position": place})),
        };
        let begun = clock.fetch_add(1, Ordering::SeqCst);
        let answered = serving.send(&asked).await;
        let ended = clock.fetch_add(1, Ordering::SeqCst);
        assert!(matches!(answered.status, 200 | 201), "{place}: {} {}", answered.status, answered.json());
        let value = answered.json()["attributes"]["order"].as_str().unwrap().to_owned();
        let placed = Placed { place, value, asked: begun, answered: ended };
        history.lock().unwrap().entry(node).or_default().push(placed);
    }
}

/// The value and the id, by which a list is sorted.
fn order<'a>(of: &'a str, placed: &'a Placed) -> (&'a str, &'a str) {
    (&placed.value, of)
}

/// Checks a placement of a node against what its anchor's values were while it was asked for, or against all that was
/// answered before.
fn check(history: &History, of: &str, placed: &Placed) {
    let own = order(of, placed);
    let is_current = |at: usize, all: &[Placed]| {
        let ended = all.get(at + 1).map_or(u64::MAX, |next| next.answered);
        all[at].asked < placed.answered && ended > placed.asked
    };
    match placed.place.as_object() {
        Some(place) => {
            let (side, beside) = place.iter().next().unwrap();
            let beside = beside.as_str().unwrap();
            let all = &history[beside];
            let holds = (0..all.len()).filter(|at| is_current(*at, all)).any(|at| {
                let other = order(beside, &all[at]);
                if side == "before" { own < other } else { own > other }
            });
            assert!(holds, "{of} {placed:?} beside {all:?}");
        }
        None => {
            for (other, all) in history.iter().filter(|(other, _)| *other != of) {
                // Where it was when the request began, if it wasn't being placed again meanwhile.
                let before = all.iter().rposition(|other| other.answered < placed.asked);
                let Some(at) = before.filter(|at| all.get(at + 1).is_none_or(|next| next.asked > placed.answered))
                else {
                    continue;
                };
                let other = order(other, &all[at]);
                let holds = if placed.place == "first" { own < other } else { own > other };
                assert!(holds, "{of} {placed:?}, and {other:?} was there before");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_is_placed_at_the_same_time_each_node_is_where_it_was_put() {
    let parameters = [("OrderAttribute", "order"), ("OrderByHand", "on")];
    let serving = Arc::new(Serving::start(Way::Http, &parameters, &[]).await);
    let (runs, clients) = (number("PLACE_RUNS").unwrap_or(3), number("PLACE_CLIENTS").unwrap_or(4));
    let (mut placements, mut bytes, mut longest) = (0, 0, 0);
    for run in 0..runs {
        let parent = Asked::new("POST", "/nodes").json(&json!({"id": format!("r{run}")}));
        assert_eq!(serving.send(&parent).await.status, 201);
        let (history, clock) = (Arc::new(Mutex::new(History::new())), Arc::new(AtomicU64::new(0)));
        for n in 0..3 {
            let node = format!("r{run}-first-{n}");
            let asked = json!({"id": node, "parent": format!("r{run}"), "position": "last"});
            let asked_at = clock.fetch_add(1, Ordering::SeqCst);
            let answered = serving.send(&Asked::new("POST", "/nodes").json(&asked)).await;
            let value = answered.json()["attributes"]["order"].as_str().unwrap().to_owned();
            let answered = clock.fetch_add(1, Ordering::SeqCst);
            let placed = Placed { place: json!("last"), value, asked: asked_at, answered };
            history.lock().unwrap().insert(node, vec![placed]);
        }
        let clients = (0..clients).map(|own| {
            let (serving, history, clock) = (Arc::clone(&serving), Arc::clone(&history), Arc::clone(&clock));
            tokio::spawn(client(serving, history, clock, run, own as usize, run * 1_000 + own))
        });
        for ended in join_all(clients).await {
            ended.unwrap();
        }
        let history = history.lock().unwrap();
        for (of, all) in &*history {
            for placed in all {
                check(&history, of, placed);
                placements += 1;
                bytes += placed.value.len();
                longest = longest.max(placed.value.len());
            }
        }
    }
    serving.running.settle().await;
    serving.running.assert_right(&serving.running.oracle()).await;
    println!("{placements} placements, values of {} bytes on average, {longest} at most", bytes / placements);
}
