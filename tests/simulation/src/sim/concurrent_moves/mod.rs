//! Several writers of the API at the same time. The fan-out runs beside them, ran only before them, or never runs.

mod judge;
mod operations;

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use sapwood_core::fanout::StreamRecord;
use sapwood_core::model::Settings;
use sapwood_core::plan::{Rule, Rules};
use sapwood_engine::fanout::{Fanout, Report};

use super::calls::{Calls, Shared, SimRetryPolicy, SimTable};
use super::clock;
use super::schedule::{Fault, Run, passes_filter};
use crate::oracle::Oracle;
use judge::Judge;
use operations::{Answer, Operation, Operations};

/// A kind of run.
#[derive(Clone, Debug)]
pub struct MoveProfile {
    /// The rule of the protocol that is broken, if one is.
    pub broken: Option<Rule>,
    /// True if a run has only moves, in a deep tree, and no call fails. That makes rare cycles less rare.
    pub moves_alone: bool,
    /// Most operations that one caller sends as a batch.
    pub batch_max: usize,
    /// Most operations of a run.
    pub operations_max: usize,
    /// Most calls of a run that fail.
    pub failures_max: usize,
    /// Most scheduler steps of a run. After them the run counts as one that doesn't come to rest.
    pub steps_max: usize,
}

impl Default for MoveProfile {
    fn default() -> Self {
        Self { broken: None, moves_alone: false, batch_max: 1, operations_max: 12, failures_max: 8, steps_max: 40_000 }
    }
}

/// What the fan-out does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stream {
    /// The fan-out never runs. There are no lineages.
    Never,
    /// The fan-out places the first tree and then stops. Lineages become outdated.
    Before,
    /// The fan-out runs all the time.
    Always,
}

enum Ended {
    Batch(Vec<(usize, Answer)>),
    Fanout(Report),
}

struct Task {
    future: Pin<Box<dyn Future<Output = Ended> + Send>>,
    records: Vec<StreamRecord>,
    begun_at: u64,
}

struct World {
    calls: Shared,
    rules: Rules,
    queue: Vec<StreamRecord>,
    tasks: BTreeMap<u64, Task>,
    /// How often time passes yet.
    passes_left: usize,
    next: u64,
    workers: usize,
    batch_max: usize,
    fanout: bool,
    /// True if tasks may die.
    dies: bool,
    judge: Judge,
}

/// Runs one schedule.
///
/// # Errors
/// A [`Fault`] with what is wrong.
pub fn run_moves(seed: u64, profile: &MoveProfile) -> Result<Run, Fault> {
    let mut rng = SmallRng::seed_from_u64(seed);
    let Operations { before, operations } = operations::operations(&mut rng, profile);
    let stream = [Stream::Never, Stream::Before, Stream::Always, Stream::Always][rng.random_range(0..4)];
    let failure_percent = if profile.moves_alone { 0 } else { [0, 0, 5, 20][rng.random_range(0..4)] };
    let stall_percent = [0, 5, 15][rng.random_range(0..3)];
    let workers = rng.random_range(2..=6);
    let mut world = World {
        calls: Arc::new(Mutex::new(Calls::new(rng, 0, failure_percent, stall_percent))),
        rules: profile.broken.map_or_else(Rules::default, Rules::without),
        queue: Vec::new(),
        tasks: BTreeMap::new(),
        passes_left: 0,
        next: 0,
        workers,
        batch_max: profile.batch_max,
        fanout: stream != Stream::Never,
        dies: false,
        judge: Judge::new(operations.clone(), failure_percent == 0),
    };
    let fault = |what: Vec<String>| Fault { seed, what };
    let mut steps = 0;
    for (key, item) in before {
        world.calls.lock().unwrap().noting(None, |calls| calls.memory.write(&key, Some(item)));
    }
    world.settle(&mut Vec::new(), &mut steps, profile.steps_max).map_err(&fault)?;
    world.judge.begin();
    world.fanout = stream == Stream::Always;
    world.dies = failure_percent > 0;
    world.passes_left = if world.dies { 3 } else { 0 };
    world.calls.lock().unwrap().failures_left = profile.failures_max;
    let mut left: Vec<(usize, Operation)> = operations.into_iter().enumerate().rev().collect();
    world.settle(&mut left, &mut steps, profile.steps_max).map_err(&fault)?;
    let contents = world.calls.lock().unwrap().memory.contents();
    let mut what = world.judge.verdict(&contents);
    what.extend(world.calls.lock().unwrap().history.faults());
    if stream == Stream::Always {
        what.extend(Oracle::default().differences(&contents));
    }
    let trace = world.calls.lock().unwrap().trace;
    if what.is_empty() { Ok(Run { steps, trace }) } else { Err(fault(what)) }
}

impl World {
    fn roll(&self, below: usize) -> usize {
        self.calls.lock().unwrap().rng.random_range(0..below)
    }

