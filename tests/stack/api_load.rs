//! Mixed requests, 64 in flight, against one stack over HTTP: no 5xx, nothing lost, and at rest the table equals the
//! oracle.
//!
//! `LOAD_REQUESTS` says how many: 20,000 in `.ci/full`. `cargo test` makes 2,000: without optimisation a request with
//! its fan-out takes some 15 ms of a core, most of it in the SDK and the HTTP libraries, so that 20,000 take minutes.
//! `LOAD_SEED` says the seed of what is asked for, not of how it is interleaved.

mod record;
mod requests;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use record::{Done, Manner, Record, What};
use requests::{Tree, draw, keep};
use sapwood_tests::api::Asked;
use sapwood_tests::oracle::Oracle;
use sapwood_tests::pace::slowness;
use sapwood_tests::seeds::{chance, number};
use sapwood_tests::serving::{Serving, Way};
use serde_json::json;

const IN_FLIGHT: u64 = 64;
const TREES: usize = 16;

/// What all who send share.
struct Load {
    serving: Serving,
    requests: u64,
    sent: AtomicU64,
    moments: AtomicU64,
    trees: Vec<Mutex<Tree>>,
    record: Mutex<Record>,
    answers: Mutex<BTreeMap<(&'static str, u16), usize>>,
}

impl Load {
    fn moment(&self) -> u64 {
        self.moments.fetch_add(1, Ordering::SeqCst)
    }

    /// Plants the roots of all trees, and a node below each.
    async fn plant(&self) {
        for (at, tree) in self.trees.iter().enumerate() {
            let (root, first) = (format!("t{at}"), format!("t{at}-first"));
            for (id, parent) in [(&root, None), (&first, Some(root.clone()))] {
                let body = json!({"id": id, "parent": parent, "attributes": {"mark": 0}});
                let answered = self.serving.send(&Asked::new("POST", "/nodes").json(&body)).await;
                assert_eq!(answered.status, 201);
                let manner = tree.lock().unwrap().manner;
                let done = Done { what: What::Wrote { mark: 0, parent: Some(parent) }, began: 0, ended: 0 };
                self.record.lock().unwrap().add(manner, id, done);
                tree.lock().unwrap().ids.push(id.clone());
            }
        }
    }

    async fn send(&self, mut chance: SmallRng) {
        loop {
            let sent = self.sent.fetch_add(1, Ordering::SeqCst);
            if sent >= self.requests {
                return;
            }
            let tree = &self.trees[chance.random_range(0..TREES)];
            let wanted = draw(&tree.lock().unwrap(), &mut chance, 4 * (sent + 1));
            let began = self.moment();
            let answered = self.serving.send(&wanted.asked).await;
            let ended = self.moment();
            let Asked { method, target, .. } = &wanted.asked;
            let said = || String::from_utf8_lossy(&answered.body).into_owned();
            assert!(answered.status < 500, "{method} {target}: {} {}", answered.status, said());
            // What is asked for is right: it can only have been overtaken.
            assert!(![400, 403, 405, 412, 413, 415].contains(&answered.status), "{method} {target}: {}", said());
            *self.answers.lock().unwrap().entry((wanted.kind, answered.status)).or_default() += 1;
            let (mut tree, mut record) = (tree.lock().unwrap(), self.record.lock().unwrap());
            keep(&mut record, &mut tree, &wanted, &answered, (began, ended));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn under_load_nothing_fails_and_nothing_is_lost() {
    if slowness() > 4.0 {
        return println!("not run: this machine is busier than any load that a function is to bear");
    }
    let manner = |at: usize| match at % 4 {
        0 | 1 => Manner::Plain,
        2 => Manner::Releasing,
        _ => Manner::Cutting,
    };
    let mut chance = chance("LOAD_SEED");
    let load = Arc::new(Load {
        serving: Serving::start(Way::Http, &[], &[]).await,
        requests: number("LOAD_REQUESTS").unwrap_or(800),
        sent: AtomicU64::new(0),
        moments: AtomicU64::new(1),
        trees: (0..TREES).map(|at| Mutex::new(Tree { manner: manner(at), ids: Vec::new() })).collect(),
        record: Mutex::default(),
        answers: Mutex::default(),
    });
    load.plant().await;
    let begun = Instant::now();
    let senders = (0..IN_FLIGHT).map(|_| {
        let (load, chance) = (Arc::clone(&load), SmallRng::seed_from_u64(chance.random()));
        tokio::spawn(async move { load.send(chance).await })
    });
    for sender in senders.collect::<Vec<_>>() {
        sender.await.unwrap();
    }
    let answered_after = begun.elapsed();
    load.serving.running.settle().await;
    println!("{} requests in {answered_after:?}, at rest after {:?}", load.requests, begun.elapsed());
    let answers = load.answers.lock().unwrap().clone();
    println!("{answers:?}");
    assert_eq!(answers.values().sum::<usize>() as u64, load.requests);
    let done: usize = answers.iter().filter(|((_, status), _)| *status < 300).map(|(_, count)| count).sum();
    assert!(done as u64 > load.requests / 2, "{done} were done");
    let contents = load.serving.running.contents().await;
    let wrong = load.record.lock().unwrap().wrong(&contents);
    assert!(wrong.is_empty(), "{} wrong: {:#?}", wrong.len(), &wrong[..wrong.len().min(10)]);
    load.serving.running.assert_right(&Oracle::default()).await;
}
