#![allow(clippy::unwrap_used, clippy::panic)]

use super::super::suspects::Stage;
use super::*;
use crate::keys::Id;
use crate::model::{AttributeValue, FORMAT, FORMAT_ATTRIBUTE, NewerFormat, text};

const NOW: u64 = 1_000_000;

fn difference(id: &str) -> Difference {
    let node = NodeRef::from(Id::new(id).unwrap());
    let waits_for = Some(node.clone());
    Difference { key: ItemKey::new(id, "LINEAGE"), kind: Kind::LineageWrong, node, evidence: u64::MAX, waits_for }
}

/// A state in the middle of its third pass.
fn state() -> AuditorState {
    let mut state = AuditorState::new(Duration::from_secs(600), 5_000);
    state.begin_pass(Duration::ZERO, 6_000);
    state.end_pass(7_000);
    (state.scanned, state.runs, state.saved) = (true, 12, NOW - 60);
    state.end_pass(7_000);
    state.begin_pass(Duration::ZERO, NOW - 900);
    state.suspects.take(vec![difference("a"), difference("b")], Duration::from_secs(NOW - 600));
    let subjects = [difference("a").subject(), difference("b").subject()].into();
    state.suspects.take_again(&subjects, vec![difference("a")], Duration::from_secs(NOW - 300));
    state.suspects.put_mended(difference("m"), Duration::from_secs(NOW - 300));
    state.suspects.explain(&BTreeMap::new(), Duration::from_secs(NOW - 300));
    state.leave(&difference("left"));
    state.give_up(&difference("restless"));
    let history = Some(difference("h").node);
    state.position = Some(Position { after: ItemKey::new("p", "s"), history });
    state
}

#[test]
fn what_is_written_is_read() {
    let (state, schema) = (state(), Schema::default());
    let settle = Some(Duration::from_secs(600));
    let kept = AuditorState::read(&state.item(&schema), settle, NOW).unwrap();
    assert_eq!(kept, Kept { state: state.clone(), impossible: Vec::new() });
    assert_eq!(AuditorState::read(&state.item(&schema), None, NOW).unwrap().state, state);
    assert!(kept.state.is_left(&difference("left")) && kept.state.is_left(&difference("restless")));
    assert!(!kept.state.is_left(&difference("a")));
}

#[test]
fn whatever_cant_be_true_is_named_and_no_pass_waits_for_it() {
    let (state, schema) = (state(), Schema::default());
    let written = state.item(&schema);
    let bad = [
        number(NOW + AHEAD_SECONDS_MAX + 1),
        number(u64::MAX),
        AttributeValue::N("-1".to_owned()),
        AttributeValue::N("99999999999999999999999999999999999999".to_owned()),
        text("?"),
        AttributeValue::Null(true),
        AttributeValue::B(vec![1]),
        AttributeValue::M([("number".to_owned(), number(1))].into()),
        AttributeValue::L(vec![text("?")]),
    ];
    let is_time = |name: &str| !["format", "runs", "longest", "settle"].contains(&name);
    let keys = [&schema.names().partition_key, &schema.names().sort_key];
    for name in written.keys().filter(|name| !keys.contains(name)) {
        for (at, value) in bad.iter().enumerate().filter(|(at, _)| *at > 0 || is_time(name)) {
            if name.starts_with("after_") && *value == text("?") {
                continue;
            }
            let mut item = written.clone();
            item.insert(name.clone(), value.clone());
            let Kept { state: mut read, impossible } = AuditorState::read(&item, None, NOW).unwrap();
            let named = if name.starts_with("after_") || name == "history" { "position" } else { name };
            assert_eq!(impossible, [named], "{name}: {at}");
            assert!(read.began <= NOW && read.saved <= NOW && read.right_as_of.is_none_or(|at| at <= NOW));
            // What belongs to the pass begins anew, so that no key is passed over.
            if ["pass", "suspects", "position", "scanned"].contains(&named) {
                let pass = read.pass.number;
                read.begin_pass(Duration::from_secs(86_400), NOW);
                let begins_anew = named == "scanned" || read.pass.began == NOW && read.pass.number == pass + 1;
                assert!(begins_anew && !read.scanned, "{name}: {at}");
            }
        }
    }
    for name in ["format", "runs", "began", "saved", "pass", "scanned", "longest", "suspects", "after_sk"] {
        let mut item = written.clone();
        item.remove(name);
        let named = if name == "after_sk" { "position" } else { name };
        assert_eq!(AuditorState::read(&item, None, NOW).unwrap().impossible, [named]);
    }
}

