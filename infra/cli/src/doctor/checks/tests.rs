//! Each outcome of each check.

use std::collections::BTreeMap;
use std::time::Duration;

use sapwood_core::audit::{AuditorState, Kept};
use sapwood_core::keys::Schema;
use sapwood_core::model::{Announcement, AttributeValue, Epoch, Item, NewerFormat, Totals};
use sapwood_local::template::Template;
use serde_json::Value;

use super::*;
use crate::TEMPLATE;
use crate::doctor::facts::{SeenFunction, SeenMapping};
use crate::doctor::finding::Verdict::{NotHere, Unknown};

const NOW: u64 = 10_000_000;
const FUNCTION: &str = "arn:aws:lambda:us-east-1:1:function:sapwood-StreamHandler-1";

fn source() -> EventSource {
    Template::parse(TEMPLATE).unwrap().event_source.clone()
}

/// What an auditor has saved that ran a minute ago.
fn kept_by_auditor() -> AuditorState {
    let mut state = AuditorState::new(Duration::ZERO, NOW);
    (state.right_as_of, state.saved) = (Some(NOW - 60), NOW - 60);
    state
}

fn number(value: Option<u64>) -> i64 {
    value.map_or(-1, |value| value as i64)
}

/// A deployment in which all is right.
fn right_one() -> Seen {
    let settings = Settings { ttl: Some("_expires".to_owned()), ..Settings::default() };
    let announcement = Announcement::of(&settings, "1.2.3");
    let source = source();
    let mapping = SeenMapping {
        id: "m".to_owned(),
        function: FUNCTION.to_owned(),
        state: "Enabled".to_owned(),
        filters: source.filter_patterns.clone(),
        reports_failures: true,
        bisects: source.bisects_on_error,
        retries: number(source.retries_max.map(u64::from)),
        record_age: number(source.record_age_max.map(|age| age.as_secs())),
        parallelization: source.parallelization_factor as i64,
        has_destination: true,
    };
    let function = SeenFunction {
        last_update: "Successful".to_owned(),
        environment: announcement.variables.clone(),
        reserved_concurrency: None,
    };
    let alarm = SeenAlarm {
        name: "all".to_owned(),
        state: "OK".to_owned(),
        metrics: METRICS.map(str::to_owned).to_vec(),
        dimensions: vec!["sapwood".to_owned()],
        has_actions: true,
    };
    Seen {
        table: Some(SeenTable {
            status: "ACTIVE".to_owned(),
            keys: vec![("PK".to_owned(), "S".to_owned()), ("SK".to_owned(), "S".to_owned())],
            stream: Some(("arn".to_owned(), "NEW_AND_OLD_IMAGES".to_owned())),
            is_protected: true,
            replicas: Vec::new(),
        }),
        ttl: Read::Known(Some("_expires".to_owned())),
        recovery: Read::Known(true),
        announcement: Read::Known(Some(announcement)),
        audit: Read::Known(Some(Ok(Kept { state: kept_by_auditor(), impossible: Vec::new() }))),
        epoch: Read::Known(None),
        mappings: Read::Known(vec![mapping]),
        functions: BTreeMap::from([(FUNCTION.to_owned(), Read::Known(function))]),
        alarms: Read::Known(vec![alarm]),
        now: NOW,
    }
}

