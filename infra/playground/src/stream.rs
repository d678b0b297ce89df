//! The table's stream, and the stream handler on it: what a Lambda event source mapping does, and what the explorer's
//! trials do to the handler.

use std::collections::VecDeque;
use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt};
use sapwood_core::fanout::StreamRecord;
use sapwood_engine::fanout::{Fanout, Report, Run};
use sapwood_explorer::live::{Record, handled, milliseconds, read};
use sapwood_explorer::{Feed, Trial, Trials};
use sapwood_store::Deadline;
use sapwood_store::clock::{Instant, now, since_1970};
use serde_json::{Value, json};

use crate::source::name;
use crate::table::{Patience, Turn, Turns};

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
    has_begun: bool,
    is_second: bool,
    turn: Turn,
    report: BoxFuture<'static, Report>,
}

impl Stream {
    /// A stream whose records are there at once.
    pub(crate) fn at_once(table: Turns, fanout: Fanout) -> Self {
        let (feed, trials, latency) = (Feed::new(), Arc::default(), Duration::ZERO);
        let (next_read, next_try, waiting) = (now(), now(), VecDeque::new());
        Self { table, fanout, feed, trials, latency, next_read, next_try, waiting, running: None }
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
        let memory = self.table.table.0.lock().unwrap_or_else(PoisonError::into_inner);
        self.running.is_none() && self.waiting.is_empty() && memory.stream.is_empty()
    }

    /// Goes on by one step: reads the stream, and polls the handler.
    pub(crate) fn step(&mut self) {
        if now() >= self.next_read {
            self.read();
        }
        if self.running.is_none() && !self.waiting.is_empty() && now() >= self.next_try {
            let count = self.waiting.len().min(BATCH_RECORDS_MAX);
            let batch = self.waiting.drain(..count).collect();
            self.running = Some(self.invocation(batch, self.trials.next(), false));
        }
        let Some(mut one) = self.running.take_if(|one| one.begins <= now()) else { return };
        if !std::mem::replace(&mut one.has_begun, true) {
            self.tell(&one.batch, json!({"type": "begun"}));
        }
        let polled = one.report.poll_unpin(&mut Context::from_waker(Waker::noop()));
        if one.turn.is_dead() {
            self.trials.died();
            self.tell(&one.batch, json!({"type": "killed", "writes": one.trial.dies_after}));
            return self.again(one.batch);
        }
        match polled {
            Poll::Ready(report) => self.ended(one, &report),
            Poll::Pending => self.running = Some(one),
        }
    }

    fn read(&mut self) {
        let records = std::mem::take(&mut self.table.table.0.lock().unwrap_or_else(PoisonError::into_inner).stream);
        if records.is_empty() {
            return;
        }
        self.next_read = now() + self.latency;
        let schema = &self.fanout.settings.schema;
        let goes_on = |record: &StreamRecord| schema.passes_filter(&record.key.sk);
        self.feed.send(|| {
            let seen = records.iter().map(|record| {
                let (event, goes_on) = (["INSERT", "MODIFY", "REMOVE"][record.event as usize], goes_on(record));
                let StreamRecord { key, old, new, .. } = record.clone();
                Record { event, key, old, new, goes_on }
            });
            read(seen, schema)
        });
        self.waiting.extend(records.into_iter().filter(goes_on));
    }

    fn invocation(&self, batch: Vec<StreamRecord>, trial: Trial, is_second: bool) -> Invocation {
        let (fanout, records, has_time) = (self.fanout.clone(), batch.clone(), !self.latency.is_zero());
        let turn = self.table.observer.dying_after(trial.dies_after);
        let table = Turns { table: self.table.table.clone(), observer: turn.clone() };
        let report = Box::pin(async move {
            let name = name();
            let run = Run { name: &name, now: since_1970().as_secs() };
            let patience = Patience(has_time.then(|| Deadline::after(INVOCATION_TIME)));
            fanout.run(&table, &patience, run, records).await
        });
        if !trial.late_by.is_zero() {
            self.tell(&batch, json!({"type": "held", "milliseconds": milliseconds(trial.late_by)}));
        }
        Invocation { batch, trial, begins: now() + trial.late_by, has_begun: false, is_second, turn, report }
    }

    fn ended(&mut self, one: Invocation, report: &Report) {
        self.tell(&one.batch, handled(report, now().saturating_duration_since(one.begins), one.is_second));
        let Invocation { mut batch, trial, is_second, .. } = one;
        if trial.twice && !is_second {
            self.running = Some(self.invocation(batch, Trial { late_by: Duration::ZERO, ..trial }, true));
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
