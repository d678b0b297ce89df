//! The checks: each a pure function from what was read to what it finds.

use std::collections::BTreeSet;

use sapwood_core::audit::{Kept, Kind};
use sapwood_core::model::{NewerFormat, Settings};
use sapwood_local::template::EventSource;
use serde_json::Value;

use super::finding::Verdict::{Fail, NotHere, Ok as Right, Unknown, Warn};
use super::finding::{Finding, Verdict};
use super::seen::{Read, Seen, SeenAlarm, SeenEpoch, SeenFunction, SeenMapping, SeenTable};
use crate::recognised::other_keys;

/// The metrics of the template's alarms on the table, the stream handler and its event source mapping.
pub(super) const METRICS: [&str; 11] = [
    "IteratorAge",
    "Errors",
    "Throttles",
    "Failures",
    "BadRecords",
    "ReadThrottleEvents",
    "WriteThrottleEvents",
    "TransactionConflict",
    "OnFailureDestinationDeliveredEventCount",
    "DroppedEventCount",
    "PolledEventCount",
];

/// How long the auditor may save nothing, in seconds. A schedule runs it every few minutes.
const AUDITOR_SILENT_SECONDS_MAX: u64 = 60 * 60;
/// Most seconds since the oldest key was compared: as the alarm `AuditAge` has it.
const AUDIT_AGE_SECONDS_MAX: u64 = 7 * 24 * 60 * 60;

const STREAM_NOT_READ: &str = "runbooks/stream-not-read.md";
const CONSTANTS: &str = "parameters.md#constants-and-the-commands-that-change-them";

/// Runs all checks. `release` is this program's; `source` is the template's event source with these settings.
pub(super) fn all(seen: &Seen, settings: &Settings, source: &EventSource, release: &str) -> Vec<Finding> {
    let Some(table) = &seen.table else {
        let words = "there is no such table in this region and account: check --table, --region and --profile";
        return vec![Finding::new("table", Fail, words, "deploying.md")];
    };
    let mut findings = vec![
        status(table),
        keys(table, settings),
        stream(table),
        ttl(&seen.ttl, settings),
        recovery(&seen.recovery),
        protection(table),
        announcement(seen, release),
    ];
    findings.extend(replicas(table));
    let Mappings { ours, unread } = Mappings::of(seen);
    findings.extend(match &seen.mappings {
        Read::Known(_) => mapping(&ours, &unread, source),
        Read::Unknown(reason) => vec![unknown("mapping", reason, STREAM_NOT_READ)],
        Read::NotHere => vec![not_here("mapping", "Lambda")],
    });
    // Several mappings may bring the stream to one handler.
    let handlers: BTreeSet<&str> = ours.iter().map(|mapping| mapping.function.as_str()).collect();
    for handler in handlers {
        findings.extend(function(seen, handler));
    }
    findings.extend(match &seen.alarms {
        Read::Known(alarms) => self::alarms(alarms),
        Read::Unknown(reason) => vec![unknown("alarms", reason, "runbooks/README.md")],
        Read::NotHere => vec![not_here("alarms", "CloudWatch")],
    });
    findings.push(audit(seen));
    findings.extend(settings.totals.as_ref().map(|_| totals(seen)));
    findings
}

fn unknown(check: &'static str, reason: &str, page: &'static str) -> Finding {
    Finding::new(check, Unknown, format!("can't be read: {reason}"), page)
}

fn not_here(check: &'static str, service: &str) -> Finding {
    Finding::new(check, NotHere, format!("doesn't apply: this endpoint is no {service}"), "operating.md")
}

fn right(check: &'static str, words: impl Into<String>) -> Finding {
    Finding::new(check, Right, words, "doctor.md")
}

fn status(table: &SeenTable) -> Finding {
    match table.status.as_str() {
        "ACTIVE" => right("table", "is active"),
        other => Finding::new("table", Warn, format!("is {other}: look again when it is ACTIVE"), "recovery.md"),
    }
}

fn keys(table: &SeenTable, settings: &Settings) -> Finding {
    let names = settings.schema.names();
    let wanted = [&names.partition_key, &names.sort_key].map(|name| (name.clone(), "S".to_owned()));
    if table.keys == wanted {
        return right("keys", format!("{} and {}, texts", names.partition_key, names.sort_key));
    }
    let found: Vec<String> = table.keys.iter().map(|(name, kind)| format!("{name} ({kind})")).collect();
    Finding::new("keys", Fail, other_keys(&found, names), "existing-table.md")
}

