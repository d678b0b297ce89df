//! The checks of the event source mapping and of the stream handler.

use std::collections::BTreeSet;

use sapwood_core::model::Settings;
use sapwood_local::template::EventSource;
use serde_json::Value;

use super::facts::{Read, Seen, SeenFunction, SeenMapping};
use super::finding::{Finding, Verdict, fail, not_here, right, unknown, warn};

pub(super) const STREAM_NOT_READ: &str = "operate/runbooks/rows-behind.md#streamnotread";
const CONSTANTS: &str = "reference/parameters.md#constants-and-the-commands-that-change-them";

/// The mappings of the table's stream. Another consumer may read it.
pub(super) struct Mappings<'a> {
    /// The mappings to a stream handler: a function that has such an environment.
    pub(super) ours: Vec<&'a SeenMapping>,
    /// The mappings to functions whose configuration can't be read: a handler's, or another consumer's.
    pub(super) unread: Vec<&'a SeenMapping>,
}

impl<'a> Mappings<'a> {
    pub(super) fn of(seen: &'a Seen) -> Self {
        let Read::Known(mappings) = &seen.mappings else { return Self { ours: Vec::new(), unread: Vec::new() } };
        let (mut ours, mut unread) = (Vec::new(), Vec::new());
        for mapping in mappings {
            match seen.functions.get(&mapping.function) {
                Some(Read::Known(function)) if function.environment.contains_key("NODE_SORT_KEY") => ours.push(mapping),
                Some(Read::Known(_)) => {}
                Some(Read::Unknown(_) | Read::NotHere) | None => unread.push(mapping),
            }
        }
        // The only reader of the stream is the handler: what can be read of it is judged.
        if ours.is_empty() && mappings.len() == 1 {
            ours.append(&mut unread);
        }
        Self { ours, unread }
    }
}

pub(super) fn mapping(ours: &[&SeenMapping], unread: &[&SeenMapping], source: &EventSource) -> Vec<Finding> {
    let ids =
        |mappings: &[&SeenMapping]| mappings.iter().map(|mapping| mapping.id.as_str()).collect::<Vec<_>>().join(", ");
    let of_unread = (!unread.is_empty() && ours.len() < 2).then(|| {
        let functions: Vec<&str> = unread.iter().map(|mapping| mapping.function.as_str()).collect();
        let words = format!(
            "{} may bring the stream to {} handler: the configuration of {} can't be read",
            ids(unread),
            if ours.is_empty() { "a" } else { "another" },
            functions.join(", ")
        );
        Finding::new("mapping", Verdict::Unknown, words, STREAM_NOT_READ)
    });
    let [mapping] = ours else {
        let finding = match (ours, of_unread) {
            ([], Some(finding)) => finding,
            ([], None) => fail(
                "mapping",
                "no event source mapping brings the stream to a stream handler: deploy again",
                STREAM_NOT_READ,
            ),
            _ => {
                let words = format!(
                    "{} mappings bring the stream to a handler, which breaks the order of records: delete all but one ({})",
                    ours.len(),
                    ids(ours)
                );
                fail("mapping", words, "operate/existing-table.md")
            }
        };
        return vec![finding];
    };
    let state = match mapping.state.as_str() {
        "Enabled" => right("mapping", format!("{} is enabled", mapping.id)),
        "Disabled" | "Disabling" => {
            fail("mapping", format!("{} is disabled (FanOut=off?): rows are out of date", mapping.id), STREAM_NOT_READ)
        }
        other => warn("mapping", format!("{} is {other}: look again in a minute", mapping.id), STREAM_NOT_READ),
    };
    let mut findings = vec![
        state,
        filter(mapping, source),
        batches(mapping, source),
        limits(mapping, source),
        destination(mapping, source),
    ];
    findings.extend(of_unread);
    findings
}

/// A pattern as a value, with its lists as sets.
fn pattern(text: &str) -> Option<Value> {
    fn sorted(value: Value) -> Value {
        match value {
            Value::Array(items) => {
                let mut items: Vec<Value> = items.into_iter().map(sorted).collect();
                items.sort_by_key(Value::to_string);
                Value::Array(items)
            }
            Value::Object(map) => map.into_iter().map(|(name, value)| (name, sorted(value))).collect(),
            scalar => scalar,
        }
    }
    serde_json::from_str(text).ok().map(sorted)
}

