//! The stream function: records of base items in, derived rows right.
//!
//! A batch of records is decoded one by one, handed to the fan-out, and answered with the records to deliver again
//! (`ReportBatchItemFailures`). No record makes it panic, and none that can't be understood blocks the shard.

mod config;
mod metrics;
mod record;

use std::time::Duration;

use aws_lambda_events::event::streams::{DynamoDbBatchItemFailure, DynamoDbEventResponse};
use sapwood_core::plan::Problem;
use sapwood_engine::fanout::{Fanout, Report};
use sapwood_table::{Deadline, DynamoTable};
use sapwood_telemetry::metrics::Metrics;
use serde::Deserialize;
use serde_json::value::RawValue;
use tracing::{info, warn};
use uuid::Uuid;

pub use config::{Config, ConfigError};
pub use record::{Record, decode};

/// What is kept back of an invocation's time: nothing is started in it, so that an answer still gets out.
const RESERVED: Duration = Duration::from_millis(500);

/// The function, made once for the life of the process.
#[derive(Clone, Debug)]
pub struct Handler {
    fanout: Fanout,
    table: DynamoTable,
    metrics: Metrics,
}

#[derive(Deserialize)]
struct StreamEvent<'a> {
    #[serde(borrow, rename = "Records")]
    records: Vec<&'a RawValue>,
}

/// An event that isn't one of DynamoDB Streams. The whole batch comes again.
#[derive(Debug, thiserror::Error)]
#[error("this is no event of DynamoDB Streams: it has no list `Records`")]
pub struct NoStreamEvent;

impl Handler {
    /// A handler of this table.
    #[must_use]
    pub fn new(fanout: Fanout, table: DynamoTable) -> Self {
        Self { fanout, table, metrics: Metrics::default() }
    }

    /// The same, with a line of metrics for every batch.
    #[must_use]
    pub fn measured(self, metrics: Metrics) -> Self {
        Self { metrics, ..self }
    }

    /// Handles one event, as JSON, in at most `left`.
    ///
    /// # Errors
    /// [`NoStreamEvent`]; a record that can't be decoded is no error.
    pub async fn handle(
        &self,
        event: &str,
        request_id: &str,
        left: Duration,
    ) -> Result<DynamoDbEventResponse, NoStreamEvent> {
        Ok(response(&self.run(event, request_id, left).await?))
    }

    /// The same, with all that is to be said of it.
    ///
    /// # Errors
    /// As [`Handler::handle`].
    pub async fn run(&self, event: &str, request_id: &str, left: Duration) -> Result<Report, NoStreamEvent> {
        let event: StreamEvent<'_> = serde_json::from_str(event).map_err(|_| NoStreamEvent)?;
        #[allow(clippy::disallowed_methods, reason = "the time that is left is counted from here")]
        let deadline = Deadline(tokio::time::Instant::now() + left.saturating_sub(RESERVED));
        let schema = &self.fanout.settings.schema;
        let (mut changes, mut written_at, mut problems) = (Vec::new(), Vec::new(), Vec::new());
        for record in &event.records {
            match decode(record.get(), schema) {
                Ok(record) => {
                    changes.push(record.change);
                    written_at.extend(record.written_at);
                }
                Err(problem) => problems.push(problem),
            }
        }
        let table = self.table.until(deadline);
        let name = Uuid::new_v4().to_string();
        let mut report = self.fanout.run(&table, &deadline, &name, &changes).await;
        problems.append(&mut report.problems);
        report.problems = problems;
        log(request_id, event.records.len(), &report);
        self.metrics.write(|now| metrics::of(event.records.len(), &written_at, &report, now));
        Ok(report)
    }
}

/// What Lambda is answered: the records to deliver again.
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

/// One line for each thing that no retry can mend, and one for the batch. Keys are named, attributes never are.
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
        "batch"
    );
}
