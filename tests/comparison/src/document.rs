//! Writes tables into a document, between marks, and reads them from there.

use std::fmt::Write as _;
use std::ops::Range;
use std::time::Duration;

use crate::cases::{Case, Column};
use crate::growth::Grown;
use crate::lag::Lag;
use crate::postgres::Postgres;
use crate::rightness::Rightness;

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
    &document[bounds(document, name)]
}

fn bounds(document: &str, name: &str) -> Range<usize> {
    let (begin, end) = (format!("<!-- {name} -->\n"), format!("<!-- end of {name} -->"));
    let find = |mark: &str| document.find(mark).unwrap_or_else(|| panic!("the document has no {mark}"));
    find(&begin) + begin.len()..find(&end)
}

/// A line of a section's table as it stands in the document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// The case.
    pub case: &'a str,
    /// What was counted.
    pub counted: &'a str,
    /// The patterns' cells.
    pub cells: Vec<&'a str>,
}

/// Reads a section's table: the names of the patterns, and the lines.
///
/// # Panics
/// If it is no such table.
#[must_use]
pub fn read(table: &str) -> (Vec<&str>, Vec<Line<'_>>) {
    let lines = table.lines().filter_map(|line| line.strip_prefix('|')?.strip_suffix('|'));
    let mut lines = lines.map(|line| line.split('|').map(str::trim).collect::<Vec<_>>());
    let names = lines.next().unwrap()[2..].to_vec();
    let mut last = "";
    let lines = lines.skip(1).map(|cells| {
        // A case has its name in its first line only.
        last = if cells[0].is_empty() { last } else { cells[0] };
        Line { case: last, counted: cells[1], cells: cells[2..].to_vec() }
    });
    (names, lines.collect())
}

/// The lines of one section for all patterns: a line for each case and each thing that was counted.
#[must_use]
pub fn section(columns: &[Column], index: usize) -> String {
    let section = &columns[0].sections[index];
    let names: Vec<&str> = columns.iter().map(|column| column.name).collect();
    let mut text =
        format!("| {} | counted | {} |\n|---|---|{}\n", section.by, names.join(" | "), "--:|".repeat(names.len()));
    for (row, case) in section.cases.iter().enumerate() {
        let cases: Vec<&Case> = columns.iter().map(|column| &column.sections[index].cases[row]).collect();
        for (line, (counted, cells)) in lines(section.name, &cases).into_iter().enumerate() {
            let name = if line == 0 { case_name(case) } else { String::new() };
            writeln!(text, "| {name} | {counted} | {} |", cells.join(" | ")).unwrap();
        }
    }
    text
}

/// The sections whose tables count requests: there patterns differ by more than their units.
const REQUESTS_COUNT: [&str; 2] = ["moves", "reads"];

/// The counts of a case, for all patterns. A count that is 0 for all has no line.
fn lines(section: &str, cases: &[&Case]) -> Vec<(&'static str, Vec<String>)> {
    let each = |of: &dyn Fn(&Case) -> String| cases.iter().map(|case| of(case)).collect::<Vec<_>>();
    let all = vec![
        ("write units", each(&|case| units(case.client.write_units + case.behind.write_units))),
        ("read units", each(&|case| units(case.client.read_units + case.behind.read_units))),
        ("requests", each(&|case| sum(case.client.requests, case.behind.requests))),
    ];
    let is_shown = |counted: &str| counted != "requests" || REQUESTS_COUNT.contains(&section);
    all.into_iter().filter(|(counted, cells)| is_shown(counted) && cells.iter().any(|cell| cell != "0")).collect()
}

fn case_name(case: &Case) -> String {
    case.name.parse().map_or_else(|_| case.name.clone(), thousands)
}

/// The times of a section's cases, as ratios to one pattern's.
#[must_use]
pub fn times(columns: &[Column], index: usize, to: &str) -> String {
    let base = columns.iter().find(|column| column.name == to).unwrap();
    let names: Vec<&str> = columns.iter().map(|column| column.name).collect();
    let section = &base.sections[index];
    let mut text = format!("| time, {} | {} |\n|---|{}\n", section.by, names.join(" | "), "--:|".repeat(names.len()));
    for (row, case) in section.cases.iter().enumerate() {
        let ratio = |column: &Column| ratio(column.sections[index].cases[row].time, case.time);
        writeln!(text, "| {} | {} |", case_name(case), columns.iter().map(ratio).collect::<Vec<_>>().join(" | "))
            .unwrap();
    }
    text
}

