//! The tables of docs/decide/large-tables.md.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::Range;

use sapwood_core::model::Settings;
use sapwood_engine::fanout::Limits;

use crate::flow::{Flow, Setting, run};
use crate::invocations::{Wide, attempts, of_a_batch, of_a_slice, of_totals};
use crate::table::Partitions;
use crate::work::{Change, Ids, Order, Work};

/// Seconds until a hot partition is split, which AWS doesn't say: never, ten minutes, three minutes.
const SPLITS: [f64; 3] = [f64::INFINITY, 600.0, 180.0];

/// What isn't the point of a table has this time until a split.
const SPLIT: f64 = 600.0;

/// The seconds that a request takes, at best and at worst.
pub const REQUESTS: [f64; 2] = [0.005, 0.01];

/// The seconds from the write of a cursor to the invocation for it, at best and at worst.
const TRIGGERS: [f64; 2] = [0.25, 0.5];

/// The seconds in which an invocation puts rows.
pub const SECONDS_FOR_ROWS: f64 = 36.0;

/// The children of the wide node.
const WIDE: u64 = 1_000_000;

/// A table of the page: its name, and what writes it.
pub type Table = (&'static str, fn() -> String);

/// Every table, by its name. The page has marks for most of them; the others are printed.
pub const TABLES: [Table; 11] = [
    ("units", units),
    ("totals", totals),
    ("contention", contention),
    ("imports", imports),
    ("orders", orders),
    ("settings", settings),
    ("floods", floods),
    ("lanes", lanes),
    ("waits", waits),
    ("changes", changes),
    ("slices", slices),
];

/// Puts a text between the marks of its name. The prose around stays.
///
/// # Panics
/// If the document has no such marks.
#[must_use]
pub fn with_part(document: &str, name: &str, text: &str) -> String {
    let Range { start, end } = bounds(document, name);
    format!("{}\n{}\n\n{}", &document[..start], text.trim(), &document[end..])
}

/// True if the document has marks of this name.
#[must_use]
pub fn has_part(document: &str, name: &str) -> bool {
    document.contains(&format!("<!-- {name} -->\n"))
}

/// The text between the marks of its name.
///
/// # Panics
/// If the document has no such marks.
#[must_use]
pub fn part<'a>(document: &'a str, name: &str) -> &'a str {
    document[bounds(document, name)].trim()
}

fn bounds(document: &str, name: &str) -> Range<usize> {
    let (begin, end) = (format!("<!-- {name} -->\n"), format!("<!-- end of {name} -->"));
    let find = |mark: &str| document.find(mark).unwrap_or_else(|| panic!("the document has no {mark}"));
    find(&begin) + begin.len()..find(&end)
}

/// A table of these columns; those after the first are numbers.
fn table(columns: &[&str], lines: Vec<Vec<String>>) -> String {
    let mut text = format!("| {} |\n|---|{}\n", columns.join(" | "), "--:|".repeat(columns.len() - 1));
    for line in lines {
        writeln!(text, "| {} |", line.join(" | ")).unwrap();
    }
    text
}

/// A number with two digits that count.
fn about(number: f64) -> String {
    let unit = 10_f64.powf(number.max(1.0).log10().floor() - 1.0);
    if number < 10.0 {
        return format!("{number:.1}").replace(".0", "");
    }
    let digits = ((number / unit).round() * unit).to_string();
    let mut text = String::new();
    for (position, digit) in digits.chars().enumerate() {
        let left = digits.len() - position;
        text.push_str(if position > 0 && left.is_multiple_of(3) { "," } else { "" });
        text.push(digit);
    }
    text
}

/// A time.
fn time(seconds: f64) -> String {
    match seconds {
        s if s < 120.0 => format!("{} s", about(s)),
        s if s < 7_200.0 => format!("{} min", about(s / 60.0)),
        s if s < 36_000.0 => format!("{:.1} h", s / 3_600.0),
        s if s < 172_800.0 => format!("{} h", about(s / 3_600.0)),
        s => format!("{:.1} days", s / 86_400.0),
    }
}

