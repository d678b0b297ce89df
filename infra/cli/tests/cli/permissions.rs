//! Least privilege of those who run `sapwood`: a command calls what its policy in docs/policies allows, nothing else, and all of it.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use sapwood_engine::fanout::Limits;
use sapwood_tests::faults::Proxy;
use sapwood_tests::oracle::Oracle;
use sapwood_tests::running::Running;
use serde_json::Value;

use crate::doctor::{Alarms, Services, doctor, verdicts};
use crate::redrive::{Bucket, SLICE, lose_a_record_of_every_kind, redrive};
use crate::running::words;

/// What a policy allows: each action, with its resource.
fn allowed(policy: &str) -> BTreeSet<String> {
    let policy: Value = serde_json::from_str(policy).unwrap();
    let list = |value: &Value| -> Vec<String> {
        let values = value.as_array().cloned().unwrap_or_else(|| vec![value.clone()]);
        values.iter().map(|value| value.as_str().unwrap().to_owned()).collect()
    };
    let mut lines = BTreeSet::new();
    for statement in policy["Statement"].as_array().unwrap() {
        assert_eq!(statement["Effect"], "Allow");
        for resource in list(&statement["Resource"]) {
            lines.extend(list(&statement["Action"]).iter().map(|action| format!("{action} on {resource}")));
        }
    }
    lines
}

/// Records the actions on the table that a proxy's requests take.
fn record(proxy: &Proxy) -> Arc<Mutex<BTreeSet<String>>> {
    let needed = Arc::<Mutex<BTreeSet<String>>>::default();
    let recorder = Arc::clone(&needed);
    proxy.follow(move |call| {
        let on_the_table = |action| format!("dynamodb:{action} on arn:aws:dynamodb:REGION:ACCOUNT:table/TABLE");
        recorder.lock().unwrap().extend(call.actions().into_iter().map(on_the_table));
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
            Some((_, name)) if name.starts_with("sapwood") => {
                needed.insert(format!("{action} on arn:aws:lambda:REGION:ACCOUNT:function:sapwood*"));
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
async fn redrive_calls_what_its_policy_allows_and_nothing_else() {
    // Small slices, so that cursors are written too.
    let limits = Limits { touch_slice_items_max: SLICE, ..Limits::default() };
    let running = Running::start_proxied(&[("MaximumRetryAttempts", "1")], limits).await;
    lose_a_record_of_every_kind(&running).await;
    let objects = std::fs::read_to_string(running.failures_file()).unwrap();
    let objects = objects.lines().enumerate().map(|(number, line)| (format!("{number}.json"), line.to_owned()));
    let (bucket, asked) = Bucket::serve_and_tell(objects.collect(), None).await;
    let proxy = running.another_proxy().await;
    let needed = record(&proxy);
    let redriven = redrive(&proxy.url(), &["s3://failed", "--s3-endpoint", &bucket, "--json"]).await;
    assert_eq!(redriven.status.code(), Some(0), "{}", words(&redriven));

    let needed = &*needed.lock().unwrap() | &*asked.lock().unwrap();
    assert_eq!(needed, allowed(include_str!("../../../../docs/policies/redrive.json")));
    running.settle().await;
    running.assert_right(&Oracle::default()).await;
    running.stop().await;
}