/// What isn't right after a change: checks, verdicts, and the words of the first.
fn found(change: impl FnOnce(&mut Seen)) -> (Vec<(&'static str, Verdict)>, String) {
    let mut seen = right_one();
    change(&mut seen);
    let settings = Settings { ttl: Some("_expires".to_owned()), ..Settings::default() };
    let all = all(&seen, &settings, &source(), "1.2.3");
    let wrong: Vec<Finding> = all.into_iter().filter(|finding| finding.verdict != Right).collect();
    let words = wrong.first().map(|finding| finding.line()).unwrap_or_default();
    (wrong.iter().map(|finding| (finding.check, finding.verdict)).collect(), words)
}

/// What is said of totals, where they are kept, after a change.
fn totals(change: impl FnOnce(&mut Seen)) -> (Verdict, String) {
    let mut seen = right_one();
    change(&mut seen);
    let settings = Settings { totals: Some(Totals::default()), ..Settings::default() };
    let found = all(&seen, &settings, &source(), "1.2.3").into_iter().find(|finding| finding.check == "totals");
    found.map(|finding| (finding.verdict, finding.line())).unwrap()
}

#[test]
fn totals_are_right_once_all_nodes_were_written_for_their_epoch() {
    let epoch = |number: u32, is_unfinished| Read::Known(Some(Ok(SeenEpoch { number: Some(number), is_unfinished })));
    let found = |kind, count| {
        let mut state = kept_by_auditor();
        state.pass.findings.insert(kind, count);
        Read::Known(Some(Ok(Kept { state, impossible: Vec::new() })))
    };
    let said = |change: &dyn Fn(&mut Seen), verdict, word: &str| {
        let (is, words) = totals(change);
        assert!(is == verdict && words.contains(word), "{words}");
    };
    said(&|_| {}, Right, "since the first node");
    said(&|seen| seen.epoch = epoch(2, false), Right, "epoch 2");
    said(&|seen| seen.epoch = epoch(2, true), Fail, "sapwood backfill --totals");
    let schema = Schema::default();
    let item = |epoch| Epoch(epoch).item(&schema);
    let garbled = Item::from([("epoch".to_owned(), AttributeValue::Bool(true))]);
    for (item, copy) in [(None, item(2)), (Some(item(1)), item(2)), (Some(garbled), item(2))] {
        let lost = SeenEpoch::of(item.as_ref(), Some(&copy));
        said(&|seen| seen.epoch = Read::Known(lost), Fail, "sapwood repair");
    }
    said(&|seen| seen.epoch = Read::Known(Some(Err(NewerFormat { format: 9 }))), Fail, "format 9");
    said(&|seen| seen.epoch = Read::Unknown("not allowed".to_owned()), Unknown, "not allowed");
    said(&|seen| seen.audit = found(Kind::TotalLeftOut, 4), Warn, "4 nodes");
    let none = all(&right_one(), &Settings::default(), &source(), "1.2.3");
    assert!(none.iter().all(|finding| finding.check != "totals"), "they aren't kept");
}

fn table(change: impl FnOnce(&mut SeenTable)) -> (Vec<(&'static str, Verdict)>, String) {
    found(|seen| change(seen.table.as_mut().unwrap()))
}

fn mapping(change: impl FnOnce(&mut SeenMapping)) -> (Vec<(&'static str, Verdict)>, String) {
    found(|seen| match &mut seen.mappings {
        Read::Known(mappings) => change(&mut mappings[0]),
        _ => unreachable!(),
    })
}

fn function(change: impl FnOnce(&mut SeenFunction)) -> (Vec<(&'static str, Verdict)>, String) {
    found(|seen| match seen.functions.get_mut(FUNCTION) {
        Some(Read::Known(function)) => change(function),
        _ => unreachable!(),
    })
}

fn alarm(change: impl FnOnce(&mut SeenAlarm)) -> (Vec<(&'static str, Verdict)>, String) {
    found(|seen| match &mut seen.alarms {
        Read::Known(alarms) => change(&mut alarms[0]),
        _ => unreachable!(),
    })
}

fn audited(change: impl FnOnce(&mut AuditorState)) -> (Vec<(&'static str, Verdict)>, String) {
    found(|seen| match &mut seen.audit {
        Read::Known(Some(Ok(kept))) => change(&mut kept.state),
        _ => unreachable!(),
    })
}

/// docs/reference/findings.md explains those of the list.
#[test]
fn the_list_of_checks_has_each_of_them() {
    let mut seen = right_one();
    seen.table.as_mut().unwrap().replicas = vec!["eu-west-1".to_owned()];
    let Read::Known(alarms) = &mut seen.alarms else { unreachable!() };
    alarms[0].has_actions = false;
    alarms[0].metrics.clear();
    let settings = Settings { totals: Some(Totals::default()), ..Settings::default() };
    let found: Vec<Finding> =
        [seen, right_one()].iter().flat_map(|seen| all(seen, &settings, &source(), "1.2.3")).collect();
    let found: BTreeSet<&str> = found.iter().map(|finding| finding.check).collect();
    assert_eq!(found, crate::CHECKS.split(' ').collect());
}

#[track_caller]
fn one((found, words): (Vec<(&'static str, Verdict)>, String), check: &'static str, verdict: Verdict, says: &str) {
    assert_eq!(found, [(check, verdict)], "{words}");
    assert!(words.contains(says), "{words}");
}

#[test]
fn where_all_is_right_nothing_is_found() {
    assert_eq!(found(|_| {}).0, []);
}

#[test]
fn a_table_is_judged_by_its_description() {
    one(found(|seen| seen.table = None), "table", Fail, "no such table");
    one(table(|table| table.status = "UPDATING".to_owned()), "table", Warn, "UPDATING");
    one(table(|table| table.keys[0].0 = "pk".to_owned()), "keys", Fail, "pk (S)");
    one(table(|table| table.keys[1].1 = "N".to_owned()), "keys", Fail, "SK (N)");
    one(table(|table| table.stream.as_mut().unwrap().1 = "KEYS_ONLY".to_owned()), "stream", Fail, "KEYS_ONLY");
    one(table(|table| table.stream = None), "stream", Fail, "is off");
    one(table(|table| table.is_protected = false), "protection", Warn, "deleted");
    let elsewhere = || vec!["eu-west-1".to_owned(), "us-west-2".to_owned()];
    one(
        table(|table| table.replicas = elsewhere()),
        "replicas",
        Warn,
        "in eu-west-1, us-west-2: write base records in",
    );
    one(found(|seen| seen.ttl = Read::Known(None)), "ttl", Warn, "by _expires");
    one(found(|seen| seen.ttl = Read::Known(Some("ttl".to_owned()))), "ttl", Warn, "TtlAttribute=ttl");
    one(found(|seen| seen.recovery = Read::Known(false)), "recovery", Warn, "is off");
}

#[test]
fn a_mapping_is_compared_with_the_template() {
    one(found(|seen| seen.mappings = Read::Known(Vec::new())), "mapping", Fail, "no event source mapping");
    one(mapping(|mapping| mapping.state = "Disabled".to_owned()), "mapping", Fail, "is disabled");
    one(mapping(|mapping| mapping.state = "Updating".to_owned()), "mapping", Warn, "Updating");
    one(mapping(|mapping| mapping.filters.clear()), "filter", Fail, "template's");
    one(
        mapping(|mapping| mapping.filters[0] = mapping.filters[0].replace("LINEAGE", "LINEAGES")),
        "filter",
        Fail,
        "rows",
    );
    one(mapping(|mapping| mapping.reports_failures = false), "failures", Fail, "ReportBatchItemFailures");
    one(mapping(|mapping| mapping.retries = 3), "retries", Warn, "MaximumRetryAttempts is 3");
    one(mapping(|mapping| mapping.record_age = -1), "retries", Warn, "MaximumRecordAgeInSeconds is -1, and 21600");
    one(mapping(|mapping| mapping.parallelization = 9), "retries", Warn, "ParallelizationFactor is 9");
    one(mapping(|mapping| mapping.bisects = !mapping.bisects), "retries", Warn, "BisectBatchOnFunctionError");
    one(mapping(|mapping| mapping.has_destination = false), "destination", Fail, "go nowhere");
}

#[test]
fn a_filter_is_the_same_in_any_order_and_with_any_spaces() {
    let shuffled = |mapping: &mut SeenMapping| {
        let mut value: Value = serde_json::from_str(&mapping.filters[0]).unwrap();
        let list = value.pointer_mut("/dynamodb/Keys/SK/S").unwrap().as_array_mut().unwrap();
        list.reverse();
        mapping.filters[0] = serde_json::to_string_pretty(&value).unwrap();
    };
    assert_eq!(mapping(shuffled).0, []);
}

#[test]
fn another_consumer_of_the_stream_isnt_ours_and_a_second_mapping_to_a_handler_is_one_too_many() {
    let and = |environment: BTreeMap<String, String>| {
        move |seen: &mut Seen| {
            let Read::Known(mappings) = &mut seen.mappings else { unreachable!() };
            mappings.push(SeenMapping { id: "other".to_owned(), function: "theirs".to_owned(), ..mappings[0].clone() });
            let function = SeenFunction { environment, ..SeenFunction::default() };
            seen.functions.insert("theirs".to_owned(), Read::Known(function));
        }
    };
    assert_eq!(found(and(BTreeMap::new())).0, []);
    let ours = Announcement::of(&Settings::default(), "1.2.3").variables;
    let (checks, words) = found(and(ours));
    assert_eq!(checks[0], ("mapping", Fail), "{words}");
    assert!(words.contains("m, other"), "{words}");
}

#[test]
fn a_handler_with_two_mappings_is_judged_once() {
    let twice = |seen: &mut Seen| {
        let Read::Known(mappings) = &mut seen.mappings else { unreachable!() };
        mappings.push(SeenMapping { id: "other".to_owned(), ..mappings[0].clone() });
        let Some(Read::Known(function)) = seen.functions.get_mut(FUNCTION) else { unreachable!() };
        function.reserved_concurrency = Some(0);
    };
    assert_eq!(found(twice).0, [("mapping", Fail), ("concurrency", Fail)]);
}

#[test]
fn a_function_that_cant_be_read_is_no_second_handler_and_is_named() {
    let and_unread = |seen: &mut Seen| {
        let Read::Known(mappings) = &mut seen.mappings else { unreachable!() };
        mappings.push(SeenMapping { id: "other".to_owned(), function: "theirs".to_owned(), ..mappings[0].clone() });
        seen.functions.insert("theirs".to_owned(), Read::Unknown("AccessDenied: no".to_owned()));
    };
    one(
        found(and_unread),
        "mapping",
        Unknown,
        "other may bring the stream to another handler: the configuration of theirs",
    );
    // Where none can be read nobody knows which is the handler's.
    let none_read = |seen: &mut Seen| {
        and_unread(seen);
        seen.functions.insert(FUNCTION.to_owned(), Read::Unknown("AccessDenied: no".to_owned()));
    };
    one(found(none_read), "mapping", Unknown, "m, other may bring the stream to a handler");
    // What is wrong with the handler that was read is still found.
    let disabled = |seen: &mut Seen| {
        and_unread(seen);
        let Read::Known(mappings) = &mut seen.mappings else { unreachable!() };
        mappings[0].state = "Disabled".to_owned();
    };
    assert_eq!(found(disabled).0, [("mapping", Fail), ("mapping", Unknown)]);
}

#[test]
fn a_handler_is_judged_by_its_configuration_and_what_it_has_left() {
    one(function(|function| function.last_update = "Failed".to_owned()), "handler", Fail, "deploy again");
    one(function(|function| function.last_update = "InProgress".to_owned()), "handler", Warn, "being updated");
    one(function(|function| function.reserved_concurrency = Some(0)), "concurrency", Fail, "stopped");
    assert_eq!(function(|function| function.reserved_concurrency = Some(5)).0, []);
    let set = |name: &str, value: &str| {
        let (name, value) = (name.to_owned(), value.to_owned());
        function(move |function| _ = function.environment.insert(name, value))
    };
    one(set("PATH_ROWS", "off"), "settings", Warn, "PATH_ROWS changed");
    one(set("PATH_ROWS", "perhaps"), "settings", Fail, "can't start");
    one(found(|seen| seen.announcement = Read::Known(None)), "release", Warn, "no handler");
    let older = |seen: &mut Seen| match &mut seen.announcement {
        Read::Known(Some(announcement)) => announcement.release = "1.2.2".to_owned(),
        _ => unreachable!(),
    };
    one(found(older), "release", Warn, "the handler is 1.2.2, and sapwood 1.2.3");
}

#[test]
fn alarms_are_to_be_there_quiet_and_heard() {
    one(found(|seen| seen.alarms = Read::Known(Vec::new())), "alarms", Warn, "none");
    one(alarm(|alarm| alarm.state = "ALARM".to_owned()), "alarms", Fail, "on: all");
    one(alarm(|alarm| alarm.has_actions = false), "alarm-actions", Warn, "AlarmEmail");
    one(alarm(|alarm| alarm.metrics.retain(|metric| metric != "IteratorAge")), "alarms-missing", Warn, "IteratorAge");
}

#[test]
fn every_metric_has_an_alarm_in_the_templates() {
    let templates = concat!(include_str!("../../../../alarms.yaml"), include_str!("../../../../mapping-alarms.yaml"));
    for metric in METRICS {
        assert!(templates.contains(&format!("MetricName: {metric}\n")), "{metric}");
    }
}

#[test]
fn the_auditor_is_to_run_and_to_come_round() {
    one(found(|seen| seen.audit = Read::Known(None)), "audit", Warn, "no auditor has run");
    one(audited(|state| state.saved = NOW - 2 * 60 * 60), "audit", Warn, "120 minutes");
    one(found(|seen| seen.audit = Read::Known(Some(Err(NewerFormat { format: 9 })))), "audit", Warn, "format 9");
    let impossible = found(|seen| match &mut seen.audit {
        Read::Known(Some(Ok(kept))) => kept.impossible.extend(["saved", "pass"]),
        _ => unreachable!(),
    });
    one(impossible, "audit", Warn, "in saved, pass");
    one(audited(|state| state.right_as_of = Some(NOW - 8 * 24 * 60 * 60)), "audit", Warn, "192 hours");
}

#[test]
fn what_cant_be_read_is_unknown_and_what_isnt_here_doesnt_apply() {
    let denied = || "AccessDenied: no".to_owned();
    one(found(|seen| seen.ttl = Read::Unknown(denied())), "ttl", Unknown, "AccessDenied");
    one(found(|seen| seen.recovery = Read::Unknown(denied())), "recovery", Unknown, "AccessDenied");
    one(found(|seen| seen.mappings = Read::Unknown(denied())), "mapping", Unknown, "AccessDenied");
    one(found(|seen| seen.alarms = Read::Unknown(denied())), "alarms", Unknown, "AccessDenied");
    one(found(|seen| seen.audit = Read::Unknown(denied())), "audit", Unknown, "AccessDenied");
    one(found(|seen| seen.announcement = Read::Unknown(denied())), "release", Unknown, "AccessDenied");
    one(
        found(|seen| _ = seen.functions.insert(FUNCTION.to_owned(), Read::Unknown(denied()))),
        "handler",
        Unknown,
        "AccessDenied",
    );
    let (checks, _) =
        found(|seen| (seen.mappings, seen.alarms, seen.recovery) = (Read::NotHere, Read::NotHere, Read::NotHere));
    assert_eq!(checks, [("recovery", NotHere), ("mapping", NotHere), ("alarms", NotHere)]);
}
