//! The on-failure destination: a file with one JSON object a line, each as Lambda would write it to an S3 bucket.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use serde_json::{Value, json};

use super::DiscardReason;
use super::batch::Delivery;
use crate::engine::open_private;

/// The on-failure destination's file.
#[derive(Debug)]
pub(super) struct Destination {
    path: PathBuf,
    count: Mutex<u64>,
}

/// Records that are discarded together.
#[derive(Debug)]
pub(super) struct FailedBatch<'a> {
    pub(super) stream: &'a str,
    pub(super) shard: &'a str,
    pub(super) deliveries: &'a [Delivery],
    pub(super) event: String,
    pub(super) reason: DiscardReason,
    pub(super) invocations: u32,
}

impl Destination {
    pub(super) fn new(path: PathBuf) -> Self {
        Destination { path, count: Mutex::new(0) }
    }

    /// Appends a line. It is on the disk when this returns.
    pub(super) fn write(&self, batch: FailedBatch<'_>) -> io::Result<()> {
        // The lock keeps lines apart and numbers them.
        let mut count = self.count.lock().unwrap_or_else(PoisonError::into_inner);
        *count += 1;
        let mut line = batch.to_json(*count).to_string();
        line.push('\n');
        let mut file = open_private(File::options().append(true), &self.path)?;
        file.write_all(line.as_bytes())?;
        file.sync_data()
    }
}

impl FailedBatch<'_> {
    fn to_json(&self, number: u64) -> Value {
        let first = self.deliveries.first();
        let last = self.deliveries.last();
        let arrival = |delivery: Option<&Delivery>| delivery.map(|delivery| timestamp(delivery.created));
        let mut document = json!({
            "requestContext": {
                "requestId": format!("00000000-0000-4000-8000-{number:012x}"),
                "functionArn": "local",
                "condition": self.reason.condition(),
                "approximateInvokeCount": self.invocations,
            },
            "version": "1.0",
            "timestamp": timestamp(SystemTime::now()),
            "DDBStreamBatchInfo": {
                "shardId": self.shard,
                "startSequenceNumber": first.map(|delivery| &delivery.sequence_number),
                "endSequenceNumber": last.map(|delivery| &delivery.sequence_number),
                "approximateArrivalOfFirstRecord": arrival(first),
                "approximateArrivalOfLastRecord": arrival(last),
                "batchSize": self.deliveries.len(),
                "streamArn": self.stream,
            },
            "payload": self.event,
        });
        if self.invocations > 0 {
            document["responseContext"] =
                json!({ "statusCode": 200, "executedVersion": "$LATEST", "functionError": "Unhandled" });
        }
        document
    }
}

fn timestamp(time: SystemTime) -> String {
    jiff::Timestamp::try_from(time).map(|time| time.to_string()).unwrap_or_default()
}
