//! Every refusal: its status, its kind, and the field at fault.

use sapwood_tests::api::Asked;
use sapwood_tests::serving::{Serving, Way};
use serde_json::json;

use super::support::{delete, expect, get, patch, post, put, refused, start, tree};

fn raw(method: &str, target: &str, kind: &str, body: impl Into<Vec<u8>>) -> Asked {
    Asked::new(method, target).header("content-type", kind).bytes(body)
}

pub(crate) async fn every_refusal_has_its_status_and_says_where(way: Way) {
    let serving = start(way).await;
    tree(&serving, &[("a", None), ("b", Some("a")), ("c", Some("b"))]).await;
    let chain: Vec<_> = (1..=99)
        .map(|n| json!({"put": {"id": format!("d{n}"), "parent": if n == 1 { None } else { Some(format!("d{}", n - 1)) }}}))
        .collect();
    // An operation that had no time is sent again, with those before it.
    loop {
        let answered = expect(&serving, 200, &post("/batch", &json!({"operations": chain}))).await.json();
        if answered["results"].as_array().unwrap().iter().all(|one| one["status"] != 503) {
            break;
        }
    }
    serving.running.settle().await;
    let attributes = |value| json!({"attributes": value});
    const JSON: &str = "application/json";
    let long = "x".repeat(1_015);
    let cases: Vec<(u16, &str, Option<&str>, Asked)> = vec![
        (400, "bad-json", None, raw("POST", "/nodes", JSON, "{")),
        (400, "bad-json", None, raw("POST", "/nodes", JSON, "")),
        (400, "bad-json", None, raw("POST", "/nodes", JSON, [0x7b, 0xff])),
        (400, "bad-json", None, raw("POST", "/nodes", JSON, "[".repeat(100_000))),
        (400, "bad-json", None, raw("POST", "/nodes", JSON, "[]")),
        (400, "bad-json", Some("unknown"), post("/nodes", &json!({"unknown": 1}))),
        (400, "bad-json", Some("id"), post("/nodes", &json!({"id": 7}))),
        (400, "bad-json", Some("id"), patch("/nodes/a", &json!({"id": "b"}))),
        (400, "bad-json", Some("parent"), put("/nodes/a", &json!({"attributes": {}}))),
        (400, "bad-json", Some("operations"), post("/batch", &json!({"operations": []}))),
        (
            400,
            "bad-json",
            Some("operations"),
            post("/batch", &json!({"operations": vec![json!({"delete": {"id": "x"}}); 101]})),
        ),
        (400, "bad-parameter", Some("revisions"), delete("/nodes/a?revisions=all")),
        (400, "bad-header", Some("if-match"), delete("/nodes/a").header("if-match", "no quotes")),
        (400, "bad-header", Some("prefer"), delete("/nodes/c").header("prefer", "wait=soon")),
        (400, "bad-path", None, get("/nodes/~2")),
        (400, "bad-path", None, get("/nodes/~FF")),
        (400, "bad-path", None, get("/nodes/..")),
        (404, "not-found", None, patch("/nodes/nobody", &json!({}))),
        (409, "exists", None, post("/nodes", &json!({"id": "a"}))),
        (409, "has-children", None, delete("/nodes/a")),
        (409, "cycle", Some("parent"), patch("/nodes/a", &json!({"parent": "c"}))),
        (409, "cycle", Some("parent"), patch("/nodes/a", &json!({"parent": "a"}))),
        (409, "cycle", Some("parent"), put("/nodes/a", &json!({"parent": "b"}))),
        (409, "cycle", Some("parent"), post("/nodes", &json!({"id": "self", "parent": "self"}))),
        (412, "precondition-failed", Some("if-match"), delete("/nodes/a").header("if-match", "\"x\"")),
        (413, "body-too-large", None, raw("POST", "/nodes", JSON, vec![b' '; 1_048_577])),
        (415, "unsupported-media-type", Some("content-type"), raw("POST", "/nodes", "text/plain", "{}")),
        (415, "unsupported-media-type", Some("content-type"), raw("PATCH", "/nodes/a", JSON, "{}")),
        (415, "unsupported-media-type", Some("content-type"), Asked::new("POST", "/nodes").bytes("{}")),
        (422, "parent-missing", Some("parent"), post("/nodes", &json!({"parent": "nobody"}))),
        (422, "parent-missing", Some("parent"), patch("/nodes/c", &json!({"parent": "nobody"}))),
        (422, "too-deep", Some("parent"), post("/nodes", &json!({"parent": "d99"}))),
        (422, "too-deep", Some("parent"), patch("/nodes/a", &json!({"parent": "d97"}))),
        (422, "reserved-name", Some("attributes._rev"), post("/nodes", &attributes(json!({"_rev": 1})))),
        (422, "reserved-name", Some("attributes.PK"), post("/nodes", &attributes(json!({"PK": "x"})))),
        (422, "reserved-name", Some("attributes.parent"), patch("/nodes/a", &attributes(json!({"parent": "x"})))),
        (422, "reserved-name", Some("attributes._x"), post("/nodes/a/revisions/t", &attributes(json!({"_x": 1})))),
        (422, "bad-key", Some("id"), post("/nodes", &json!({"id": ""}))),
        (422, "bad-key", Some("id"), post("/nodes", &json!({"id": long}))),
        (422, "bad-key", Some("segment"), post("/nodes", &json!({"segment": ""}))),
        (422, "bad-value", Some("attributes.s.$set"), post("/nodes", &attributes(json!({"s": {"$set": []}})))),
        (422, "item-too-large", None, post("/nodes", &attributes(json!({"x": "x".repeat(410_000)})))),
    ];
    for (status, kind, field, asked) in cases {
        let (found, at) = refused(&serving, status, &asked).await;
        let shown = asked.body.as_ref().map(|body| String::from_utf8_lossy(&body[..body.len().min(120)]).into_owned());
        assert_eq!(found, kind, "{} {} {shown:?}", asked.method, asked.target);
        if let Some(field) = field {
            assert_eq!(at.as_deref(), Some(field), "{} {} {shown:?}", asked.method, asked.target);
        }
    }
    // None of it has changed anything.
    serving.running.settle().await;
    serving.running.assert_right(&sapwood_tests::oracle::Oracle::default()).await;
    assert_eq!(super::support::read(&serving, "/nodes/a/count").await, json!({"count": 2}));
}

pub(crate) async fn no_answer_repeats_what_others_wrote(way: Way) {
    let serving: Serving = start(way).await;
    let secret = json!({"id": "n", "attributes": {"password": "hunter2"}});
    expect(&serving, 201, &post("/nodes", &secret)).await;
    for asked in [
        post("/nodes", &json!({"id": "n"})),
        delete("/nodes/n").header("if-match", "\"x\""),
        patch("/nodes/n", &json!({"parent": "n"})),
        get("/nodes/n/children?cursor=x"),
        raw("POST", "/nodes", "application/json", r#"{"id": "hunter3", broken"#),
    ] {
        let answered = serving.send(&asked).await;
        assert!((400..500).contains(&answered.status), "{asked:?}");
        let body = String::from_utf8(answered.body).unwrap();
        assert!(!body.contains("hunter") && !body.contains("dynamodb") && !body.contains("Exception"), "{body}");
    }
}
