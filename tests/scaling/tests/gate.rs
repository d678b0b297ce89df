//! The model writes what the handler writes, takes as long as the handler does on a table with little bandwidth, and
//! the page says what the model says.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, reason = "a test that can't go on should say so")]

use std::collections::BTreeMap;

use sapwood_core::fanout::{Limits, StreamRecord};
use sapwood_core::keys::ItemKey;
use sapwood_core::model::{DELETING, DeletionMark, DeletionMode};
use sapwood_scaling::clock::{Clock, INVOCATION};
use sapwood_scaling::document::{
    REQUESTS, SECONDS_FOR_ROWS, TABLES, changed, flood, ordered, part, slice, units_at, wait, warmed, with_part,
};
use sapwood_scaling::flow::{Setting, run};
use sapwood_scaling::invocations::{Wide, narrowed};
use sapwood_scaling::table::{Partitions, Place, place_of};
use sapwood_scaling::work::{Change, Ids, Order, Work};
use sapwood_simulation::fixture::Fixture;

const PAGE: &str = include_str!("../../../docs/decide/large-tables.md");
const TEMPLATE: &str = include_str!("../../../template.yaml");

/// How often each key was written.
type Written = BTreeMap<ItemKey, usize>;

fn planned(work: &Work) -> Written {
    let mut all = Written::new();
    for number in 0..work.nodes {
        let writes = work.writes(number);
        for key in writes.clients.into_iter().chain(writes.handler) {
            *all.entry(key).or_default() += 1;
        }
    }
    all
}

/// What was written since this was last called.
fn written(fixture: &mut Fixture) -> Written {
    let mut all = Written::new();
    for record in std::mem::take(&mut fixture.records) {
        *all.entry(record.key).or_default() += 1;
    }
    all
}

/// The keys that aren't written equally often, and how often each is.
fn assert_equal(model: &Written, handler: &Written, what: &str) {
    let keys = model.keys().chain(handler.keys());
    let differing =
        keys.map(|key| (key, model.get(key), handler.get(key))).filter(|(_, model, handler)| model != handler);
    assert_eq!(differing.collect::<Vec<_>>(), [], "{what}");
}

fn put(fixture: &mut Fixture, work: &Work, number: u64) {
    let parent = work.parent(number).map(|parent| work.id(parent).as_str().to_owned());
    let parent = parent.as_deref().or(work.above.last().copied());
    fixture.put_node(work.id(number).as_str(), parent, &[]);
}

/// A table with the nodes above the forest of this work, and with the forest unless the work creates it.
fn before(work: &Work) -> Fixture {
    let mut fixture = Fixture::default();
    for chain in [work.above, work.to] {
        for (depth, id) in chain.iter().enumerate() {
            fixture.put_node(id, depth.checked_sub(1).map(|above| chain[above]), &[]);
        }
    }
    if matches!(work.change, Change::Move | Change::Delete) {
        (0..work.nodes).for_each(|number| put(&mut fixture, work, number));
    }
    fixture.settle();
    fixture.records.clear();
    fixture
}

#[test]
fn the_model_writes_what_the_handler_writes() {
    let forest = |roots| Work { children: 3, ..Work::import(20, roots) };
    for work in [forest(1), forest(4)] {
        let mut fixture = before(&work);
        (0..work.nodes).for_each(|number| put(&mut fixture, &work, number));
        fixture.settle();
        assert_equal(&planned(&work), &written(&mut fixture), "a create");
    }

    let early = Work { change: Change::CreateEarly, ..forest(2) };
    let mut fixture = before(&early);
    (0..early.nodes).for_each(|number| put(&mut fixture, &early, number));
    let records: Vec<StreamRecord> = fixture.table().0.lock().unwrap().stream.clone();
    // The deepest first, each in a batch of its own.
    records.iter().rev().for_each(|record| fixture.deliver(std::slice::from_ref(record)));
    fixture.table().0.lock().unwrap().stream.drain(..records.len());
    fixture.settle();
    let clients = records.into_iter().map(|record| (record.key, 1));
    let mut all = written(&mut fixture);
    clients.for_each(|(key, times)| *all.entry(key).or_default() += times);
    assert_equal(&planned(&early), &all, "a create before the parent");

    for is_near in [true, false] {
        let moved = changed(Change::Move, 20, 3, is_near);
        let mut fixture = before(&moved);
        fixture.put_node(moved.id(0).as_str(), moved.to.last().copied(), &[]);
        fixture.settle();
        assert_equal(&planned(&moved), &written(&mut fixture), "a move");
    }

    let deleted = changed(Change::Delete, 20, 3, true);
    let mut fixture = before(&deleted);
    let (mode, operation) = (DeletionMode::Delete, "operation".to_owned());
    let mark = DeletionMark { mode, operation, revisions: false, mark: None };
    let node = fixture.schema().names().node.clone();
    fixture.update(deleted.id(0).as_str(), &node, DELETING, Some(mark.value()));
    fixture.settle();
    assert_equal(&planned(&deleted), &written(&mut fixture), "a deletion");
}

