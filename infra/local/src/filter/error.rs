/// Why a text is no filter pattern that is understood here.
#[derive(Debug, thiserror::Error)]
pub enum FilterError {
    /// It is no JSON.
    #[error("the filter pattern is no JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// A part of it has the wrong shape.
    #[error("filter pattern, {field}: expected {expected}")]
    Shape {
        /// The field, its parts separated by dots; empty: the pattern itself.
        field: String,
        /// What it must be.
        expected: &'static str,
    },
    /// It uses an operator that isn't understood. Letting everything or nothing pass instead would go unnoticed.
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
