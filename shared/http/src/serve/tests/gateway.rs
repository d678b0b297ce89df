//! Behaviour that only one of the two ways has.

use std::time::SystemTime;

use super::client::{Sent, Server, by_event, ending_soon};
use super::*;
use sapwood_api::caller::Claims;

#[tokio::test]
async fn a_path_that_arrives_decoded_reaches_no_other_node() {
    for path in [
        "/nodes/ORDER#98765",
        "/nodes/ORDER?98765",
        "/nodes/ORDER 98765",
        "/nodes/🌳",
        "/nodes/100%",
        "/nodes/ORDER%2398765",
        "/nodes/ORDER%41",
        "/nodes/../nodes/ORDER",
        "/nodes/./ORDER",
        "/nodes//ORDER",
        "/nodes/\u{0}",
        "nodes/ORDER",
        "//nodes/ORDER",
        "",
    ] {
        let mut event = Sent::new("DELETE", "/?children=delete").event();
        event["rawPath"] = path.into();
        let answered = by_event(options(), &event).await;
        // An empty path is the root, which isn't deleted.
        let expected = if path.is_empty() { (405, "method-not-allowed") } else { (400, "bad-path") };
        assert_eq!((answered.status, answered.problem().as_str()), expected, "{path}");
    }
}

#[tokio::test]
async fn a_function_urls_path_may_be_percent_encoded() {
    let mut event = Sent::new("DELETE", "/nodes/ORDER%2398765?children=delete").event();
    event["requestContext"]["domainName"] = "abc.lambda-url.eu-central-1.on.aws".into();
    let answered = by_event(options(), &event).await;
    assert_eq!(answered.json(), json!({"id": "ORDER#98765", "query": "children=delete"}));
}

#[tokio::test]
async fn a_stage_or_a_base_path_stands_before_the_routes_and_in_locations() {
    let mut event = Sent::new("POST", "/prod/nodes").body("application/json", "{}").event();
    event["requestContext"]["stage"] = "prod".into();
    let answered = by_event(options(), &event).await;
    assert_eq!((answered.status, answered.header("location")), (201, "/prod/nodes/ORDER~2398765"));
    event["rawPath"] = "/nodes".into();
    assert_eq!(by_event(options(), &event).await.header("location"), "/nodes/ORDER~2398765", "a domain of its own");
    event["rawPath"] = "/production/nodes".into();
    assert_eq!(by_event(options(), &event).await.status, 404);
    event["rawPath"] = "/trees/nodes".into();
    let mapped = Options { base_path: "/trees".to_owned(), ..options() };
    assert_eq!(by_event(mapped, &event).await.header("location"), "/trees/nodes/ORDER~2398765");
}

#[tokio::test]
async fn odd_events_are_answered() {
    for (name, value) in
        [("rawQueryString", json!("a b")), ("rawQueryString", json!("a#b")), ("rawQueryString", json!("é"))]
    {
        let mut event = Sent::new("GET", "/nodes/V").event();
        event[name] = value;
        assert_eq!(by_event(options(), &event).await.problem(), "bad-parameter");
    }
    let mut event = Sent::new("POST", "/nodes").body("application/json", "{}").event();
    event["body"] = "no base64".into();
    assert_eq!(by_event(options(), &event).await.problem(), "bad-json");
    event["isBase64Encoded"] = false.into();
    event["body"] = "[1]".into();
    assert_eq!(by_event(options(), &event).await.json(), json!([1]));
    event["headers"]["host"] = "no host :: at all".into();
    assert_eq!(by_event(options(), &event).await.status, 201);
    // An event that isn't a request fails its invocation, and the error names the place.
    let lambda = super::super::lambda_service(router(), options());
    event["rawPath"] = json!(null);
    for event in [event.to_string(), "{\"Records\": []}".to_owned()] {
        let error = super::super::answer(&lambda, &event).await.unwrap_err();
        assert!(error.to_string().contains("this is no request"), "{error}");
    }
}

#[tokio::test]
async fn a_request_that_takes_too_long_is_answered_before_the_invocation_ends() {
    let event = Sent::new("GET", "/slow").event().to_string();
    let context = ending_soon();
    let lambda = super::super::lambda_service(router(), options());
    let answered = lambda.handle(serde_json::from_str(&event).unwrap(), &context).await;
    assert!(SystemTime::now() < context.deadline());
    assert_eq!((answered.status_code, &answered.headers["retry-after"]), (503, &"1".parse().unwrap()));
}

#[tokio::test]
async fn the_authorizer_names_the_caller_and_the_tenant() {
    let mut event = Sent::new("GET", "/whoami?tenant=other").with("tenant", "other").event();
    event["requestContext"]["authorizer"] = json!({"jwt": {"claims": {"sub": "u1", "tenant": "acme"}, "scopes": null}});
    let answered = by_event(with_tenants(), &event).await;
    assert_eq!(answered.json(), json!({"name": "u1", "tenant": "acme"}));
    let answered = by_event(options(), &event).await;
    assert_eq!(answered.json(), json!({"name": "u1", "tenant": null}));
    event["requestContext"]["authorizer"] = json!(null);
    assert_eq!(by_event(options(), &event).await.json()["name"], "anonymous");
}

