//! What a node costs as the table grows. A benchmark, run by hand:
//! `NODES=100000 cargo test -p sapwood-tests --test stack growth -- --ignored --nocapture`.
//!
//! Processor time is compared and no seconds: other work on the machine doesn't change it much.

use sapwood_tests::client::{node, put_all};
use sapwood_tests::running::{Running, TABLE, total};

/// The nodes of a window. Each window is a tree of the same shape below one common root, so each asks for the same
/// rows.
const WINDOW: usize = 1_000;
/// The windows of a line.
const LINE: usize = 5;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "a benchmark"]
async fn a_node_costs_as_much_in_a_long_table_as_in_a_short_one() {
    let nodes = std::env::var("NODES").map_or(20_000, |nodes| nodes.parse().unwrap());
    let running = Running::start_after(&[], &[("ParallelizationFactor", "1")], vec![node("root", None, "root")]).await;
    running.settle().await;
    println!("nodes, of the last {}: units a node, microseconds of processor time a unit: engine, all", LINE * WINDOW);
    let mut before = ticks();
    for window in 0..nodes / WINDOW {
        let id = |n: usize| format!("w{window:04}-{n:04}");
        let tree = (0..WINDOW).map(|n| {
            let parent = if n == 0 { "root".to_owned() } else { id((n - 1) / 6) };
            node(&id(n), Some(&parent), "a name")
        });
        put_all(&running.client, TABLE, tree.collect()).await;
        running.settle().await;
        if (window + 1) % LINE == 0 {
            let units = total(&running.take().1).usage.write_units + (LINE * WINDOW) as f64;
            let now = ticks();
            let [engine, all] = [now.0 - before.0, now.1 - before.1].map(|ticks| ticks as f64 * 10_000.0 / units);
            println!("{:7}: {:.2}, {engine:.0}, {all:.0}", (window + 1) * WINDOW, units / (LINE * WINDOW) as f64);
            before = now;
        }
    }
    running.stop().await;
}

/// Returns the processor time of the engine's thread and of the whole process, in hundredths of a second, as Linux
/// counts it.
fn ticks() -> (u64, u64) {
    let mut engine = 0;
    for task in std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten() {
        let name = std::fs::read_to_string(task.path().join("comm")).unwrap_or_default();
        if name.trim() == "dynamodb" {
            engine += time_of(&task.path().join("stat"));
        }
    }
    (engine, time_of("/proc/self/stat".as_ref()))
}

fn time_of(stat: &std::path::Path) -> u64 {
    let stat = std::fs::read_to_string(stat).unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    fields.get(11..13).map_or(0, |times| times.iter().filter_map(|time| time.parse::<u64>().ok()).sum())
}
