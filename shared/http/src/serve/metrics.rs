//! The metrics of one request (docs/metrics.md).

use std::time::Duration;

use axum::http::StatusCode;
use sapwood_store::Usage;
use sapwood_telemetry::metrics::Metric;

/// Returns the metrics of a request that was answered with this status.
pub(super) fn of(status: StatusCode, usage: &Usage, took: Duration) -> Vec<Metric> {
    vec![
        Metric::count("Requests", 1),
        // Latency is exact to a microsecond; more digits would be noise.
        Metric::time("Latency", took.as_micros() as f64 / 1_000.0),
        Metric::count("ServerErrors", u64::from(status.is_server_error())),
        Metric::count("Unavailable", u64::from(status == StatusCode::SERVICE_UNAVAILABLE)),
        Metric::count("Conflicts", usage.conflicts),
        Metric::count("Retries", usage.retries),
        Metric::amount("ReadUnits", usage.read_units),
        Metric::amount("WriteUnits", usage.write_units),
    ]
}
