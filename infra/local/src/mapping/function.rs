use std::time::Instant;

use serde_json::Value;

/// What a mapping invokes.
pub trait Function: Send + Sync + 'static {
    /// Handles one event, JSON shaped as Lambda's for a `DynamoDB` stream, until the deadline; whatever runs on after it is
    /// dropped. The answer is what a Lambda function would return; an error, a panic or running late fails the batch.
    fn invoke(&self, event: String, deadline: Instant) -> impl Future<Output = Result<Value, String>> + Send;
}
