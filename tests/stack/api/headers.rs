//! Preconditions, and what else headers are for.

use std::io::Read;

use sapwood_tests::api::Asked;
use sapwood_tests::serving::{Serving, Way};
use serde_json::json;

use super::support::{delete, expect, get, patch, post, put, refused, start};

pub(crate) async fn a_write_keeps_to_its_precondition(way: Way) {
    let serving = start(way).await;
    let created = expect(&serving, 201, &put("/nodes/n", &json!({"parent": null})).header("if-none-match", "*")).await;
    let old = created.header("etag").unwrap().to_owned();
    let change = |n: u8| patch("/nodes/n", &json!({"attributes": {"n": n}}));
    let newer = expect(&serving, 200, &change(1).header("if-match", &old)).await.header("etag").unwrap().to_owned();
    assert_ne!(newer, old);
    for stale in [
        change(2).header("if-match", &old),
        put("/nodes/n", &json!({"parent": null})).header("if-match", &old),
        put("/nodes/n", &json!({"parent": null})).header("if-none-match", "*"),
        put("/nodes/new", &json!({"parent": null})).header("if-match", "*"),
        delete("/nodes/n").header("if-match", &old),
        delete("/nodes/n?children=delete").header("if-match", &old),
        change(2).header("if-match", &format!("W/{newer}")),
    ] {
        assert_eq!(refused(&serving, 412, &stale).await.0, "precondition-failed", "{stale:?}");
    }
    // Any client's change counts.
    let name = ("name".to_owned(), sapwood_tests::client::s("by another client"));
    let mut foreign = sapwood_tests::client::node("n", None, "x");
    foreign.extend([name]);
    sapwood_tests::client::put(&serving.running.client, sapwood_tests::running::TABLE, foreign).await;
    assert_eq!(refused(&serving, 412, &change(3).header("if-match", &newer)).await.0, "precondition-failed");
    let now = expect(&serving, 200, &get("/nodes/n")).await.header("etag").unwrap().to_owned();
    expect(&serving, 200, &change(3).header("if-match", &format!("{old}, {now}"))).await;
    // The handler's own attributes don't.
    expect(&serving, 201, &post("/nodes", &json!({"id": "child", "parent": "n"}))).await;
    serving.running.settle().await;
    let before = expect(&serving, 200, &get("/nodes/child")).await;
    expect(&serving, 201, &post("/nodes", &json!({"id": "top"}))).await;
    expect(&serving, 200, &patch("/nodes/n", &json!({"parent": "top"}))).await;
    serving.running.settle().await;
    let etag = before.header("etag").unwrap();
    expect(&serving, 200, &patch("/nodes/child", &json!({"attributes": {"a": 1}})).header("if-match", etag)).await;
    expect(&serving, 304, &get("/nodes/top").header("if-none-match", "*")).await;
}

