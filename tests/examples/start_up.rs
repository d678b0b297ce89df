//! How long functions take from the start of the process until they ask for work, and until their first answer, each as
//! a ratio to a function that does nothing, in one run; the most memory they had; the size of the binary.
//!
//! ```sh
//! cargo build --release -p stream-handler -p api-reader -p api-writer -p auditor -p empty-function
//! cargo run -p sapwood-tests --features start-up --example start_up -- target/release
//! ```
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods)]

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use sapwood_tests::api::{Asked, event};
use sapwood_tests::client::{node, put};
use sapwood_tests::running::{Running, TABLE};
use sapwood_tests::runtime_api::{Function, environment, pairs};

/// How often each is started.
const RUNS: usize = 21;

/// A function: its binary, its logical id in the template (none: it has no settings), and its first event.
struct Measured {
    name: &'static str,
    binary: PathBuf,
    id: Option<&'static str>,
    event: String,
    runs: Vec<Run>,
}

#[derive(Clone, Copy)]
struct Run {
    ready: Duration,
    ready_processor: Duration,
    answered: Duration,
    answered_processor: Duration,
    peak_kib: u64,
}

#[tokio::main]
async fn main() {
    let directory = std::env::args().nth(1).expect("the directory of the binaries, such as target/release");
    let stack = Running::start(&[]).await;
    put(&stack.client, TABLE, node("root", None, "root")).await;
    stack.settle().await;
    let request = |asked: Asked| event(&asked, &Default::default()).unwrap().to_string();
    let read = request(Asked::new("GET", "/nodes/root"));
    let write = request(Asked::new("PUT", "/nodes/root").json(&serde_json::json!({"parent": null})));
    // An INSERT of the root above: the handler reads it and finds all of it done.
    let record = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("events/insert.json")).unwrap();
    let mut all = [
        ("empty-function", None, "{}".to_owned()),
        ("stream-handler", Some("StreamHandler"), record),
        ("api-reader", Some("ApiReader"), read),
        ("api-writer", Some("ApiWriter"), write),
        // A run that ends a pass over the root.
        ("auditor", Some("Auditor"), "{}".to_owned()),
    ]
    .map(|(name, id, event)| Measured {
        name,
        binary: Path::new(&directory).join(name),
        id,
        event,
        runs: Vec::new(),
    });
    // In turn, so that whatever else the machine does meets all of them.
    for run in 0..=RUNS {
        for function in &mut all {
            let measured = start(function, &stack.url()).await;
            // The first reads the binaries from the disk.
            if run > 0 {
                function.runs.push(measured);
            }
        }
    }
    stack.stop().await;
    say(&all);
}

async fn start(function: &Measured, url: &str) -> Run {
    let variables = function.id.map(|id| environment(id, url)).unwrap_or_default();
    let begun = Instant::now();
    let mut process = Function::start(&function.binary, pairs(&variables)).await;
    process.ready().await;
    let (ready, ready_processor) = (begun.elapsed(), process.processor_time());
    process.invoke(&function.event).await.unwrap();
    Run {
        ready,
        ready_processor,
        answered: begun.elapsed(),
        answered_processor: process.processor_time(),
        peak_kib: process.peak_memory_kib(),
    }
}

fn median<T: Ord + Copy>(function: &Measured, of: impl Fn(&Run) -> T) -> T {
    let mut values: Vec<T> = function.runs.iter().map(of).collect();
    values.sort();
    values[values.len() / 2]
}

fn say(all: &[Measured]) {
    println!("| function | asks for work | processor | first answer | processor | peak memory, MiB | binary, MB |");
    println!("|---|---|---|---|---|---|---|");
    let empty = &all[0];
    for function in all {
        let cell = |of: fn(&Run) -> Duration| {
            let [own, empties] = [function, empty].map(|function| median(function, of).as_secs_f64());
            format!("{:.1} ms, {:.2} ×", own * 1e3, own / empties)
        };
        println!(
            "| {} | {} | {} | {} | {} | {:.1} | {:.2} |",
            function.name,
            cell(|run| run.ready),
            cell(|run| run.ready_processor),
            cell(|run| run.answered),
            cell(|run| run.answered_processor),
            median(function, |run| run.peak_kib) as f64 / 1024.0,
            std::fs::metadata(&function.binary).unwrap().len() as f64 / 1e6,
        );
    }
}
