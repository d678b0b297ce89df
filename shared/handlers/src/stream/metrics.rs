//! The metrics of one batch (docs/metrics.md).

use sapwood_engine::fanout::Report;
use sapwood_telemetry::metrics::Metric;

/// Returns the metrics of a batch. `written_at` has the times at which its records were written, and `now` is the time
/// at which it was handled, all in milliseconds since 1970.
pub(crate) fn of(records: usize, written_at: &[u64], report: &Report, now: u64) -> Vec<Metric> {
    let counts = &report.counts;
    let unreadable = report.problems.iter().filter(|problem| problem.unreadable).count();
    // The function's clock and the table's differ a little. A record from the future has no lag.
    let lags = written_at.iter().map(|at| now.saturating_sub(*at)).collect();
    vec![
        Metric::count("Records", records as u64),
        Metric::count("Rounds", counts.tally.rounds),
        Metric::count("RowsPut", counts.tally.rows_put),
        Metric::count("RowsDeleted", counts.tally.rows_deleted),
        Metric::count("Touches", counts.tally.touches),
        Metric::count("Retries", counts.usage.retries),
        Metric::count("Conflicts", counts.usage.conflicts),
        Metric::times("Lag", lags),
        Metric::amount("ReadUnits", counts.usage.read_units),
        Metric::amount("WriteUnits", counts.usage.write_units),
        Metric::count("BadRecords", unreadable as u64),
        Metric::count("Failures", report.failed.len() as u64),
    ]
}