pub(crate) async fn head_options_gzip_and_caching(way: Way) {
    let serving = start(way).await;
    expect(&serving, 201, &post("/nodes", &json!({"id": "n", "attributes": {"text": "x".repeat(5_000)}}))).await;
    let whole = expect(&serving, 200, &get("/nodes/n")).await;
    let head = expect(&serving, 200, &Asked::new("HEAD", "/nodes/n")).await;
    assert_eq!(head.body, b"");
    assert_eq!(head.header("etag"), whole.header("etag"));
    let packed = expect(&serving, 200, &get("/nodes/n").header("accept-encoding", "gzip")).await;
    assert_eq!(packed.header("content-encoding"), Some("gzip"));
    assert!(packed.body.len() < whole.body.len() / 10);
    let mut unpacked = Vec::new();
    flate2::read::GzDecoder::new(&packed.body[..]).read_to_end(&mut unpacked).unwrap();
    assert_eq!(unpacked, whole.body);
    assert!(whole.header("cache-control").is_some());
    assert_eq!(whole.header("access-control-allow-origin"), None);

    for (target, methods) in [
        ("/nodes/n", vec!["GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS"]),
        ("/nodes", vec!["GET", "HEAD", "POST", "OPTIONS"]),
        ("/roots", vec!["GET", "HEAD", "OPTIONS"]),
        ("/nodes/n/revisions/t", vec!["GET", "HEAD", "POST", "OPTIONS"]),
        ("/nodes/n/revisions/t/1", vec!["GET", "HEAD", "PUT", "DELETE", "OPTIONS"]),
        ("/operations/o", vec!["GET", "HEAD", "OPTIONS"]),
        ("/batch", vec!["POST", "OPTIONS"]),
    ] {
        let options = expect(&serving, 204, &Asked::new("OPTIONS", target)).await;
        let allowed = |header: &str| {
            let mut methods: Vec<String> = header.split(',').map(|method| method.trim().to_owned()).collect();
            methods.sort();
            methods
        };
        let mut wanted = methods.clone();
        wanted.sort_unstable();
        assert_eq!(allowed(options.header("allow").unwrap()), wanted, "{target}");
        for method in ["GET", "POST", "PUT", "PATCH", "DELETE"].into_iter().filter(|method| !methods.contains(method)) {
            let answered = serving.send(&Asked::new(method, target)).await;
            assert_eq!(answered.status, 405, "{method} {target}");
            assert_eq!(allowed(answered.header("allow").unwrap()), wanted, "{method} {target}");
            assert!(answered.json()["type"].as_str().unwrap().ends_with("method-not-allowed"));
        }
    }

    let web = Serving::start(way, &[("CorsOrigins", "https://app.example.com")], &[]).await;
    let origin = |asked: Asked, origin: &str| asked.header("origin", origin);
    let asked = origin(get("/roots"), "https://app.example.com");
    assert_eq!(expect(&web, 200, &asked).await.header("access-control-allow-origin"), Some("https://app.example.com"));
    let stranger = origin(get("/roots"), "https://evil.example.com");
    assert_eq!(expect(&web, 200, &stranger).await.header("access-control-allow-origin"), None);
    let preflight = origin(Asked::new("OPTIONS", "/nodes/n"), "https://app.example.com")
        .header("access-control-request-method", "PATCH")
        .header("access-control-request-headers", "if-match, content-type");
    let preflight = web.send(&preflight).await;
    assert!(preflight.header("access-control-allow-methods").unwrap().contains("PATCH"), "{preflight:?}");
    assert!(preflight.header("access-control-allow-headers").unwrap().to_lowercase().contains("if-match"));
}

pub(crate) async fn the_reference_and_the_document_are_served(way: Way) {
    let serving = start(way).await;
    let document = expect(&serving, 200, &get("/openapi.json")).await;
    let document = document.json();
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1"));
    for path in
        ["/nodes", "/nodes/{id}", "/batch", "/roots", "/operations/{id}", "/nodes/{id}/revisions/{topic}/{version}"]
    {
        assert!(document["paths"][path].is_object(), "{path}");
    }
    let page = expect(&serving, 200, &get("/docs")).await;
    assert!(page.header("content-type").unwrap().starts_with("text/html"));
    let page = String::from_utf8(page.body).unwrap();
    assert!(page.contains("fetch(\"openapi.json\")"), "the page shows the document beside it");
    for outside in ["<script src", "<link", "<img", "@import", "url("] {
        assert!(!page.contains(outside), "{outside}");
    }
}

pub(crate) async fn the_root_lists_what_there_is(way: Way) {
    let serving = start(way).await;
    let index = expect(&serving, 200, &get("/")).await.json();
    assert_eq!(index["version"], env!("CARGO_PKG_VERSION"));
    let document = expect(&serving, 200, &get("/openapi.json")).await.json();
    let mut described: Vec<(String, String)> = Vec::new();
    for (path, calls) in document["paths"].as_object().unwrap() {
        described.extend(calls.as_object().unwrap().keys().map(|method| (method.to_uppercase(), path.clone())));
    }
    let text = |call: &serde_json::Value, name: &str| call[name].as_str().unwrap().to_owned();
    let calls = index["calls"].as_array().unwrap();
    let mut listed: Vec<_> = calls.iter().map(|call| (text(call, "method"), text(call, "path"))).collect();
    assert!(calls.iter().all(|call| !text(call, "summary").is_empty()));
    // A path's methods stand together.
    let paths: std::collections::BTreeSet<&String> = listed.iter().map(|(_, path)| path).collect();
    assert_eq!(listed.chunk_by(|a, b| a.1 == b.1).count(), paths.len());
    described.sort();
    listed.sort();
    assert_eq!(listed, described);
    for place in ["docs", "openapi"] {
        expect(&serving, 200, &get(index[place].as_str().unwrap())).await;
    }
    expect(&serving, 405, &Asked::new("POST", "/")).await;
}
