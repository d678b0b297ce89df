//! Least privilege of those who run `sapwood`: a command calls what its policy in docs/policies allows, nothing else,
//! and all of it.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use sapwood_engine::fanout::Limits;
use sapwood_tests::client::put_all;
use sapwood_tests::faults::Proxy;
use sapwood_tests::oracle::Oracle;
use sapwood_tests::running::{Running, TABLE};
use serde_json::Value;

use crate::damage::{Damage, Trees};
use crate::doctor::{Alarms, Services, doctor, verdicts};
use crate::redrive::{Bucket, SLICE, lose_a_record_of_every_kind, redrive};
use crate::running::words;
use crate::stack::{chance, ends_with, revision, tree};
use crate::watch::Watching;

/// What the commands on a table need, but `doctor`, `redrive` and `watch`.
const POLICY: &str = include_str!("../../../../docs/policies/repair.json");

/// What a policy allows: each action, with its resource.
fn allowed(policy: &str) -> BTreeSet<String> {
    allowed_by(policy, |_| true)
}

/// What the statements of a policy allow that have these names.
fn allowed_by(policy: &str, is_one: impl Fn(&str) -> bool) -> BTreeSet<String> {
    let policy: Value = serde_json::from_str(policy).unwrap();
    let list = |value: &Value| -> Vec<String> {
        let values = value.as_array().cloned().unwrap_or_else(|| vec![value.clone()]);
        values.iter().map(|value| value.as_str().unwrap().to_owned()).collect()
    };
    let mut lines = BTreeSet::new();
    for statement in policy["Statement"].as_array().unwrap().iter().filter(|one| is_one(one["Sid"].as_str().unwrap())) {
        assert_eq!(statement["Effect"], "Allow");
        for resource in list(&statement["Resource"]) {
            lines.extend(list(&statement["Action"]).iter().map(|action| format!("{action} on {resource}")));
        }
    }
    lines
}

/// The actions on the table's stream.
const OF_STREAM: [&str; 3] = ["DescribeStream", "GetShardIterator", "GetRecords"];

/// Records the actions on the table and its stream that a proxy's requests take.
fn record(proxy: &Proxy) -> Arc<Mutex<BTreeSet<String>>> {
    let needed = Arc::<Mutex<BTreeSet<String>>>::default();
    let recorder = Arc::clone(&needed);
    proxy.follow(move |call| {
        let on_its_resource = |action: String| {
            let part = if OF_STREAM.contains(&action.as_str()) { "/stream/*" } else { "" };
            format!("dynamodb:{action} on arn:aws:dynamodb:REGION:ACCOUNT:table/TABLE{part}")
        };
        recorder.lock().unwrap().extend(call.actions().into_iter().map(on_its_resource));
        None
    });
    needed
}

#[tokio::test(flavor = "multi_thread")]
async fn doctor_calls_what_its_policy_allows_and_nothing_else() {
    let running = Running::start(&[]).await;
    let proxy = running.another_proxy().await;
    let needed = record(&proxy);
    let services = Services::new(true, Alarms::There);
    let url = services.serve().await;
    let looked = doctor(&["--endpoint", &proxy.url(), "--services-endpoint", &url]).await;
    assert_eq!(looked.status.code(), Some(0), "{}", words(&looked));
    let unread: Vec<_> = verdicts(&looked).into_iter().filter(|(_, verdict)| verdict == "unknown").collect();
    assert_eq!(unread, []);

    let mut needed = needed.lock().unwrap().clone();
    for action in services.actions() {
        let (action, resource) = action.split_once(" on ").unwrap();
        match resource.split_once(":function:") {
            Some((_, name)) if name.starts_with("sapwood") && name.contains("StreamHandler") => {
                needed.insert(format!("{action} on arn:aws:lambda:REGION:ACCOUNT:function:sapwood*StreamHandler*"));
            }
            // Another consumer's, which the policy needn't allow: its mapping is `unknown` then.
            Some((_, name)) => assert_eq!(name, "theirs"),
            None => {
                needed.insert(format!("{action} on {resource}"));
            }
        }
    }
    assert_eq!(needed, allowed(include_str!("../../../../docs/policies/doctor.json")));
}

