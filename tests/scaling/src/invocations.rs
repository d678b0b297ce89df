//! What the model doesn't compute but asks the handler itself: how many round trips one after another a batch and a
//! slice take, and how long an import takes on a table with little bandwidth.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Mutex;

use futures::stream::{FuturesUnordered, StreamExt};
use sapwood_core::fanout::StreamRecord;
use sapwood_core::keys::{Id, ItemKey, NodeRef, Schema};
use sapwood_core::model::{DELETING, DeletionMark, DeletionMode, Item, Settings, Totals, text};
use sapwood_engine::fanout::{Fanout, Limits, Run};
use sapwood_simulation::fixture::Fixture;
use sapwood_simulation::intercept::{Intercept, Observer, Request};
use sapwood_simulation::memory::{Admitting, MemoryTable};
use sapwood_simulation::oracle::Oracle;
use sapwood_store::{BATCH_WRITE_ITEMS_MAX, NoRetries, Table, TableError, Write};

use crate::clock::{Bandwidth, Clock, Invocation, Latency};
use crate::table::Partitions;
use crate::work::{Order, Work, mixed};

/// What happens to a node with many children.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wide {
    /// It goes to another parent.
    Moves,
    /// It is deleted with its subtree.
    Goes,
}

/// Runs the handler on records. Every request takes a tick. Returns the ticks.
fn ticks(fixture: &Fixture, limits: Limits, records: &[StreamRecord]) -> u64 {
    let observer = Latency::default();
    let clock = observer.0.clone();
    let table = Intercept { table: fixture.table().clone(), observer };
    let fanout = Fanout { limits, ..Fanout::default() };
    let report = clock.run(fanout.run(&table, &NoRetries, Run { name: "model", now: 0 }, records));
    assert_eq!(report.failed, Vec::<String>::new(), "{:?}", report.problems);
    clock.now()
}

/// The round trips one after another of a batch that creates so many nodes below one parent at this depth.
#[must_use]
pub fn of_a_batch(nodes: usize, depth: usize) -> u64 {
    let mut fixture = Fixture::default();
    for n in 0..depth {
        fixture.put_node(&format!("a{n}"), n.checked_sub(1).map(|n| format!("a{n}")).as_deref(), &[]);
    }
    fixture.settle();
    for n in 0..nodes {
        fixture.put_node(&format!("n{n}"), depth.checked_sub(1).map(|n| format!("a{n}")).as_deref(), &[]);
    }
    let records = fixture.take_records();
    ticks(&fixture, Limits::default(), &records)
}

/// The round trips one after another of one slice of the children of a wide node.
///
/// # Panics
/// If the node isn't dealt with in slices.
#[must_use]
pub fn of_a_slice(wide: Wide, limits: Limits) -> u64 {
    let mut fixture = Fixture::default().limited(limits);
    for id in ["from", "to"] {
        fixture.put_node(id, None, &[]);
    }
    fixture.put_node("wide", Some("from"), &[]);
    let slice = match wide {
        Wide::Moves => limits.touch_slice_items_max,
        Wide::Goes => limits.action_slice_items_max,
    };
    for n in 0..=3 * slice {
        fixture.put_node(&format!("n{n}"), Some("wide"), &[]);
    }
    fixture.settle();
    match wide {
        Wide::Moves => fixture.put_node("wide", Some("to"), &[]),
        Wide::Goes => {
            let mark = DeletionMark {
                mode: DeletionMode::Delete,
                operation: "operation".to_owned(),
                revisions: false,
                mark: None,
            };
            let node = fixture.schema().names().node.clone();
            fixture.update("wide", &node, DELETING, Some(mark.value()));
        }
    }
    let cursor = fixture.schema().cascade_key(&NodeRef::from(Id::new("wide").unwrap()));
    let mut queue: VecDeque<StreamRecord> = VecDeque::new();
    let mut slices = 0;
    loop {
        queue.extend(fixture.take_records());
        let record = queue.pop_front().expect("a wide node is dealt with in slices");
        // The slices in the middle are alike.
        slices += usize::from(record.key == cursor);
        if slices == 2 {
            return ticks(&fixture, limits, &[record]);
        }
        fixture.deliver(&[record]);
    }
}

/// A table that keeps totals.
fn counting() -> Fixture {
    Fixture::new(Settings { totals: Some(Totals::default()), ..Settings::default() }, Oracle::default())
}

/// What is done to the transactions that count nodes.
#[derive(Debug, Default)]
struct Transactions {
    clock: Clock,
    seen: Mutex<SeenTransactions>,
}