/// The partitions of a table in which the collections of a forest have been split so often that each has its share.
fn split(work: &Work, times: usize) -> Partitions {
    let mut places: Vec<Place> = planned(work).keys().map(place_of).collect();
    places.sort_unstable();
    let mut partitions = Partitions::even(4);
    for _ in 0..times {
        partitions.note_heat(&vec![1.0; partitions.count()], 0.0);
        partitions.split(0.0, 0.0, &places);
    }
    partitions
}

/// The seconds that the model and the handler take for an import into these partitions, of 20 units a second each.
fn both(work: &Work, partitions: Partitions) -> [f64; 2] {
    let units = 20;
    let took = narrowed(work, &partitions, units, 4, 25);
    assert_eq!(took.units, planned(work).values().sum::<usize>(), "nothing is written twice: {took:?}");
    let setting = Setting {
        partitions,
        partition_units: units as f64,
        lane_nodes: f64::INFINITY,
        under_way: 4 * 25,
        ..Setting::default()
    };
    let model = run(work, &setting).seconds;
    println!("model {model:.1} s, handler {took:?}");
    [model, took.seconds as f64]
}

#[test]
fn the_model_takes_as_long_as_the_handler_on_a_table_with_little_bandwidth() {
    let work = |roots| Work { children: 40, order: Order::Sorted, ..Work::import(600, roots) };
    let cases = [
        (work(1), Partitions::even(4)),
        (work(1), split(&work(1), 1)),
        (work(1), split(&work(1), 2)),
        (work(30), Partitions::even(4)),
        (Work { ids: Ids::Growing, ..work(1) }, Partitions::even(4)),
    ];
    let seconds = cases.map(|(work, partitions)| both(&work, partitions));
    for [model, handler] in seconds {
        assert!((0.85..1.15).contains(&(model / handler)), "{seconds:?}");
    }
    // All the rows of one root are in one partition, and that has no more than its units.
    assert!(seconds[0][1] >= 600.0 * 2.0 / 20.0 && seconds[3][1] < seconds[0][1] * 0.75, "{seconds:?}");
    assert!(seconds[2][1] < seconds[0][1] * 0.8, "{seconds:?}");
}

#[test]
fn batches_whose_rows_do_not_fit_an_invocation_write_rows_twice() {
    let work = Work { children: 4_000, order: Order::Sorted, ..Work::import(4_001, 1) };
    let least = planned(&work).values().sum::<usize>();
    let took = |lanes, batch| narrowed(&work, &Partitions::even(4), 100, lanes, batch);
    // As `wait` has it: lanes × batch × 2 rows, at 100 units a second.
    let (fits, fails) = (took(4, 250), took(8, 500));
    println!("{least} units at least: {fits:?}, {fails:?}");
    assert_eq!((fits.units, fits.invocations), (least, 1 + 16));
    assert!(fails.units > least && fails.invocations > 1 + 8, "{fails:?}");
}

#[test]
#[ignore = "takes long: .ci/full scaling"]
fn one_tree_takes_few_hundred_creates_a_second_until_its_collection_is_split() {
    assert_eq!([1, 2, 4].map(|depth| units_at(depth, true)), [[2, 2, 2], [2, 1, 2], [2, 1, 2]]);
    assert_eq!(units_at(4, false), [2, 1, 1]);
    let seconds = |work: &Work, setting: &Setting| run(work, setting).seconds;
    let one = Work::import(100_000, 1);
    let whole = seconds(&one, &Setting::default());
    // Two units in the root's collection, and a quarter of the other seven, for most of these have five ancestors.
    assert!((whole / (100_000.0 * (2.0 + 6.0 / 4.0) / 1_000.0) - 1.0).abs() < 0.1, "{whole}");
    let splits = Setting { split_after: 30.0, ..Setting::default() };
    assert!(seconds(&one, &splits) < whole * 0.7);
    // Warm partitions split no collection, and take the rest off it.
    let warm = seconds(&one, &Setting { split_after: f64::INFINITY, ..warmed(40) });
    assert!((warm / (100_000.0 * (2.0 + 6.0 / 40.0) / 1_000.0) - 1.0).abs() < 0.1, "{warm}");
    let many = Work::import(100_000, 1_000);
    assert!(seconds(&many, &Setting { split_after: f64::INFINITY, ..warmed(40) }) < whole * 0.4);
}

#[test]
#[ignore = "takes long: .ci/full scaling"]
fn no_split_helps_where_keys_only_grow() {
    let growing = Work { order: Order::Sorted, ids: Ids::Growing, ..Work::import(200_000, 1) };
    let flow = run(&growing, &Setting { split_after: 30.0, ..Setting::default() });
    // The rows by depth and those by path are apart after the first split, each below 1,000 a second.
    assert!(flow.last <= 1_100.0, "{flow:?}");
}

