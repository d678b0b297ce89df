//! The metrics of one batch.

use sapwood_engine::fanout::Report;
use sapwood_telemetry::metrics::Metric;

/// What CloudWatch is told of a batch of so many records, which were written at these times and have been handled now.
pub(crate) fn of(records: usize, written_at: &[u64], report: &Report, now: u64) -> Vec<Metric> {
    let counts = &report.counts;
    let unreadable = report.problems.iter().filter(|problem| problem.unreadable).count();
    // The clock here and the table's differ a little: what lies ahead has no lag.
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
