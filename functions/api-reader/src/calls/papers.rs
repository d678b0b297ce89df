//! What needs no table.

use axum::response::Response;
use sapwood_http::contract::{HealthBody, HealthStatus};
use sapwood_http::parameters::NoParameters;
use sapwood_http::problem::Problem;

use crate::call::json;

/// `GET /health`
pub(crate) async fn health(_: NoParameters) -> Result<Response, Problem> {
    json(&HealthBody { status: HealthStatus::Ok, version: env!("CARGO_PKG_VERSION").to_owned() })
}
