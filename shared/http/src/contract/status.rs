//! How a function is, and what is wrong with a request.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What is wrong with a request (RFC 9457).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ProblemBody {
    /// Which problem, as a URI that stays the same.
    #[serde(rename = "type")]
    #[schema(format = "uri-reference", examples("urn:sapwood:problem:cycle"))]
    pub kind: String,
    /// The same for every problem of this type.
    #[schema(examples("A node can't be below itself"))]
    pub title: String,
    /// The status code of the answer.
    #[schema(minimum = 400, maximum = 599)]
    pub status: u16,
    /// What to do about it.
    pub detail: String,
    /// The field, parameter or header at fault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, examples("attributes.dimensions.width"))]
    pub field: Option<String>,
}

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
