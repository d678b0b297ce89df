//! Measures an import up to the writing. With a number of nodes it makes the file first:
//! `cargo run --release -p sapwood-import --example measure -- /tmp/nodes.jsonl /tmp/nodes.work 10000000`.
#![allow(clippy::disallowed_methods, reason = "it measures, and its arguments are its own")]
#![allow(clippy::unwrap_used, reason = "nobody depends on it")]

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::Instant;

use sapwood_import::Options;
use sapwood_import::sources::Source;
use sapwood_import::work::{Nowhere, Work};

/// A number without a common factor with the number of nodes, as long as that is a power of ten: it shuffles the lines.
const STEP: u64 = 7_368_787;

/// Each node has six children.
const CHILDREN: u64 = 6;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, file, working, nodes @ ..] = arguments.as_slice() else { return eprintln!("measure FILE WORKING [NODES]") };
    let (file, working): (&Path, &Path) = (file.as_ref(), working.as_ref());
    if let [nodes] = nodes {
        write(file, nodes.parse().unwrap());
    }
    let options = Options::default();
    let mut source = Source::open(file, &options).unwrap();
    let mut work = Work::open(working, &source, &options).unwrap();
    step("reading", working, || while work.load_some(&mut source).unwrap() {});
    while step("a step of the checks", working, || work.check_some(&mut Nowhere).unwrap()) {}
    step("writing", working, || {
        for level in work.levels().unwrap() {
            let mut after = None;
            loop {
                let records = work.next(level.level, after, 1_000).unwrap();
                let numbers: Vec<_> = records.iter().map(|record| record.number).collect();
                let Some(last) = numbers.last() else { break };
                after = Some(*last);
                work.mark_written(&numbers).unwrap();
            }
        }
    });
    let summary = work.summary().unwrap();
    println!("{summary:?}, ${:.2}", sapwood_import::cost::dollars(summary.units));
    assert_eq!((summary.written, work.faults().unwrap().count()), (summary.nodes, 0));
}

fn write(path: &Path, nodes: u64) {
    let mut file = BufWriter::new(File::create(path).unwrap());
    for line in 0..nodes {
        let n = (line * STEP + 1) % nodes;
        let parent = n.checked_sub(1).map(|n| format!(r#""parent":"node-{:08}","#, n / CHILDREN)).unwrap_or_default();
        writeln!(file, r#"{{"id":"node-{n:08}",{parent}"attributes":{{"name":"Node number {n}","rank":{n}}}}}"#)
            .unwrap();
    }
}

/// Runs a step and prints how long it took, the size of the working file, and the peak of the memory so far.
fn step<T>(name: &str, working: &Path, run: impl FnOnce() -> T) -> T {
    let begin = Instant::now();
    let result = run();
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or_default();
    let megabytes = std::fs::metadata(working).map_or(0, |metadata| metadata.len() / 1_000_000);
    println!("{name}: {:.1} s, {megabytes} MB, {peak}", begin.elapsed().as_secs_f64());
    result
}
