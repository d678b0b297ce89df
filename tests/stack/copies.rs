//! Copies of subtrees over HTTP, beside a handler that is slow, and beside requests for the names that they bring.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue as Sdk;
use futures::StreamExt;
use futures::future::join_all;
use sapwood_core::model::{AttributeValue, Item};
use sapwood_engine::fanout::Limits;
use sapwood_tests::api::{Answered, Asked};
use sapwood_tests::faults::Fault;
use sapwood_tests::running::{Running, TABLE};
use sapwood_tests::seeds::number;
use sapwood_tests::serving::{Serving, Way};
use serde_json::{Value, json};

const WAIT: (&str, &str) = ("prefer", "wait=20");

async fn ok(serving: &Serving, status: u16, asked: &Asked) -> Answered {
    let answered = serving.api.send(asked).await;
    assert_eq!(answered.status, status, "{asked:?}: {}", answered.json());
    answered
}

/// Makes a node with so many children, each with a name of its own, and waits for their rows.
async fn plant(serving: &Serving, children: usize) {
    let put =
        |id: String, parent: Value, segment: Value| json!({"put": {"id": id, "parent": parent, "segment": segment}});
    let all = (0..children).map(|n| put(format!("s-{n}"), json!("s"), json!(format!("name {n}"))));
    let operations: Vec<Value> = std::iter::once(put("s".to_owned(), Value::Null, json!("s"))).chain(all).collect();
    let answered = serving.send(&Asked::new("POST", "/batch").json(&json!({ "operations": operations }))).await;
    assert!(answered.json()["results"].as_array().unwrap().iter().all(|one| one["status"] == 201), "{answered:?}");
    serving.running.settle().await;
}

fn copy(top: &str) -> Asked {
    Asked::new("POST", "/nodes/s/copy").json(&json!({"parent": null, "ids": top, "segment": top}))
}

