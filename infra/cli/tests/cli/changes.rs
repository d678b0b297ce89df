//! `sapwood changes` and `sapwood feed`, the real binary, on a running stack.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_sdk_dynamodb::primitives::{DateTime, DateTimeFormat};
use axum::Router;
use sapwood_tests::client::{node, put, put_all};
use sapwood_tests::running::{Running, TABLE};

use crate::running::command;
use crate::stack::{ends_with, lines, tree};

#[tokio::test(flavor = "multi_thread")]
async fn a_run_goes_on_where_the_one_before_ended_and_verify_finds_nothing_wrong() {
    let running = Running::start(&[("Changes", "on")]).await;
    put_all(&running.client, TABLE, tree(4, 3)).await;
    running.settle().await;
    running.announce().await;
    let (url, directory) = (running.url(), tempfile::tempdir().unwrap());
    let file = directory.path().join("cursor");
    let changes = ["changes", "n0", "--cursor", file.to_str().unwrap()];
    ends_with(2, &url, &changes);
    ends_with(0, &url, &["feed", "begin"]);
    let ids = |text: &str| -> BTreeSet<String> {
        lines(text).iter().map(|line| line["id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ids(&ends_with(0, &url, &changes)), ["n0", "n1", "n2", "n3"].map(str::to_owned).into());

    put(&running.client, TABLE, node("n3", None, "a root")).await;
    running.settle().await;
    tokio::time::sleep(Duration::from_millis(6_500)).await;
    let second = lines(&ends_with(0, &url, &changes));
    assert!(second.iter().any(|line| line["id"] == "n3" && line["node"].is_null()), "{second:?}");
    assert_eq!(ends_with(0, &url, &changes), "");
    // It goes on with what comes, until it is stopped.
    let mut follower = command(&url, &[&changes[..], &["--follow"]].concat()).stdout(Stdio::piped()).spawn().unwrap();
    put(&running.client, TABLE, node("n4", Some("n0"), "new")).await;
    running.settle().await;
    let told = BufReader::new(follower.stdout.take().unwrap());
    let first = tokio::task::block_in_place(|| told.lines().next().unwrap().unwrap());
    assert_eq!(lines(&first)[0]["id"], "n4");
    follower.kill().unwrap();
    follower.wait().unwrap();
    ends_with(1, &url, &["changes", "n1"]);
    // A clock that was ahead has left a cursor before which changes would be missing.
    let kept = std::fs::read_to_string(&file).unwrap();
    let mut ahead: serde_json::Value = serde_json::from_str(&kept).unwrap();
    ahead["since"] = (ahead["since"].as_u64().unwrap() + 3_600_000).into();
    std::fs::write(&file, ahead.to_string()).unwrap();
    ends_with(1, &url, &changes);
    std::fs::write(&file, kept).unwrap();
    // The follower may have died before it kept its cursor.
    ends_with(0, &url, &changes);
    ends_with(0, &url, &["verify"]);
    ends_with(0, &url, &["feed", "begin"]);
    ends_with(1, &url, &changes);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_is_ahead_of_dynamodbs_is_refused() {
    // A table without items, at an endpoint whose clock is so many seconds behind this one's.
    for (behind, code) in [(0, 2), (1, 2), (60, 1)] {
        let answer = move || async move {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
            let date = DateTime::from_secs(i64::try_from(now).unwrap() - behind).fmt(DateTimeFormat::HttpDate).unwrap();
            ([("date", date)], "{}")
        };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, Router::new().fallback(answer)).await });
        ends_with(code, &url, &["changes", "n0", "--parameter", "Changes=on"]);
    }
}
