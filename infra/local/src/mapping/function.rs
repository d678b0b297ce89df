//! The function that a mapping invokes.

use std::time::Instant;

use serde_json::Value;

/// A function that a mapping invokes.
pub trait Function: Send + Sync + 'static {
    /// Handles one event: JSON, shaped like Lambda's for a `DynamoDB` stream. Returns what a Lambda function would
    /// return. An error or a panic fails the batch. So does missing the deadline, at which the future is dropped.
    fn invoke(&self, event: String, deadline: Instant) -> impl Future<Output = Result<Value, String>> + Send;
}
