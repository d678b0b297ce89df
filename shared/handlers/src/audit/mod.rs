//! The auditor: a scheduled invocation carries a pass over the table on from where the last one stopped.

mod config;

use std::time::{Duration, SystemTime};

use sapwood_core::audit::Difference;
use sapwood_dynamodb::DynamoTable;
use sapwood_engine::auditor::{Auditor, Clock, Limits, Pace, Report};
use sapwood_store::{Client, Deadline, ErrorKind, RetryPolicy, TableError};
use sapwood_telemetry::metrics::Metric;
use serde_json::{Value, json};
use tokio::time::Instant;
use tracing::{error, info, warn};

pub use config::{Config, ConfigError};

/// The time at the end of an invocation in which no request is sent.
const RESERVED: Duration = Duration::from_millis(500);

/// The share of an invocation's time for the scan. A choice: it leaves time to save.
pub const SHARE_FOR_SCAN: f64 = 0.9;

/// Most attempts of a request. A throttled run leaves the table to others, saves, and ends.
const ATTEMPTS_MAX: u32 = 6;

/// The auditor of one table. The process makes one and keeps it.
#[derive(Clone, Debug)]
pub struct Handler {
    config: Config,
    table: DynamoTable,
}

/// A retry policy that soon gives way to others.
struct Yielding(Deadline);

impl RetryPolicy for Yielding {
    async fn wait(&self, attempt: u32) -> bool {
        attempt + 1 < ATTEMPTS_MAX && self.0.wait(attempt).await
    }
}

/// The pace of a run: it spends its read units evenly over its time, so that other users of the table notice nothing.
#[derive(Clone, Copy, Debug)]
pub struct Evenly {
    limits: Limits,
    began: Instant,
    span: Duration,
}

impl Evenly {
    /// The pace of a run that begins now, and has this time for its scan.
    #[must_use]
    #[allow(clippy::disallowed_methods, reason = "a pace is kept by the clock")]
    pub fn over(span: Duration, limits: Limits) -> Self {
        Self { limits, began: Instant::now(), span }
    }
}

impl Pace for Evenly {
    #[allow(clippy::disallowed_methods, reason = "a pace is kept by the clock")]
    async fn wait(&self, read_units: f64) -> bool {
        tokio::time::sleep_until(self.began + self.limits.due(read_units, self.span)).await;
        Instant::now() < self.began + self.span
    }
}

impl Handler {
    /// Makes an auditor of this table.
    #[must_use]
    pub fn new(config: Config, table: DynamoTable) -> Self {
        Self { config, table }
    }

    /// Makes a run, within the time that is left.
    ///
    /// # Errors
    /// [`TableError`] if the state can't be read or saved, if a newer version has written it, or if somebody has to
    /// mend something first (a permission, say).
    pub async fn run(&self, left: Duration) -> Result<Report, TableError> {
        let deadline = Deadline::after(left.saturating_sub(RESERVED));
        let (table, policy) = (self.table.until(deadline), Yielding(deadline));
        let Config { settings, heals, limits, metrics, .. } = &self.config;
        let client = Client::new(&table, &policy, &settings.schema);
        let began = since_1970();
        let clock = Clock {
            now: began.as_secs(),
            name: u64::try_from(began.as_nanos()).unwrap_or(u64::MAX),
            pace: Evenly::over(left.mul_f64(SHARE_FOR_SCAN), *limits),
        };
        let report = Auditor::new(&client, settings, *limits, *heals).run(clock).await?;
        log(&report);
        metrics.write(|_| metrics_of(&report));
        if let Some(reason) = &report.stopped {
            return Err(TableError::new(ErrorKind::GiveUp, reason.clone()));
        }
        match &report.ended_by {
            Some(error) if error.kind == ErrorKind::GiveUp => Err(error.clone()),
            _ => Ok(report),
        }
    }
}

#[allow(clippy::disallowed_methods, reason = "passes and repairs are dated by the clock")]
fn since_1970() -> Duration {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}