#[derive(Debug, Default)]
struct SeenTransactions {
    /// The keys of the actions of those that were carried out.
    done: Vec<ItemKey>,
    attempts: usize,
    held: usize,
    /// The items of those that are under way.
    locked: BTreeSet<ItemKey>,
    /// The first items of those that meet another.
    refused: BTreeSet<ItemKey>,
}

impl Observer for Transactions {
    /// A request takes a tick. A transaction takes two, and in the second nobody else can have its items.
    async fn before(&self, request: &Request<'_>) {
        self.clock.sleep(1).await;
        let Request::Transact(actions) = request else { return };
        {
            let mut seen = self.seen.lock().unwrap();
            seen.attempts += 1;
            if actions.iter().any(|action| seen.locked.contains(action.key())) {
                seen.refused.insert(actions[0].key().clone());
                return;
            }
            seen.locked.extend(actions.iter().map(|action| action.key().clone()));
        }
        self.clock.sleep(1).await;
    }

    fn refuses(&self, request: &Request<'_>) -> Option<TableError> {
        let Request::Transact(actions) = request else { return None };
        let is_refused = self.seen.lock().unwrap().refused.remove(actions[0].key());
        is_refused.then(|| TableError::conflict("another transaction"))
    }

    fn after(&self, request: &Request<'_>) {
        let Request::Transact(actions) = request else { return };
        let mut seen = self.seen.lock().unwrap();
        seen.held += 1;
        for action in *actions {
            seen.locked.remove(action.key());
            seen.done.push(action.key().clone());
        }
    }
}

/// The units that totals add to the create of a node at depth 4 below one root, in all and in the root's collection,
/// where batches have so many nodes.
#[must_use]
pub fn of_totals(order: Order, batch: usize) -> [f64; 2] {
    let forest = Work { order, ..Work::import(11_111, 1) };
    let (first, _) = forest.level(11_110);
    let mut fixture = counting();
    let put = |fixture: &mut Fixture, number: u64| {
        let parent = forest.parent(number).map(|parent| forest.id(parent).to_string());
        fixture.put_node(forest.id(number).as_str(), parent.as_deref(), &[]);
    };
    (0..first).for_each(|number| put(&mut fixture, number));
    fixture.settle();
    let nodes = BATCHES_COUNTED * batch.max(10);
    // In random order a batch has nodes of the whole level.
    let numbers: Vec<u64> = (first..first + nodes as u64).map(|position| forest.at(position)).collect();
    let table = Intercept { table: fixture.table().clone(), observer: Transactions::default() };
    let clock = table.observer.clock.clone();
    for some in numbers.chunks(batch) {
        some.iter().for_each(|number| put(&mut fixture, *number));
        let records = fixture.take_records();
        let (invocation, run) = (Invocation(&clock, clock.now()), Run { name: "model", now: 0 });
        let fanout = Fanout { settings: fixture.settings().clone(), ..Fanout::default() };
        let report = clock.run(fanout.run(&table, &invocation, run, &records));
        assert_eq!(report.failed, Vec::<String>::new(), "{:?}", report.problems);
        let _ = fixture.take_records();
    }
    let done = &table.observer.seen.lock().unwrap().done;
    let root = forest.id(0);
    let counted = numbers.iter().collect::<BTreeSet<_>>().len() as f64;
    let of_root = done.iter().filter(|key| key.pk == root.as_str()).count();
    [done.len(), of_root].map(|actions| (2 * actions) as f64 / counted)
}

/// How many batches stand for all.
const BATCHES_COUNTED: usize = 10;

