//! The health of a function, and what the API has.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::operations::operations;

/// The health of the function that answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HealthBody {
    /// The function's state.
    pub status: HealthStatus,
    /// The function's version.
    #[schema(examples("0.1.0"))]
    pub version: String,
}

/// The state of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum HealthStatus {
    /// The function answers.
    Ok,
}

/// The start page of the API.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct IndexBody {
    /// The function's version.
    #[schema(examples("0.1.0"))]
    pub version: String,
    /// The path of the reference for people.
    #[schema(examples("/docs"), format = "uri-reference")]
    pub docs: String,
    /// The path of the OpenAPI document.
    #[schema(examples("/openapi.json"), format = "uri-reference")]
    pub openapi: String,
    /// Every call, with all methods of a path together.
    pub calls: Vec<CallBody>,
}

/// A call of the API.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CallBody {
    /// The method.
    #[schema(examples("GET"))]
    pub method: String,
    /// The path, with its parameters in braces.
    #[schema(examples("/nodes/{id}"))]
    pub path: String,
    /// What the call does.
    #[schema(examples("Read a node"))]
    pub summary: String,
}

impl IndexBody {
    /// Lists the calls. The prefix stands before every path: a stage, or the base path of a custom domain.
    #[must_use]
    pub fn of(prefix: &str) -> Self {
        let path = |path: &str| format!("{prefix}{path}");
        let mut calls: Vec<CallBody> = Vec::new();
        for operation in operations() {
            let call = CallBody {
                method: operation.method.as_str().to_owned(),
                path: path(operation.path),
                summary: operation.summary.to_owned(),
            };
            let beside = calls.iter().rposition(|before| before.path == call.path).map_or(calls.len(), |at| at + 1);
            calls.insert(beside, call);
        }
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            docs: path("/docs"),
            openapi: path("/openapi.json"),
            calls,
        }
    }
}

/// What API Gateway says itself, before a function is called.
#[derive(ToSchema)]
#[allow(dead_code, reason = "its schema alone is used")]
pub(super) struct GatewayMessage {
    /// What is wrong.
    #[schema(examples("Unauthorized"))]
    message: String,
}
