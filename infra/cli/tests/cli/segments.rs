//! In how many parts the commands read a table.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use sapwood_tests::client::{node, put_all};
use sapwood_tests::faults::Proxy;
use sapwood_tests::running::{Running, TABLE};

use crate::stack::{command, words};

/// Runs a command, and returns of how many parts the table was for it.
fn parts(proxy: &Proxy, mut command: Command) -> BTreeSet<u64> {
    let parts = Arc::<Mutex<BTreeSet<u64>>>::default();
    let seen = Arc::clone(&parts);
    proxy.follow(move |call| {
        if call.operation == "Scan" {
            seen.lock().unwrap().insert(call.body["TotalSegments"].as_u64().unwrap_or(1));
        }
        None
    });
    let output = tokio::task::block_in_place(|| command.output().unwrap());
    assert_eq!(output.status.code(), Some(0), "{command:?}: {}", words(&output));
    std::mem::take(&mut parts.lock().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_local_engine_is_read_in_one_part_and_aws_in_four() {
    let running = Running::start(&[]).await;
    put_all(&running.client, TABLE, (0..20).map(|n| node(&format!("n{n}"), None, "n")).collect()).await;
    running.settle().await;
    running.announce().await;
    let proxy = running.another_proxy().await;
    let directory = tempfile::tempdir().unwrap();
    let work = directory.path().join("work").to_str().unwrap().to_owned();
    let backfill = ["backfill", "--yes", "--work", &work];
    for arguments in
        [&["verify", "--confirmation-window", "1"][..], &["repair", "--confirmation-window", "1", "--yes"], &backfill]
    {
        let local = |more: &[&str]| command(&proxy.url(), &[arguments, more].concat());
        assert_eq!(parts(&proxy, local(&[])), BTreeSet::from([1]), "{arguments:?}");
        assert_eq!(parts(&proxy, local(&["--segments", "3"])), BTreeSet::from([3]), "{arguments:?}");
        // Without --endpoint it is AWS, as far as the command knows.
        let mut aws = Command::new(env!("CARGO_BIN_EXE_sapwood"));
        aws.args(arguments).args(["--table", TABLE]).stdin(Stdio::null());
        aws.env("AWS_ENDPOINT_URL_DYNAMODB", proxy.url()).env("AWS_REGION", "eu-central-1");
        aws.env("AWS_ACCESS_KEY_ID", "local").env("AWS_SECRET_ACCESS_KEY", "local").env_remove("AWS_PROFILE");
        assert_eq!(parts(&proxy, aws), BTreeSet::from([4]), "{arguments:?}");
    }
    running.stop().await;
}
