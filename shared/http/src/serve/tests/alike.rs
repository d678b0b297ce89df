//! Answers that are the same under Lambda and on a local port.

use std::io::Read;

use super::client::{Answered, Sent, Server, by_event};
use super::*;
use sapwood_api::caller::Claims;

/// Returns the answer, after checking that both ways give the same one.
async fn answer_with(options: Options, sent: Sent) -> Answered {
    let server = Server::start(options.clone(), Claims::new()).await;
    let local = server.send(&sent).await;
    server.stop().await;
    let event = by_event(options, &sent.event()).await;
    assert_eq!((local.header("x-request-id"), event.header("x-request-id")), ("local-1", "test"));
    assert_eq!(local.clone().carried(), event.carried(), "{} {}", sent.method, sent.target);
    local
}

async fn answer(sent: Sent) -> Answered {
    answer_with(options(), sent).await
}

async fn get(target: &str) -> Answered {
    answer(Sent::new("GET", target)).await
}

#[tokio::test]
async fn an_id_reaches_its_handler_as_it_was_meant() {
    for (target, id) in [
        ("/nodes/ORDER~2398765", "ORDER#98765"),
        ("/nodes/~F0~9F~8C~B3", "🌳"),
        ("/nodes/a~2Fb~3Fc~20d~25", "a/b?c d%"),
        ("/nodes/~2E~2E", ".."),
        ("/nodes/~7E", "~"),
    ] {
        let answered = get(target).await;
        assert_eq!((answered.status, answered.json()["id"].as_str()), (200, Some(id)), "{target}");
    }
    let answered = get("/nodes/V?a=b%23c+d&e").await;
    assert_eq!(answered.json()["query"], "a=b%23c+d&e", "the query string as it was sent");
}

#[tokio::test]
async fn routes_of_several_segments_are_decoded_one_by_one() {
    let answered = get("/nodes/a~2Fb/revisions/Audit~23x/12?limit=5").await;
    assert_eq!(answered.json(), json!({"id": "a/b", "topic": "Audit#x", "version": 12, "limit": 5}));
    let answered = get("/paths/NE/OMAHA~2FX/68100").await;
    assert_eq!(answered.json(), json!({"root": "NE", "segments": ["OMAHA/X", "68100"]}));
    for version in ["0", "012", "x", "-1", "1000000", "+1"] {
        let answered = get(&format!("/nodes/a/revisions/t/{}", sapwood_api::path::encode_segment(version))).await;
        assert_eq!((answered.status, answered.problem().as_str()), (404, "not-found"), "{version}");
    }
}

#[tokio::test]
async fn a_request_that_no_call_answers_is_a_problem() {
    for (method, target, status, problem) in [
        ("POST", "/", 405, "method-not-allowed"),
        ("GET", "/node", 404, "not-found"),
        ("GET", "/nodes/", 404, "not-found"),
        ("GET", "/nodes/V/", 404, "not-found"),
        ("GET", "/paths/NE/OMAHA/", 404, "not-found"),
        ("GET", "/nodes//children", 400, "bad-path"),
        ("GET", "/nodes/..", 400, "bad-path"),
        ("GET", "/nodes/~zz", 400, "bad-path"),
        ("GET", "/nodes/~FF", 400, "bad-path"),
        ("PUT", "/nodes/V", 405, "method-not-allowed"),
        ("BREW", "/nodes/V", 405, "method-not-allowed"),
        ("GET", "/health?x=1", 400, "bad-parameter"),
        ("GET", "/nodes/V/revisions/t/1?limit=0", 400, "bad-parameter"),
        ("GET", "/nodes/V/revisions/t/1?limit=%zz", 400, "bad-parameter"),
        ("GET", "/panics", 500, "internal"),
    ] {
        let answered = answer(Sent::new(method, target)).await;
        assert_eq!((answered.status, answered.problem().as_str()), (status, problem), "{method} {target}");
        assert!(!String::from_utf8_lossy(&answered.body).contains("secret"));
    }
    let long = format!("/nodes/{}", "x".repeat(1_015));
    assert_eq!(get(&long).await.problem(), "bad-key");
    let answered = get("/nodes/V/revisions/t/1?limit=x").await;
    assert_eq!(answered.json()["field"], "limit");
}

