//! The health of a function.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

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

/// What API Gateway says itself, before a function is called.
#[derive(ToSchema)]
#[allow(dead_code, reason = "its schema alone is used")]
pub(super) struct GatewayMessage {
    /// What is wrong.
    #[schema(examples("Unauthorized"))]
    message: String,
}
