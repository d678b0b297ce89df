//! The function that a mapping invokes, and its invocations.

use std::any::Any;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::batch::Delivery;

/// A function that a mapping invokes.
pub trait Function: Send + Sync + 'static {
    /// Handles one event: JSON, shaped like Lambda's for a `DynamoDB` stream. Returns what a Lambda function would
    /// return. An error or a panic fails the batch. So does missing the deadline, at which the future is dropped.
    fn invoke(&self, event: String, deadline: Instant) -> impl Future<Output = Result<Value, String>> + Send;
}

/// Returns the event of a batch, as JSON.
pub(super) fn event(deliveries: &[Delivery]) -> String {
    let texts: Vec<&str> = deliveries.iter().map(|delivery| delivery.text.as_str()).collect();
    format!("{{\"Records\":[{}]}}", texts.join(","))
}

/// Invokes the function in a task of its own, so that a panic fails only this invocation.
pub(super) async fn invoke<F: Function>(function: &Arc<F>, event: String, timeout: Duration) -> Result<Value, String> {
    let deadline = Instant::now() + timeout;
    let function = Arc::clone(function);
    let mut task = tokio::spawn(async move { function.invoke(event, deadline).await });
    match tokio::time::timeout_at(deadline.into(), &mut task).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(failure)) => Err(match failure.try_into_panic() {
            Ok(panic) => format!("panicked: {}", message(&*panic)),
            Err(failure) => failure.to_string(),
        }),
        Err(_) => {
            task.abort();
            // The next batch must not begin before this invocation has ended.
            let _ = task.await;
            Err(format!("timed out after {timeout:?}"))
        }
    }
}

fn message(panic: &(dyn Any + Send)) -> &str {
    match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(text), _) => text,
        (_, Some(text)) => text,
        _ => "without a message",
    }
}