#[tokio::test]
async fn an_unknown_method_is_answered_with_the_methods_of_the_path() {
    let answered = answer(Sent::new("PUT", "/nodes/V")).await;
    let mut allowed: Vec<&str> = answered.header("allow").split(", ").collect();
    allowed.sort_unstable();
    assert_eq!(allowed, ["DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "PUT"]);
    // This router has no handler for these paths.
    for (method, target, allowed) in [
        ("POST", "/paths/a/b/c/d", "GET, HEAD, OPTIONS"),
        ("DELETE", "/nodes/a/revisions/t", "GET, HEAD, POST, OPTIONS"),
        ("GET", "/batch", "POST, OPTIONS"),
    ] {
        let answered = answer(Sent::new(method, target)).await;
        assert_eq!(
            (answered.problem().as_str(), answered.header("allow")),
            ("method-not-allowed", allowed),
            "{target}"
        );
    }
}

#[tokio::test]
async fn options_are_answered_without_a_body() {
    let answered = answer(Sent::new("OPTIONS", "/nodes")).await;
    assert_eq!((answered.status, answered.header("allow"), answered.body.len()), (204, "GET, HEAD, POST, OPTIONS", 0));
    assert_eq!(answered.header("content-type"), "");
    assert_eq!(answer(Sent::new("OPTIONS", "/nothing")).await.problem(), "not-found");
}

#[tokio::test]
async fn head_is_a_get_without_its_body() {
    for (target, status) in
        [("/nodes/V", 200), ("/nothing", 404), ("/nodes/~zz", 400), ("/long", 200), ("/panics", 500)]
    {
        let got = get(target).await;
        let head = answer(Sent::new("HEAD", target).with("accept-encoding", "gzip")).await;
        assert_eq!((head.status, head.body.len()), (status, 0), "{target}");
        assert_eq!(head.header("content-type"), got.header("content-type"), "{target}");
        assert_eq!(head.header("content-length"), got.header("content-length"), "{target}");
        assert_eq!(head.header("content-encoding"), "", "{target}");
    }
}

#[tokio::test]
async fn no_answer_may_be_cached_unless_its_handler_allows_it() {
    for target in ["/health", "/nothing", "/nodes/~zz", "/panics"] {
        let answered = get(target).await;
        assert_eq!(
            (answered.header("cache-control"), answered.header("x-content-type-options")),
            ("no-store", "nosniff")
        );
    }
    let cached = get("/cached").await;
    assert_eq!((cached.header("cache-control"), cached.body.as_slice()), ("max-age=60", [0, 255, 1].as_slice()));
}

#[tokio::test]
async fn long_answers_are_compressed_for_clients_that_accept_it() {
    let long = |accepted: &str| Sent::new("GET", "/long").with("accept-encoding", accepted);
    for accepted in ["gzip", "br, GZIP;q=0.5", "identity;q=0, gzip"] {
        let answered = answer(long(accepted)).await;
        assert_eq!(answered.status, 200);
        assert_eq!(
            (answered.header("content-encoding"), answered.header("vary")),
            ("gzip", "accept-encoding"),
            "{accepted}"
        );
        let mut text = String::new();
        flate2::read::GzDecoder::new(answered.body.as_slice()).read_to_string(&mut text).unwrap();
        assert_eq!(text, "a long answer ".repeat(1_000));
    }
    for accepted in ["", "br", "gzip;q=0", "identity;q=0", "*;q=0", "gzipped"] {
        let answered = answer(long(accepted)).await;
        assert_eq!(
            (answered.status, answered.header("content-encoding"), answered.body.len()),
            (200, "", 14_000),
            "{accepted}"
        );
    }
    let short = answer(Sent::new("GET", "/health").with("accept-encoding", "gzip")).await;
    assert_eq!((short.header("content-encoding"), short.body.as_slice()), ("", b"ok".as_slice()));
}

#[tokio::test]
async fn bodies_are_read_and_refused_alike() {
    let json = "application/json";
    let patch = "application/merge-patch+json";
    let large = format!("\"{}\"", "x".repeat(1_048_575));
    for (method, target, media, body, status, problem) in [
        ("POST", "/nodes", json, "{\"id\":\"🌳\"}", 201, ""),
        ("PATCH", "/nodes/V", patch, "{}", 200, ""),
        ("PATCH", "/nodes/V", json, "{}", 415, "unsupported-media-type"),
        ("POST", "/nodes", "text/plain", "{}", 415, "unsupported-media-type"),
        ("POST", "/nodes", json, "{", 400, "bad-json"),
        ("POST", "/nodes", json, &large, 413, "body-too-large"),
        ("POST", "/nothing", json, &large, 413, "body-too-large"),
    ] {
        let answered = answer(Sent::new(method, target).body(media, body)).await;
        assert_eq!(answered.status, status, "{method} {media}");
        match status {
            ..300 => assert_eq!(answered.body, body.as_bytes()),
            _ => assert_eq!(answered.problem(), problem),
        }
    }
    let empty = answer(Sent::new("POST", "/nodes").with("content-type", json)).await;
    assert_eq!((empty.status, empty.problem().as_str()), (400, "bad-json"));
    let bytes = answer(Sent::new("POST", "/nodes").body(json, b"\"\xff\"".as_slice())).await;
    assert_eq!((bytes.status, bytes.problem().as_str()), (400, "bad-json"));
    let refused = answer(Sent::new("PATCH", "/nodes/V").body(json, "{}")).await;
    assert_eq!(refused.header("accept-patch"), patch);
}

#[tokio::test]
async fn cross_origin_requests_are_allowed_only_from_named_origins() {
    let asked = || {
        let preflight = Sent::new("OPTIONS", "/nodes/V").with("origin", "https://app.example.com");
        preflight.with("access-control-request-method", "PATCH")
    };
    let named =
        |origins: &[&str]| Options { cors_origins: origins.iter().map(|o| (*o).to_owned()).collect(), ..options() };
    let off = answer(asked()).await;
    assert!(off.status == 204 && !off.headers.keys().any(|name| name.starts_with("access-control")));

    let on = answer_with(named(&["https://app.example.com"]), asked()).await;
    assert_eq!((on.status, on.header("access-control-allow-origin")), (204, "https://app.example.com"));
    assert!(on.header("access-control-allow-methods").contains("PATCH"));
    let allowed = ["if-match", "authorization", "x-amz-date", "x-amz-security-token", "x-amz-content-sha256"];
    assert!(allowed.iter().all(|name| on.header("access-control-allow-headers").contains(name)));
    let get = Sent::new("GET", "/long").with("origin", "https://app.example.com").with("accept-encoding", "gzip");
    let got = answer_with(named(&["https://app.example.com"]), get).await;
    assert_eq!(
        got.header("access-control-expose-headers"),
        "etag, idempotency-replayed, link, location, preference-applied, retry-after, sapwood-consistency-token, \
         www-authenticate, x-request-id"
    );
    assert_eq!((got.header("vary"), got.header("access-control-allow-methods")), ("accept-encoding, origin", ""));

    let other = answer_with(named(&["https://other.example.com"]), asked()).await;
    assert_eq!((other.status, other.header("access-control-allow-origin"), other.header("vary")), (204, "", "origin"));
    let any = answer_with(named(&["*"]), asked()).await;
    assert_eq!(any.header("access-control-allow-origin"), "*");
    let refused = Sent::new("GET", "/nothing").with("origin", "https://app.example.com");
    let refused = answer_with(named(&["*"]), refused).await;
    assert_eq!(
        (refused.status, refused.header("access-control-allow-origin")),
        (404, "*"),
        "a script can read problems"
    );
}

#[tokio::test]
async fn with_tenants_a_caller_without_one_is_refused_except_by_public_calls() {
    let refused = answer_with(with_tenants(), Sent::new("GET", "/whoami")).await;
    assert_eq!((refused.status, refused.problem().as_str()), (403, "forbidden"));
    assert_eq!(answer_with(with_tenants(), Sent::new("GET", "/health")).await.status, 200);
    let named = Sent::new("GET", "/whoami?tenant=acme").with("tenant", "acme").with("x-tenant", "acme");
    assert_eq!(answer_with(with_tenants(), named).await.status, 403, "nothing in a request names one");
}