fn count(number: u64) -> String {
    match number {
        n if n >= 1_000_000 => format!("{} M", n / 1_000_000),
        n => about(n as f64),
    }
}

fn split_after(seconds: f64) -> Setting {
    Setting { split_after: seconds, ..Setting::default() }
}

fn without_path_rows(work: Work) -> Work {
    Work { settings: Settings { path_rows: false, ..Settings::default() }, ..work }
}

/// A table with these partitions, of which nobody has taken anything yet.
#[must_use]
pub fn warmed(partitions: usize) -> Setting {
    Setting { partitions: Partitions::even(partitions), ..split_after(SPLIT) }
}

/// The units of a node by the partition keys that they fall on: its own, its parent's, its root's.
#[must_use]
pub fn units_at(depth: u64, path_rows: bool) -> [usize; 3] {
    let settings = Settings { path_rows, ..Settings::default() };
    let chain = Work { children: 1, settings, ..Work::import(depth + 1, 1) };
    let writes = chain.writes(depth);
    let mut by_key: BTreeMap<&str, usize> = BTreeMap::new();
    for key in writes.clients.iter().chain(&writes.handler) {
        *by_key.entry(&key.pk).or_default() += 1;
    }
    [depth, depth - 1, 0].map(|number| by_key[chain.id(number).as_str()])
}

/// The units of a node that fall on the partition of its root's collection, if that has so many beside it.
#[must_use]
pub fn hottest(depth: u64, path_rows: bool, partitions: usize) -> f64 {
    let [own, between, root] = units_at(depth, path_rows);
    let others = own + if depth > 1 { between * (depth as usize - 1) } else { 0 };
    root as f64 + others as f64 / partitions as f64
}

fn units() -> String {
    let line = |depth: u64| {
        let [own, between, root] = units_at(depth, true);
        let rate = |path_rows, partitions| about(1_000.0 / hottest(depth, path_rows, partitions));
        vec![
            depth.to_string(),
            (own + root + depth as usize - 1).to_string(),
            own.to_string(),
            if depth > 1 { between.to_string() } else { String::new() },
            root.to_string(),
            rate(true, 4),
            rate(false, 4),
            rate(true, usize::MAX),
            rate(false, usize::MAX),
        ]
    };
    let columns = [
        "depth",
        "units of a create",
        "in its own collection",
        "in each one between",
        "in the root's",
        "creates a second, 4 partitions",
        "with `PathRows=off`",
        "creates a second, the collection alone",
        "with `PathRows=off`",
    ];
    table(&columns, [1, 2, 4, 8].map(line).into())
}

fn totals() -> String {
    let line = |what: &str, [all, root]: [f64; 2]| {
        let [own, between, of_root] = units_at(4, true);
        let (all, root) = (all + (own + 3 * between + of_root) as f64, root + of_root as f64);
        let rate = |partitions: f64| about(1_000.0 / (root + (all - root) / partitions));
        vec![what.to_owned(), format!("{all:.1}"), format!("{root:.1}"), rate(4.0), rate(f64::INFINITY)]
    };
    let columns = [
        "creates at depth 4",
        "units",
        "in the root's collection",
        "creates a second, 4 partitions",
        "creates a second, the collection alone",
    ];
    let lines = vec![
        line("without totals", [0.0, 0.0]),
        line("batches of 100, children of one parent together", of_totals(Order::Sorted, 100)),
        line("batches of 100, at random within a level", of_totals(Order::Levels, 100)),
        line("one at a time", of_totals(Order::Levels, 1)),
    ];
    table(&columns, lines)
}

