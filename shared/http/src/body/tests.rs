#![allow(clippy::unwrap_used)]

use axum::extract::{FromRequest, Request};
use axum::http::header::CONTENT_TYPE;
use futures::stream;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::*;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "what is read is of no interest, only whether it is")]
struct Node {
    id: String,
    parent: Option<Inner>,
    attributes: Option<Box<RawValue>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "what is read is of no interest, only whether it is")]
struct Inner {
    depth: u8,
    mode: Option<Mode>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Mode {
    Adopt,
}

fn refused(text: &str) -> (String, Option<String>) {
    let problem = parse::<Node>(text.as_bytes()).unwrap_err();
    assert_eq!(problem.kind(), Kind::BadJson);
    (problem.detail().to_owned(), problem.field().map(str::to_owned))
}

#[test]
fn attributes_come_through_as_they_were_written() {
    let node: Node = parse(br#"{"id": "V", "attributes": {"n": 1.10000000000000000000000000000000001}}"#).unwrap();
    assert!(node.attributes.unwrap().get().contains("1.10000000000000000000000000000000001"));
    assert!(matches!(parse(br#""adopt""#).unwrap(), Mode::Adopt));
}

#[test]
fn a_field_at_fault_is_named_by_its_path() {
    for (text, detail, field) in [
        (r#"{"id": "V", "segmnt": 1}"#, "unknown field; expected is one of `id`, `parent`, `attributes`", "segmnt"),
        (r#"{"id": "V", "parent": {"depth": 1, "depht": 1}}"#, "unknown field", "parent.depht"),
        (r#"{"id": "V", "parent": {}}"#, "a field is missing", "parent.depth"),
        (r#"{"parent": null}"#, "a field is missing", "id"),
        (r#"{"id": "V", "id": "W"}"#, "there twice", "id"),
        (r#"{"id": 7}"#, "expected is a string", "id"),
        (r#"{"id": "V", "parent": {"depth": "secret"}}"#, "expected is u8", "parent.depth"),
        (r#"{"id": "V", "parent": {"depth": 300}}"#, "expected is u8", "parent.depth"),
        (r#"{"id": "V", "parent": {"depth": 1, "mode": "secret"}}"#, "expected is `adopt`", "parent.mode"),
    ] {
        let (said, at) = refused(text);
        assert!(said.contains(detail) && said.contains("line 1, column "), "{text}: {said}");
        assert_eq!(at.as_deref(), Some(field), "{text}");
        assert!(!said.contains("secret") && !said.contains("300"), "{said}");
    }
    assert_eq!(refused("[]").1, None);
}

#[test]
fn a_value_that_reads_like_a_message_is_not_repeated() {
    let (said, _) = refused(r#"{"id": "V", "parent": {"depth": "x, expected secret"}}"#);
    assert!(said.contains("expected is u8") && !said.contains("secret"), "{said}");
    let (said, _) = refused(r#""unknown field `secret`, expected secret""#);
    assert!(!said.contains("secret"), "{said}");
}

#[test]
fn what_is_no_json_is_refused_with_its_place() {
    assert!(refused("{\n  \"id\": secret\n}").0.contains("line 2, column "));
    assert!(refused("{\"id\": \"V\"").0.contains("ends too early"));
    assert!(refused("{\"id\": \"V\"} {}").0.contains("line 1, column 13"));
    assert!(refused("\u{feff}{}").0.contains("isn't well-formed"));
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(parse::<serde_json::Value>(deep.as_bytes()).unwrap_err().kind(), Kind::BadJson);
    let problem = parse::<Node>(b"{\"id\": \"\xff\"}").unwrap_err();
    assert!(problem.detail().contains("no UTF-8 from byte 8 on"), "{problem}");
}

async fn json(body: Body, media: Option<&str>) -> Result<serde_json::Value, Kind> {
    let mut request = Request::new(body);
    if let Some(media) = media {
        request.headers_mut().insert(CONTENT_TYPE, media.parse().unwrap());
    }
    JsonBody::from_request(request, &()).await.map(|JsonBody(value)| value).map_err(|problem| problem.kind())
}

#[tokio::test]
async fn a_body_is_read_by_its_type_and_refused_without_one() {
    assert_eq!(json(Body::from("[1]"), Some("application/json")).await, Ok(serde_json::json!([1])));
    assert_eq!(json(Body::from("[1]"), None).await, Err(Kind::UnsupportedMediaType));
    assert_eq!(json(Body::from("[1]"), Some("text/plain")).await, Err(Kind::UnsupportedMediaType));
    assert_eq!(json(Body::empty(), None).await, Err(Kind::BadJson));
    let mut request = Request::new(Body::from("{}"));
    request.headers_mut().insert(CONTENT_TYPE, "application/json".parse().unwrap());
    let refused = MergePatch::<serde_json::Value>::from_request(request, &()).await.unwrap_err();
    assert_eq!(refused.kind(), Kind::UnsupportedMediaType);
}

#[tokio::test]
async fn a_body_over_the_limit_is_refused_whether_it_is_announced_or_not() {
    let text = |length: usize| format!("\"{}\"", "x".repeat(length - 2));
    assert!(json(Body::from(text(BODY_BYTES_MAX)), Some("application/json")).await.is_ok());
    assert_eq!(json(Body::from(text(BODY_BYTES_MAX + 1)), None).await, Err(Kind::BodyTooLarge));
    let pieces = (0..=1_024).map(|_| Ok::<_, std::io::Error>(Bytes::from(vec![b' '; 1_024])));
    let pieces = Body::from_stream(stream::iter(pieces));
    assert_eq!(json(pieces, Some("application/json")).await, Err(Kind::BodyTooLarge));
    let endless = stream::repeat_with(|| Ok::<_, std::io::Error>(Bytes::from(vec![b' '; 65_536])));
    assert_eq!(json(Body::from_stream(endless), Some("application/json")).await, Err(Kind::BodyTooLarge));
}

#[tokio::test]
async fn a_body_that_breaks_off_is_refused() {
    let broken = stream::iter([Ok(Bytes::from("[1")), Err(std::io::Error::other("reset"))]);
    assert_eq!(json(Body::from_stream(broken), Some("application/json")).await, Err(Kind::BadJson));
}
