#![allow(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods)]

mod alike;
mod callers;
mod client;
mod front;
mod gateway;
mod lines;
#[path = "../../../../tests/src/lines.rs"]
#[allow(dead_code, unreachable_pub, reason = "the suites have it as a public module")]
mod log_lines;
mod metrics;

use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{RawQuery, Request};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, LOCATION};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Json, Router};
use sapwood_core::model::Settings;
use sapwood_store::{Deadline, Usage};
use serde_json::{Value, json};

use super::Options;
use log_lines::Lines;
use sapwood_api::caller::{Authority, Caller};
use sapwood_api::headers::{demand_json, demand_merge_patch};
use sapwood_api::parameters::{NoParameters, Parameters};
use sapwood_api::path::PathParams;
use sapwood_api::problem::{Kind, Problem};

/// Answers with what the handler has understood.
async fn node(params: PathParams, RawQuery(query): RawQuery) -> Result<Json<Value>, Problem> {
    Ok(Json(json!({"id": params.id("id")?.as_str(), "query": query})))
}

async fn latest(params: PathParams, mut parameters: Parameters) -> Result<Json<Value>, Problem> {
    let limit = parameters.number("limit", 1..=1_000)?;
    parameters.end()?;
    let (id, topic, version) = (params.id("id")?, params.text("topic")?, params.version("version")?);
    Ok(Json(json!({"id": id.as_str(), "topic": topic, "version": version.number(), "limit": limit})))
}

async fn subtree(params: PathParams, _: NoParameters) -> Result<Json<Value>, Problem> {
    Ok(Json(json!({"root": params.text("root")?, "segments": params.segments("path")?})))
}

async fn long() -> String {
    "a long answer ".repeat(1_000)
}

async fn cached() -> Response {
    ([(CACHE_CONTROL, "max-age=60"), (CONTENT_TYPE, "image/x-icon")], vec![0_u8, 255, 1]).into_response()
}

/// Reads a JSON body.
fn parsed(body: &Bytes, typed: Result<(), Problem>) -> Result<Json<Value>, Problem> {
    typed?;
    serde_json::from_slice(body).map(Json).map_err(|error| Problem::new(Kind::BadJson, error.to_string()))
}

async fn made(Extension(deadline): Extension<Deadline>, headers: HeaderMap, body: Bytes) -> Result<Response, Problem> {
    let body = parsed(&body, demand_json(&headers))?;
    let left = deadline.left();
    assert!(left > Duration::from_secs(20) && left <= super::REQUEST_TIME_MAX);
    let usage = Usage { requests: 2, retries: 1, conflicts: 1, read_units: 1.0, write_units: 1.5 };
    Ok((StatusCode::CREATED, [(LOCATION, "/nodes/ORDER~2398765")], Extension(usage), body).into_response())
}

async fn patched(headers: HeaderMap, body: Bytes) -> Result<Json<Value>, Problem> {
    parsed(&body, demand_merge_patch(&headers))
}

async fn whoami(caller: Caller) -> Json<Value> {
    Json(json!({"name": caller.name, "tenant": caller.tenant.map(|tenant| tenant.as_str().to_owned())}))
}

async fn panics() -> Response {
    panic!("secret")
}

async fn seen(headers: HeaderMap, request: Request) -> Json<Value> {
    Json(json!({"host": headers.contains_key("host"), "path": request.uri().path()}))
}

fn router() -> Router {
    Router::new()
        .route("/nodes", post(made))
        .route("/nodes/{id}", get(node).delete(node).patch(patched))
        .route("/nodes/{id}/revisions/{topic}/{version}", get(latest))
        .route("/paths/{root}/{*path}", get(subtree))
        .route("/long", get(long))
        .route("/cached", get(cached))
        .route("/whoami", get(whoami))
        .route("/panics", get(panics))
        .route("/health", get(|_: NoParameters| async { "ok" }))
        .route("/slow", get(std::future::pending::<Response>))
        .route("/seen", get(seen))
}

fn options() -> Options {
    Options::default()
}

fn with_tenants() -> Options {
    Options { authority: Authority { tenant_claim: Some("tenant".to_owned()), ..Authority::default() }, ..options() }
}
