#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use axum::body::to_bytes;
use axum::http::header::ALLOW;
use sapwood_core::keys::{Id, Tenant};
use sapwood_store::{ErrorKind, TableError};
use serde_json::{Value, json};

use super::*;

async fn written(problem: Problem) -> (u16, Value) {
    let response = problem.into_response();
    assert_eq!(response.headers()[CONTENT_TYPE], MEDIA_TYPE);
    let status = response.status().as_u16();
    (status, serde_json::from_slice(&to_bytes(response.into_body(), usize::MAX).await.unwrap()).unwrap())
}

#[tokio::test]
async fn a_problem_is_written_as_rfc_9457_says() {
    let problem = Problem::new(Kind::Cycle, "V is below d; move d elsewhere first").at("parent");
    let body = json!({
        "type": "urn:sapwood:problem:cycle",
        "title": "A node can't be its own ancestor",
        "status": 409,
        "detail": "V is below d; move d elsewhere first",
        "field": "parent",
    });
    assert_eq!(written(problem).await, (409, body));
    let (_, body) = written(Problem::new(Kind::NotFound, "nothing here")).await;
    assert_eq!(body.get("field"), None);
}

#[test]
fn every_kind_has_its_own_name_and_title_and_the_status_of_an_error() {
    let slugs: BTreeSet<&str> = Kind::ALL.iter().map(|kind| kind.slug()).collect();
    let titles: BTreeSet<&str> = Kind::ALL.iter().map(|kind| kind.title()).collect();
    assert_eq!((slugs.len(), titles.len()), (Kind::ALL.len(), Kind::ALL.len()));
    for &kind in Kind::ALL {
        assert!(kind.status().is_client_error() || kind.status().is_server_error(), "{kind:?}");
        assert!(kind.slug().bytes().all(|b| b.is_ascii_lowercase() || b == b'-'), "{kind:?}");
    }
    assert!(Kind::ALL.is_sorted(), "in the order of their declaration, so none is named twice");
}

#[test]
fn a_busy_table_is_answered_with_retry_after() {
    let response = Problem::from(TableError::new(ErrorKind::Retry, "throttled")).into_response();
    assert_eq!((response.status().as_u16(), &response.headers()[RETRY_AFTER]), (503, &HeaderValue::from_static("1")));
}

#[tokio::test]
async fn the_tables_own_text_is_not_part_of_the_answer() {
    for (kind, status) in [(ErrorKind::Retry, 503), (ErrorKind::Refuse, 422), (ErrorKind::GiveUp, 500)] {
        let (written, body) = written(TableError::new(kind, "arn:aws:secret").into()).await;
        assert_eq!(written, status);
        assert!(!body.to_string().contains("secret"), "{body}");
    }
}

#[test]
fn a_key_that_cannot_be_built_says_which_part_and_why() {
    let problem = Problem::from(Id::new("x".repeat(1_015)).unwrap_err());
    assert_eq!(problem.kind(), Kind::BadKey);
    assert!(problem.detail().contains("1014"), "{problem}");
    assert_eq!(Problem::from(Tenant::new("a#b").unwrap_err()).kind(), Kind::BadKey);
    let settings = sapwood_core::keys::KeyError::Tenancy { tenants: true };
    assert_eq!(Problem::from(settings).kind(), Kind::Internal);
}

#[test]
fn headers_of_a_problem_are_sent() {
    let problem = Problem::new(Kind::MethodNotAllowed, "GET it").header(ALLOW, HeaderValue::from_static("GET"));
    assert_eq!(problem.into_response().headers()[ALLOW], "GET");
}