/// The answer of the function.
#[must_use]
pub fn answer(report: &Report) -> Value {
    json!({
        "saved": report.is_saved, "items": report.items, "recent": report.recent, "suspects": report.suspects, "confirmed": report.confirmed.len(),
        "repaired": report.healed, "left": report.left.len(), "still_changing": report.restless.len(),
        "unconfirmed": report.unconfirmed.len(), "confirmation_window_seconds": report.settle, "findings": report.findings, "age_seconds": report.age,
        "pass_seconds": report.pass_time, "read_units": report.usage.read_units, "write_units": report.usage.write_units,
    })
}

/// Most lines of a run about differences that don't count yet: each run tells of them again.
const UNCONFIRMED_LINES_MAX: usize = 20;

/// Logs a line for each difference that counts, and a line for the run. The lines name keys, never attributes.
fn log(report: &Report) {
    if let Some(reason) = &report.stopped {
        error!(reason, "the auditor has stopped");
        return;
    }
    if !report.impossible.is_empty() {
        let attributes = report.impossible.join(", ");
        error!(attributes, "the auditor's state was invalid; these attributes were reset");
    }
    let confirmed = report.confirmed.iter().map(|one| (one, "confirmed"));
    let left = report.left.iter().map(|one| (one, "left"));
    let restless = report.restless.iter().map(|one| (one, "still changing"));
    for (Difference { key, kind, .. }, state) in confirmed.chain(left).chain(restless) {
        warn!(pk = key.pk, sk = key.sk, kind = kind.as_str(), state, "difference");
    }
    for Difference { key, kind, .. } in report.unconfirmed.iter().take(UNCONFIRMED_LINES_MAX) {
        info!(pk = key.pk, sk = key.sk, kind = kind.as_str(), state = "unconfirmed", "difference");
    }
    if let Some(reason) = &report.unfit {
        error!(reason, "the auditor repairs nothing");
    }
    if let Some(error) = &report.ended_by {
        warn!(%error, "the run has ended early; the next one continues");
    }
    info!(
        saved = report.is_saved,
        items = report.items,
        recent = report.recent,
        suspects = report.suspects,
        unconfirmed = report.unconfirmed.len(),
        confirmation_window = report.settle,
        confirmed = report.confirmed.len(),
        repaired = report.healed,
        left = report.left.len(),
        findings = report.findings,
        age = report.age,
        requests = report.usage.requests,
        retries = report.usage.retries,
        read_units = report.usage.read_units,
        write_units = report.usage.write_units,
        "run"
    );
}

/// The metrics of a run (docs/reference/metrics.md). A finding that wasn't saved is found again, so it isn't counted.
#[must_use]
pub fn metrics_of(report: &Report) -> Vec<Metric> {
    let mut metrics = vec![
        Metric::count("Retries", report.usage.retries),
        Metric::amount("ReadUnits", report.usage.read_units),
        Metric::amount("WriteUnits", report.usage.write_units),
        Metric::count("AuditStateFaults", report.impossible.len() as u64 + u64::from(report.stopped.is_some())),
    ];
    if report.is_saved {
        metrics.extend([
            Metric::count("AuditItems", report.items),
            Metric::count("AuditPending", report.suspects as u64),
            Metric::count("AuditUnconfirmed", report.unconfirmed.len() as u64),
            Metric::count("AuditConfirmed", report.confirmed.len() as u64),
            Metric::count("AuditRepaired", report.healed),
            Metric::count("AuditLeft", report.left.len() as u64),
            Metric::count("AuditStillChanging", report.restless.len() as u64),
            Metric::count("AuditFindings", report.findings),
            Metric::seconds("AuditAge", report.age),
        ]);
        metrics.extend(report.wrong_per_million.map(|wrong| Metric::amount("AuditWrongPerMillion", wrong)));
        metrics.extend(report.pass_time.map(|seconds| Metric::seconds("AuditPassTime", seconds)));
    }
    metrics
}
