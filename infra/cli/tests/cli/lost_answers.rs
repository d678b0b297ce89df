//! `sapwood put`, `move` and `rm` behind a proxy that carries a request out and swallows its answer: none is carried
//! out twice, and what others were answered meanwhile stays.

use std::process::{Output, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use sapwood_core::model::{AttributeValue, text};
use sapwood_tests::client::delete_all;
use sapwood_tests::faults::{Fault, Proxy};
use sapwood_tests::oracle::Contents;
use sapwood_tests::running::{Running, TABLE};

use crate::stack::{assert_right, command, ends_with, records, sapwood, size, words};
use crate::transfer::write;

/// How long the requests are held back of a command that has got no answer: time enough for others to write.
const HELD_BACK: Duration = Duration::from_secs(3);

/// The commands of a life: each kind of write.
const LIFE: [&[&str]; 9] = [
    &["put", "r", "--set", "name=a root"],
    &["put", "c", "--parent", "r", "--set", "name=first"],
    &["put", "c", "--set", "name=second"],
    &["put", "c", "--replace", "--parent", "r", "--set", "name=third"],
    &["put", "d", "--set", "name=another"],
    &["move", "c", "--to", "d"],
    &["move", "d", "--to", "r"],
    &["rm", "c", "--yes"],
    &["rm", "r", "--children", "detach", "--yes", "--wait"],
];

/// The nodes that a life leaves, without what differs from one to the next.
async fn what_is_left(running: &Running) -> Contents {
    let ours = ["_write", "_write_before", "_born", "_created_at", "_updated_at", "_touched", "_under"];
    let mut left = records(&running.contents().await, &ours);
    left.retain(|(_, sort_key), _| sort_key == "NODE");
    left
}

async fn operations(running: &Running) -> usize {
    running.contents().await.keys().filter(|(_, sort_key)| sort_key.starts_with("OPERATION")).count()
}

/// Runs a command whose first write is carried out and not answered, and these others meanwhile, which must end with
/// these codes.
///
/// The command's look is held back meanwhile. On a busy machine it may come too early all the same: `true` says that it
/// came after the others.
async fn lost(running: &Running, proxy: &Proxy, arguments: &[&str], meanwhile: &[(i32, &[&str])]) -> (Output, bool) {
    let is_cut = AtomicBool::new(false);
    proxy.follow(move |call| {
        let is_write = ["PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems"].contains(&call.operation.as_str());
        if is_write && !is_cut.swap(true, Ordering::SeqCst) {
            return Some(Fault::CutAfter);
        }
        is_cut.load(Ordering::SeqCst).then_some(Fault::Late(HELD_BACK))
    });
    let run = command(&proxy.url(), arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    while !proxy.seen().iter().any(|seen| seen.faulted) {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    // The engine has carried the request out.
    tokio::time::sleep(Duration::from_millis(100)).await;
    running.settle().await;
    for (code, arguments) in meanwhile {
        ends_with(*code, &running.url(), arguments);
        running.settle().await;
    }
    let look = proxy.seen().iter().filter(|seen| seen.faulted).nth(1).map(|seen| seen.at);
    let is_after = look.is_none_or(|at| at.elapsed() < HELD_BACK);
    let output = tokio::task::block_in_place(|| run.wait_with_output().unwrap());
    running.settle().await;
    (output, is_after)
}

#[track_caller]
fn ended(code: i32, output: &Output) {
    assert_eq!(output.status.code(), Some(code), "{}", words(output));
}

async fn attribute(running: &Running, id: &str, name: &str) -> AttributeValue {
    let contents = running.contents().await;
    contents[&(id.to_owned(), "NODE".to_owned())][name].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn any_one_answer_of_a_command_may_be_lost() {
    let running = Running::start(&[]).await;
    let proxy = running.another_proxy().await;
    let mut wanted = None;
    // Most commands have no more than four requests.
    let answers = size("LOST_ANSWERS", 4);
    let (mut faults, mut lives) = (0, 0);
    for (nth, fault) in [(usize::MAX, Fault::CutBefore)]
        .into_iter()
        .chain((0..answers).flat_map(|nth| [(nth, Fault::CutAfter), (nth, Fault::CutBefore)]))
    {
        for arguments in LIFE {
            let (seen, fault) = (AtomicUsize::new(0), fault.clone());
            proxy.follow(move |_| (seen.fetch_add(1, Ordering::SeqCst) == nth).then(|| fault.clone()));
            ends_with(0, &proxy.url(), arguments);
            faults += proxy.seen().iter().filter(|seen| seen.faulted).count();
            running.settle().await;
        }
        assert_right(&running).await;
        let left = what_is_left(&running).await;
        assert_eq!(left, *wanted.get_or_insert_with(|| left.clone()), "number {nth}, {fault:?}");
        // A deletion that was sent twice would have left two.
        lives += 1;
        assert_eq!(operations(&running).await, lives, "number {nth}, {fault:?}");
        ends_with(0, &running.url(), &["rm", "d", "--yes", "--wait"]);
        running.settle().await;
        // The ids come again. What tells of their ends would leave open whether a create without an answer was done and
        // undone.
        let ends =
            running.contents().await.into_keys().filter(|(_, sort_key)| ["DELETED", "LINEAGE"].contains(&&**sort_key));
        delete_all(&running.client, TABLE, ends.collect()).await;
        running.settle().await;
    }
    assert!(faults > 60.min(12 * answers), "{faults}");
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_others_write_after_a_command_without_an_answer_stays() {
    let running = Running::start(&[]).await;
    let proxy = running.another_proxy().await;
    let there = async |id: &str| running.contents().await.contains_key(&(id.to_owned(), "NODE".to_owned()));
    // A node that was created and deleted doesn't come back.
    let (created, _) = lost(&running, &proxy, &["put", "n", "--set", "name=ours"], &[(0, &["rm", "n", "--yes"])]).await;
    ended(0, &created);
    assert!(!there("n").await, "{}", words(&created));
    // One that was put again after its deletion stays.
    for id in ["n", "a", "b"] {
        ends_with(0, &running.url(), &["put", id, "--set", "name=first"]);
    }
    running.settle().await;
    let others: [(i32, &[&str]); 2] = [(1, &["rm", "n", "--yes"]), (0, &["put", "n", "--set", "name=theirs"])];
    let (deleted, _) = lost(&running, &proxy, &["rm", "n", "--yes"], &others).await;
    ended(0, &deleted);
    assert!(there("n").await, "{}", words(&deleted));
    // A move and a change don't go over later ones.
    let (moved, _) = lost(&running, &proxy, &["move", "n", "--to", "a"], &[(0, &["move", "n", "--to", "b"])]).await;
    ended(0, &moved);
    assert_eq!(attribute(&running, "n", "parent").await, text("b"));
    let others: [(i32, &[&str]); 2] =
        [(0, &["put", "n", "--set", "name=second"]), (0, &["put", "n", "--set", "name=third"])];
    let (unknown, is_after) = lost(&running, &proxy, &["put", "n", "--set", "name=ours"], &others).await;
    // Two writes later nobody can know.
    ended(if is_after { 4 } else { 0 }, &unknown);
    assert_eq!(words(&unknown).contains("may have been done"), is_after, "{}", words(&unknown));
    assert!(!is_after || attribute(&running, "n", "name").await == text("third"));
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_killed_import_may_have_written_does_not_come_back() {
    let running = Running::start(&[]).await;
    let proxy = running.another_proxy().await;
    let directory = tempfile::tempdir().unwrap();
    let lines = ["a", "b", "c"].map(|id| format!(r#"{{"id": "{id}"}}"#));
    let file = write(&directory.path().join("tree.jsonl"), &lines);
    let import = ["import", &file];
    // Each record is written, and no write is answered. What comes after the last one waits, and the process is killed.
    let puts = AtomicUsize::new(0);
    proxy.follow(move |call| match call.operation.as_str() {
        "PutItem" => {
            puts.fetch_add(1, Ordering::SeqCst);
            Some(Fault::CutAfter)
        }
        _ => (puts.load(Ordering::SeqCst) >= 3).then_some(Fault::Late(Duration::from_secs(60))),
    });
    let mut killed = command(&proxy.url(), &import).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while running.contents().await.keys().filter(|(_, sort_key)| sort_key == "NODE").count() < 3 {
        assert!(killed.try_wait().unwrap().is_none(), "it ended before it was killed");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    killed.kill().unwrap();
    killed.wait().unwrap();
    running.settle().await;
    ends_with(0, &running.url(), &["rm", "a", "--yes", "--wait"]);
    running.settle().await;
    proxy.follow(|_| None);
    // However often the import is run again.
    for _ in 0..2 {
        let output = sapwood(&proxy.url(), &import);
        ended(1, &output);
        assert!(words(&output).contains("it was deleted at about that time"), "{}", words(&output));
    }
    let left = std::fs::read_to_string(directory.path().join("tree.jsonl.refused.jsonl")).unwrap();
    assert_eq!(left.trim(), r#"{"id":"a"}"#);
    let nodes: Vec<String> = what_is_left(&running).await.into_keys().map(|(id, _)| id).collect();
    assert_eq!(nodes, ["b", "c"]);
    assert_right(&running).await;
    // Its line in a file of its own is another import.
    let refused = directory.path().join("tree.jsonl.refused.jsonl");
    ends_with(0, &running.url(), &["import", refused.to_str().unwrap()]);
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn an_import_that_is_stopped_knows_what_it_has_written() {
    let running = Running::start(&[]).await;
    let proxy = running.another_proxy().await;
    let directory = tempfile::tempdir().unwrap();
    let revision = |version: u32| format!(r#"{{"node": "V", "topic": "Audit", "version": {version}}}"#);
    let lines: Vec<String> = std::iter::once(r#"{"id": "V"}"#.to_owned()).chain((1..=200).map(revision)).collect();
    let file = write(&directory.path().join("audit.jsonl"), &lines);
    let import = ["import", &file];
    proxy.follow(|call| (call.operation == "PutItem").then_some(Fault::Late(Duration::from_millis(200))));
    let run = command(&proxy.url(), &import).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    while proxy.count("PutItem") < 20 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(std::process::Command::new("kill").arg(run.id().to_string()).status().unwrap().success());
    let output = tokio::task::block_in_place(|| run.wait_with_output().unwrap());
    ended(3, &output);
    assert!(words(&output).contains("goes on"), "{}", words(&output));
    let revisions = async || {
        let is_one = |sk: &str| sk.ends_with("_Audit") && !sk.starts_with("v0_");
        running.contents().await.keys().filter(|(_, sort_key)| is_one(sort_key)).count()
    };
    let written = revisions().await;
    assert!((1..200).contains(&written), "{written}");
    // None is refused because nobody knew whether it was written.
    proxy.follow(|_| None);
    ends_with(0, &proxy.url(), &import);
    assert_eq!(revisions().await, 200);
}
