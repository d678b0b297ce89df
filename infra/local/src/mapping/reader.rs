//! The reader of one shard.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::filter::{Filter, Verdict};
use crate::record::Record;
use crate::stream::{From, ShardPage, StreamError};

use super::batch::Delivery;
use super::context::Context;
use super::worker::Worker;
use super::{Function, Seen};

/// Reads a shard to its end and gives its records to workers.
pub(super) struct Reader<F> {
    context: Arc<Context<F>>,
    shard: Arc<str>,
    from: From,
    workers: Vec<mpsc::UnboundedSender<Vec<Delivery>>>,
}

/// The next step of a reader after a read.
enum Then {
    ReadOn(String),
    Wait(String),
    StartOver,
    BackOff,
    Close,
}

impl<F: Function> Reader<F> {
    pub(super) fn new(context: Arc<Context<F>>, shard: &str, from: From) -> Self {
        Reader { context, shard: Arc::from(shard), from, workers: Vec::new() }
    }

    /// Reads the shard, until it is closed and all its records are handled, or the mapping is stopped.
    pub(super) async fn run(mut self) {
        let mut handling = JoinSet::new();
        for _ in 0..self.context.settings.source.parallelization_factor {
            let (worker, queue) = mpsc::unbounded_channel();
            self.workers.push(worker);
            let (context, shard) = (Arc::clone(&self.context), Arc::clone(&self.shard));
            handling.spawn(Worker { context, shard, queue, waiting: VecDeque::new() }.run());
        }
        let is_closed = self.read_all().await.is_some();
        self.workers.clear();
        while handling.join_next().await.is_some() {}
        if is_closed && !self.context.is_stopped() {
            self.context.progress.ended(&self.shard);
        }
    }

    /// Reads to the shard's end. Returns `None` if the mapping was stopped.
    async fn read_all(&mut self) -> Option<()> {
        let context = Arc::clone(&self.context);
        let pace = context.settings.pace;
        let mut iterator = None;
        let mut failures_in_a_row = 0;
        let mut idle_reads = 0_u32;
        loop {
            tokio::select! {
                biased;
                () = context.stopped() => return None,
                () = context.progress.below(&self.shard, pace.records_ahead_max) => {}
            }
            let then = self.read_once(iterator.take()).await;
            failures_in_a_row = if matches!(then, Then::BackOff) { failures_in_a_row + 1 } else { 0 };
            idle_reads = if matches!(then, Then::Wait(_)) { idle_reads.saturating_add(1) } else { 0 };
            match then {
                Then::ReadOn(next) => iterator = Some(next),
                Then::Wait(next) => {
                    iterator = Some(next);
                    tokio::select! {
                        pause = context.pause(pace.idle(idle_reads)) => pause?,
                        () = context.progress.woken() => idle_reads = 0,
                    }
                }
                Then::StartOver => {}
                Then::BackOff => context.pause(pace.backoff(failures_in_a_row)).await?,
                Then::Close => return Some(()),
            }
        }
    }

    async fn read_once(&mut self, iterator: Option<String>) -> Then {
        let began = self.context.progress.tick();
        let iterator = match iterator {
            Some(iterator) => iterator,
            None => match self.context.stream.iterator(&self.shard, &self.from).await {
                Ok(Some(iterator)) => iterator,
                Ok(None) => return Then::Close,
                Err(error) => return self.failed(error),
            },
        };
        match self.context.stream.read(&iterator).await {
            Ok(ShardPage { records, next }) => {
                let is_empty = records.is_empty();
                self.take(records);
                match next {
                    None => Then::Close,
                    Some(next) if is_empty => {
                        self.context.progress.drained(&self.shard, began);
                        Then::Wait(next)
                    }
                    Some(next) => Then::ReadOn(next),
                }
            }
            Err(error) => self.failed(error),
        }
    }

    fn failed(&mut self, error: StreamError) -> Then {
        match (error, &self.from) {
            // Records may have come since the iterator was made at the shard's end. The oldest record on misses none.
            (StreamError::Expired, From::Now) => self.from = From::Oldest,
            (StreamError::Expired, _) => {}
            (StreamError::Trimmed, From::After(number)) => {
                self.context.trouble(format!("records after {number} are no longer in the stream"));
                self.from = From::Oldest;
            }
            (error, _) => {
                self.context.trouble(format!("the stream can't be read: {error}"));
                return Then::BackOff;
            }
        }
        Then::StartOver
    }

