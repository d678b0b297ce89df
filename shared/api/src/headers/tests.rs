#![allow(clippy::unwrap_used)]

use axum::http::HeaderValue;
use axum::http::Method;
use axum::http::header::CONTENT_TYPE;
use sapwood_core::keys::Schema;
use sapwood_core::model::{ETag, text};
use sapwood_core::write::{Precondition, Refusal};

use super::*;

fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
    let pairs = pairs
        .iter()
        .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_bytes(value.as_bytes()).unwrap()));
    pairs.collect()
}

fn known() -> ETag {
    ETag::of(&[("PK".to_owned(), text("known"))].into(), &Schema::default())
}

#[test]
fn an_entity_tag_is_spelt_between_quotes() {
    assert_eq!(etag_header(&known()).to_str().unwrap(), etag_text(&known()));
    assert_eq!(etag_text(&known()).len(), 24, "22 characters of base64 in quotes");
    assert_eq!(etag_text(&ETag::named("x")), "\"x\"");
}

/// Returns whether a write is allowed with the known content, and without any.
fn checks(pairs: &[(&'static str, &str)]) -> (bool, bool) {
    let preconditions = preconditions(&Method::GET, &headers(pairs)).unwrap();
    (preconditions.check(Some(&known())).is_ok(), preconditions.check(None).is_ok())
}

#[test]
fn preconditions_hold_as_rfc_9110_says() {
    let tag = etag_text(&known());
    let weak = format!("W/{tag}");
    let among = format!("\"a,b\", {weak},{tag} ,");
    for (name, value, expected) in [
        ("if-match", "*", (true, false)),
        ("if-match", tag.as_str(), (true, false)),
        ("if-match", &weak, (false, false)),
        ("if-match", &among, (true, false)),
        ("if-match", "\"other\"", (false, false)),
        ("if-none-match", "*", (false, true)),
        ("if-none-match", ", *", (false, true)),
        ("if-none-match", &tag, (false, true)),
        ("if-none-match", &weak, (false, true)),
        ("if-none-match", "\"other\"", (true, true)),
    ] {
        assert_eq!(checks(&[(name, value)]), expected, "{name}: {value}");
    }
    assert_eq!(checks(&[]), (true, true));
    assert_eq!(checks(&[("if-match", "\"other\""), ("if-match", &tag)]), (true, false), "several are one list");
}

#[test]
fn a_precondition_that_fails_is_named() {
    let refusal = |pairs| preconditions(&Method::GET, &headers(pairs)).unwrap().check(Some(&known())).unwrap_err();
    assert_eq!(refusal(&[("if-match", "\"x\"")]), Refusal::PreconditionFailed(Precondition::IfMatch));
    assert_eq!(refusal(&[("if-none-match", "*")]), Refusal::PreconditionFailed(Precondition::IfNoneMatch));
}

#[test]
fn a_reader_who_knows_the_entity_tag_gets_no_body() {
    let has = |pairs: &[(&'static str, &str)]| {
        preconditions(&Method::GET, &headers(pairs))
            .unwrap()
            .if_none_match
            .is_some_and(|tags| tags.include(Some(&known())))
    };
    let known = format!("\"a\", W/{}", etag_text(&known()));
    assert!(has(&[("if-none-match", &known)]) && has(&[("if-none-match", "*")]));
    assert!(!has(&[("if-none-match", "\"a\"")]) && !has(&[]));
}

#[test]
fn malformed_entity_tags_are_refused() {
    for value in ["", ",", "abc", "\"abc", "w/\"abc\"", "\"a\" \"b\"x", "*, \"a\"", "\"a b\"", "W/", "\"é\""] {
        let problem = preconditions(&Method::GET, &headers(&[("if-match", value)])).unwrap_err();
        assert_eq!((problem.kind(), problem.field()), (Kind::BadHeader, Some("if-match")), "{value}");
    }
}

fn wait(values: &[&str]) -> Option<u8> {
    let pairs: Vec<_> = values.iter().map(|value| ("prefer", *value)).collect();
    Prefer::read(&headers(&pairs)).unwrap().wait
}

#[test]
fn a_wait_is_found_among_other_preferences_and_cut_to_the_longest_wait() {
    assert_eq!(wait(&[]), None);
    assert_eq!(wait(&["wait=5"]), Some(5));
    assert_eq!(wait(&["respond-async, WAIT = 7; x=\"wait=3\""]), Some(7));
    assert_eq!(wait(&["return=minimal", "wait=\"9\""]), Some(9));
    assert_eq!(wait(&["note=\"a, wait=3\""]), None, "inside of quotes is another's");
    assert_eq!(wait(&["note=\"\\\", wait=3\", wait=4"]), Some(4));
    assert_eq!(wait(&["wait=5, wait=6"]), Some(5), "the first counts");
    assert_eq!(wait(&["wait=11"]), Some(10));
    assert_eq!(wait(&["wait=99999999999999999999"]), Some(10));
    assert_eq!(wait(&["wait=0"]), None);
    assert_eq!(wait(&["waiting=3"]), None);
    assert_eq!(applied("wait=20").unwrap(), "wait=10");
    assert_eq!(applied("respond-async"), None);
}

fn applied(value: &str) -> Option<HeaderValue> {
    Prefer::read(&headers(&[("prefer", value)])).unwrap().applied()
}

#[test]
fn a_minimal_answer_is_given_to_whom_prefers_it_first() {
    let minimal = |value| Prefer::read(&headers(&[("prefer", value)])).unwrap().minimal;
    for value in [
        "return=minimal",
        "wait=3, Return = minimal; foo=1",
        "return=\"minimal\"",
        "return=minimal, return=representation",
    ] {
        assert!(minimal(value), "{value}");
    }
    for value in ["return=representation, return=minimal", "return", "return=least", "x=\"return=minimal\"", "minimal"]
    {
        assert!(!minimal(value), "{value}");
    }
    assert_eq!(applied("return=minimal, wait=4").unwrap(), "wait=4, return=minimal");
    assert_eq!(applied("return=minimal").unwrap(), "return=minimal");
}

#[test]
fn a_wait_must_be_a_number_of_seconds() {
    for value in ["wait", "wait=", "wait=-1", "wait=1.5", "wait=soon", "wait=+5", "wait=\"5"] {
        let problem = Prefer::read(&headers(&[("prefer", value)])).unwrap_err();
        assert_eq!((problem.kind(), problem.field()), (Kind::BadHeader, Some("prefer")), "{value}");
    }
}

#[test]
fn an_idempotency_key_is_a_quoted_string_or_the_same_without_quotes() {
    let key = |value: &str| idempotency_key(&headers(&[("idempotency-key", value)]));
    assert_eq!(key("\"8e03978e-40d5\"").unwrap(), key("8e03978e-40d5").unwrap());
    assert_eq!(key("\"a\\\"b\\\\\"").unwrap().unwrap(), "a\"b\\");
    assert_eq!(key("\"a,b\"").unwrap().unwrap(), "a,b");
    assert_eq!(key(&"k".repeat(255)).unwrap().unwrap().len(), 255);
    assert_eq!(idempotency_key(&headers(&[])).unwrap(), None);
    for value in
        ["", "\"\"", "\"a", "\"", "\"a\"b\"", "\"a\\b\"", "a b", "é", "\"a b\"", "a,b", "\"a\",\"b\"", &"k".repeat(256)]
    {
        let problem = key(value).unwrap_err();
        assert_eq!((problem.kind(), problem.field()), (Kind::BadHeader, Some("idempotency-key")), "{value}");
    }
    assert!(idempotency_key(&headers(&[("idempotency-key", "a"), ("idempotency-key", "a")])).is_err());
}

#[test]
fn a_body_must_be_json_or_a_merge_patch_by_its_content_type() {
    let of = |value: &str| headers(&[("content-type", value)]);
    let read = |headers: &HeaderMap| (demand_json(headers).is_ok(), demand_merge_patch(headers).is_ok());
    for (value, expected) in [
        ("application/json", (true, false)),
        ("Application/JSON; charset=UTF-8", (true, false)),
        ("application/json;charset=\"utf-8\"", (true, false)),
        ("application/json; charset=latin1", (false, false)),
        ("application/vnd.sapwood+json", (false, false)),
        ("application/merge-patch+json", (false, true)),
        ("application/json-patch+json", (false, false)),
        ("text/json", (false, false)),
        ("text/plain", (false, false)),
        ("", (false, false)),
    ] {
        assert_eq!(read(&of(value)), expected, "{value}");
    }
    assert_eq!(read(&headers(&[])), (false, false));
    assert_eq!(read(&headers(&[("content-type", "application/json"), ("content-encoding", "gzip")])), (false, false));
    assert_eq!(
        read(&headers(&[("content-type", "application/json"), ("content-encoding", "identity")])),
        (true, false)
    );
    let twice = headers(&[("content-type", "application/json"), ("content-type", "text/plain")]);
    assert_eq!(read(&twice), (false, false));
    assert_eq!(demand_json(&HeaderMap::new()).unwrap_err().field(), Some(CONTENT_TYPE.as_str()));
}