#[test]
fn times_of_a_suspect_or_of_a_pass_to_come_are_impossible_too() {
    let schema = Schema::default();
    let written = state().item(&schema);
    for (part, name) in [("suspects", "first"), ("suspects", "since"), ("suspects", "seen"), ("pass", "ended")] {
        let mut item = written.clone();
        let map = match item.get_mut(part).unwrap() {
            AttributeValue::L(list) => &mut list[0],
            map => map,
        };
        let AttributeValue::M(map) = map else { panic!("{map:?}") };
        map.insert(name.to_owned(), number(NOW + AHEAD_SECONDS_MAX));
        assert_eq!(AuditorState::read(&item, None, NOW).unwrap().impossible, [""; 0], "clocks differ: {name}");
        let AttributeValue::M(map) = (match item.get_mut(part).unwrap() {
            AttributeValue::L(list) => &mut list[0],
            map => map,
        }) else {
            panic!("{part}")
        };
        map.insert(name.to_owned(), number(NOW + AHEAD_SECONDS_MAX + 1));
        assert_eq!(AuditorState::read(&item, None, NOW).unwrap().impossible, [part], "{name}");
    }
}

#[test]
fn a_newer_state_isnt_read() {
    let mut item = state().item(&Schema::default());
    item.insert(FORMAT_ATTRIBUTE.to_owned(), number(FORMAT + 1));
    assert_eq!(AuditorState::read(&item, None, NOW).unwrap_err(), NewerFormat { format: FORMAT + 1 });
}

/// The item as every release has written it: this one reads it, and writes the same.
#[test]
fn the_item_of_a_release_before_is_read_and_written_again() {
    let map = |attributes: &[(&str, AttributeValue)]| {
        AttributeValue::M(attributes.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect())
    };
    let flag = AttributeValue::Bool(true);
    let pass = [
        ("number", number(3)),
        ("began", number(999_100)),
        ("items", number(41)),
        ("recent", number(2)),
        ("differences", number(5)),
        ("healed", number(1)),
        ("left", number(1)),
        ("restless", number(0)),
        ("skipped", number(0)),
        ("unheeded", number(1)),
        ("findings", map(&[("orphan", number(7))])),
    ];
    let suspected = [
        ("node", text("a")),
        ("tenant", text("acme")),
        ("pk", text("TENANT#acme#a")),
        ("sk", text("LINEAGE")),
        ("kind", text("lineage-wrong")),
        ("evidence", number(u64::MAX)),
        ("stage", text("suspected")),
        ("first", number(999_400)),
        ("seen", number(999_700)),
        ("looks", number(2)),
        ("waits_for", map(&[("node", text("b"))])),
        ("explained", flag.clone()),
        ("since", number(999_500)),
    ];
    let mended = [
        ("node", text("m")),
        ("pk", text("m")),
        ("sk", text("LINEAGE")),
        ("kind", text("lineage-wrong")),
        ("evidence", number(0)),
        ("stage", text("mended")),
        ("first", number(999_400)),
        ("seen", number(999_400)),
        ("looks", number(0)),
        ("counted", flag.clone()),
    ];
    let written: Item = [
        ("PK", text("SAPWOOD")),
        ("SK", text("AUDIT")),
        ("format", number(1)),
        ("runs", number(12)),
        ("began", number(5_000)),
        ("saved", number(999_940)),
        ("pass", map(&pass)),
        ("last", map(&[&pass[..], &[("ended", number(999_200))]].concat())),
        ("scanned", flag),
        ("settle", number(600)),
        ("longest", number(60)),
        ("longest_at", number(999_000)),
        ("suspects", AttributeValue::L(vec![map(&suspected), map(&mended)])),
        ("left", AttributeValue::B([7_u64.to_be_bytes(), 9_u64.to_be_bytes()].concat())),
        ("right_as_of", number(998_000)),
        ("trail_at", number(999_300)),
        ("after_pk", text("p")),
        ("after_sk", text("s")),
        ("history", map(&[("node", text("h")), ("tenant", text("acme"))])),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into();
    let Kept { state, impossible } = AuditorState::read(&written, None, NOW).unwrap();
    assert_eq!(impossible, [""; 0]);
    assert_eq!(state.item(&Schema::default()), written);
    let (found, last) = (state.suspects.iter().next().unwrap(), state.last.unwrap());
    assert_eq!((found.stage, found.difference.evidence, found.looks), (Stage::Suspected, u64::MAX, 2));
    assert_eq!((last.ended, last.findings[&Kind::parse("orphan").unwrap()]), (Some(999_200), 7));
    // An older auditor has written less, and a newer one finds of other kinds.
    let mut other = written;
    for name in ["settle", "longest_at", "left", "trail_at"] {
        other.remove(name);
    }
    let AttributeValue::M(pass) = other.get_mut("pass").unwrap() else { panic!() };
    pass.remove("recent");
    pass.insert("findings".to_owned(), map(&[("orphan", number(7)), ("of-another-kind", number(1))]));
    let Kept { state, impossible } = AuditorState::read(&other, None, NOW).unwrap();
    assert_eq!((impossible, state.pass.recent, state.pass.findings.len()), (Vec::new(), 0, 1));
}

fn number(value: u64) -> AttributeValue {
    AttributeValue::N(value.to_string())
}
