//! The table's stream, and the stream handler on it: what a Lambda event source mapping does, and what the explorer's
//! trials do to the handler.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use sapwood_core::fanout::{Event, StreamRecord};
use sapwood_engine::fanout::{Fanout, Report, Run};
use sapwood_explorer::live::{Record, handled, milliseconds, read};
use sapwood_explorer::{Feed, Trial, Trials};
use sapwood_store::Deadline;
use sapwood_store::clock::{Instant, now, since_1970};
use serde_json::{Value, json};

use crate::source::name;
use crate::table::{Life, Patience, Turns};

/// The most records of a batch, as the template has it.
const BATCH_RECORDS_MAX: usize = 100;
/// How long a record takes to the handler: about as long as on AWS.
const LATENCY: Duration = Duration::from_millis(150);
/// How long a batch that failed waits.
const PAUSE_LATENCIES: u32 = 4;
/// The time of an invocation.
const INVOCATION_TIME: Duration = Duration::from_secs(60);

/// The stream of a table, and the handler's invocation.
pub(crate) struct Stream {
    table: Turns,
    fanout: Fanout,
    pub(crate) feed: Feed,
    pub(crate) trials: Arc<Trials>,
    /// How long a record takes to the handler.
    latency: Duration,
    next_read: Instant,
    /// When the handler is tried again.
    next_try: Instant,
    /// The records that wait for the handler.
    waiting: VecDeque<StreamRecord>,
    running: Option<Invocation>,
}

struct Invocation {
    batch: Vec<StreamRecord>,
    trial: Trial,
    /// When it begins; later than now while the stream is held back.
    begins: Instant,
    /// None until it begins.
    begun: Option<Instant>,
    is_second: bool,
    life: Option<Life>,
    report: Pin<Box<dyn Future<Output = Report> + Send>>,
}

impl Stream {
    /// A stream whose records are there at once.
    pub(crate) fn at_once(table: Turns, fanout: Fanout) -> Self {
        let (feed, trials) = (Feed::new(), Arc::default());
        let (next_read, next_try, waiting) = (now(), now(), VecDeque::new());
        Self { table, fanout, feed, trials, latency: Duration::ZERO, next_read, next_try, waiting, running: None }
    }

    /// The same stream, with records that take their time.
    pub(crate) fn in_time(self) -> Self {
        Self { latency: LATENCY, ..self }
    }

    /// Goes on until nothing is on its way, on a stream whose records are there at once.
    pub(crate) fn settle(&mut self) {
        while !self.is_idle() {
            self.step();
        }
    }

    /// True if nothing is on its way.
    pub(crate) fn is_idle(&self) -> bool {
        let memory = self.table.memory.0.lock().unwrap_or_else(PoisonError::into_inner);
        self.running.is_none() && self.waiting.is_empty() && memory.stream.is_empty()
    }

    /// Goes on by one step: reads the stream, and polls the handler.
    pub(crate) fn step(&mut self) {
        self.read();
        if self.running.is_none() && !self.waiting.is_empty() && now() >= self.next_try {
            let count = self.waiting.len().min(BATCH_RECORDS_MAX);
            let batch = self.waiting.drain(..count).collect();
            let trial = self.trials.next();
            self.running = Some(self.invocation(batch, trial, false));
        }
        let Some(mut invocation) = self.running.take() else { return };
        if now() < invocation.begins {
            self.running = Some(invocation);
            return;
        }
        let begun = *invocation.begun.get_or_insert_with(|| {
            self.tell(&invocation.batch, json!({"type": "begun"}));
            now()
        });
        match invocation.report.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(report) => self.ended(invocation, &report, begun),
            Poll::Pending if invocation.life.as_ref().is_some_and(Life::is_over) => {
                self.trials.died();
                self.tell(&invocation.batch, json!({"type": "killed", "writes": invocation.trial.dies_after}));
                self.again(invocation.batch);
            }
            Poll::Pending => self.running = Some(invocation),
        }
    }

    fn read(&mut self) {
        if now() < self.next_read {
            return;
        }
        let mut memory = self.table.memory.0.lock().unwrap_or_else(PoisonError::into_inner);
        let records = std::mem::take(&mut memory.stream);
        drop(memory);
        if records.is_empty() {
            return;
        }
        self.next_read = now() + self.latency;
        let schema = &self.fanout.settings.schema;
        let goes_on = |record: &StreamRecord| schema.passes_filter(&record.key.sk);
        self.feed.send(|| {
            let seen = records.iter().map(|record| Record {
                event: match record.event {
                    Event::Insert => "INSERT",
                    Event::Modify => "MODIFY",
                    Event::Remove => "REMOVE",
                },
                key: record.key.clone(),
                old: record.old.clone(),
                new: record.new.clone(),
                goes_on: goes_on(record),
            });
            read(seen, schema)
        });
        self.waiting.extend(records.into_iter().filter(goes_on));
    }

    fn invocation(&self, batch: Vec<StreamRecord>, trial: Trial, is_second: bool) -> Invocation {
        let (fanout, records) = (self.fanout.clone(), batch.clone());
        let life = trial.dies_after.map(Life::of);
        let table = Turns { life: life.clone(), ..self.table.clone() };
        let time = (!self.latency.is_zero()).then_some(INVOCATION_TIME);
        let report = Box::pin(async move {
            let (name, patience) = (name(), Patience(time.map(Deadline::after)));
            let run = Run { name: &name, now: since_1970().as_secs() };
            fanout.run(&table, &patience, run, records).await
        });
        if !trial.late_by.is_zero() {
            self.tell(&batch, json!({"type": "held", "milliseconds": milliseconds(trial.late_by)}));
        }
        Invocation { batch, trial, begins: now() + trial.late_by, begun: None, is_second, life, report }
    }

    fn ended(&mut self, invocation: Invocation, report: &Report, begun: Instant) {
        let Invocation { mut batch, trial, is_second, .. } = invocation;
        self.tell(&batch, handled(report, begun.elapsed(), is_second));
        if trial.twice && !is_second {
            let trial = Trial { late_by: Duration::ZERO, ..trial };
            self.running = Some(self.invocation(batch, trial, true));
            return;
        }
        // The batch comes again from its first record that failed, as Lambda has it.
        if let Some(first) = batch.iter().position(|record| report.failed.contains(&record.sequence)) {
            self.again(batch.split_off(first));
        }
    }

    /// Delivers records again, after a pause, as the mapping does.
    fn again(&mut self, batch: Vec<StreamRecord>) {
        self.next_try = now() + self.latency * PAUSE_LATENCIES;
        batch.into_iter().rev().for_each(|record| self.waiting.push_front(record));
    }

    /// Tells the pages that watch what happens to a batch.
    fn tell(&self, batch: &[StreamRecord], mut event: Value) {
        self.feed.send(|| {
            event["items"] = batch.iter().map(|record| json!([record.key.pk, record.key.sk])).collect();
            event["count"] = json!(batch.len());
            event
        });
    }
}
