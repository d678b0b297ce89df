//! Waiting for the stream handler of `sapwood dev`, from outside; and the end of a process that goes with its input.

use std::io::Write;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use sapwood_tests::client::{node, put, put_all};
use sapwood_tests::pace::is_within;

use crate::explorer::answer;
use crate::running::{Sapwood, TABLE, words};

/// Time for a process to end that has nothing to wait for, on a quiet machine.
const SOON: Duration = Duration::from_secs(10);

fn waiting(http: &str, seconds: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sapwood"));
    command.args(["catch-up", "--json", "--http", http, "--seconds", seconds]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

pub(crate) fn caught_up(http: &str, seconds: &str, code: i32) -> String {
    let output: Output = waiting(http, seconds).output().unwrap();
    assert_eq!(output.status.code(), Some(code), "{}", words(&output));
    words(&output)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_written_before_is_handled_when_the_wait_ends() {
    let sapwood = Sapwood::start(&["--http", "127.0.0.1:0"]);
    let http = sapwood.http.clone().unwrap();
    assert_eq!(caught_up(&http, "60", 0), "{\"caught_up\":true}\n");
    // A chain: each node's rows are written after those of the node above it.
    for round in 0..3 {
        let parent = |n: usize| n.checked_sub(1).map(|n| format!("{round}.{n}"));
        let nodes = (0..60).map(|n| node(&format!("{round}.{n}"), parent(n).as_deref(), "n")).collect();
        put_all(&sapwood.client, TABLE, nodes).await;
        caught_up(&http, "60", 0);
        let differences = sapwood.differences().await;
        assert!(differences.is_empty(), "{} in round {round}", differences.len());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_ends_with_its_time_and_with_the_process() {
    let sapwood = Sapwood::start(&["--http", "127.0.0.1:0"]);
    let (http, page) = (sapwood.http.clone().unwrap(), sapwood.explorer.clone().unwrap());
    // For ten seconds.
    let (json, trial) = (&["content-type: application/json"], r#"{"trial": "hold-back"}"#);
    assert_eq!(answer(&page, "POST", "/explorer/data/trial", json, trial).0, 200);
    put(&sapwood.client, TABLE, node("V", None, "V")).await;
    let begun = Instant::now();
    assert_eq!(caught_up(&http, "1", 3), "{\"caught_up\":false}\n");
    assert!(is_within(begun, SOON));
    let wait = waiting(&http, "60").spawn().unwrap();
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(sapwood.interrupt(), 0);
    let most = Duration::from_secs(40);
    assert!(is_within(begun, most), "the process has waited for whoever waits for it");
    assert_eq!(wait.wait_with_output().unwrap().status.code(), Some(3));
}

#[test]
fn who_can_not_know_says_so() {
    let without = Sapwood::start(&["--http", "127.0.0.1:0", "--no-handler"]);
    assert!(caught_up(without.http.as_ref().unwrap(), "1", 1).contains("--no-handler"));
    // DynamoDB's port has no such call.
    caught_up(&without.url, "1", 4);
    assert!(caught_up("http://127.0.0.1:1", "1", 4).contains("sapwood dev"));
    caught_up("https://127.0.0.1:1", "1", 2);
    caught_up(without.http.as_ref().unwrap(), "61", 2);
}

#[test]
fn a_process_ends_with_its_input_if_it_is_told_to() {
    let start = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sapwood"));
        command.args(["dev", "--json", "--dynamodb", "127.0.0.1:0"]).args(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
    };
    let listening = |process: &mut std::process::Child| {
        let mut line = String::new();
        let mut output = std::io::BufReader::new(process.stdout.take().unwrap());
        std::io::BufRead::read_line(&mut output, &mut line).unwrap();
        assert!(line.contains("listening"), "{line}");
        output
    };
    let (mut bound, mut free) = (start(&["--end-with-input"]), start(&[]));
    let _outputs = (listening(&mut bound), listening(&mut free));
    // What comes is read, and says nothing.
    bound.stdin.as_mut().unwrap().write_all(b"still here\n").unwrap();
    std::thread::sleep(Duration::from_millis(300));
    assert!(bound.try_wait().unwrap().is_none());
    drop((bound.stdin.take(), free.stdin.take()));
    let begun = Instant::now();
    while bound.try_wait().unwrap().is_none() {
        assert!(is_within(begun, SOON), "it doesn't end with its input");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(bound.wait().unwrap().success());
    assert!(free.try_wait().unwrap().is_none());
    free.kill().unwrap();
    free.wait().unwrap();
}
