//! A batch whose rows don't fit the bandwidth of a partition within one invocation. Each invocation must do the front
//! of the batch, so that the checkpoint advances.

use std::sync::Mutex;

use sapwood_core::fanout::StreamRecord;
use sapwood_core::keys::{ItemKey, Schema};
use sapwood_core::model::{Item, item_bytes, text};
use sapwood_core::plan::{Rule, Rules, WritesKind};
use sapwood_engine::fanout::{Fanout, Limits, Report, Run};
use sapwood_simulation::fixture::at_once;
use sapwood_simulation::memory::{Admission, Admitted, Admitting, MemoryTable};
use sapwood_simulation::oracle::Oracle;
use sapwood_store::{ReadOptions, RetryPolicy, Write};

/// Read and write units a second.
#[derive(Clone, Copy, Debug)]
struct Units {
    reads: isize,
    writes: isize,
}

/// More than anybody needs.
const PLENTY: Units = Units { reads: isize::MAX / 2, writes: isize::MAX / 2 };

/// The bandwidth of the table, as one invocation sees it: it is shared with many others.
#[derive(Debug)]
struct Bandwidth {
    units: Units,
    /// The units that are left in this second, and the seconds that are left of the invocation.
    left: Mutex<(Units, usize)>,
}

/// The seconds of an invocation, and how many have to be left for rows to be put, and to be deleted.
const SECONDS: usize = 50;
const LEFT_FOR_MEANWHILE: usize = 35;
const LEFT_FOR_FIRST_ROWS: usize = 20;
const LEFT_FOR_SECOND_ROWS: usize = 10;

impl RetryPolicy for &Bandwidth {
    async fn wait(&self, _attempt: u32) -> bool {
        let (left, seconds) = &mut *self.left.lock().unwrap();
        left.reads = self.units.reads.min(left.reads + self.units.reads);
        left.writes = self.units.writes.min(left.writes + self.units.writes);
        *seconds = seconds.saturating_sub(1);
        *seconds > 0
    }

    fn has_time_for(&self, kind: WritesKind) -> bool {
        let reserved = match kind {
            WritesKind::Meanwhile { .. } => LEFT_FOR_MEANWHILE,
            WritesKind::FirstRows => LEFT_FOR_FIRST_ROWS,
            WritesKind::SecondRows | WritesKind::Touches => LEFT_FOR_SECOND_ROWS,
            WritesKind::Lineages => 0,
        };
        self.left.lock().unwrap().1 > reserved
    }
}

impl Bandwidth {
    /// How many items of so many units fit. A partition takes an item that is larger than what is left of the second,
    /// and then nothing until that is paid for.
    fn fit(left: &mut isize, units: impl Iterator<Item = usize>) -> usize {
        let fits = |units: &usize| {
            let fits = *left > 0;
            *left -= if fits { isize::try_from(*units).unwrap() } else { 0 };
            fits
        };
        units.take_while(fits).count()
    }
}

impl Admission for Bandwidth {
    /// Admits what fits, and leaves the rest unprocessed.
    fn admit(&self, writes: &[Write]) -> Admitted {
        let units = |write: &Write| write.item(&Schema::default()).map_or(1, |item| item_bytes(&item).div_ceil(1_024));
        let fit = Self::fit(&mut self.left.lock().unwrap().0.writes, writes.iter().map(units));
        let (done, unprocessed) = writes.split_at(fit);
        Admitted { done: done.to_vec(), unprocessed: unprocessed.to_vec() }
    }

    fn answered(&self, items: &[Item], reading: &ReadOptions) -> usize {
        assert!(reading.strong, "what was written a moment ago may be missing in other reads");
        Self::fit(&mut self.left.lock().unwrap().0.reads, items.iter().map(|item| item_bytes(item).div_ceil(4_096)))
    }
}

fn node(id: &str, parent: Option<&str>, bytes: usize) -> (ItemKey, Item) {
    let key = ItemKey::new(id, "NODE");
    let mut item = Item::from([("PK".to_owned(), text(id)), ("SK".to_owned(), text("NODE"))]);
    item.extend(parent.map(|parent| ("parent".to_owned(), text(parent))));
    item.insert("bulk".to_owned(), text("x".repeat(bytes)));
    (key, item)
}

fn is_node(record: &StreamRecord) -> bool {
    record.key.sk == "NODE"
}

/// A table, and a handler that has placed a chain of nodes in it.
struct Placing {
    table: MemoryTable,
    fanout: Fanout,
}

impl Placing {
    fn below_a_chain(levels: usize, rules: Rules) -> Self {
        let limits = Limits { requests_in_flight_max: 8, ..Limits::default() };
        let table = MemoryTable(std::sync::Arc::default(), Schema::default());
        let placing = Self { table, fanout: Fanout { rules, limits, ..Fanout::default() } };
        for level in 0..levels {
            let parent = level.checked_sub(1).map(|above| format!("chain{above}"));
            placing.write(node(&format!("chain{level}"), parent.as_deref(), 1));
        }
        placing.place_all();
        placing
    }

    fn write(&self, (key, item): (ItemKey, Item)) {
        self.table.0.lock().unwrap().write(&key, Some(item));
    }

    /// The records of nodes that nobody has taken.
    fn take(&self) -> Vec<StreamRecord> {
        std::mem::take(&mut self.table.0.lock().unwrap().stream).into_iter().filter(is_node).collect()
    }

    /// Handles records in one invocation.
    fn run(&self, units: Units, records: &[StreamRecord], number: usize) -> Report {
        let bandwidth = Bandwidth { units, left: Mutex::new((units, SECONDS)) };
        let admitting = Admitting(&self.table, &bandwidth);
        at_once(self.fanout.run(&admitting, &&bandwidth, Run { name: &number.to_string(), now: 0 }, records))
    }

