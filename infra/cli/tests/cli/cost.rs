//! `sapwood cost`: its figures are those of docs/reference/costs.md, which `tests/stack/counts.rs` holds to the
//! handler.

use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::stack::lines;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/costs.md");
const PRICES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/decide/pricing.md");

fn cost(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sapwood"));
    command.arg("cost").args(arguments).stdin(Stdio::null()).output().unwrap()
}

/// The lines of the JSON, for a million of each change.
fn of_a_million(arguments: &[&str]) -> Vec<Value> {
    let million = ["--creates", "--writes", "--moves", "--deletes", "--revisions", "--reads"]
        .into_iter()
        .flat_map(|option| [option, "1000000"]);
    let all: Vec<&str> = arguments.iter().copied().chain(million).chain(["--nodes", "1000000", "--json"]).collect();
    let output = cost(&all);
    assert!(output.status.success(), "{output:?}");
    lines(std::str::from_utf8(&output.stdout).unwrap())
}

fn line<'a>(lines: &'a [Value], what: &str) -> &'a Value {
    lines.iter().find(|line| line["what"] == what).unwrap_or_else(|| panic!("{what}: {lines:?}"))
}

/// The units of one change.
fn units(lines: &[Value], what: &str) -> (f64, f64, f64) {
    let of = |name: &str| (line(lines, what)[name].as_f64().unwrap() / 1e4).round() / 1e2;
    (of("write_units"), of("read_units"), of("invocations_max"))
}

#[test]
fn the_figures_are_those_of_the_page() {
    let page = std::fs::read_to_string(PAGE).unwrap();
    for depth in [2, 4, 8] {
        let lines = of_a_million(&["--id-bytes", "2", "--depth", &depth.to_string()]);
        let d = f64::from(depth);
        // The formulas of the page's first table, and what handling these records costs in its second.
        for (what, words, write_units) in [
            ("creates", "creates | *d* + 3", d + 3.0),
            ("changes", "changes of a name, and of other attributes that rows copy | *d* + 2", d + 2.0),
            ("moves of 1 node", "moves of a leaf to another tree | 2*d* + 5", 2.0 * d + 5.0),
            ("deletions", "deletions of a leaf | *d* + 3", d + 3.0),
            ("revisions", "revisions appended | 2", 2.0),
        ] {
            assert!(page.contains(&format!("| {words}")), "{words}");
            assert_eq!(units(&lines, what).0, write_units, "{what} at depth {depth}");
            let dollars = format!(" ${:.2}", (write_units * 62.5).round() / 100.0);
            assert!(page.lines().any(|line| line.contains(words) && line.contains(&dollars)), "{what}: {dollars}");
        }
        for (what, words, read_units, records) in [
            ("creates", "creates", 5_usize, 2),
            ("moves of 1 node", "moves", 5, 3),
            ("changes", "renames", 4, 1),
            ("deletions", "deletions", 3, 2),
            ("revisions", "revisions", 2, 1),
        ] {
            let told = format!("| {words} | {read_units} M, $0.{:02} | {records} M, ", (read_units * 25).div_ceil(2));
            let (_, read, invocations) = units(&lines, what);
            assert_eq!((read, invocations), (read_units as f64, f64::from(records)), "{what} at depth {depth}");
            assert!(page.contains(&told), "{told}");
        }
        // The record, the lineage, a row for each ancestor, and one by path.
        assert_eq!(line(&lines, "stored")["items_of_a_node"].as_f64().unwrap(), d + 3.0);
    }
}

#[test]
fn a_move_of_a_subtree_costs_thirteen_units_a_node_at_depth_four_and_settings_count() {
    let of = |more: &[&str]| {
        let lines = of_a_million(&[&["--moved-nodes", "101"], more].concat());
        units(&lines, "moves of 101 nodes").0
    };
    assert_eq!(of(&["--id-bytes", "2"]), 101.0 * 13.0);
    // Without path rows, none is put and none deleted.
    assert_eq!(of(&["--id-bytes", "2", "--parameter", "PathRows=off"]), 101.0 * 11.0);
    // A lineage that names the old rows of long ids has more than a KB.
    assert!(of(&["--id-bytes", "100"]) > 101.0 * 14.0);
    // A record of more than a KB is copied into every row.
    assert_eq!(units(&of_a_million(&["--bytes", "1500"]), "creates").0, 1.0 + 2.0 * 6.0);
}

#[test]
fn prices_are_the_pages_and_can_be_named() {
    let page = std::fs::read_to_string(PRICES).unwrap();
    let help = String::from_utf8(cost(&["--help"]).stdout).unwrap();
    assert!(help.contains("November 2026") && page.contains("(November 2026)"));
    for (told, price) in [
        ("[$0.625, $0.125 a million]", "0.625"),
        ("[$0.625, $0.125 a million]", "0.125"),
        ("storage, point-in-time recovery | $0.25", "0.25"),
    ] {
        assert!(page.contains(told) && help.contains(&format!("[default: {price}]")), "{price}: {help}");
    }
    // An invocation, its time, and its log: $0.20, $0.13 and $1.00 a million.
    assert!(page.contains("($0.13 and $1.00 a million)") && help.contains("[default: 1.33]"), "{help}");
    let dollars = |arguments: &[&str]| line(&of_a_million(arguments), "a month")["dollars"].as_f64().unwrap();
    let free = ["--price-write", "0", "--price-read", "0", "--price-storage", "0", "--price-invocation", "0"];
    assert_eq!(dollars(&free), 0.0);
    // 7, 6, 13, 7 and 2 write units.
    assert_eq!(dollars(&[&free[2..], &["--price-write", "1"]].concat()), 35.0);
    let text = String::from_utf8(cost(&["--nodes", "1000", "--creates", "10"]).stdout).unwrap();
    assert!(text.contains("creates") && text.contains("to fill the table once") && !text.contains("moves"), "{text}");
    assert_eq!(cost(&["--nodes", "1", "--depth", "98"]).status.code(), Some(2));
}
