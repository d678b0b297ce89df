//! Revisions: numbered, kept, and appended once however often a request comes.

use std::collections::BTreeSet;
use std::sync::Arc;

use sapwood_tests::oracle::Oracle;
use sapwood_tests::serving::{Serving, Way};
use serde_json::json;

use super::support::{delete, expect, get, json as body_of, post, put, read, refused, start, waiting};

pub(crate) async fn revisions_are_numbered_read_and_kept(way: Way) {
    let serving = start(way).await;
    for (number, auditor) in ["Rick", "Padma", "Rick"].into_iter().enumerate() {
        let asked = waiting(post("/nodes/eq/revisions/Audit", &json!({"attributes": {"auditor": auditor}})));
        let answered = expect(&serving, 201, &asked).await;
        let version = number + 1;
        assert_eq!(answered.header("location"), Some(format!("/nodes/eq/revisions/Audit/{version}").as_str()));
        assert_eq!(answered.json()["version"], version);
        // The answer has waited for the copy of the newest.
        assert_eq!(read(&serving, "/nodes/eq/latest/Audit?consistent=true").await["version"], version);
    }
    let of_a_part = post("/nodes/eq/revisions/Audit~23wheel-2", &json!({"attributes": {"auditor": "Joe"}}));
    assert_eq!(body_of(&serving, 201, &waiting(of_a_part)).await["topic"], "Audit#wheel-2");

    assert_eq!(read(&serving, "/nodes/eq/revisions/Audit/2").await["attributes"], json!({"auditor": "Padma"}));
    let versions = |list: &serde_json::Value| -> Vec<u64> {
        list["items"].as_array().unwrap().iter().map(|item| item["version"].as_u64().unwrap()).collect()
    };
    assert_eq!(versions(&read(&serving, "/nodes/eq/revisions/Audit").await), [3, 2, 1]);
    assert_eq!(versions(&read(&serving, "/nodes/eq/revisions/Audit?order=asc").await), [1, 2, 3]);
    assert_eq!(read(&serving, "/nodes/eq/revisions").await["items"].as_array().unwrap().len(), 4);
    let latest = read(&serving, "/nodes/eq/latest?topic_prefix=Audit~").await;
    assert_eq!(latest["items"], json!([]));
    let latest = read(&serving, "/nodes/eq/latest?topic_prefix=Audit%23").await;
    assert_eq!(latest["items"][0]["topic"], "Audit#wheel-2");
    assert_eq!(read(&serving, "/nodes/eq/latest").await["items"].as_array().unwrap().len(), 2);

    for missing in ["/nodes/eq/revisions/Audit/4", "/nodes/eq/latest/Nothing", "/nodes/nobody/revisions"] {
        expect(&serving, 404, &get(missing)).await;
    }
    let amended = put("/nodes/eq/revisions/Audit/2", &json!({"attributes": {}}));
    assert_eq!(refused(&serving, 403, &amended).await.0, "revisions-kept");
    assert_eq!(refused(&serving, 403, &delete("/nodes/eq/revisions/Audit/2")).await.0, "revisions-kept");
}

pub(crate) async fn a_deployment_may_allow_to_amend_and_remove_revisions(way: Way) {
    let serving = Serving::start(way, &[("RevisionsMutable", "on")], &[]).await;
    for _ in 0..2 {
        expect(&serving, 201, &post("/nodes/eq/revisions/Audit", &json!({"attributes": {"n": 1}}))).await;
    }
    let amended = put("/nodes/eq/revisions/Audit/2", &json!({"attributes": {"n": 2}}));
    assert_eq!(body_of(&serving, 200, &waiting(amended)).await["attributes"], json!({"n": 2}));
    assert_eq!(read(&serving, "/nodes/eq/latest/Audit").await["attributes"], json!({"n": 2}));
    expect(&serving, 204, &waiting(delete("/nodes/eq/revisions/Audit/2"))).await;
    assert_eq!(read(&serving, "/nodes/eq/latest/Audit").await["version"], 1);
    expect(&serving, 404, &delete("/nodes/eq/revisions/Audit/2")).await;
    expect(&serving, 404, &put("/nodes/eq/revisions/Audit/7", &json!({"attributes": {}}))).await;
}

