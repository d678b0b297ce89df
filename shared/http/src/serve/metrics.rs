//! The metrics of one request.

use std::time::Duration;

use axum::http::StatusCode;
use sapwood_table::Usage;
use sapwood_telemetry::metrics::Metric;

/// What CloudWatch is told of a request that was answered so.
pub(super) fn of(status: StatusCode, usage: &Usage, took: Duration) -> Vec<Metric> {
    vec![
        Metric::count("Requests", 1),
        // As exact as a microsecond; more digits would say nothing.
        Metric::time("Latency", took.as_micros() as f64 / 1_000.0),
        Metric::count("ServerErrors", u64::from(status.is_server_error())),
        Metric::count("Unavailable", u64::from(status == StatusCode::SERVICE_UNAVAILABLE)),
        Metric::count("Conflicts", usage.conflicts),
        Metric::count("Retries", usage.retries),
        Metric::amount("ReadUnits", usage.read_units),
        Metric::amount("WriteUnits", usage.write_units),
    ]
}