    fn settle(
        &mut self,
        left: &mut Vec<(usize, Operation)>,
        steps: &mut usize,
        steps_max: usize,
    ) -> Result<(), Vec<String>> {
        loop {
            *steps += 1;
            if *steps > steps_max {
                return Err(vec!["the run doesn't come to rest".to_owned()]);
            }
            self.take_records()?;
            if left.is_empty() && self.queue.is_empty() && self.tasks.is_empty() {
                return Ok(());
            }
            let waiting = self.calls.lock().unwrap().waiting();
            let can_start = !left.is_empty() && self.tasks.len() < self.workers;
            let can_fan_out = !self.queue.is_empty() && self.tasks.len() < self.workers + 2;
            match self.roll(100) {
                0..=7 if can_start => self.start(left),
                8..=13 if can_fan_out => self.fan_out(),
                14 if self.dies && !self.tasks.is_empty() => self.crash(),
                15 if self.passes_left > 0 => self.pass()?,
                _ if waiting > 0 => {
                    let task = self.calls.lock().unwrap().step(None);
                    self.poll(task);
                }
                _ if can_start => self.start(left),
                _ if can_fan_out => self.fan_out(),
                _ => {}
            }
        }
    }

    /// Takes the records of the table's stream, and shows each to the judge.
    fn take_records(&mut self) -> Result<(), Vec<String>> {
        let mut calls = self.calls.lock().unwrap();
        let records: Vec<StreamRecord> = calls.memory.stream.drain(..).collect();
        let mut what = Vec::new();
        for record in &records {
            what.extend(self.judge.look(record));
        }
        if self.fanout {
            self.queue.extend(records.into_iter().filter(|record| passes_filter(&record.key.sk)));
        }
        if what.is_empty() { Ok(()) } else { Err(what) }
    }

    fn start(&mut self, left: &mut Vec<(usize, Operation)>) {
        let size = if self.batch_max > 1 { self.roll(self.batch_max) + 1 } else { 1 };
        let batch: Vec<(usize, Operation)> = left.drain(left.len().saturating_sub(size)..).rev().collect();
        let (calls, rules) = (Arc::clone(&self.calls), self.rules);
        let id = self.next;
        self.spawn(Vec::new(), async move { Ended::Batch(operations::run(batch, id, calls, rules).await) });
    }

    fn fan_out(&mut self) {
        let size = self.roll(6) + 1;
        let item = |record: &StreamRecord| record.key.clone();
        let mut blocked: BTreeSet<_> = self.tasks.values().flat_map(|task| &task.records).map(item).collect();
        let (mut records, mut left) = (Vec::new(), Vec::new());
        for record in std::mem::take(&mut self.queue) {
            if records.len() < size && !blocked.contains(&record.key) && self.roll(3) > 0 {
                records.push(record);
            } else {
                blocked.insert(record.key.clone());
                left.push(record);
            }
        }
        self.queue = left;
        if records.is_empty() {
            return;
        }
        let (calls, batch, id) = (Arc::clone(&self.calls), records.clone(), self.next);
        let now = self.now();
        self.spawn(records, async move {
            let table = SimTable { calls: Arc::clone(&calls), invocation: id };
            let fanout = Fanout { settings: Settings::default(), ..Fanout::default() };
            let name = id.to_string();
            let run = sapwood_engine::fanout::Run { name: &name, now };
            Ended::Fanout(fanout.run(&table, &SimRetryPolicy(calls), run, &batch).await)
        });
    }

    fn spawn(&mut self, records: Vec<StreamRecord>, future: impl Future<Output = Ended> + Send + 'static) {
        let id = self.next;
        self.next += 1;
        let begun_at = self.now();
        self.tasks.insert(id, Task { future: Box::pin(future), records, begun_at });
        self.poll(id);
    }

    fn poll(&mut self, id: u64) {
        let Some(task) = self.tasks.get_mut(&id) else { return };
        let mut context = Context::from_waker(Waker::noop());
        let Poll::Ready(ended) = task.future.as_mut().poll(&mut context) else { return };
        let records = self.tasks.remove(&id).unwrap().records;
        match ended {
            Ended::Batch(answers) => {
                answers.into_iter().for_each(|(number, answer)| self.judge.answered(number, answer));
            }
            Ended::Fanout(report) => {
                let from = records.iter().position(|r| report.failed.contains(&r.sequence)).unwrap_or(records.len());
                self.requeue(&records[from..]);
            }
        }
    }

    fn requeue(&mut self, records: &[StreamRecord]) {
        self.queue.extend_from_slice(records);
        self.queue.sort_by(|a, b| a.sequence.cmp(&b.sequence));
    }

    fn crash(&mut self) {
        let position = self.roll(self.tasks.len() * 8);
        let Some(&id) = self.tasks.keys().nth(position) else { return };
        self.end(id);
    }

    fn now(&self) -> u64 {
        self.calls.lock().unwrap().now
    }

    /// Time passes. Functions end that have run for as long as they may.
    fn pass(&mut self) -> Result<(), Vec<String>> {
        self.passes_left -= 1;
        let seconds = clock::JUMPS[self.roll(clock::JUMPS.len())];
        self.calls.lock().unwrap().now += seconds;
        let now = self.now();
        let most = |task: &Task| {
            if task.records.is_empty() { clock::API_SECONDS_MAX } else { clock::HANDLER_SECONDS_MAX }
        };
        let is_over = |(_, task): &(&u64, &Task)| now - task.begun_at > most(task);
        let over: Vec<u64> = self.tasks.iter().filter(is_over).map(|(id, _)| *id).collect();
        for id in over {
            self.end(id);
            self.take_records()?;
        }
        Ok(())
    }

    /// A function dies, or its time is up.
    fn end(&mut self, id: u64) {
        let task = self.tasks.remove(&id).unwrap();
        drop(task.future);
        self.calls.lock().unwrap().crash(id);
        self.requeue(&task.records);
    }
}