#[tokio::test]
async fn locally_the_claims_are_those_of_the_server() {
    let claims = Claims::from([("tenant".to_owned(), "acme".to_owned())]);
    let server = Server::start(with_tenants(), claims).await;
    let answered = server.send(&Sent::new("GET", "/whoami?tenant=other").with("tenant", "other")).await;
    assert_eq!(answered.json(), json!({"name": "local", "tenant": "acme"}));
    server.stop().await;
}

#[tokio::test]
async fn a_local_path_is_refused_where_the_gateways_is_and_ends_at_a_fragment() {
    let server = Server::start(options(), Claims::new()).await;
    for (target, hint) in [
        ("/nodes/ORDER%2398765?children=delete", "~23"),
        ("/nodes/a%2Fb", "~2F"),
        ("/nodes/a%2fb", "~2F"),
        ("/nodes/a%3Fb", "~3F"),
        ("/nodes/100%25", "~25"),
        ("/nodes/a%20b", "~20"),
        ("/nodes/%F0%9F%8C%B3", "~F0~9F~8C~B3"),
        ("/nodes/%FF", "~XX"),
        ("/nodes/a%zz", "~25"),
        ("/nodes/%2E%2E/nodes/V", "~2E"),
    ] {
        let answered = server.send(&Sent::new("DELETE", target)).await;
        assert_eq!((answered.status, answered.problem().as_str()), (400, "bad-path"), "{target}");
        let detail = answered.json()["detail"].as_str().unwrap().to_owned();
        assert!(detail.contains(hint), "{target}: {detail}");
        // As the gateway passes it on. Of a slash it makes another path, and a bad escape it answers itself.
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let decoded = sapwood_api::path::percent_decode(path).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        if let Some(decoded) = decoded.filter(|_| hint != "~2F") {
            let mut event = Sent::new("DELETE", &format!("/?{query}")).event();
            event["rawPath"] = decoded.into();
            let deployed = by_event(options(), &event).await;
            assert_eq!((deployed.status, deployed.json()["detail"].as_str()), (400, Some(&*detail)), "{target}");
        }
    }
    // What is decoded to what needs no escape arrives as it was meant.
    assert_eq!(server.send(&Sent::new("GET", "/nodes/%41~2398765")).await.json()["id"], "A#98765");
    assert_eq!(server.send(&Sent::new("GET", "/nodes/a%7E23")).await.json()["id"], "a#");
    for (target, query) in
        [("/nodes/ORDER#98765?children=delete", ""), ("/nodes/ORDER?a#b", "a"), ("/nodes/ORDER#", "")]
    {
        let answered = server.send(&Sent::new("DELETE", target)).await.json();
        let query = if query.is_empty() { json!(null) } else { json!(query) };
        assert_eq!(answered, json!({"id": "ORDER", "query": query}), "{target}");
    }
    let answered = server.send(&Sent::new("GET", "http://example.com/nodes/V")).await;
    assert_eq!(answered.json()["id"], "V");
    for target in ["/nodes/🌳", "/nodes/a%zz", "/nodes/%FF", "/nodes/a\"b", "/nodes/{V}"] {
        assert_eq!(server.send(&Sent::new("GET", target)).await.status, 400, "{target}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_connection_serves_several_requests_and_ends_when_asked() {
    let server = Server::start(options(), Claims::new()).await;
    let one = "GET /health HTTP/1.1\r\nhost: a\r\n\r\n";
    let last = "GET /nodes/V HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
    let read = server.exchange(format!("{one}{one}{last}").into_bytes()).await;
    assert_eq!(String::from_utf8(read).unwrap().matches("HTTP/1.1 200 OK").count(), 3);
    server.stop().await;
}

#[tokio::test]
async fn a_chunked_body_over_the_limit_is_refused() {
    let server = Server::start(options(), Claims::new()).await;
    let mut sent = b"POST /nodes HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n".to_vec();
    for _ in 0..20 {
        sent.extend_from_slice(format!("{:x}\r\n{}\r\n", 100_000, "x".repeat(100_000)).as_bytes());
    }
    sent.extend_from_slice(b"0\r\n\r\n");
    let read = server.exchange(sent).await;
    assert!(read.starts_with(b"HTTP/1.1 413 "));
    server.stop().await;
}

#[tokio::test]
async fn a_body_announced_as_far_too_large_is_not_awaited() {
    let server = Server::start(options(), Claims::new()).await;
    let head = "POST /nodes HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 20000000\r\n\r\n";
    for begun in ["", "[1]"] {
        let read = server.exchange(format!("{head}{begun}").into_bytes());
        let read = tokio::time::timeout(Duration::from_secs(5), read).await.unwrap();
        assert!(read.starts_with(b"HTTP/1.1 413 "), "{}", String::from_utf8_lossy(&read));
    }
    server.stop().await;
}

#[tokio::test]
async fn a_stopped_server_ends_idle_connections() {
    let server = Server::start(options(), Claims::new()).await;
    let idle = std::net::TcpStream::connect(server.at).unwrap();
    tokio::time::timeout(Duration::from_secs(5), server.stop()).await.unwrap();
    drop(idle);
}