fn stream(table: &SeenTable) -> Finding {
    match &table.stream {
        None => {
            Finding::new("stream", Fail, "is off: nobody hears of what is written. Switch it on", "existing-table.md")
        }
        Some((_, view)) if view == "NEW_AND_OLD_IMAGES" => right("stream", "has new and old images"),
        Some((_, view)) => {
            let words = format!("has {view}, and the handler needs NEW_AND_OLD_IMAGES: switch it off and on again");
            Finding::new("stream", Fail, words, "existing-table.md")
        }
    }
}

fn ttl(ttl: &Read<Option<String>>, settings: &Settings) -> Finding {
    let wanted = settings.expires();
    let page = "existing-table.md";
    match ttl {
        Read::Known(Some(name)) if name == wanted => right("ttl", format!("is on, by {name}")),
        Read::Known(Some(name)) => {
            let words = format!(
                "is on by {name}, and the handler writes {wanted}: its temporary items stay. Set TtlAttribute={name}"
            );
            Finding::new("ttl", Warn, words, page)
        }
        Read::Known(None) => Finding::new(
            "ttl",
            Warn,
            format!("is off: tombstones and other temporary items stay. Switch it on, by {wanted}"),
            page,
        ),
        Read::Unknown(reason) => unknown("ttl", reason, page),
        Read::NotHere => not_here("ttl", "DynamoDB with TTL"),
    }
}

fn recovery(recovery: &Read<bool>) -> Finding {
    let page = "recovery.md#backups-and-restore";
    match recovery {
        Read::Known(true) => right("recovery", "point-in-time recovery is on"),
        Read::Known(false) => {
            Finding::new("recovery", Warn, "point-in-time recovery is off: what is lost stays lost", page)
        }
        Read::Unknown(reason) => unknown("recovery", reason, page),
        Read::NotHere => not_here("recovery", "DynamoDB with backups"),
    }
}

fn protection(table: &SeenTable) -> Finding {
    if table.is_protected {
        return right("protection", "the table can't be deleted by mistake");
    }
    Finding::new("protection", Warn, "the table can be deleted by one call (so it is with Stage=dev)", "operating.md")
}

/// A look at one region can't tell where base records are written.
fn replicas(table: &SeenTable) -> Option<Finding> {
    let regions = (!table.replicas.is_empty()).then(|| table.replicas.join(", "))?;
    let words = format!(
        "there are some in {regions}: write base records in the handler's region only, because the handler's touches replace what others write"
    );
    Some(Finding::new("replicas", Warn, words, "recovery.md#more-than-one-region"))
}

fn announcement(seen: &Seen, release: &str) -> Finding {
    let (check, page) = ("release", "operating.md");
    match &seen.announcement {
        Read::Known(Some(handler)) if handler.release == release => {
            right(check, format!("handler and sapwood are {release}"))
        }
        Read::Known(Some(handler)) => {
            let words =
                format!("the handler is {}, and sapwood {release}: use the commit that is deployed", handler.release);
            Finding::new(check, Warn, words, page)
        }
        Read::Known(None) => {
            let words = "no handler has left its settings in the table: it has never run, or is older than sapwood";
            Finding::new(check, Warn, words, STREAM_NOT_READ)
        }
        Read::Unknown(reason) => unknown(check, reason, page),
        Read::NotHere => not_here(check, "DynamoDB"),
    }
}

/// The mappings of the table's stream. Another consumer may read it.
struct Mappings<'a> {
    /// The mappings to a stream handler: a function that has such an environment.
    ours: Vec<&'a SeenMapping>,
    /// The mappings to functions whose configuration can't be read: a handler's, or another consumer's.
    unread: Vec<&'a SeenMapping>,
}

