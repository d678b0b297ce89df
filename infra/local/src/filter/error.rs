//! Errors of filter patterns.

/// Why a filter pattern isn't supported.
#[derive(Debug, thiserror::Error)]
pub enum FilterError {
    /// The pattern isn't JSON.
    #[error("the filter pattern isn't JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// A part of the pattern has the wrong shape.
    #[error("filter pattern, {field}: expected {expected}")]
    Shape {
        /// The field, its parts separated by dots; empty for the whole pattern.
        field: String,
        /// The shape that it must have.
        expected: &'static str,
    },
    /// The pattern uses an operator that isn't supported. It is an error, because a user would not notice a filter that
    /// passes everything or nothing.
    #[error(
        "filter pattern, {field}: the operator {operator} isn't understood here (known: exact values, prefix, suffix, \
         anything-but, exists)"
    )]
    Operator {
        /// The field.
        field: String,
        /// The operator.
        operator: String,
    },
}
