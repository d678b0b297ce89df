//! What was found, for people and for programs.

use std::collections::BTreeMap;

use comfy_table::Table;
use comfy_table::presets::NOTHING;
use sapwood_core::audit::{Difference, Kind};
use serde_json::json;

use super::difference_file::line;
use super::looked_at::counted;
use super::pass::PassResult;
use crate::connect::Whose;
use crate::printable::shown;
use crate::say::say;

/// Most keys that are listed on a terminal. A report has them all.
const LISTED_MAX: usize = 20;

pub(super) fn print(found: &PassResult, whose: Whose, json: bool) {
    if json {
        for (state, differences) in [("confirmed", &found.settled), ("moving", &found.moving)] {
            for difference in differences {
                let mut line = line(difference);
                line["state"] = json!(state);
                say!("{line}");
            }
        }
        let mut line = json!({
            "differences": faults(&found.settled).len(), "findings": findings(found).len(),
            "moving": found.moving.len(), "not_compared": unjudged(found), "settings": whose,
            "read_units": found.usage.read_units, "seconds": found.took.as_secs_f64(),
        });
        let seen = found.seen.json();
        if let Some(line) = line.as_object_mut() {
            line.extend(seen);
        }
        say!("{line}");
        return;
    }
    for (heading, differences) in [
        ("wrong", faults(&found.settled)),
        ("still changing", faults(&found.moving)),
        ("to be decided", findings(found)),
    ] {
        if !differences.is_empty() {
            say!("{heading}:\n{}", table(&differences));
        }
    }
    let read = match found.seen.items {
        0 => "looked at again".to_owned(),
        items => counted(items, "item", "items"),
    };
    let units = counted(found.usage.read_units.round() as u64, "read unit", "read units");
    say!("{read}, {units}, {:.0} s", found.took.as_secs_f64());
    say!("{}", sentence(found));
}

/// Says what was compared, what couldn't be, and what came of it.
fn sentence(found: &PassResult) -> String {
    let counted_differences = |count: usize| counted(count as u64, "difference", "differences");
    let moving = faults(&found.moving).len();
    let mut parts = vec![match (faults(&found.settled).len(), moving) {
        (0, 0) if unjudged(found) == 0 => "nothing is wrong".to_owned(),
        (0, 0) => "nothing is wrong in what could be compared".to_owned(),
        (wrong, 0) => counted_differences(wrong),
        (wrong, 1) => format!("{}, and 1 item that still changes", counted_differences(wrong)),
        (wrong, moving) => format!("{}, and {moving} items that still change", counted_differences(wrong)),
    }];
    parts.extend(not_compared(found));
    if found.is_cut {
        let words = "more is below the nodes that were mended than is looked at again: run sapwood verify when the handler has come to rest";
        parts.push(words.to_owned());
    }
    let findings: Vec<&Difference> = findings(found).into_iter().filter(|one| !one.kind.is_unjudged()).collect();
    if !findings.is_empty() {
        let count = counted(findings.len() as u64, "finding", "findings");
        parts.push(format!("{count} about what isn't ours to mend ({})", kinds(&findings)));
    }
    format!("{}: {}", found.seen.words(), parts.join("; "))
}

/// How much couldn't be compared. It counts at once, whether it has settled or not.
pub(super) fn unjudged(found: &PassResult) -> usize {
    found.settled.iter().chain(&found.moving).filter(|difference| difference.kind.is_unjudged()).count()
}

/// Says that something couldn't be compared, and why.
pub(super) fn not_compared(found: &PassResult) -> Option<String> {
    let all = found.settled.iter().chain(&found.moving);
    let newer = all.filter(|difference| difference.kind == Kind::NewerFormat).count();
    let items = counted(unjudged(found) as u64, "item wasn't", "items weren't");
    (unjudged(found) > 0).then(|| {
        format!(
            "{items} compared, because a newer version has written {newer} of the lineages and cursors, or what it remembers: use the version of \
             sapwood that belongs to it"
        )
    })
}

/// The differences that a repair can mend.
pub(super) fn faults(differences: &[Difference]) -> Vec<&Difference> {
    differences.iter().filter(|difference| !difference.kind.is_finding()).collect()
}

fn findings(found: &PassResult) -> Vec<&Difference> {
    found.settled.iter().filter(|difference| difference.kind.is_finding()).collect()
}

fn table(differences: &[&Difference]) -> String {
    let mut table = Table::new();
    table.load_style(NOTHING);
    for difference in differences.iter().take(LISTED_MAX) {
        let Difference { kind, key, .. } = difference;
        table.add_row([kind.as_str().into(), shown(&key.pk), shown(&key.sk)]);
    }
    let mut text = table.to_string();
    if let Some(more) = differences.len().checked_sub(LISTED_MAX).filter(|more| *more > 0) {
        text = format!("{text}\nand {more} more ({}); --report FILE has them all", kinds(differences));
    }
    text
}

fn kinds(differences: &[&Difference]) -> String {
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for difference in differences {
        *kinds.entry(difference.kind.as_str()).or_default() += 1;
    }
    let kinds: Vec<String> = kinds.into_iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    kinds.join(", ")
}
