//! Short ways to ask, and to say what is expected.

use sapwood_tests::api::{Answered, Asked};
use sapwood_tests::serving::{Serving, Way};
use serde_json::Value;

pub(crate) async fn start(way: Way) -> Serving {
    Serving::start(way, &[], &[]).await
}

pub(crate) fn get(target: &str) -> Asked {
    Asked::new("GET", target)
}

pub(crate) fn post(target: &str, body: &Value) -> Asked {
    Asked::new("POST", target).json(body)
}

pub(crate) fn put(target: &str, body: &Value) -> Asked {
    Asked::new("PUT", target).json(body)
}

pub(crate) fn patch(target: &str, body: &Value) -> Asked {
    Asked::new("PATCH", target).json(body)
}

pub(crate) fn delete(target: &str) -> Asked {
    Asked::new("DELETE", target)
}

pub(crate) fn waiting(asked: Asked) -> Asked {
    asked.header("prefer", "wait=20")
}

/// Sends a request that is answered with this status.
pub(crate) async fn expect(serving: &Serving, status: u16, asked: &Asked) -> Answered {
    let answered = serving.send(asked).await;
    assert_eq!(
        answered.status,
        status,
        "{} {}: {}",
        asked.method,
        asked.target,
        String::from_utf8_lossy(&answered.body)
    );
    answered
}

/// The same; the body that it has.
pub(crate) async fn json(serving: &Serving, status: u16, asked: &Asked) -> Value {
    expect(serving, status, asked).await.json()
}

/// The body of a read.
pub(crate) async fn read(serving: &Serving, target: &str) -> Value {
    json(serving, 200, &get(target)).await
}

/// The ids of a list.
pub(crate) fn ids(list: &Value) -> Vec<&str> {
    list["items"].as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap()).collect()
}

/// Creates nodes, parents first, and waits for their rows.
pub(crate) async fn tree(serving: &Serving, nodes: &[(&str, Option<&str>)]) {
    for (id, parent) in nodes {
        expect(serving, 201, &post("/nodes", &serde_json::json!({"id": id, "parent": parent}))).await;
    }
    serving.running.settle().await;
}

/// A problem of this status, its type's last part and the field at fault.
pub(crate) async fn refused(serving: &Serving, status: u16, asked: &Asked) -> (String, Option<String>) {
    let answered = expect(serving, status, asked).await;
    assert_eq!(answered.header("content-type"), Some("application/problem+json"), "{} {}", asked.method, asked.target);
    let problem = answered.json();
    assert_eq!(problem["status"], status);
    assert!(problem["title"].as_str().is_some_and(|title| !title.is_empty()), "{problem}");
    assert!(problem["detail"].as_str().is_some_and(|detail| !detail.is_empty()), "{problem}");
    let kind = problem["type"].as_str().unwrap().rsplit([':', '/']).next().unwrap().to_owned();
    (kind, problem["field"].as_str().map(str::to_owned))
}
