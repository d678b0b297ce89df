//! The real binary on the table of a stack in the test's process, whose handler can be stopped and counted.
//!
//! `SAPWOOD_ENGINE=dynamodb-local` has these suites run on Amazon's DynamoDB Local.

use std::collections::HashMap;
use std::process::{Command, Output, Stdio};

use aws_sdk_dynamodb::types::AttributeValue;
use rand::SeedableRng;
use rand::rngs::SmallRng;
use sapwood_tests::client::{delete_all, node, s};
use sapwood_tests::oracle::{Contents, Oracle};
use sapwood_tests::running::{Running, TABLE};
use serde_json::Value;

pub(crate) type Attributes = HashMap<String, AttributeValue>;

/// The binary on the table behind this URL.
pub(crate) fn command(url: &str, arguments: &[&str]) -> Command {
    // A wait ends once all is done, and a busy machine takes longer than a user would wait.
    let arguments = arguments.iter().map(|&one| if one == "--wait" { "--wait=600" } else { one });
    let mut command = Command::new(env!("CARGO_BIN_EXE_sapwood"));
    command.args(arguments).args(["--table", TABLE, "--endpoint", url]).stdin(Stdio::null());
    command
}

/// Runs the binary to its end, beside the stack of this process.
pub(crate) fn sapwood(url: &str, arguments: &[&str]) -> Output {
    tokio::task::block_in_place(|| command(url, arguments).output().unwrap())
}

/// Runs the binary, and asserts that it ends with this code. Returns what it printed.
pub(crate) fn ends_with(code: i32, url: &str, arguments: &[&str]) -> String {
    let output = sapwood(url, arguments);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", words(&output));
    String::from_utf8(output.stdout).unwrap()
}

pub(crate) fn words(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// The JSON objects of an output, one a line.
pub(crate) fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"))).collect()
}

/// A number of the environment, where `.ci/full` sets one.
pub(crate) fn size(variable: &str, usual: usize) -> usize {
    sapwood_tests::seeds::number(variable).map_or(usual, |size| usize::try_from(size).unwrap())
}

/// Chance, from a seed that is printed. `SAPWOOD_SEED` replays it.
pub(crate) fn chance() -> SmallRng {
    let any = std::time::UNIX_EPOCH.elapsed().unwrap().subsec_nanos();
    let seed = sapwood_tests::seeds::number("SAPWOOD_SEED").unwrap_or(any.into());
    println!("SAPWOOD_SEED={seed}");
    SmallRng::seed_from_u64(seed)
}

/// A tree of so many nodes, `width` below each: the node of number *n* is below that of (*n* - 1) / `width`.
pub(crate) fn tree(nodes: usize, width: usize) -> Vec<Attributes> {
    let parent = |n: usize| n.checked_sub(1).map(|n| format!("n{}", n / width));
    (0..nodes).map(|n| node(&format!("n{n}"), parent(n).as_deref(), "a name")).collect()
}

/// A revision of a node.
pub(crate) fn revision(id: &str, sort_key: &str) -> Attributes {
    let mut revision = node(id, None, sort_key);
    revision.insert("SK".to_owned(), s(sort_key));
    revision
}

/// The partition of what Sapwood leaves about itself.
pub(crate) const OURS: &str = "SAPWOOD";

/// The base records, without these attributes.
pub(crate) fn records(contents: &Contents, without: &[&str]) -> Contents {
    let oracle = Oracle::default();
    let base = contents.iter().filter(|((pk, sk), _)| pk != OURS && oracle.is_base(pk, sk));
    base.map(|(key, item)| {
        let item = item.iter().filter(|(name, _)| !without.contains(&name.as_str()));
        (key.clone(), item.map(|(name, value)| (name.clone(), value.clone())).collect())
    })
    .collect()
}

/// Deletes all that is derived.
pub(crate) async fn delete_derived(running: &Running) {
    let oracle = Oracle::default();
    let keys = running.contents().await.into_keys().filter(|(pk, sk)| !oracle.is_base(pk, sk));
    delete_all(&running.client, TABLE, keys.collect()).await;
}

/// Waits until the handler has done all, and asserts that the table is right.
pub(crate) async fn assert_right(running: &Running) {
    running.settle().await;
    running.assert_right(&running.oracle()).await;
}