    /// Gives the records that pass the filter to their workers.
    fn take(&mut self, records: Vec<Record>) {
        let Some(last) = records.last() else { return };
        self.from = From::After(last.sequence_number.clone());
        let context = &self.context;
        let wanted: Vec<bool> = records.iter().map(|record| is_wanted(&context.filter, record)).collect();
        if let Some(watcher) = &context.settings.watcher {
            // Records without a change are the engine's own doing.
            let changes = records.iter().zip(&wanted).filter(|(record, _)| !record.changes_nothing());
            watcher(&mut changes.map(|(record, &is_wanted)| {
                let (event, [old, new]) = (record.event_name(), record.images());
                Seen { event, keys: record.keys(), old, new, is_wanted }
            }));
        }
        let read = records.iter().zip(&wanted).map(|(record, &wanted)| (record.sequence_number.clone(), wanted));
        let numbers = context.progress.admit(&self.shard, read.collect());

        let mut sorted: Vec<Vec<Delivery>> = self.workers.iter().map(|_| Vec::new()).collect();
        let wanted = records.into_iter().zip(wanted).filter_map(|(record, wanted)| wanted.then_some(record));
        for (record, number) in wanted.zip(numbers) {
            let keys = record.keys().to_string();
            // Lambda chooses by partition key, but a function can rely on order per item only.
            let worker = worker_of(&keys, sorted.len());
            sorted[worker].push(Delivery {
                number,
                keys,
                // No value of an event can fail to be JSON.
                text: serde_json::to_string(&record.event()).unwrap_or_default(),
                sequence_number: record.sequence_number,
                created: record.created,
            });
        }
        for (worker, deliveries) in self.workers.iter().zip(sorted) {
            if !deliveries.is_empty() {
                // A worker ends only when the mapping is stopped. Its records are delivered again after the restart.
                let _ = worker.send(deliveries);
            }
        }
    }
}

/// Returns true if the function gets the record. The keys come first: they drop most records, those of rows.
fn is_wanted(filter: &Filter, record: &Record) -> bool {
    let passes = match filter.judge(&record.keys()) {
        Verdict::Passes => true,
        Verdict::Rejected => false,
        Verdict::AsksForMore => serde_json::to_value(record.event()).is_ok_and(|event| filter.passes(&event)),
    };
    passes && !record.changes_nothing()
}

fn worker_of(keys: &str, workers: usize) -> usize {
    let mut hasher = DefaultHasher::new();
    keys.hash(&mut hasher);
    // The remainder is less than `workers`.
    usize::try_from(hasher.finish() % workers.max(1) as u64).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use aws_sdk_dynamodbstreams::types::{self, AttributeValue, StreamRecord};

    use super::*;
    use crate::record::EVENTS;

    fn record(sk: &str, name: &str) -> Record {
        let s = |text: &str| AttributeValue::S(text.to_owned());
        let change = StreamRecord::builder().keys("PK", s("a")).keys("SK", s(sk)).new_image("name", s(name)).build();
        Record::new("arn".into(), types::Record::builder().dynamodb(change).build())
    }

    /// Returns the sort keys of the records that are wanted, and of how many records an event was made.
    fn wanted(pattern: &str) -> (Vec<&'static str>, usize) {
        let filter = Filter::new(&[pattern]).unwrap();
        let before = EVENTS.get();
        let keys = ["NODE", "LINEAGE", "001#a", "002#b", "@path"];
        let wanted = keys.into_iter().filter(|sk| is_wanted(&filter, &record(sk, sk))).collect();
        (wanted, EVENTS.get() - before)
    }

    #[test]
    fn no_event_is_made_of_a_record_that_the_keys_decide_on() {
        let found = wanted(r#"{"dynamodb": {"Keys": {"SK": {"S": ["NODE", {"prefix": "LIN"}]}}}}"#);
        assert_eq!(found, (vec!["NODE", "LINEAGE"], 0));
    }

    #[test]
    fn a_pattern_that_asks_for_images_gets_them_of_the_records_whose_keys_match() {
        let found = wanted(
            r#"{"dynamodb": {"Keys": {"SK": {"S": [{"prefix": "00"}]}}, "NewImage": {"name": {"S": [{"suffix": "b"}]}}}}"#,
        );
        assert_eq!(found, (vec!["002#b"], 2));
        let found = wanted(r#"{"dynamodb": {"NewImage": {"name": {"S": [{"anything-but": "NODE"}]}}}}"#);
        assert_eq!(found, (vec!["LINEAGE", "001#a", "002#b", "@path"], 5));
    }
}