/// Copies, and waits within the request. On a busy machine it has to wait for longer.
async fn waited(serving: &Serving, top: &str) -> Value {
    let answered = serving.send(&copy(top).header(WAIT.0, WAIT.1)).await;
    assert!([201, 202].contains(&answered.status), "{answered:?}");
    serving.ended(answered).await.json()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_done_copy_has_is_listed_however_slow_the_handler_is() {
    let calls = AtomicU64::new(0);
    // Each request that puts rows waits, some much longer than others.
    let policy = move |call: &sapwood_tests::faults::Call| {
        let turn = calls.fetch_add(1, Ordering::Relaxed);
        let late = Fault::Late(Duration::from_millis([5, 40, 10, 150][usize::try_from(turn % 4).unwrap()]));
        (call.operation == "BatchWriteItem").then_some(late)
    };
    let limits = Limits { copy_step_items_max: 15, ..Limits::default() };
    let running = Running::start_through(&[], limits, policy).await;
    let url = running.url();
    let serving = Serving::through(running, [&url, &url], &[]).await;
    plant(&serving, 60).await;
    let serving = &serving;
    let runs = number("COPY_RUNS").unwrap_or(24);
    let all = (0..runs).map(|run| async move {
        let top = format!("c{run}");
        let listed = async |query: &str| {
            let target = format!("/nodes/{top}/descendants?limit=100{query}");
            let asked = Asked::new("GET", target).header(WAIT.0, WAIT.1);
            // The wait for a token may end first.
            let answered = serving.send_patiently(&asked).await;
            assert_eq!(answered.status, 200, "{answered:?}");
            answered.json()["items"].as_array().unwrap().len()
        };
        match run % 3 {
            0 => {
                let done = waited(serving, &top).await;
                assert_eq!((&done["status"], &done["copied"]), (&json!("done"), &json!(61)), "{done}");
                assert_eq!(listed("").await, 60, "run {run}");
            }
            1 => {
                let token = ok(serving, 202, &copy(&top)).await.header("sapwood-consistency-token").unwrap().to_owned();
                assert_eq!(listed(&format!("&written={token}")).await, 60, "run {run}");
            }
            _ => {
                let place = ok(serving, 202, &copy(&top)).await.header("location").unwrap().to_owned();
                while ok(serving, 200, &Asked::new("GET", &place)).await.json()["status"] == "running" {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                assert_eq!(listed("").await, 60, "run {run}");
            }
        }
    });
    futures::stream::iter(all).buffer_unordered(3).collect::<Vec<()>>().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_whose_source_goes_or_that_goes_itself_says_that_it_is_incomplete() {
    let limits = Limits { copy_step_items_max: 2, copy_steps_max: 1, copied_nodes_max: 20, ..Limits::default() };
    let running = Running::start_through(&[], limits, |_| None).await;
    let url = running.url();
    let serving = Serving::through(running, [&url, &url], &[]).await;
    plant(&serving, 40).await;
    let ended = async |place: &str| loop {
        let operation = ok(&serving, 200, &Asked::new("GET", place)).await.json();
        if operation["status"] != "running" {
            serving.running.settle().await;
            assert_eq!(ok(&serving, 200, &Asked::new("GET", place)).await.json(), operation, "it is final");
            return operation;
        }
    };
    let place = ok(&serving, 202, &copy("long")).await.header("location").unwrap().to_owned();
    let operation = ended(&place).await;
    assert_eq!((&operation["status"], &operation["reason"]), (&json!("incomplete"), &json!("limit-reached")));
    assert_eq!(operation["copied"], 20, "{operation}");
    let waited = waited(&serving, "waited").await;
    assert_eq!((&waited["status"], &waited["copied"]), (&json!("incomplete"), &json!(20)), "{waited}");
    let place = ok(&serving, 202, &copy("gone")).await.header("location").unwrap().to_owned();
    ok(&serving, 202, &Asked::new("DELETE", "/nodes/gone?children=delete")).await;
    let operation = ended(&place).await;
    assert!(["copy-gone", "limit-reached"].contains(&operation["reason"].as_str().unwrap()), "{operation}");
    let place = ok(&serving, 202, &copy("left")).await.header("location").unwrap().to_owned();
    ok(&serving, 202, &Asked::new("DELETE", "/nodes/s?children=delete")).await;
    let operation = ended(&place).await;
    assert_eq!(operation["status"], "incomplete", "{operation}");
    assert!(["source-gone", "limit-reached"].contains(&operation["reason"].as_str().unwrap()), "{operation}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_has_so_many_copies_at_once_and_an_ended_one_makes_room() {
    let mut serving = Serving::start(Way::Http, &[], &[]).await;
    plant(&serving, 3).await;
    serving.running.pause().await;
    for run in 0..20 {
        ok(&serving, 202, &copy(&format!("c{run}"))).await;
    }
    let refused = ok(&serving, 409, &copy("more")).await;
    assert_eq!(
        (&refused.json()["type"], refused.header("retry-after")),
        (&json!("urn:sapwood:problem:too-many-copies"), Some("5"))
    );
    // One whose top is gone doesn't count.
    let gone = serving.running.client.delete_item().table_name(TABLE);
    let gone = gone.key("PK", Sdk::S("c3".to_owned())).key("SK", Sdk::S("NODE".to_owned()));
    gone.send().await.unwrap();
    ok(&serving, 202, &copy("more")).await;
    ok(&serving, 409, &copy("yet another")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_ancestors_of_what_is_not_placed_are_no_roots() {
    let mut serving = Serving::start(Way::Http, &[], &[]).await;
    plant(&serving, 1).await;
    let ancestors = async |serving: &Serving, id: &str| {
        let node = ok(serving, 200, &Asked::new("GET", format!("/nodes/{id}?expand=ancestors"))).await.json();
        let page = ok(serving, 200, &Asked::new("GET", format!("/nodes/{id}/ancestors"))).await.json();
        assert_eq!(node["ancestors"], page);
        page
    };
    assert_eq!(ancestors(&serving, "s").await, json!({"items": []}));
    assert_eq!(ancestors(&serving, "s-0").await, json!({"items": [{"id": "s", "depth": 1}]}));
    serving.running.pause().await;
    ok(&serving, 201, &Asked::new("POST", "/nodes").json(&json!({"id": "new", "parent": "s-0"}))).await;
    ok(&serving, 200, &Asked::new("PATCH", "/nodes/s-0").json(&json!({"parent": null}))).await;
    assert_eq!(ancestors(&serving, "new").await, json!({"items": [], "placed": false}));
    assert_eq!(ancestors(&serving, "s-0").await, json!({"items": [{"id": "s", "depth": 1}], "placed": false}));
}

#[tokio::test(flavor = "multi_thread")]
async fn no_two_siblings_get_one_name_while_copies_and_requests_race() {
    let serving = Arc::new(Serving::start(Way::Http, &[("UniqueNames", "exact")], &[]).await);
    plant(&serving, 8).await;
    let serving = &serving;
    let runs = number("COPY_RUNS").unwrap_or(40);
    let all = (0..runs).map(|run| async move {
        let top = format!("c{run}");
        let begun = ok(serving, 202, &copy(&top)).await;
        let creates = (0..4).map(|n| {
            let node =
                json!({"id": format!("{top}-{n}"), "parent": top, "segment": format!("name {}", (run + 2 * n) % 8)});
            async move { serving.api.send(&Asked::new("POST", "/nodes").json(&node)).await }
        });
        for answered in join_all(creates).await {
            assert!([201, 409].contains(&answered.status), "run {run}: {}", answered.json());
        }
        let place = begun.header("location").unwrap().to_owned();
        loop {
            let operation = ok(serving, 200, &Asked::new("GET", &place)).await.json();
            if operation["status"] != "running" {
                assert_eq!((&operation["status"], &operation["copied"]), (&json!("done"), &json!(9)), "{operation}");
                return operation["renamed"].as_u64().unwrap_or(0);
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
    let renamed: Vec<u64> = futures::stream::iter(all).buffer_unordered(12).collect().await;
    serving.running.settle().await;
    let contents = serving.running.contents().await;
    let value = |item: &Item, name: &str| match item.get(name) {
        Some(AttributeValue::S(value)) => value.clone(),
        _ => String::new(),
    };
    let nodes = || contents.iter().filter(|((_, sk), _)| sk == "NODE").map(|(_, item)| item);
    let mut names: BTreeSet<(String, String)> = BTreeSet::new();
    for item in nodes() {
        let name = (value(item, "parent"), value(item, "segment"));
        assert!(names.insert(name.clone()), "two siblings are named {name:?}");
    }
    let others =
        nodes().filter(|item| item.contains_key("_copy_of") && value(item, "segment").ends_with(" (2)")).count();
    assert_eq!(renamed.iter().sum::<u64>(), u64::try_from(others).unwrap());
    println!("{runs} copies, {others} nodes renamed");
}