#[test]
#[ignore = "takes long: .ci/full scaling"]
fn records_are_discarded_once_rows_are_six_hours_behind() {
    // Some 280 nodes a second are placed at depth 6, so 5 million take 5 hours and 10 million 10.
    let fits = flood(5_000_000, 1_000.0, f64::INFINITY);
    let behind = 5_000_000.0 / 280.0 - 5_000_000.0 / 1_000.0;
    assert!((fits.behind / behind - 1.0).abs() < 0.2 && fits.discarded < 1.0, "{fits:?}, {behind}");
    let fails = flood(10_000_000, 1_000.0, f64::INFINITY);
    assert!((fails.behind - 21_600.0).abs() < 1.0 && fails.discarded > 1_000_000.0, "{fails:?}");
}

#[test]
fn the_model_has_the_constants_of_the_template_and_of_the_handler() {
    for line in ["BatchSize: 100", "ParallelizationFactor: 2", "MaximumRecordAgeInSeconds: 21600", "Timeout: 60"] {
        assert!(TEMPLATE.contains(line), "{line}");
    }
    // A collection is split only in a table without such an index.
    assert!(!TEMPLATE.contains("LocalSecondaryIndexes"));
    let setting = Setting::default();
    assert_eq!((setting.factor, setting.age_max, setting.partitions.count()), (2.0, 21_600.0, 4));
    assert_eq!(INVOCATION as f64 * 0.6, SECONDS_FOR_ROWS);
    let limits = Limits::default();
    assert_eq!((limits.touch_slice_items_max, limits.action_slice_items_max), (1_000, 200));
    // As many touches as a batch can ask for: 25 in a request of 10 ms.
    let touches = 100 * limits.touch_slice_items_max;
    assert!((touches / 25 / limits.requests_in_flight_max) as f64 * REQUESTS[1] < INVOCATION as f64 / 4.0);
    assert!((wait(8, 100) - 2.6).abs() < 1e-9);
}

#[test]
fn a_slice_of_touches_takes_few_round_trips_and_one_of_marks_as_many_as_its_children_ask_for() {
    let limits = Limits::default();
    // 40 requests of 25 touches, 8 at once, and 200 marks, 8 at once.
    let (_, touches) = slice(Wide::Moves, limits);
    let (_, marks) = slice(Wide::Goes, limits);
    assert!((5..=10).contains(&touches) && (25..=35).contains(&marks), "{touches}, {marks}");
}

#[test]
fn the_page_has_the_tables_of_the_model() {
    for (name, table) in TABLES.into_iter().filter(|(name, _)| ["units", "waits"].contains(name)) {
        let (page, model) = (part(PAGE, name).to_owned(), table());
        assert!(page == model.trim(), "`cargo run -p sapwood-scaling -- {name}` writes this table anew:\n{model}");
    }
    let (_, lanes) = TABLES.into_iter().find(|(name, _)| *name == "lanes").unwrap();
    assert!(lanes().contains("| 100 | 6 | 13,000 to 27,000 |") && PAGE.contains("13,000 to 27,000 nodes a second"));
    let (_, totals) = TABLES.into_iter().find(|(name, _)| *name == "totals").unwrap();
    let rates: Vec<String> =
        totals().lines().skip(3).map(|line| line.split(" | ").nth(3).unwrap().to_owned()).collect();
    assert_eq!(rates, ["260", "200", "140"]);
    assert!(
        PAGE.contains("260 creates a second at depth 4 in batches of one parent's children, 200 at random, and 140")
    );
    // Of the others, which take minutes, some cells.
    let (seconds, trips) = slice(Wide::Moves, Limits::default());
    let line = format!("| a move | 1,000 | {trips} | {:.2} to {:.2} s |", seconds[0], seconds[1]);
    assert!(part(PAGE, "slices").contains(&line), "{line}");
    let flow = ordered(Order::Levels, Ids::Random, f64::INFINITY);
    assert!(part(PAGE, "imports").contains(&format!("| 1 M | 1 | {:.0} min |", flow.seconds / 60.0)), "{flow:?}");
}

#[test]
fn a_clock_moves_on_when_everybody_waits() {
    let clock = Clock::default();
    let wait = |ticks| clock.sleep(ticks);
    clock.run(async {
        futures::join!(wait(3), wait(5), async {
            wait(1).await;
            wait(1).await
        })
    });
    assert_eq!(clock.now(), 5);
}

#[test]
fn a_part_of_the_page_is_written_between_its_marks() {
    let page = "before\n<!-- a -->\nold\n<!-- end of a -->\nafter";
    let anew = with_part(page, "a", "new");
    assert_eq!(part(&anew, "a"), "new");
    assert!(anew.starts_with("before\n") && anew.ends_with("\nafter"));
}