#[tokio::test(flavor = "multi_thread")]
async fn watch_calls_what_its_policy_allows_and_nothing_else() {
    let running = Running::start(&[]).await;
    let proxy = running.another_proxy().await;
    let needed = record(&proxy);
    let services = Services::new(false, Alarms::There);
    let watching = Watching::start(&proxy.url(), &["V", "--services-endpoint", &services.serve().await]);
    put_all(&running.client, TABLE, tree(2, 1)).await;
    running.settle().await;
    while !proxy.seen().iter().any(|seen| seen.operation == "GetRecords") {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    drop(watching);
    let needed = &*needed.lock().unwrap() | &services.actions();
    assert_eq!(needed, allowed(include_str!("../../../../docs/policies/watch.json")));
}

#[tokio::test(flavor = "multi_thread")]
async fn redrive_calls_what_its_policy_allows_and_nothing_else() {
    // Small slices, so that cursors are written too.
    let limits = Limits { touch_slice_items_max: SLICE, action_slice_items_max: SLICE, ..Limits::default() };
    let running = Running::start_proxied(&[("MaximumRetryAttempts", "1")], limits).await;
    lose_a_record_of_every_kind(&running).await;
    let objects = std::fs::read_to_string(running.failures_file()).unwrap();
    let objects = objects.lines().enumerate().map(|(number, line)| (format!("{number}.json"), line.to_owned()));
    let (bucket, asked) = Bucket::serve_and_tell(objects.collect(), None).await;
    let proxy = running.another_proxy().await;
    let needed = record(&proxy);
    let sources = ["s3://failed", "--s3-endpoint", &bucket, running.stream_arn()];
    let redriven = redrive(&proxy.url(), &[&sources[..], &["--json"]].concat()).await;
    assert_eq!(redriven.status.code(), Some(0), "{}", words(&redriven));

    let needed = &*needed.lock().unwrap() | &*asked.lock().unwrap();
    assert_eq!(needed, allowed(include_str!("../../../../docs/policies/redrive.json")));
    running.settle().await;
    running.assert_right(&Oracle::default()).await;
    running.stop().await;
}

/// Runs a command on a table, and returns what it needs.
fn needed_by(proxy: &Proxy, arguments: &[&str]) -> BTreeSet<String> {
    let needed = record(proxy);
    ends_with(0, &proxy.url(), arguments);
    std::mem::take(&mut needed.lock().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_that_read_call_what_the_statement_of_verify_allows_and_nothing_else() {
    let running = Running::start(&[]).await;
    put_all(&running.client, TABLE, [tree(20, 3), vec![revision("n0", "v001_Audit")]].concat()).await;
    running.settle().await;
    running.announce().await;
    let proxy = running.another_proxy().await;
    let verify = allowed_by(POLICY, |name| name == "Verify");
    for arguments in [
        &["get", "n0"][..],
        &["tree", "n0"],
        &["tree", "n0", "--rows"],
        &["history", "n0"],
        &["latest", "n0"],
        &["links", "n0", "tags", "--parameter", "LinkAttributes=tags"],
        &["export"],
        &["export", "--under", "n1"],
        &["verify", "--confirmation-window", "1", "--under", "n1"],
    ] {
        let needed = needed_by(&proxy, arguments);
        assert!(!needed.is_empty() && needed.is_subset(&verify), "{arguments:?} needs {needed:?}");
    }
    assert_eq!(needed_by(&proxy, &["verify", "--confirmation-window", "1"]), verify);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_that_write_call_what_the_policy_of_repair_allows_and_nothing_else() {
    let mut trees = Trees::grown(Damage::ALL.len(), chance()).await;
    trees.damage_all(Damage::ALL.len()).await;
    trees.resume().await;
    let proxy = trees.running.another_proxy().await;
    let policy = allowed(POLICY);
    assert_eq!(needed_by(&proxy, &["repair", "--confirmation-window", "1", "--yes"]), policy);

    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let (file, import, backfill) = (path("nodes.jsonl"), path("import"), path("backfill"));
    let lines = [
        "{\"id\": \"i\"}",
        "{\"id\": \"j\", \"parent\": \"i\"}",
        "{\"node\": \"j\", \"topic\": \"Audit\", \"version\": 1}",
    ];
    std::fs::write(&file, lines.join("\n")).unwrap();
    for arguments in [
        &["import", &file, "--work", &import][..],
        &["put", "k", "--root", "--set", "name=k", "--wait"],
        &["put", "j", "--set", "name=j", "--wait"],
        &["put", "j", "--topic", "Audit", "--wait"],
        &["move", "j", "--to", "k", "--wait"],
        &["rm", "k", "--children", "adopt", "--yes", "--wait"],
        &["rm", "j", "--revisions", "--yes", "--wait"],
        &["rm", "i", "--yes"],
        &["backfill", "--all", "--yes", "--work", &backfill],
    ] {
        let needed = needed_by(&proxy, arguments);
        assert!(!needed.is_empty() && needed.is_subset(&policy), "{arguments:?} needs {needed:?}");
    }
    trees.running.stop().await;
}
