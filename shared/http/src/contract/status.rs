//! How a function is.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// That a function answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HealthBody {
    /// How it is.
    pub status: HealthStatus,
    /// Its version.
    #[schema(examples("0.1.0"))]
    pub version: String,
}

/// How a function is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum HealthStatus {
    /// It answers.
    Ok,
}