fn filter(mapping: &SeenMapping, source: &EventSource) -> Finding {
    let patterns = |texts: &[String]| -> BTreeSet<String> {
        texts.iter().map(|text| pattern(text).map_or_else(|| text.clone(), |value| value.to_string())).collect()
    };
    if patterns(&mapping.filters) == patterns(&source.filter_patterns) {
        return right("filter", "passes base records, lineages and cursors");
    }
    let words =
        "isn't the template's, for these names of keys: records are missed, or rows reach the handler. Deploy again";
    fail("filter", words, "reference/parameters.md")
}

fn batches(mapping: &SeenMapping, source: &EventSource) -> Finding {
    if source.reports_batch_item_failures && !mapping.reports_failures {
        let words =
            "the mapping doesn't take reports of failed items (ReportBatchItemFailures): records that failed are lost";
        return fail("failures", words, "operate/runbooks/handler-errors.md#handlerfailures");
    }
    right("failures", "failed items are reported")
}

fn limits(mapping: &SeenMapping, source: &EventSource) -> Finding {
    let number = |value: Option<u64>| value.map_or(-1, |value| i64::try_from(value).unwrap_or(i64::MAX));
    let parallelization = i64::try_from(source.parallelization_factor).unwrap_or(i64::MAX);
    let compared = [
        ("MaximumRetryAttempts", mapping.retries, number(source.retries_max.map(u64::from))),
        ("MaximumRecordAgeInSeconds", mapping.record_age, number(source.record_age_max.map(|age| age.as_secs()))),
        ("ParallelizationFactor", mapping.parallelization, parallelization),
        ("BisectBatchOnFunctionError", mapping.bisects.into(), source.bisects_on_error.into()),
    ];
    let differs: Vec<String> = compared
        .into_iter()
        .filter(|(_, is, wanted)| is != wanted)
        .map(|(name, is, wanted)| format!("{name} is {is}, and {wanted} in the template"))
        .collect();
    if differs.is_empty() {
        return right("retries", "retries, age and parallelization are the template's");
    }
    warn("retries", format!("{}: was a command meant to stay?", differs.join("; ")), CONSTANTS)
}

fn destination(mapping: &SeenMapping, source: &EventSource) -> Finding {
    if source.has_failure_destination && !mapping.has_destination {
        let words = "discarded records go nowhere (no OnFailure destination): deploy again";
        return fail("destination", words, "operate/runbooks/lost-records.md#lostrecords");
    }
    right("destination", "discarded records are kept")
}

pub(super) fn function(seen: &Seen, arn: &str) -> Vec<Finding> {
    let page = "operate/runbooks/handler-errors.md#handlererrors";
    let function = match seen.functions.get(arn) {
        Some(Read::Known(function)) => function,
        Some(Read::Unknown(reason)) => return vec![unknown("handler", reason, page)],
        Some(Read::NotHere) | None => return vec![not_here("handler", "Lambda")],
    };
    vec![update(function, page), concurrency(function), environment(function, seen)]
}

fn update(function: &SeenFunction, page: &'static str) -> Finding {
    match function.last_update.as_str() {
        "Failed" => fail("handler", "its last update failed: look at the stack's events, and deploy again", page),
        "InProgress" => warn("handler", "is being updated: look again in a minute", page),
        _ => right("handler", "is up to date"),
    }
}

fn concurrency(function: &SeenFunction) -> Finding {
    match function.reserved_concurrency {
        Some(0) => {
            let words =
                "the handler is stopped (reserved concurrency 0): records are discarded after the mapping's age limit";
            fail("concurrency", words, "operate/upgrade.md#stop-the-stream-handler")
        }
        Some(reserved) => right("concurrency", format!("{reserved} are reserved")),
        None => right("concurrency", "none is reserved"),
    }
}

/// The function's settings, and those of the last handler that has started.
fn environment(function: &SeenFunction, seen: &Seen) -> Finding {
    let (check, page) = ("settings", "reference/parameters.md");
    let settings = match Settings::read(|name| function.environment.get(name).cloned()) {
        Ok(settings) => settings,
        Err(error) => return fail(check, format!("the handler can't start: {error}"), page),
    };
    let Read::Known(Some(announcement)) = &seen.announcement else {
        return right(check, "can be read");
    };
    let differs = announcement.differs_in(&settings);
    if differs.is_empty() {
        return right(check, "the handler has run with what is deployed");
    }
    let words = format!("{} changed, and no handler has run since: it is the next record's", differs.join(", "));
    warn(check, words, page)
}
