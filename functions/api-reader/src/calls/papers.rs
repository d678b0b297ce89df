//! What needs no table.

use axum::http::HeaderValue;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use sapwood_http::contract::{HealthBody, HealthStatus, docs_html, openapi};
use sapwood_http::parameters::NoParameters;
use sapwood_http::problem::Problem;

use crate::call::json;

/// `GET /health`
pub(crate) async fn health(_: NoParameters) -> Result<Response, Problem> {
    json(&HealthBody { status: HealthStatus::Ok, version: env!("CARGO_PKG_VERSION").to_owned() })
}

/// `GET /openapi.json`
pub(crate) async fn document(_: NoParameters) -> Response {
    paper("application/json", openapi())
}

/// `GET /docs`
pub(crate) async fn docs(_: NoParameters) -> Response {
    paper("text/html; charset=utf-8", docs_html())
}

/// The same for everybody until the next release.
fn paper(media_type: &'static str, text: String) -> Response {
    let headers = [(CONTENT_TYPE, media_type), (CACHE_CONTROL, "public, max-age=300")];
    (headers.map(|(name, value)| (name, HeaderValue::from_static(value))), text).into_response()
}
