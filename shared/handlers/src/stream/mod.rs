//! The stream handler: it brings derived rows up to date with the base records that a stream reports.
//!
//! The handler decodes records one by one, runs the fan-out, and answers with the records to deliver again
//! (`ReportBatchItemFailures`). No record makes it panic, and an unreadable record doesn't block its shard.

mod record;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use aws_lambda_events::event::streams::{DynamoDbBatchItemFailure, DynamoDbEventResponse};
use sapwood_core::audit::Trail;
use sapwood_core::fanout::StreamRecord;
use sapwood_core::model::{Settings, VariableError};
use sapwood_core::plan::{Problem, Task};
use sapwood_core::request::Action;
use sapwood_dynamodb::DynamoTable;
use sapwood_engine::announce::announce;
use sapwood_engine::fanout::{Fanout, Report, Run};
use sapwood_store::{Client, Condition, Deadline, NoRetries};
use sapwood_telemetry::metrics::{Metric, Metrics};
use serde::Deserialize;
use serde_json::value::RawValue;
use tracing::{info, warn};
use uuid::Uuid;

pub use record::{Decoded, decode};

/// The time without requests at the end of an invocation, for the answer. It is a choice.
const RESERVED: Duration = Duration::from_millis(500);

/// How often a handler checks its announcement: during a deployment the older release may have written last.
const ANNOUNCED_EVERY: Duration = Duration::from_secs(600);

/// The settings of the function.
#[derive(Clone, Debug)]
pub struct Config {
    /// The table's name.
    pub table_name: String,
    /// The settings of the table.
    pub settings: Settings,
    /// Where the function writes its metrics.
    pub metrics: Metrics,
}

/// A variable that is missing or wrong.
pub type ConfigError = VariableError;

impl Config {
    /// Reads `TABLE_NAME` and the variables of [`Settings::read`] and [`Metrics::read`].
    ///
    /// # Errors
    /// [`ConfigError`] for the first variable that is missing or wrong.
    pub fn read(lookup: impl Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        let table_name = lookup("TABLE_NAME")
            .filter(|name| !name.trim().is_empty())
            .ok_or(ConfigError::Missing { name: "TABLE_NAME", expected: "the name of the table" })?;
        Ok(Self { table_name, settings: Settings::read(&lookup)?, metrics: Metrics::read(lookup) })
    }
}

/// The stream handler. The process makes one and keeps it.
#[derive(Clone, Debug)]
#[must_use]
pub struct Handler {
    fanout: Fanout,
    table: DynamoTable,
    metrics: Metrics,
    /// The handler's announcement and trail; `None` if it leaves neither in the table.
    presence: Option<Arc<Presence>>,
}

#[derive(Debug)]
struct Presence {
    /// When it has announced itself, in seconds since 1970.
    announced_at: AtomicU64,
    /// The nodes that it has handled, as a sample for the auditor.
    trail: Mutex<Trail>,
}

/// The longest time that an announcement keeps a batch waiting.
const ANNOUNCED_WITHIN: Duration = Duration::from_secs(1);

#[derive(Deserialize)]
struct StreamEvent<'a> {
    #[serde(borrow, rename = "Records")]
    records: Vec<&'a RawValue>,
}

#[derive(Default)]
struct Decodings {
    /// The number of records, the undecodable ones included.
    count: usize,
    records: Vec<StreamRecord>,
    /// The times at which the items were written, in milliseconds since 1970.
    written_at: Vec<u64>,
    problems: Vec<Problem>,
}

/// The error of an event that isn't one of DynamoDB Streams. Lambda delivers it again.
#[derive(Debug, thiserror::Error)]
#[error("this isn't an event of DynamoDB Streams: it has no list `Records`")]
pub struct NoStreamEvent;

impl Handler {
    /// Makes a handler of this table. It writes no metrics.
    pub fn new(fanout: Fanout, table: DynamoTable) -> Self {
        Self { fanout, table, metrics: Metrics::default(), presence: None }
    }

    /// Has the handler write a line of metrics for each batch.
    pub fn measured(self, metrics: Metrics) -> Self {
        Self { metrics, ..self }
    }

    /// Has the handler leave its settings in the table, and a [`Trail`] for the auditor at most every five minutes.
    pub fn announcing(self) -> Self {
        let trail = Mutex::new(Trail::new(Uuid::new_v4().as_bytes()[0]));
        let presence = Presence { announced_at: AtomicU64::default(), trail };
        Self { presence: Some(Arc::new(presence)), ..self }
    }

    /// Handles one event of JSON within the time left, and returns the answer. An event passed by value is freed early.
    /// A record that can't be decoded is no error.
    pub async fn handle(
        &self,
        event: impl AsRef<str>,
        request_id: &str,
        left: Duration,
    ) -> Result<DynamoDbEventResponse, NoStreamEvent> {
        Ok(response(&self.run(event, request_id, left).await?))
    }

