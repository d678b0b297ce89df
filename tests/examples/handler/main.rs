//! What the handler's processor does for a batch, and how well one invocation fills its requests in flight
//! (docs/internals/performance.md).
//!
//! ```sh
//! cargo build --release -p stream-handler -p sapwood-processor-time
//! cargo run -p sapwood-tests --features handler --example handler -- target/release processor
//! cargo run -p sapwood-tests --features handler --example handler -- target/release in-flight
//! ```
//!
//! After `processor` other builds of the handler may be named, such as `before=/elsewhere/stream-handler`. Each is
//! given the same events in the same run.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods)]

mod cases;
mod table;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use sapwood_tests::runtime_api::{Function, environment, pairs};
use serde_json::{Value, json};

use cases::Case;
use table::Table;

/// How often each is given the events.
const RUNS: usize = 9;

/// The time of an invocation.
const LEFT: Duration = Duration::from_secs(60);

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        [directory, "processor", ref others @ ..] => processor(Path::new(directory), others).await,
        [directory, "in-flight"] => in_flight(Path::new(directory)).await,
        _ => panic!("the directory of the binaries, such as target/release, and `processor` or `in-flight`"),
    }
}

/// A process that is measured.
struct Subject {
    name: String,
    process: Function,
    /// The requests to send, event by event. None for a handler, which is given the events.
    requests: Option<Vec<String>>,
    runs: Vec<Duration>,
}

impl Subject {
    async fn start(name: &str, binary: PathBuf, table: &Table, variables: &[(&str, &str)]) -> Self {
        let environment = environment("StreamHandler", &table.url);
        let variables = pairs(&environment).chain(variables.iter().copied());
        let mut process = Function::start(binary, variables).await;
        process.ready().await;
        Self { name: name.to_owned(), process, requests: None, runs: Vec::new() }
    }

    async fn invoke(&mut self, event: &str) {
        let answer = self.process.invoke_within(LEFT, event).await.unwrap();
        assert!(answer["batchItemFailures"].as_array().is_none_or(Vec::is_empty), "{}: {answer}", self.name);
    }

    /// Brings the table to where a case begins: the nodes above are placed, those of the case aren't.
    async fn prepare(&mut self, case: &Case, table: &mut Table) {
        table.tell("Reset", &json!("empty")).await;
        for step in case.before() {
            table.put(&step.items).await;
            for event in &step.events {
                self.invoke(event).await;
            }
        }
        table.tell("Keep", &json!(self.name)).await;
    }

    /// Takes the processor time that the process needs for all events.
    async fn measure(&mut self, events: &[String], table: &mut Table) -> Duration {
        let beginning = if self.requests.is_some() { "handler" } else { &self.name };
        table.tell("Reset", &json!(beginning)).await;
        let mut taken = Duration::ZERO;
        for (position, event) in events.iter().enumerate() {
            if let Some(requests) = self.requests.as_ref().map(|requests| requests[position].clone()) {
                self.invoke(&requests).await;
            }
            let event = if self.requests.is_some() { "{}" } else { event };
            let before = self.process.processor_time();
            self.invoke(event).await;
            taken += self.process.processor_time() - before;
        }
        taken
    }
}

/// Has the handler's requests written down, event by event.
async fn recorded(handler: &mut Subject, events: &[String], table: &mut Table) -> Vec<Value> {
    table.tell("Reset", &json!(handler.name)).await;
    table.tell("Record", &json!(true)).await;
    let mut all = Vec::new();
    for event in events {
        handler.invoke(event).await;
        all.push(table.tell("Recorded", &json!(null)).await);
    }
    table.tell("Record", &json!(false)).await;
    all
}

/// The number of requests, and of writes in them.
fn counts(recorded: &[Value]) -> (usize, usize) {
    let requests = recorded.iter().flat_map(|event| event.as_array().unwrap());
    let writes = requests.clone().map(|request| match request[0].as_str().unwrap() {
        "batchwriteitem" => request[1]["RequestItems"].as_object().unwrap().values().map(length).sum(),
        "batchgetitem" | "query" => 0,
        _ => 1,
    });
    (requests.clone().count(), writes.sum())
}

fn length(list: &Value) -> usize {
    list.as_array().unwrap().len()
}

fn median<T: PartialOrd + Copy>(mut values: Vec<T>) -> T {
    values.sort_by(|one, other| one.partial_cmp(other).unwrap());
    values[values.len() / 2]
}

