//! What the model doesn't compute but asks the handler itself: how many round trips one after another a batch and a
//! slice take, and how long an import takes on a table with little bandwidth.

use std::collections::VecDeque;
use std::sync::Mutex;

use futures::stream::{FuturesUnordered, StreamExt};
use sapwood_core::fanout::StreamRecord;
use sapwood_core::keys::{Id, ItemKey, NodeRef, Schema};
use sapwood_core::model::{DELETING, DeletionMark, DeletionMode, Item, text};
use sapwood_engine::fanout::{Fanout, Limits, Run};
use sapwood_simulation::fixture::Fixture;
use sapwood_simulation::intercept::Intercept;
use sapwood_simulation::memory::{Admitting, MemoryTable};
use sapwood_table::{BATCH_WRITE_ITEMS_MAX, NoRetries, Table, Write};

use crate::clock::{Bandwidth, Clock, Invocation, Latency};
use crate::table::Partitions;
use crate::work::Work;

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
    let table = Admitting(&memory, |writes: &[Write]| bandwidth.admit(writes));
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
