//! The checks: each a pure function from what was read to what it finds.

use std::collections::BTreeSet;

use sapwood_core::audit::{Kept, Kind};
use sapwood_core::model::{NewerFormat, Settings};
use sapwood_local::template::EventSource;

use super::facts::{Read, Seen, SeenAlarm, SeenEpoch, SeenTable};
use super::finding::Verdict::{Fail, Ok as Right, Warn};
use super::finding::{Finding, Verdict, fail, not_here, right, unknown, warn};
use super::mapping::{Mappings, STREAM_NOT_READ, function, mapping};
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

/// Runs all checks. `release` is this program's; `source` is the template's event source with these settings.
pub(super) fn all(seen: &Seen, settings: &Settings, source: &EventSource, release: &str) -> Vec<Finding> {
    let Some(table) = &seen.table else {
        let words = "there is no such table in this region and account: check --table, --region and --profile";
        return vec![fail("table", words, "operate/deploy.md")];
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
        Read::Unknown(reason) => vec![unknown("alarms", reason, "operate/runbooks/README.md")],
        Read::NotHere => vec![not_here("alarms", "CloudWatch")],
    });
    findings.push(audit(seen));
    findings.extend(settings.totals.as_ref().map(|_| totals(seen)));
    findings
}

fn status(table: &SeenTable) -> Finding {
    match table.status.as_str() {
        "ACTIVE" => right("table", "is active"),
        other => warn("table", format!("is {other}: look again when it is ACTIVE"), "operate/recovery.md"),
    }
}

fn keys(table: &SeenTable, settings: &Settings) -> Finding {
    let names = settings.schema.names();
    let wanted = [&names.partition_key, &names.sort_key].map(|name| (name.clone(), "S".to_owned()));
    if table.keys == wanted {
        return right("keys", format!("{} and {}, texts", names.partition_key, names.sort_key));
    }
    let found: Vec<String> = table.keys.iter().map(|(name, kind)| format!("{name} ({kind})")).collect();
    fail("keys", other_keys(&found, names), "operate/existing-table.md")
}

fn stream(table: &SeenTable) -> Finding {
    match &table.stream {
        None => fail("stream", "is off: nobody hears of what is written. Switch it on", "operate/existing-table.md"),
        Some((_, view)) if view == "NEW_AND_OLD_IMAGES" => right("stream", "has new and old images"),
        Some((_, view)) => {
            let words = format!("has {view}, and the handler needs NEW_AND_OLD_IMAGES: switch it off and on again");
            fail("stream", words, "operate/existing-table.md")
        }
    }
}

fn ttl(ttl: &Read<Option<String>>, settings: &Settings) -> Finding {
    let wanted = settings.expires();
    let page = "operate/existing-table.md";
    match ttl {
        Read::Known(Some(name)) if name == wanted => right("ttl", format!("is on, by {name}")),
        Read::Known(Some(name)) => {
            let words = format!(
                "is on by {name}, and the handler writes {wanted}: its temporary items stay. Set TtlAttribute={name}"
            );
            warn("ttl", words, page)
        }
        Read::Known(None) => {
            warn("ttl", format!("is off: tombstones and other temporary items stay. Switch it on, by {wanted}"), page)
        }
        Read::Unknown(reason) => unknown("ttl", reason, page),
        Read::NotHere => not_here("ttl", "DynamoDB with TTL"),
    }
}

fn recovery(recovery: &Read<bool>) -> Finding {
    let page = "operate/recovery.md#restore-the-table";
    match recovery {
        Read::Known(true) => right("recovery", "point-in-time recovery is on"),
        Read::Known(false) => warn("recovery", "point-in-time recovery is off: what is lost stays lost", page),
        Read::Unknown(reason) => unknown("recovery", reason, page),
        Read::NotHere => not_here("recovery", "DynamoDB with backups"),
    }
}

fn protection(table: &SeenTable) -> Finding {
    if table.is_protected {
        return right("protection", "the table can't be deleted by mistake");
    }
    warn("protection", "the table can be deleted by one call (so it is with Stage=dev)", "operate/upgrade.md")
}

/// A look at one region can't tell where base records are written.
fn replicas(table: &SeenTable) -> Option<Finding> {
    let regions = (!table.replicas.is_empty()).then(|| table.replicas.join(", "))?;
    let words = format!(
        "there are some in {regions}: write base records in the handler's region only, because the handler's touches replace what others write"
    );
    Some(warn("replicas", words, "operate/recovery.md#run-in-several-regions"))
}

