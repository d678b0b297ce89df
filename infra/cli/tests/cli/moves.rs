//! `sapwood verify`, the real binary, while a foreign client moves nodes: what is on its way is no difference.
//!
//! `MOVES=1000` makes so many (`.ci/full`); `SAPWOOD_SEED` replays the choice of nodes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use sapwood_tests::client::{node, put};
use sapwood_tests::running::{Running, TABLE};

use crate::stack::{assert_right, chance, ends_with, lines, sapwood, size, tree, words};

const WRITERS: usize = 4;

#[tokio::test(flavor = "multi_thread")]
async fn while_nodes_are_moved_nothing_is_reported() {
    let (nodes, moves, passes) = (size("MOVED_NODES", 300), size("MOVES", 60), size("PASSES", 1));
    let running = Running::start_after(&[], &[("ParallelizationFactor", "10")], tree(nodes, 3)).await;
    running.settle().await;
    let (done, is_over) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
    let mut rng = chance();
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let (done, is_over, client) = (Arc::clone(&done), Arc::clone(&is_over), running.client.clone());
            let mut rng = SmallRng::seed_from_u64(rng.random());
            tokio::spawn(async move {
                while done.load(Ordering::SeqCst) < moves || !is_over.load(Ordering::SeqCst) {
                    // Below a node of a lower number, so that there is no cycle.
                    let id = rng.random_range(1..nodes);
                    let parent = format!("n{}", rng.random_range(0..id));
                    put(&client, TABLE, node(&format!("n{id}"), Some(&parent), &format!("by {writer}"))).await;
                    done.fetch_add(1, Ordering::SeqCst);
                    tokio::time::sleep(Duration::from_millis(rng.random_range(20..80))).await;
                }
            })
        })
        .collect();
    let (mut passed, mut codes) = (0, Vec::new());
    while passed < passes || done.load(Ordering::SeqCst) < moves {
        let before = done.load(Ordering::SeqCst);
        let output = sapwood(&running.url(), &["verify", "--json", "--confirmation-window", "3"]);
        let meanwhile = done.load(Ordering::SeqCst) - before;
        let printed = String::from_utf8(output.stdout.clone()).unwrap();
        let confirmed: Vec<_> = lines(&printed).into_iter().filter(|line| line["state"] == "confirmed").collect();
        assert!(confirmed.is_empty(), "a false alarm, with {meanwhile} moves meanwhile: {confirmed:?}");
        assert!(matches!(output.status.code(), Some(0 | 3)), "{}", words(&output));
        assert!(meanwhile > 0, "nothing was moved meanwhile");
        codes.push((output.status.code().unwrap(), meanwhile));
        passed += 1;
    }
    is_over.store(true, Ordering::SeqCst);
    for writer in writers {
        writer.await.unwrap();
    }
    println!("{nodes} nodes, {} moves; exit codes, and moves meanwhile: {codes:?}", done.load(Ordering::SeqCst));
    assert_right(&running).await;
    ends_with(0, &running.url(), &["verify", "--json", "--confirmation-window", "1"]);
}
