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
