//! Metrics for CloudWatch in the embedded metric format: one line for each invocation, from which CloudWatch Logs makes
//! metrics ([AWS: specification][aws]).
//!
//! [aws]: https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html

mod line;
#[cfg(test)]
mod tests;

use std::fmt;
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use line::Line;
pub use line::{METRIC_VALUES_MAX, METRICS_MAX, Metric};

/// Where a function writes its metrics. The default is nowhere. Clones share one output.
#[derive(Clone, Default)]
pub struct Metrics(Option<Arc<Output>>);

struct Output {
    namespace: String,
    function: String,
    clock: Clock,
    to: Mutex<Box<dyn Write + Send>>,
}

/// Returns the time in milliseconds since 1970.
pub type Clock = fn() -> u64;

impl Metrics {
    /// Reads these variables, and writes to standard output. Without one of them nothing is written.
    ///
    /// | variable | value |
    /// |---|---|
    /// | `METRICS_NAMESPACE` | the namespace of the metrics |
    /// | `AWS_LAMBDA_FUNCTION_NAME` | the function's name, which is the dimension of the metrics; Lambda sets it |
    #[must_use]
    pub fn read(lookup: impl Fn(&str) -> Option<String>) -> Self {
        let given = |name: &str| lookup(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
        match (given("METRICS_NAMESPACE"), given("AWS_LAMBDA_FUNCTION_NAME")) {
            (Some(namespace), Some(function)) => Self::new(namespace, function, now, std::io::stdout()),
            _ => Self::default(),
        }
    }

    /// Makes the metrics of a function, with any clock and any output.
    pub fn new(
        namespace: impl Into<String>,
        function: impl Into<String>,
        clock: Clock,
        to: impl Write + Send + 'static,
    ) -> Self {
        let (namespace, function, to) = (namespace.into(), function.into(), Mutex::new(Box::new(to) as Box<_>));
        Self(Some(Arc::new(Output { namespace, function, clock, to })))
    }

    /// Returns true if metrics are written.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Writes one line of `metrics` at a time in milliseconds since 1970. A line that can't be written is lost.
    pub fn write(&self, metrics: impl FnOnce(u64) -> Vec<Metric>) {
        let Some(output) = &self.0 else { return };
        let timestamp = (output.clock)();
        let metrics = metrics(timestamp);
        let line = Line { namespace: &output.namespace, function: &output.function, timestamp, metrics: &metrics };
        let Ok(line) = line.bytes() else { return };
        let mut to = output.to.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = to.write_all(&line).and_then(|()| to.flush());
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let namespace = self.0.as_ref().map(|output| &output.namespace);
        f.debug_struct("Metrics").field("namespace", &namespace).finish_non_exhaustive()
    }
}

#[allow(clippy::disallowed_methods, reason = "metrics are of a time; whoever has them made hands none in")]
fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