impl<'a> Mappings<'a> {
    fn of(seen: &'a Seen) -> Self {
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

fn mapping(ours: &[&SeenMapping], unread: &[&SeenMapping], source: &EventSource) -> Vec<Finding> {
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
        Finding::new("mapping", Unknown, words, STREAM_NOT_READ)
    });
    let [mapping] = ours else {
        let finding = match (ours, of_unread) {
            ([], Some(finding)) => finding,
            ([], None) => Finding::new(
                "mapping",
                Fail,
                "no event source mapping brings the stream to a stream handler: deploy again",
                STREAM_NOT_READ,
            ),
            _ => {
                let words = format!(
                    "{} mappings bring the stream to a handler, which breaks the order of records: delete all but one ({})",
                    ours.len(),
                    ids(ours)
                );
                Finding::new("mapping", Fail, words, "existing-table.md")
            }
        };
        return vec![finding];
    };
    let state = match mapping.state.as_str() {
        "Enabled" => right("mapping", format!("{} is enabled", mapping.id)),
        "Disabled" | "Disabling" => Finding::new(
            "mapping",
            Fail,
            format!("{} is disabled (FanOut=off?): rows are out of date", mapping.id),
            STREAM_NOT_READ,
        ),
        other => {
            Finding::new("mapping", Warn, format!("{} is {other}: look again in a minute", mapping.id), STREAM_NOT_READ)
        }
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
    Finding::new("filter", Fail, words, "parameters.md")
}

fn batches(mapping: &SeenMapping, source: &EventSource) -> Finding {
    if source.reports_batch_item_failures && !mapping.reports_failures {
        let words =
            "the mapping doesn't take reports of failed items (ReportBatchItemFailures): records that failed are lost";
        return Finding::new("failures", Fail, words, "runbooks/handler-failures.md");
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
    Finding::new("retries", Warn, format!("{}: was a command meant to stay?", differs.join("; ")), CONSTANTS)
}

fn destination(mapping: &SeenMapping, source: &EventSource) -> Finding {
    if source.has_failure_destination && !mapping.has_destination {
        let words = "discarded records go nowhere (no OnFailure destination): deploy again";
        return Finding::new("destination", Fail, words, "runbooks/lost-records.md");
    }
    right("destination", "discarded records are kept")
}

fn function(seen: &Seen, arn: &str) -> Vec<Finding> {
    let page = "runbooks/handler-errors.md";
    let function = match seen.functions.get(arn) {
        Some(Read::Known(function)) => function,
        Some(Read::Unknown(reason)) => return vec![unknown("handler", reason, page)],
        Some(Read::NotHere) | None => return vec![not_here("handler", "Lambda")],
    };
    vec![update(function, page), concurrency(function), environment(function, seen)]
}

fn update(function: &SeenFunction, page: &'static str) -> Finding {
    match function.last_update.as_str() {
        "Failed" => {
            Finding::new("handler", Fail, "its last update failed: look at the stack's events, and deploy again", page)
        }
        "InProgress" => Finding::new("handler", Warn, "is being updated: look again in a minute", page),
        _ => right("handler", "is up to date"),
    }
}

fn concurrency(function: &SeenFunction) -> Finding {
    match function.reserved_concurrency {
        Some(0) => {
            let words =
                "the handler is stopped (reserved concurrency 0): records are discarded after the mapping's age limit";
            Finding::new("concurrency", Fail, words, "operating.md#stopping-the-handler")
        }
        Some(reserved) => right("concurrency", format!("{reserved} are reserved")),
        None => right("concurrency", "none is reserved"),
    }
}

/// The function's settings, and those of the last handler that has started.
fn environment(function: &SeenFunction, seen: &Seen) -> Finding {
    let (check, page) = ("settings", "parameters.md");
    let settings = match Settings::read(|name| function.environment.get(name).cloned()) {
        Ok(settings) => settings,
        Err(error) => return Finding::new(check, Fail, format!("the handler can't start: {error}"), page),
    };
    let Read::Known(Some(announcement)) = &seen.announcement else {
        return right(check, "can be read");
    };
    let differs = announcement.differs_in(&settings);
    if differs.is_empty() {
        return right(check, "the handler has run with what is deployed");
    }
    let words = format!("{} changed, and no handler has run since: it is the next record's", differs.join(", "));
    Finding::new(check, Warn, words, page)
}

fn alarms(alarms: &[SeenAlarm]) -> Vec<Finding> {
    let (check, page) = ("alarms", "runbooks/README.md");
    if alarms.is_empty() {
        let words = "there are none on the table, its handler or its mapping (Stage=dev has none)";
        return vec![Finding::new(check, Warn, words, page)];
    }
    let names = |which: &dyn Fn(&&SeenAlarm) -> bool| -> String {
        alarms.iter().filter(which).map(|alarm| alarm.name.as_str()).collect::<Vec<_>>().join(", ")
    };
    let mut findings = Vec::new();
    let on = names(&|alarm| alarm.state == "ALARM");
    if !on.is_empty() {
        findings.push(Finding::new(check, Fail, format!("on: {on}"), page));
    }
    let silent = names(&|alarm| !alarm.has_actions);
    if !silent.is_empty() {
        let words = format!("nobody hears of {silent}: give AlarmEmail or AlarmTopicArn");
        findings.push(Finding::new("alarm-actions", Warn, words, "parameters.md"));
    }
    let there: BTreeSet<&str> = alarms.iter().flat_map(|alarm| alarm.metrics.iter().map(String::as_str)).collect();
    let missing: Vec<&str> = METRICS.into_iter().filter(|metric| !there.contains(metric)).collect();
    if !missing.is_empty() {
        let words = format!("no alarm on {}: deploy again", missing.join(", "));
        findings.push(Finding::new("alarms-missing", Warn, words, page));
    }
    if findings.is_empty() {
        findings.push(right(check, format!("{} are there, and quiet", alarms.len())));
    }
    findings
}

fn audit(seen: &Seen) -> Finding {
    let (check, page) = ("audit", "auditor.md");
    let Kept { state, impossible } = match &seen.audit {
        Read::Known(Some(Ok(kept))) => kept,
        Read::Known(Some(Err(NewerFormat { format }))) => {
            let words = format!(
                "the auditor's state (SAPWOOD, AUDIT) has format {format}, which this version doesn't know: an auditor of this version stands \
                 still. Deploy the version that wrote it, or delete the item"
            );
            return Finding::new(check, Warn, words, page);
        }
        Read::Known(None) => return Finding::new(check, Warn, "no auditor has run: nobody compares the table", page),
        Read::Unknown(reason) => return unknown(check, reason, page),
        Read::NotHere => return not_here(check, "DynamoDB"),
    };
    let (silent, age) = (seen.now.saturating_sub(state.saved), state.age(seen.now));
    let unconfirmed = state.suspects.unconfirmed().count();
    let (verdict, words): (Verdict, String) = if !impossible.is_empty() {
        let names = impossible.join(", ");
        (Warn, format!("the auditor's state can't be true, in {names}: its next run sets that anew, if there is one"))
    } else if silent > AUDITOR_SILENT_SECONDS_MAX {
        (
            Warn,
            format!("the auditor doesn't run: it was last heard of {} minutes ago. Is it switched off?", silent / 60),
        )
    } else if age > AUDIT_AGE_SECONDS_MAX {
        (Warn, format!("the oldest key was last looked at {} hours ago: passes are skipped, or too slow", age / 3_600))
    } else if unconfirmed > 0 {
        let minutes = state.suspects.settle().as_secs() / 60;
        (
            Warn,
            format!(
                "{unconfirmed} differences don't count yet: they wait for others, or until they are {minutes} minutes old"
            ),
        )
    } else {
        let compared = format!("all that is older than {} minutes was compared", age / 60);
        let wrong = state.wrong_per_million().filter(|wrong| *wrong > 0.0);
        (Right, wrong.map_or(compared.clone(), |wrong| format!("{compared}; {wrong:.2} of a million items were wrong")))
    };
    Finding::new(check, verdict, words, page)
}

/// Totals that are kept: they are exact from the epoch on in which every node was counted.
fn totals(seen: &Seen) -> Finding {
    let (check, page) = ("totals", "api.md#totals");
    let found = |kind: Kind| match &seen.audit {
        Read::Known(Some(Ok(Kept { state, .. }))) => state.pass.findings.get(&kind).copied().unwrap_or_default(),
        _ => 0,
    };
    let left_out = found(Kind::TotalLeftOut);
    let (verdict, words): (Verdict, String) = match &seen.epoch {
        Read::Unknown(reason) => return unknown(check, reason, page),
        Read::NotHere => return not_here(check, "DynamoDB"),
        Read::Known(Some(Err(NewerFormat { format }))) => (
            Fail,
            format!(
                "the epoch (SAPWOOD, EPOCH) has format {format}, which this version doesn't know: use the version that wrote it"
            ),
        ),
        Read::Known(Some(Ok(SeenEpoch { number: None, .. }))) => (
            Fail,
            "the epoch (SAPWOOD, EPOCH) was lost, altered or put back: its copy says another one, and new nodes are counted in the wrong one. sapwood repair puts the later one into both, and counts what is counted elsewhere"
                .to_owned(),
        ),
        Read::Known(Some(Ok(SeenEpoch { number: Some(number), is_unfinished: true }))) => (
            Fail,
            format!(
                "epoch {number} was begun, and not all nodes were written for it: totals lack those. Go on with sapwood backfill --totals, where its working file is, or begin anew"
            ),
        ),
        Read::Known(_) if left_out > 0 => (
            Warn,
            format!(
                "{left_out} nodes have something that can't be added up, and count as 0 there: sapwood verify names them"
            ),
        ),
        Read::Known(Some(Ok(SeenEpoch { number: Some(number), .. }))) => {
            (Right, format!("all nodes were written for epoch {number}"))
        }
        Read::Known(None) => {
            let words = "are kept since the first node, or there would be an epoch. If Totals was set later: sapwood backfill --totals";
            (Right, words.to_owned())
        }
    };
    Finding::new(check, verdict, words, page)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