    fn place_all(&self) {
        assert!(self.run(PLENTY, &self.take(), 0).failed.is_empty());
        self.take();
    }
}

/// Places 40 nodes of 10 KB at depth 12, after a node that is gone, one that was moved and one that was renamed. They
/// come in the order of the stream and not of their ids. Returns the number of invocations, or none where an invocation
/// made no progress.
fn invocations(rules: Rules) -> Option<usize> {
    let placing = Placing::below_a_chain(12, rules);
    // At the front of the batch are nodes whose rows have to be deleted, some with rows to be put before.
    for id in ["gone", "moved", "renamed"] {
        placing.write(node(id, Some("chain11"), 1));
    }
    placing.place_all();
    placing.table.0.lock().unwrap().write(&ItemKey::new("gone", "NODE"), None);
    placing.write(node("moved", Some("chain10"), 1));
    placing.write(node("renamed", Some("chain11"), 2));
    for number in 0..40 {
        // In the stream's order, the ids go up and down.
        placing.write(node(&format!("n{:02}", number * 23 % 40), Some("chain11"), 10_000));
    }
    let mut records = placing.take();
    for number in 1..=40 {
        // 13 rows and a lineage of a node take about 140 units, and an invocation has 480 for rows that are put.
        let report = placing.run(Units { writes: 16, ..PLENTY }, &records, number);
        let first = records.iter().position(|record| report.failed.contains(&record.sequence));
        match first {
            None => {
                let contents = placing.table.0.lock().unwrap().contents();
                assert_eq!(Oracle::default().differences(&contents), Vec::<String>::new());
                return Some(number);
            }
            Some(0) => return None,
            Some(done) => records = records.split_off(done),
        }
    }
    None
}

#[test]
fn a_batch_that_does_not_fit_an_invocation_is_done_from_its_front() {
    let taken = invocations(Rules::default());
    assert!(taken.is_some_and(|invocations| invocations <= 15), "{taken:?}");
}

#[test]
fn rows_in_the_order_of_ids_make_no_progress() {
    assert_eq!(invocations(Rules::without(Rule::RecordOrder)), None);
}

/// A node of 390 KB at depth 30 has 12 MB of rows, and an invocation puts 3 MB of them.
const NARROW: Units = Units { reads: 300, writes: 100 };

/// Returns how many invocations such a node takes once its contents change, or none where they come to nothing. The
/// record of its child comes first, and has other contents as well.
fn invocations_of_a_heavy_node(units: Units, heavy_bytes: usize) -> Option<usize> {
    let mut placing = Placing::below_a_chain(30, Rules::default());
    placing.fanout.limits.heavy_bytes = heavy_bytes;
    placing.write(node("heavy", Some("chain29"), 390_000));
    placing.write(node("light", Some("heavy"), 10));
    placing.place_all();
    for (id, parent, bytes) in [("light", "heavy", 11), ("heavy", "chain29", 390_001)] {
        placing.write(node(id, Some(parent), bytes));
    }
    let records = placing.take();
    let invocations = (1..=20).find(|number| placing.run(units, &records, *number).failed.is_empty());
    let contents = placing.table.0.lock().unwrap().contents();
    assert!(invocations.is_none() || Oracle::default().differences(&contents).is_empty());
    invocations
}

#[test]
fn rows_that_need_several_invocations_go_on_where_the_last_one_ended() {
    let heavy_bytes = Limits::default().heavy_bytes;
    let taken = invocations_of_a_heavy_node(NARROW, heavy_bytes);
    assert!(taken.is_some_and(|invocations| (4..=8).contains(&invocations)), "{taken:?}");
    assert_eq!(invocations_of_a_heavy_node(NARROW, usize::MAX), None, "each begins anew");
    // What one invocation can put is put by one, with few read units, too.
    let few_reads = Units { reads: 60, writes: 500 };
    assert_eq!(invocations_of_a_heavy_node(few_reads, heavy_bytes), Some(1));
    assert_eq!(invocations_of_a_heavy_node(few_reads, usize::MAX), Some(1));
}

/// The node whose record comes first is looked at, for a part of the time. What is behind it is put all the same.
#[test]
fn a_look_takes_no_more_than_its_share_of_the_time() {
    let placing = Placing::below_a_chain(30, Rules::default());
    placing.write(node("heavy", Some("chain29"), 390_000));
    placing.write(node("light", Some("chain29"), 10));
    let records = placing.take();
    assert!(placing.run(PLENTY, &records[..1], 0).failed.is_empty());
    let few_reads = Units { reads: 30, ..PLENTY };
    let report = placing.run(few_reads, &records, 1);
    assert!(report.failed.is_empty(), "{report:?}");
}

#[test]
fn the_log_names_a_node_whose_rows_need_more_than_an_invocation() {
    let placing = Placing::below_a_chain(30, Rules::default());
    placing.write(node("heavy", Some("chain29"), 390_000));
    let records = placing.take();
    // It names all of the rows, although the second delivery has fewer to put.
    for number in [1, 2] {
        let report = placing.run(NARROW, &records, number);
        assert_eq!(report.failed.len(), 1, "{report:?}");
        let named: Vec<_> = report.problems.iter().map(|problem| (&*problem.key.pk, &*problem.reason)).collect();
        let is_named = |(pk, reason): &(&str, &str)| {
            *pk == "heavy" && reason.starts_with("its rows have 12 MB in requests and weren't")
        };
        assert!(named.iter().any(is_named), "{named:?}");
    }
}