pub(crate) async fn fifty_appends_at_once_give_fifty_consecutive_revisions(way: Way) {
    let serving = Arc::new(start(way).await);
    let appends = (0..50).map(|number| {
        let serving = Arc::clone(&serving);
        tokio::spawn(async move {
            // With a key it can be sent again, whatever the answer is.
            let asked = post("/nodes/eq/revisions/Audit", &json!({"attributes": {"number": number}}));
            let asked = asked.header("idempotency-key", &format!("\"append-{number}\""));
            let answered = serving.send_patiently(&asked).await;
            assert_eq!(answered.status, 201, "{answered:?}");
            answered.json()["version"].as_u64().unwrap()
        })
    });
    let mut versions = BTreeSet::new();
    for append in appends.collect::<Vec<_>>() {
        assert!(versions.insert(append.await.unwrap()), "a version was given twice");
    }
    assert_eq!(versions, (1..=50).collect());
    let list = read(&serving, "/nodes/eq/revisions/Audit?limit=1000&consistent=true").await;
    let numbers: BTreeSet<u64> =
        list["items"].as_array().unwrap().iter().map(|item| item["attributes"]["number"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (0..50).collect());
    serving.running.settle().await;
    serving.running.assert_right(&Oracle::default()).await;
}

pub(crate) async fn a_repeated_request_with_a_key_is_answered_alike_and_done_once(way: Way) {
    let serving = start(way).await;
    let append = |by: &str| {
        post("/nodes/eq/revisions/Audit", &json!({"attributes": {"by": by}})).header("idempotency-key", "\"key 1\"")
    };
    // The draft's strings have no spaces in ours.
    assert_eq!(refused(&serving, 400, &append("Rick")).await.1.as_deref(), Some("idempotency-key"));
    // Two lines are no key, also where API Gateway has made one of them.
    let twice = append("Rick").header("idempotency-key", "\"key-2\"");
    assert_eq!(refused(&serving, 400, &twice).await.1.as_deref(), Some("idempotency-key"));
    let twice = post("/nodes", &json!({})).header("idempotency-key", "a").header("idempotency-key", "b");
    assert_eq!(refused(&serving, 400, &twice).await.1.as_deref(), Some("idempotency-key"));
    let append = |by: &str| {
        post("/nodes/eq/revisions/Audit", &json!({"attributes": {"by": by}})).header("idempotency-key", "\"key-1\"")
    };
    let first = expect(&serving, 201, &append("Rick")).await;
    let again = expect(&serving, 201, &append("Rick")).await;
    assert_eq!((first.json(), first.header("location")), (again.json(), again.header("location")));
    assert_eq!(refused(&serving, 422, &append("Padma")).await.0, "idempotency-mismatch");
    assert_eq!(read(&serving, "/nodes/eq/revisions/Audit?consistent=true").await["items"].as_array().unwrap().len(), 1);

    let create = || post("/nodes", &json!({"attributes": {"n": 1}})).header("idempotency-key", "create-1");
    let ids: BTreeSet<String> = {
        let mut ids = BTreeSet::new();
        for _ in 0..3 {
            ids.insert(body_of(&serving, 201, &create()).await["id"].as_str().unwrap().to_owned());
        }
        ids
    };
    assert_eq!(ids.len(), 1);
    let batch = json!({"operations": [
        {"put": {"parent": null}}, {"revision": {"id": "eq", "topic": "Audit", "attributes": {}}}, {"delete": {"id": "nobody"}},
    ]});
    let batch = || post("/batch", &batch).header("idempotency-key", "batch-1");
    let first = body_of(&serving, 200, &batch()).await;
    assert_eq!(body_of(&serving, 200, &batch()).await, first);
    assert_eq!(read(&serving, "/nodes/eq/revisions/Audit?consistent=true").await["items"].as_array().unwrap().len(), 2);
    serving.running.settle().await;
    serving.running.assert_right(&Oracle::default()).await;
    assert_eq!(read(&serving, "/roots").await["items"].as_array().unwrap().len(), 2);
}
