//! When it isn't the record that is wrong: an outage, a permission that is missing, a fault of ours. What passes only
//! delays; what stays ends beside the shard, alone, with all that is needed to have its item handled again.

use std::collections::BTreeSet;

use aws_sdk_dynamodb::types::AttributeValue;
use sapwood_engine::fanout::Limits;
use sapwood_tests::client::{delete_all, item, node, put, put_all, s};
use sapwood_tests::faults::{Call, Fault};
use sapwood_tests::oracle::Oracle;
use sapwood_tests::running::{Running, TABLE};
use serde_json::Value;

/// Children touched at a time: more of them take a cursor.
const SLICE: usize = 5;

fn limits() -> Limits {
    Limits { touch_slice_items_max: SLICE, action_slice_items_max: SLICE, ..Limits::default() }
}

fn denied() -> Fault {
    Fault::error(400, "com.amazon.coral.service#AccessDeniedException")
}

/// Whether a request names one of these as an id, a key or a value; rows of others in a key of their own don't count.
fn names(call: &Call, ids: &[&str]) -> bool {
    let body = call.body.to_string();
    ids.iter().any(|id| body.contains(&format!("\"{id}\"")))
}

/// The items of the records that were discarded, and their documents.
fn discarded(running: &Running) -> (BTreeSet<(String, String)>, Vec<Value>) {
    let documents = running.discarded();
    let records = documents.iter().flat_map(records);
    let key = |record: &Value, name: &str| record["dynamodb"]["Keys"][name]["S"].as_str().unwrap().to_owned();
    (records.map(|record| (key(&record, "PK"), key(&record, "SK"))).collect(), documents)
}

fn records(document: &Value) -> Vec<Value> {
    let event: Value = serde_json::from_str(document["payload"].as_str().unwrap()).unwrap();
    event["Records"].as_array().unwrap().clone()
}

fn items(keys: &[(&str, &str)]) -> BTreeSet<(String, String)> {
    keys.iter().map(|(pk, sk)| ((*pk).to_owned(), (*sk).to_owned())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_outage_only_delays_however_often_the_handler_fails_in_it() {
    let running = Running::start_proxied(&[], limits()).await;
    // Each of an operation's first calls: batches fail as a whole, many times over, in every part of their work.
    running.proxy().unwrap().follow(|call| (call.nth < 6).then(denied));
    let mut nodes =
        vec![node("root", None, "root"), node("wide", Some("root"), "wide"), node("to", Some("root"), "to")];
    nodes.extend((0..=2 * SLICE).map(|n| node(&format!("w{n}"), Some("wide"), "w")));
    put_all(&running.client, TABLE, nodes).await;
    running.settle().await;
    put(&running.client, TABLE, node("wide", Some("to"), "moved")).await;
    put(&running.client, TABLE, item([("PK", s("root")), ("SK", s("v001_Audit"))])).await;
    delete_all(&running.client, TABLE, vec![("w0".to_owned(), "NODE".to_owned())]).await;
    running.settle().await;
    running.assert_right(&Oracle::default()).await;
    let failed = running.take().1.iter().filter(|report| !report.failed.is_empty()).count();
    assert!(failed > 6, "{failed} batches failed");
    assert_eq!(running.discarded(), Vec::<Value>::new());
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_always_fails_is_discarded_alone_and_touching_its_item_redrives_it() {
    let running = Running::start_proxied(&[("MaximumRetryAttempts", "2")], limits()).await;
    let client = &running.client;
    put_all(
        client,
        TABLE,
        vec![node("root", None, "root"), node("to", None, "to"), node("poison", Some("root"), "old")],
    )
    .await;
    running.settle().await;
    running.proxy().unwrap().follow(|call| names(call, &["poison"]).then(denied));

    // A move and a rename; neighbours in the same batches, and others after them in the same shard.
    let neighbours = |from: usize| (from..from + 40).map(|n| node(&format!("n{n}"), Some("root"), "n"));
    let mut nodes: Vec<_> = neighbours(0).collect();
    nodes.insert(20, node("poison", Some("to"), "new"));
    put_all(client, TABLE, nodes).await;
    running.settle().await;
    put_all(client, TABLE, neighbours(40).collect()).await;
    running.settle().await;

    let (keys, documents) = discarded(&running);
    assert_eq!(keys, items(&[("poison", "NODE")]));
    let [document] = &documents[..] else { panic!("{documents:#?}") };
    assert_eq!(document["requestContext"]["condition"], "RetryAttemptsExhausted");
    assert_eq!(document["DDBStreamBatchInfo"]["batchSize"], 1);
    let [record] = &records(document)[..] else { panic!("{document:#?}") };
    let images = ["OldImage", "NewImage"].map(|image| &record["dynamodb"][image]);
    assert_eq!(images.map(|image| &image["name"]["S"]), ["old", "new"]);
    assert_eq!(images.map(|image| &image["parent"]["S"]), ["root", "to"]);
    let contents = running.contents().await;
    let wrong = Oracle::default().differences(&contents);
    assert!(!wrong.is_empty() && wrong.iter().all(|line| line.contains("poison")), "{wrong:#?}");
    assert!((0..80).all(|n| contents.contains_key(&("root".to_owned(), format!("NODE#0001#n{n}")))));

    // Mended, and touched: with an attribute of any name that rows don't carry.
    running.proxy().unwrap().follow(|_| None);
    for (pk, sk) in keys {
        let update = client.update_item().table_name(TABLE).key("PK", s(pk)).key("SK", s(sk));
        let update =
            update.update_expression("SET #redriven = :now").expression_attribute_names("#redriven", "_redriven");
        update.expression_attribute_values(":now", AttributeValue::N("1".to_owned())).send().await.unwrap();
    }
    running.settle().await;
    running.assert_right(&Oracle::default()).await;
    running.stop().await;
}