fn announcement(seen: &Seen, release: &str) -> Finding {
    let (check, page) = ("release", "operate/upgrade.md");
    match &seen.announcement {
        Read::Known(Some(handler)) if handler.release == release => {
            right(check, format!("handler and sapwood are {release}"))
        }
        Read::Known(Some(handler)) => {
            let words =
                format!("the handler is {}, and sapwood {release}: use the commit that is deployed", handler.release);
            warn(check, words, page)
        }
        Read::Known(None) => {
            let words = "no handler has left its settings in the table: it has never run, or is older than sapwood";
            warn(check, words, STREAM_NOT_READ)
        }
        Read::Unknown(reason) => unknown(check, reason, page),
        Read::NotHere => not_here(check, "DynamoDB"),
    }
}

fn alarms(alarms: &[SeenAlarm]) -> Vec<Finding> {
    let (check, page) = ("alarms", "operate/runbooks/README.md");
    if alarms.is_empty() {
        let words = "there are none on the table, its handler or its mapping (Stage=dev has none)";
        return vec![warn(check, words, page)];
    }
    let names = |which: &dyn Fn(&&SeenAlarm) -> bool| -> String {
        alarms.iter().filter(which).map(|alarm| alarm.name.as_str()).collect::<Vec<_>>().join(", ")
    };
    let mut findings = Vec::new();
    let on = names(&|alarm| alarm.state == "ALARM");
    if !on.is_empty() {
        findings.push(fail(check, format!("on: {on}"), page));
    }
    let silent = names(&|alarm| !alarm.has_actions);
    if !silent.is_empty() {
        let words = format!("nobody hears of {silent}: give AlarmEmail or AlarmTopicArn");
        findings.push(warn("alarm-actions", words, "reference/parameters.md"));
    }
    let there: BTreeSet<&str> = alarms.iter().flat_map(|alarm| alarm.metrics.iter().map(String::as_str)).collect();
    let missing: Vec<&str> = METRICS.into_iter().filter(|metric| !there.contains(metric)).collect();
    if !missing.is_empty() {
        let words = format!("no alarm on {}: deploy again", missing.join(", "));
        findings.push(warn("alarms-missing", words, page));
    }
    if findings.is_empty() {
        findings.push(right(check, format!("{} are there, and quiet", alarms.len())));
    }
    findings
}

fn audit(seen: &Seen) -> Finding {
    let (check, page) = ("audit", "operate/verify-repair.md#the-auditor");
    let Kept { state, impossible } = match &seen.audit {
        Read::Known(Some(Ok(kept))) => kept,
        Read::Known(Some(Err(NewerFormat { format }))) => {
            let words = format!(
                "the auditor's state (SAPWOOD, AUDIT) has format {format}, which this version doesn't know: an auditor of this version stands \
                 still. Deploy the version that wrote it, or delete the item"
            );
            return warn(check, words, page);
        }
        Read::Known(None) => return warn(check, "no auditor has run: nobody compares the table", page),
        Read::Unknown(reason) => return unknown(check, reason, page),
        Read::NotHere => return not_here(check, "DynamoDB"),
    };
    let (silent, age) = (seen.now.saturating_sub(state.saved), state.age(seen.now));
    let unconfirmed = state.suspects.unconfirmed().count();
    let words = if !impossible.is_empty() {
        let names = impossible.join(", ");
        format!("the auditor's state can't be true, in {names}: its next run sets that anew, if there is one")
    } else if silent > AUDITOR_SILENT_SECONDS_MAX {
        format!("the auditor doesn't run: it was last heard of {} minutes ago. Is it switched off?", silent / 60)
    } else if age > AUDIT_AGE_SECONDS_MAX {
        format!("the oldest key was last looked at {} hours ago: passes are skipped, or too slow", age / 3_600)
    } else if unconfirmed > 0 {
        let minutes = state.suspects.settle().as_secs() / 60;
        format!(
            "{unconfirmed} differences don't count yet: they wait for others, or until they are {minutes} minutes old"
        )
    } else {
        let compared = format!("all that is older than {} minutes was compared", age / 60);
        let wrong = state.wrong_per_million().filter(|wrong| *wrong > 0.0);
        let words =
            wrong.map_or(compared.clone(), |wrong| format!("{compared}; {wrong:.2} of a million items were wrong"));
        return Finding::new(check, Right, words, page);
    };
    warn(check, words, page)
}

/// Totals that are kept: they are exact from the epoch on in which every node was counted.
fn totals(seen: &Seen) -> Finding {
    let (check, page) = ("totals", "guides/totals.md");
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
