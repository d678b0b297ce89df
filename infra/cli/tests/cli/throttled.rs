//! The commands, the real binary, on a table that throttles: all end right, only later.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use sapwood_tests::client::{delete_all, node, put_all};
use sapwood_tests::faults::{Call, Fault, Proxy};
use sapwood_tests::running::{Running, TABLE};

use crate::stack::{assert_right, delete_derived, ends_with, lines};

/// How long nothing at all is answered at first.
const OUTAGE: Duration = Duration::from_secs(2);

/// How late an answer is: later than a function would wait for it.
const LATE: Duration = Duration::from_secs(6);

/// The names by which DynamoDB refuses a request for now.
const REFUSALS: [&str; 3] = ["ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded"];

/// Throttles everything from the first request on, for a while, and then every third request.
fn throttle(proxy: &Proxy) {
    let begun: Arc<Mutex<Option<Instant>>> = Arc::default();
    proxy.follow(move |call: &Call| {
        let begun = *begun.lock().unwrap().get_or_insert_with(Instant::now);
        if begun.elapsed() > OUTAGE && !call.nth.is_multiple_of(3) {
            return None;
        }
        if call.nth.is_multiple_of(2) && call.operation == "BatchGetItem" {
            return Some(Fault::Unprocessed);
        }
        let name = format!("com.amazonaws.dynamodb.v20120810#{}", REFUSALS[call.nth % REFUSALS.len()]);
        Some(Fault::error(400, &name))
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn on_a_table_that_throttles_every_command_ends_right() {
    let mut running = Running::start(&[]).await;
    running.announce().await;
    let proxy = running.another_proxy().await;
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let line = |n: usize| match n.checked_sub(1) {
        None => r#"{"id": "n0"}"#.to_owned(),
        Some(above) => format!(r#"{{"id": "n{n}", "parent": "n{}", "attributes": {{"name": "n"}}}}"#, above / 5),
    };
    let file = path("tree.jsonl");
    std::fs::write(&file, (0..150).map(line).collect::<Vec<_>>().join("\n")).unwrap();
    let run = |arguments: &[&str], operation: &str| {
        throttle(&proxy);
        let printed = ends_with(0, &proxy.url(), arguments);
        let (all, faults) = (proxy.count(operation), proxy.faults(operation));
        println!("{}: {faults} of {all} {operation} refused", arguments[0]);
        assert!(faults > 0, "nothing was throttled");
        printed
    };

    run(&["import", &file, "--json"], "PutItem");
    assert_right(&running).await;
    let printed = run(&["verify", "--json", "--confirmation-window", "1"], "Scan");
    let summary = lines(&printed).pop().unwrap();
    assert_eq!((summary["differences"].as_u64(), summary["items"].as_u64() > Some(500)), (Some(0), true), "{summary}");

    let lost = running.contents().await.into_keys().filter(|(pk, sk)| pk == "n0" && sk.starts_with("NODE#0002"));
    delete_all(&running.client, TABLE, lost.collect()).await;
    run(&["repair", "--yes", "--json", "--confirmation-window", "1"], "UpdateItem");
    assert_right(&running).await;

    let exported = path("exported.jsonl");
    run(&["export", "--output", &exported], "Scan");
    let text = std::fs::read_to_string(&exported).unwrap();
    assert_eq!(lines(&text).len(), 150);

    running.pause().await;
    delete_derived(&running).await;
    running.resume(&[]).await;
    let printed = run(&["backfill", "--yes", "--json", "--work", &path("work")], "UpdateItem");
    assert_eq!(lines(&printed).pop().unwrap()["redriven"], 150);
    assert_right(&running).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_late_is_waited_for_and_not_asked_for_again() {
    let running = Running::start(&[]).await;
    put_all(&running.client, TABLE, (0..20).map(|n| node(&format!("n{n}"), None, "n")).collect()).await;
    running.settle().await;
    let proxy = running.another_proxy().await;
    proxy.follow(|call: &Call| match call.operation.as_str() {
        // The one part of a table is asked for as the table: dynoxide has no index for parts.
        "Scan" if call.body.get("TotalSegments").is_some() => {
            Some(Fault::error(400, "com.amazon.coral.validate#ValidationException"))
        }
        "Scan" if call.nth == 0 => Some(Fault::Late(LATE)),
        _ => None,
    });
    let printed = ends_with(0, &proxy.url(), &["verify", "--json", "--confirmation-window", "1", "--segments", "1"]);
    let summary = lines(&printed).pop().unwrap();
    assert_eq!(summary["differences"], 0, "{summary}");
    assert_eq!((proxy.count("Scan"), proxy.faults("Scan")), (1, 1));
    running.stop().await;
}
