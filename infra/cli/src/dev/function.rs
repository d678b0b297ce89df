//! The stream handler as the function that the mapping invokes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use sapwood_local::mapping::Function;
use stream_handler::{Handler, response};

use super::output::Output;

pub(super) struct HandlerFunction {
    handler: Handler,
    output: Arc<Output>,
    invocations: AtomicU64,
}

impl HandlerFunction {
    pub(super) fn new(handler: Handler, output: Arc<Output>) -> Self {
        Self { handler, output, invocations: AtomicU64::new(0) }
    }
}

impl Function for HandlerFunction {
    #[allow(clippy::disallowed_methods, reason = "this stands in for Lambda, which knows the remaining time")]
    async fn invoke(&self, event: String, deadline: Instant) -> Result<serde_json::Value, String> {
        let begun = Instant::now();
        let request_id = format!("local-{}", self.invocations.fetch_add(1, Ordering::Relaxed) + 1);
        let report = self.handler.run(&event, &request_id, deadline.saturating_duration_since(begun)).await;
        let report = report.map_err(|error| error.to_string())?;
        self.output.fan_out(&event, &report, begun.elapsed());
        serde_json::to_value(response(&report)).map_err(|error| error.to_string())
    }
}