fn contention() -> String {
    let line = |writers: usize| {
        let attempts = |batch| format!("{:.1}", attempts(writers, batch));
        vec![writers.to_string(), attempts(1), attempts(100)]
    };
    let columns = ["invocations at once", "attempts, a node each", "attempts, batches of 100"];
    table(&columns, [1, 2, 4, 8, 16].map(line).into())
}

fn imports() -> String {
    let mut lines = Vec::new();
    for nodes in [10_000, 1_000_000, 10_000_000] {
        for roots in [1, 100, 10_000].into_iter().filter(|roots| roots * 10 <= nodes) {
            let work = Work::import(nodes, roots);
            let times = SPLITS.map(|seconds| time(run(&work, &split_after(seconds)).seconds));
            lines.push([vec![count(nodes), count(roots)], times.to_vec()].concat());
        }
    }
    table(&["nodes", "trees", "no split", "after 10 min", "after 3 min"], lines)
}

/// An import of a million nodes into one tree, in this order, and the time until a split.
#[must_use]
pub fn ordered(order: Order, ids: Ids, seconds: f64) -> Flow {
    run(&Work { order, ids, ..Work::import(1_000_000, 1) }, &split_after(seconds))
}

fn orders() -> String {
    let orders = [
        (Order::Sorted, "level by level, children of one parent together"),
        (Order::Levels, "level by level, at random within a level"),
        (Order::Everywhere, "everywhere at once"),
    ];
    let mut lines = Vec::new();
    for (ids, called) in [(Ids::Random, "random"), (Ids::Growing, "growing")] {
        for (order, name) in orders {
            let flow = ordered(order, ids, SPLIT);
            lines.push(vec![
                name.to_owned(),
                called.to_owned(),
                time(flow.seconds),
                about(flow.last),
                flow.partitions.to_string(),
            ]);
        }
    }
    table(&["order", "ids", "time", "nodes a second at the end", "partitions at the end"], lines)
}

fn settings() -> String {
    let one = Work::import(1_000_000, 1);
    let many = Work::import(1_000_000, 10_000);
    let line = |name: &str, change: &dyn Fn(&Work) -> (Work, Setting)| {
        let times = [&one, &many].map(|work| {
            let (work, setting) = change(work);
            time(run(&work, &setting).seconds)
        });
        [vec![name.to_owned()], times.to_vec()].concat()
    };
    let lines = vec![
        line("a new table", &|work| (work.clone(), split_after(SPLIT))),
        line("`PathRows=off`", &|work| (without_path_rows(work.clone()), split_after(SPLIT))),
        line("warmed to 40,000 write units a second", &|work| (work.clone(), warmed(40))),
        line("both", &|work| (without_path_rows(work.clone()), warmed(40))),
    ];
    table(&["1 M nodes, split after 10 min", "1 tree", "10,000 trees"], lines)
}

/// An import below one root by clients that write so many base records a second and wait for nobody.
#[must_use]
pub fn flood(nodes: u64, clients: f64, seconds: f64) -> Flow {
    let work = Work { order: Order::Everywhere, ..Work::import(nodes, 1) };
    run(&work, &Setting { clients: Some(clients), ..split_after(seconds) })
}

fn floods() -> String {
    let mut lines = Vec::new();
    for clients in [500.0, 1_000.0, 2_000.0] {
        for nodes in [1_000_000, 10_000_000] {
            let cells = [SPLITS[0], SPLIT].map(|seconds| {
                let flow = flood(nodes, clients, seconds);
                let discarded = if flow.discarded < 1.0 { "0".to_owned() } else { about(flow.discarded) };
                [time(flow.behind), discarded]
            });
            lines.push([vec![about(clients), count(nodes), time(nodes as f64 / clients)], cells.concat()].concat());
        }
    }
    let columns = [
        "records a second",
        "nodes",
        "written after",
        "no split: rows behind",
        "discarded",
        "split after 10 min: rows behind",
        "discarded",
    ];
    table(&columns, lines)
}