    /// Like [`Handler::handle`], but returns the report from which [`response`] makes the answer.
    pub async fn run(&self, event: impl AsRef<str>, request_id: &str, left: Duration) -> Result<Report, NoStreamEvent> {
        let deadline = Deadline::after(left.saturating_sub(RESERVED));
        let Decodings { count, records, written_at, problems } = self.decode(event.as_ref())?;
        drop(event);
        let table = self.table.until(deadline);
        self.announce().await;
        self.note(&records);
        let name = Uuid::new_v4().to_string();
        let run = Run { name: &name, now: seconds_now() };
        let mut report = self.fanout.run(&table, &deadline, run, records).await;
        report.problems.splice(..0, problems);
        self.leave_trail().await;
        log(request_id, count, &report);
        self.metrics.write(|now| metrics_of(count, &written_at, &report, now));
        Ok(report)
    }

    fn decode(&self, event: &str) -> Result<Decodings, NoStreamEvent> {
        let event: StreamEvent<'_> = serde_json::from_str(event).map_err(|_| NoStreamEvent)?;
        let mut all = Decodings { count: event.records.len(), ..Decodings::default() };
        for raw in event.records {
            match decode(raw.get(), &self.fanout.settings.schema) {
                Ok(decoded) => {
                    all.records.push(decoded.record);
                    all.written_at.extend(decoded.written_at);
                }
                Err(problem) => all.problems.push(problem),
            }
        }
        Ok(all)
    }

    /// Announces the handler, if it does so. It is tried once a batch, and an error is only logged.
    pub async fn announce(&self) {
        let Some(Presence { announced_at, .. }) = self.presence.as_deref() else { return };
        let now = seconds_now();
        if now.saturating_sub(announced_at.load(Ordering::Relaxed)) < ANNOUNCED_EVERY.as_secs() {
            return;
        }
        announced_at.store(now, Ordering::Relaxed);
        let settings = &self.fanout.settings;
        let table = self.table.until(Deadline::after(ANNOUNCED_WITHIN));
        let client = Client::new(&table, &NoRetries, &settings.schema);
        match announce(&client, settings, env!("CARGO_PKG_VERSION")).await {
            Ok(false) => {}
            Ok(true) => info!("the handler's settings are in the table now"),
            Err(error) => warn!(%error, "failed to store the handler's settings"),
        }
    }

    fn note(&self, records: &[StreamRecord]) {
        let Some(presence) = &self.presence else { return };
        let mut trail = presence.trail.lock().unwrap_or_else(PoisonError::into_inner);
        for record in records {
            trail.note(&record.key, &self.fanout.settings.schema);
        }
    }

    /// Leaves its trail, if that is due. Nothing depends on it, so it is tried once, and an error is only logged.
    async fn leave_trail(&self) {
        let Some(presence) = &self.presence else { return };
        let settings = &self.fanout.settings;
        let due = presence.trail.lock().unwrap_or_else(PoisonError::into_inner).take(seconds_now(), settings);
        let Some((key, item)) = due else { return };
        let table = self.table.until(Deadline::after(ANNOUNCED_WITHIN));
        let client = Client::new(&table, &NoRetries, &settings.schema);
        let task = Task::Write(Action::Put { key, item, condition: Condition::Always });
        if let Err(error) = client.carry_out(&task).await.outcome {
            warn!(%error, "failed to store the sample of recent writes for the auditor");
        }
    }
}

#[allow(clippy::disallowed_methods, reason = "tombstones are dated by the clock")]
fn seconds_now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// Returns the answer for Lambda, which names the records to deliver again.
#[must_use]
pub fn response(report: &Report) -> DynamoDbEventResponse {
    let mut response = DynamoDbEventResponse::default();
    response.batch_item_failures.extend(report.failed.iter().map(|sequence| {
        let mut failure = DynamoDbBatchItemFailure::default();
        failure.item_identifier = Some(sequence.clone());
        failure
    }));
    response
}

/// Logs a line for each fault that no retry can mend, and a line for the batch. The lines name keys, never attributes.
fn log(request_id: &str, records: usize, report: &Report) {
    for Problem { key, reason, .. } in &report.problems {
        warn!(request_id, pk = key.pk, sk = key.sk, reason, "bad record");
    }
    let counts = &report.counts;
    info!(
        request_id,
        records,
        failed = report.failed.len(),
        bad = report.problems.len(),
        requests = counts.usage.requests,
        retries = counts.usage.retries,
        conflicts = counts.usage.conflicts,
        read_units = counts.usage.read_units,
        write_units = counts.usage.write_units,
        rounds = counts.tally.rounds,
        rows_put = counts.tally.rows_put,
        rows_deleted = counts.tally.rows_deleted,
        touches = counts.tally.touches,
        copies = counts.tally.copies,
        child_actions = counts.tally.child_actions,
        nodes_deleted = counts.tally.nodes_deleted,
        nodes_copied = counts.tally.nodes_copied,
        "batch"
    );
}

/// Returns the metrics of a batch (docs/reference/metrics.md). `written_at` has the times at which its records were
/// written, and `now` is the time at which it was handled, all in milliseconds since 1970.
#[must_use]
pub fn metrics_of(records: usize, written_at: &[u64], report: &Report, now: u64) -> Vec<Metric> {
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
