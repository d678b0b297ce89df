//! The calls about the API itself. Neither reads the table.

use super::problems::OfService;
use crate::contract::HealthBody;

/// This document
#[utoipa::path(
    get, path = "/openapi.json", tag = "Service",
    responses((status = 200, description = "The OpenAPI document.", body = inline(super::AnyObject), content_type = "application/json"), OfService)
)]
fn get_openapi() {}

/// This document, to read
#[utoipa::path(
    get, path = "/docs", tag = "Service",
    responses((status = 200, description = "A page.", body = String, content_type = "text/html"), OfService)
)]
fn get_docs() {}

/// Whether the function answers
#[utoipa::path(
    get, path = "/health", tag = "Service",
    responses((status = 200, description = "It does.", body = HealthBody, example = json!({"status": "ok", "version": "0.1.0"})), OfService)
)]
fn get_health() {}
