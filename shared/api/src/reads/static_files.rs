//! The calls that read no table. Their answers are the same for everybody until the next release.

use axum::Extension;
use axum::http::HeaderValue;
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use sapwood_json::Numbers;

use crate::call::{Prefix, json_response};
use crate::contract::{HealthBody, HealthStatus, IndexBody, docs_html, docs_policy, openapi};
use crate::parameters::NoParameters;
use crate::problem::{Kind, Problem};

/// `GET /health`
pub(super) async fn health(_: NoParameters) -> Result<Response, Problem> {
    json_response(
        &HealthBody { status: HealthStatus::Ok, version: env!("CARGO_PKG_VERSION").to_owned() },
        Numbers::Plain,
    )
}

/// `GET /`
pub(super) async fn index(prefix: Option<Extension<Prefix>>, _: NoParameters) -> Result<Response, Problem> {
    let Extension(Prefix(prefix)) = prefix.unwrap_or_default();
    json_response(&IndexBody::of(&prefix), Numbers::Plain)
}

/// `GET /openapi.json`
pub(super) async fn document(_: NoParameters) -> Response {
    if cfg!(target_family = "wasm") {
        return Problem::new(Kind::NotFound, "the document isn't in this page").into_response();
    }
    static_file("application/json", openapi())
}

/// `GET /docs`
pub(super) async fn docs(_: NoParameters) -> Response {
    let policy = HeaderValue::from_static(docs_policy());
    let mut response = static_file("text/html; charset=utf-8", docs_html());
    response.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
    response
}

/// Clients may keep a static file for five minutes.
fn static_file(media_type: &'static str, content: impl IntoResponse) -> Response {
    let headers = [(CONTENT_TYPE, media_type), (CACHE_CONTROL, "public, max-age=300")];
    (headers.map(|(name, value)| (name, HeaderValue::from_static(value))), content).into_response()
}
