//! How much memory an import takes. The test runs in a process of its own, because the system counts for all tests of a
//! process.

use std::io::Write;
use std::process::Command;

use super::fixture::Directory;
use crate::Options;
use crate::sources::Source;
use crate::work::{CACHE_BYTES, Nowhere, Work};

const NODES: usize = 60_000;

/// Each node has so many bytes of text: all together they are far more than the memory that is allowed.
const TEXT_BYTES: usize = 2_000;

#[test]
#[ignore = "runs in a process of its own, which the next test starts"]
fn measured() {
    let (directory, options) = (Directory::new(), Options::default());
    let path = directory.path("a.jsonl");
    let mut file = std::io::BufWriter::new(std::fs::File::create(&path).unwrap());
    let text = "x".repeat(TEXT_BYTES);
    for line in 0..NODES {
        let n = (line * 7_919 + 1) % NODES;
        let parent = n.checked_sub(1).map(|above| format!("\"parent\":\"node-{}\",", above / 6)).unwrap_or_default();
        writeln!(file, "{{\"id\":\"node-{n}\",{parent}\"attributes\":{{\"text\":\"{text}\"}}}}").unwrap();
    }
    drop(file);
    let mut source = Source::open(&path, &options).unwrap();
    let mut work = Work::open(&directory.path("work"), &source, &options).unwrap();
    while work.load_some(&mut source).unwrap() {}
    while work.check_some(&mut Nowhere).unwrap() {}
    let mut nodes = 0;
    for level in work.levels().unwrap() {
        let mut after = None;
        loop {
            let records = work.next(level.level, after, 1_000).unwrap();
            let Some(last) = records.last() else { break };
            after = Some(last.number);
            nodes += records.len();
        }
    }
    assert_eq!(nodes, NODES);
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    println!("peak {}", peak.trim());
}

#[cfg(target_os = "linux")]
#[test]
fn sixty_thousand_shuffled_nodes_take_bounded_memory() {
    let mut command = Command::new(std::env::current_exe().unwrap());
    let output = command.args(["tests::memory::measured", "--exact", "--ignored", "--nocapture"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let peak: usize = text.split_once("peak ").unwrap().1.split_once(" kB").unwrap().0.parse().unwrap();
    println!("peak {peak} kB");
    // SQLite's cache, its sorter, and the executable itself with a batch of records.
    let allowed = 2 * CACHE_BYTES + 24 * 1_024 * 1_024;
    assert!(peak * 1_024 < allowed && allowed < NODES * TEXT_BYTES, "{peak} kB");
}