fn lanes() -> String {
    let line = |nodes: usize| {
        let trips = of_a_batch(nodes, 4);
        let rates = REQUESTS.map(|request| nodes as f64 / (trips as f64 * request));
        let eight = rates.map(|rate| about(8.0 * rate));
        vec![count(nodes as u64), trips.to_string(), format!("{} to {}", eight[1], eight[0])]
    };
    table(
        &["nodes of a batch", "round trips in a row", "nodes a second of 8 lanes"],
        [1, 10, 100, 1_000].map(line).into(),
    )
}

/// The seconds that the rows of a batch wait on a new table if every lane has a batch of nodes at depth 4 below one
/// root.
#[must_use]
pub fn wait(lanes: usize, batch: usize) -> f64 {
    (lanes * batch) as f64 * hottest(4, true, 4) / 1_000.0
}

fn waits() -> String {
    let line = |lanes: usize| {
        let waits = [100, 500, 1_000].map(|batch| {
            let wait = wait(lanes, batch);
            if wait > SECONDS_FOR_ROWS { format!("**{}**", time(wait)) } else { time(wait) }
        });
        [vec![lanes.to_string()], waits.to_vec()].concat()
    };
    table(&["concurrent batches", "100 nodes a batch", "500", "1,000"], [8, 16, 40, 160].map(line).into())
}

/// A subtree that is moved or deleted.
#[must_use]
pub fn changed(change: Change, nodes: u64, children: u64, is_near: bool) -> Work {
    let (above, to): (&[&str], &[&str]) =
        if is_near { (&["root", "from"], &["root", "to"]) } else { (&["from"], &["to"]) };
    Work { change, children, above, to, ..Work::import(nodes, 1) }
}

fn changes() -> String {
    let kinds = [(Change::Move, false, "a move to another tree"), (Change::Delete, true, "a deletion")];
    let mut lines = Vec::new();
    for (change, is_near, name) in kinds {
        for nodes in [10_000, 1_000_000, 10_000_000] {
            let work = changed(change, nodes, 10, is_near);
            let times = SPLITS.map(|seconds| time(run(&work, &split_after(seconds)).seconds));
            lines.push([vec![name.to_owned(), count(nodes)], times.to_vec()].concat());
        }
    }
    table(&["", "nodes", "no split", "after 10 min", "after 3 min"], lines)
}

/// The seconds of one slice, at best and at worst, and its round trips.
#[must_use]
pub fn slice(wide: Wide, limits: Limits) -> ([f64; 2], u64) {
    let trips = of_a_slice(wide, limits);
    let seconds = [0, 1].map(|case: usize| TRIGGERS[case] + trips as f64 * REQUESTS[case]);
    (seconds, trips)
}

fn slices() -> String {
    let today = Limits::default();
    let (moves, goes) = (today.touch_slice_items_max, today.action_slice_items_max);
    let sizes = [("a move", Wide::Moves, moves, today), ("a deletion", Wide::Goes, goes, today)];
    let mut lines = Vec::new();
    for (name, wide, size, limits) in sizes {
        let (seconds, trips) = slice(wide, limits);
        let slices = WIDE as f64 / size as f64;
        let all = seconds.map(|seconds| time(slices * seconds));
        lines.push(vec![
            name.to_owned(),
            about(slices),
            trips.to_string(),
            format!("{:.2} to {:.2} s", seconds[0], seconds[1]),
            format!("{} to {}", all[0], all[1]),
        ]);
    }
    let work = changed(Change::Move, WIDE + 1, WIDE, false);
    let times = [SPLITS[0], SPLIT].map(|seconds| time(run(&work, &split_after(seconds)).seconds));
    lines.push(vec![
        "a move, as far as partitions let it".to_owned(),
        String::new(),
        String::new(),
        String::new(),
        format!("{}; {} if split after 10 min", times[0], times[1]),
    ]);
    table(&["a node with 1 M children", "chunks", "round trips in a row", "a chunk", "all chunks"], lines)
}