/// What the imported tree takes, a node.
#[must_use]
pub fn stored(columns: &[Column], nodes: usize) -> String {
    let mut text = "| pattern | items a node | bytes a node |\n|---|--:|--:|\n".to_owned();
    for column in columns {
        let a_node = |number: usize| number as f64 / nodes as f64;
        let (items, bytes) = (a_node(column.stored.items), a_node(column.stored.bytes));
        writeln!(text, "| {} | {items:.2} | {} |", column.name, thousands(bytes.round() as u64)).unwrap();
    }
    text
}

/// How often each pattern was right.
#[must_use]
pub fn rightness(found: &[(&str, Rightness)], seed: u64) -> String {
    let mut text = format!("Seed {seed}.\n\n| pattern | right | misplaced nodes a run |\n|---|--:|--:|\n");
    for (name, Rightness { runs, right, misplaced }) in found {
        writeln!(text, "| {name} | {right} of {runs} | {:.1} |", *misplaced as f64 / *runs as f64).unwrap();
    }
    text
}

/// What a node costs in growing trees.
#[must_use]
pub fn growth(found: &[Grown]) -> String {
    let mut text =
        "| tree | nodes | items | write units an item | requests a node | processor's time an item |\n|---|--:|--:|--:|--:|--:|\n"
            .to_owned();
    let time = |grown: &Grown| grown.processor_seconds / grown.items as f64;
    for grown in found {
        let Grown { kind, size, nodes, items, write_units, requests, .. } = grown;
        let tree = match *kind {
            "nodes" => "6 children each".to_owned(),
            "depth" => format!("{} ancestors each", thousands(*size as u64)),
            _ => format!("{} children of one", thousands(*size as u64)),
        };
        let units = write_units / *items as f64;
        let requests = *requests as f64 / *nodes as f64;
        let time = time(grown) / time(&found[0]);
        let (nodes, items) = (thousands(*nodes as u64), thousands(*items as u64));
        writeln!(text, "| {tree} | {nodes} | {items} | {units:.2} | {requests:.2} | {time:.1} |").unwrap();
    }
    text
}

/// The lag, in round trips.
#[must_use]
pub fn lag(found: &[Lag]) -> String {
    let mut text = "| writes a second | writes | p50 | p99 | p99.9 |\n|--:|--:|--:|--:|--:|\n".to_owned();
    for lag in found {
        let [p50, p99, p999] = [50.0, 99.0, 99.9].map(|percentile| lag.in_round_trips(percentile).round());
        writeln!(text, "| {} | {} | {p50} | {p99} | {p999} |", lag.rate, thousands(lag.lags.len() as u64)).unwrap();
    }
    text
}

/// What PostgreSQL writes.
#[must_use]
pub fn postgres(found: &[Postgres; 2]) -> String {
    let [closure, ltree] = found;
    let mut text = format!("PostgreSQL {}.\n\n", closure.version);
    text += "| rows written by | closure table | ltree |\n|---|--:|--:|\n";
    for ((name, in_closure), (_, in_ltree)) in closure.written.iter().zip(&ltree.written) {
        writeln!(text, "| {name} | {} | {} |", thousands(*in_closure), thousands(*in_ltree)).unwrap();
    }
    let bytes = [closure, ltree].map(|shape| thousands(shape.bytes_a_node));
    writeln!(text, "| bytes a node, indexes included | {} |", bytes.join(" | ")).unwrap();
    text
}

fn ratio(time: Duration, to: Duration) -> String {
    let ratio = time.as_secs_f64() / to.as_secs_f64();
    if ratio < 10.0 { format!("{ratio:.1}") } else { thousands(ratio.round() as u64) }
}

/// The client's, and what is done behind its back.
fn sum(client: u64, behind: u64) -> String {
    if behind == 0 { thousands(client) } else { format!("{} + {}", thousands(client), thousands(behind)) }
}

fn units(units: f64) -> String {
    let whole = thousands(units.trunc() as u64);
    if units.fract() == 0.0 { whole } else { format!("{whole}.{}", (units.fract() * 10.0).round()) }
}

/// Reads a number with commas.
///
/// # Panics
/// If it is none.
#[must_use]
pub fn number(text: &str) -> f64 {
    text.replace(',', "").parse().unwrap_or_else(|_| panic!("{text} is no number"))
}

/// A number with commas.
#[must_use]
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