/// How often a transaction is sent until it is done, where so many invocations side by side create nodes below one
/// root, each in batches of so many nodes.
#[must_use]
pub fn attempts(writers: usize, batch: usize) -> f64 {
    let mut fixture = counting();
    fixture.put_node("root", None, &[]);
    (0..PARENTS).for_each(|n| fixture.put_node(&format!("p{n}"), Some("root"), &[]));
    fixture.settle();
    let table = Intercept { table: fixture.table().clone(), observer: Transactions::default() };
    let clock = table.observer.clock.clone();
    let mut batches = Vec::new();
    for writer in 0..writers {
        let of_writer = (0..BATCHES_COUNTED).map(|number| {
            for n in 0..batch {
                let parent = mixed((writer * 1_000_000 + number * 1_000 + n) as u64) % PARENTS;
                fixture.put_node(&format!("w{writer}.{number}.{n}"), Some(&format!("p{parent}")), &[]);
            }
            fixture.take_records()
        });
        batches.push(of_writer.collect::<Vec<_>>());
    }
    let fanout = Fanout { settings: fixture.settings().clone(), ..Fanout::default() };
    let (fanout, table, at) = (&fanout, &table, &clock);
    let writer = |(writer, batches): (usize, Vec<Vec<StreamRecord>>)| async move {
        // They don't begin at one moment.
        at.sleep(mixed(writer as u64) % 10).await;
        for (number, records) in batches.iter().enumerate() {
            let name = format!("{:x}", mixed((writer * 1_000 + number) as u64));
            let invocation = Invocation(at, at.now());
            let report = fanout.run(table, &invocation, Run { name: &name, now: 0 }, records).await;
            assert_eq!(report.failed, Vec::<String>::new(), "{:?}", report.problems);
        }
    };
    clock.run(
        batches.into_iter().enumerate().map(writer).map(Box::pin).collect::<FuturesUnordered<_>>().collect::<Vec<()>>(),
    );
    let seen = table.observer.seen.lock().unwrap();
    seen.attempts as f64 / seen.held as f64
}

/// The children of the root below which nodes are created.
const PARENTS: u64 = 10;

/// What an import took on a table with little bandwidth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Narrowed {
    /// The seconds.
    pub seconds: u64,
    /// The write units.
    pub units: usize,
    /// The invocations of the handler.
    pub invocations: usize,
}

/// Imports a small forest through the handler itself, level by level, in batches that so many lanes handle side by
/// side. Each partition of the table takes so many units a second, and else nothing takes time.
#[must_use]
pub fn narrowed(work: &Work, partitions: &Partitions, units: usize, lanes: usize, batch: usize) -> Narrowed {
    let clock = Clock::default();
    let bandwidth = Bandwidth::new(&clock, partitions, units);
    let memory = MemoryTable(std::sync::Arc::default(), Schema::default());
    let table = Admitting(&memory, &bandwidth);
    let invocations = Mutex::new(0);
    let (mut first, mut end) = (0, 0);
    while end < work.nodes {
        (first, end) = work.level(first.max(end));
        let level: Vec<u64> = (first..end).collect();
        let batches = Mutex::new(level.chunks(batch));
        let next = || batches.lock().unwrap().next();
        let lane = || async {
            while let Some(nodes) = next() {
                let mut left: Vec<Write> = nodes.iter().map(|n| put(work, *n)).collect();
                let mut records: Vec<StreamRecord> = left.iter().map(record).collect();
                while !left.is_empty() {
                    let mut unprocessed = Vec::new();
                    for writes in left.chunks(BATCH_WRITE_ITEMS_MAX) {
                        unprocessed.extend(table.write_many(writes).await.unwrap().value);
                    }
                    left = unprocessed;
                    if !left.is_empty() {
                        clock.sleep(1).await;
                    }
                }
                while !records.is_empty() {
                    *invocations.lock().unwrap() += 1;
                    let invocation = Invocation(&clock, clock.now());
                    let run = Run { name: "model", now: 0 };
                    let report = Fanout::default().run(&table, &invocation, run, &records).await;
                    let failed = records.iter().position(|record| report.failed.contains(&record.sequence));
                    records.drain(..failed.unwrap_or(records.len()));
                }
            }
        };
        clock.run((0..lanes).map(|_| Box::pin(lane())).collect::<FuturesUnordered<_>>().collect::<Vec<()>>());
    }
    Narrowed { seconds: clock.now(), units: bandwidth.written(), invocations: invocations.into_inner().unwrap() }
}

/// The put of a node's base record.
fn put(work: &Work, number: u64) -> Write {
    let names = work.settings.schema.names();
    let key: ItemKey = work.writes(number).clients.remove(0);
    let mut item = Item::from([(names.partition_key.clone(), text(&key.pk)), (names.sort_key.clone(), text(&key.sk))]);
    item.extend(work.parent(number).map(|parent| (names.parent.clone(), text(work.id(parent).as_str()))));
    Write::Put { key, item }
}

/// Its stream record. A name stands for the sequence number.
fn record(write: &Write) -> StreamRecord {
    let Write::Put { key, item } = write else { unreachable!("base records are put") };
    let event = sapwood_core::fanout::Event::Insert;
    StreamRecord { key: key.clone(), sequence: key.pk.clone(), event, old: None, new: Some(item.clone()) }
}