/// Prints what a write takes of the processor, and what it takes elsewhere as a multiple of that.
async fn processor(directory: &Path, others: &[&str]) {
    println!("| case | of | requests | writes | processor time a write | handler ÷ this | peak memory, MiB |");
    println!("|---|---|--:|--:|--:|--:|--:|");
    for case in Case::all() {
        let mut table = Table::start(directory).await;
        let binaries = others.iter().map(|other| {
            let (name, path) = other.split_once('=').expect("a name and a binary: before=/elsewhere/stream-handler");
            (name, PathBuf::from(path))
        });
        let events = case.events();
        let mut subjects = Vec::new();
        let mut counted = Vec::new();
        for (name, binary) in [("handler", directory.join("stream-handler"))].into_iter().chain(binaries) {
            let mut subject = Subject::start(name, binary, &table, &[]).await;
            subject.prepare(&case, &mut table).await;
            let requests = recorded(&mut subject, &events, &mut table).await;
            counted.push(counts(&requests));
            subjects.push(subject);
            if name == "handler" {
                let mut bare = Subject::start("bare sender", directory.join("bare-sender"), &table, &[]).await;
                bare.requests = Some(requests.iter().map(Value::to_string).collect());
                counted.push(counts(&requests));
                subjects.push(bare);
            }
        }
        // In turn, so that whatever else the machine does meets all of them. The first opens connections.
        for run in 0..=RUNS {
            for subject in &mut subjects {
                let taken = subject.measure(&events, &mut table).await;
                if run > 0 {
                    subject.runs.push(taken);
                }
            }
        }
        let handler = &subjects[0].runs;
        for (subject, (requests, writes)) in subjects.iter().zip(counted) {
            let ratios = handler.iter().zip(&subject.runs).map(|(own, other)| own.as_secs_f64() / other.as_secs_f64());
            println!(
                "| {} | {} | {requests} | {writes} | {:.1} µs | {:.2} | {:.1} |",
                case.name(),
                subject.name,
                median(subject.runs.clone()).as_secs_f64() * 1e6 / writes as f64,
                median(ratios.collect()),
                subject.process.peak_memory_kib() as f64 / 1024.0,
            );
        }
    }
}

/// Prints how many writes a second one invocation makes, divided by what its requests in flight allow, with a table
/// that takes its time.
async fn in_flight(directory: &Path) {
    println!(
        "| creates in a batch | depth | a request takes | in flight | an invocation | writes ÷ what is allowed | processor |"
    );
    println!("|--:|--:|--:|--:|--:|--:|--:|");
    for (nodes, depth) in [(100, 10), (1_000, 10), (100, 98)] {
        for delay in [Duration::from_millis(4), Duration::from_millis(40)] {
            for in_flight in [8, 16, 32] {
                let mut table = Table::start(directory).await;
                let max = in_flight.to_string();
                let variables = [("REQUESTS_IN_FLIGHT_MAX", max.as_str())];
                let case = Case { nodes, batch: nodes, depth, bytes: 400, is_move: false };
                let mut handler = Subject::start("handler", directory.join("handler-within"), &table, &variables).await;
                handler.prepare(&case, &mut table).await;
                let events = case.events();
                let (_, writes) = counts(&recorded(&mut handler, &events, &mut table).await);
                table.tell("Delay", &json!(delay.as_micros())).await;
                let (mut times, mut shares) = (Vec::new(), Vec::new());
                for run in 0..=RUNS {
                    table.tell("Reset", &json!("handler")).await;
                    let (begun, before) = (Instant::now(), handler.process.processor_time());
                    handler.invoke(&events[0]).await;
                    // The first opens connections.
                    if run > 0 {
                        let time = begun.elapsed().as_secs_f64();
                        times.push(time);
                        shares.push((handler.process.processor_time() - before).as_secs_f64() / time);
                    }
                }
                let time = median(times);
                let allowed = in_flight as f64 / delay.as_secs_f64() * 25.0;
                println!(
                    "| {nodes} | {depth} | {} ms | {in_flight} | {:.0} ms | {:.2} | {:.0} % |",
                    delay.as_millis(),
                    time * 1e3,
                    writes as f64 / time / allowed,
                    median(shares) * 100.0
                );
            }
        }
    }
}
