//! What was found, for people and for programs.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;

use comfy_table::Table;
use comfy_table::presets::NOTHING;
use sapwood_core::audit::{Difference, Kind};
use sapwood_core::keys::{Id, ItemKey, NodeRef, Tenant};
use serde_json::{Value, json};

use super::AuditError;
use super::pass::Found;
use crate::connect::Whose;
use crate::said::shown;
use crate::say::say;

/// Most keys that are listed on a terminal. A report has them all.
const LISTED_MAX: usize = 20;

/// A difference as JSON.
pub(super) fn line(difference: &Difference) -> Value {
    let Difference { key, kind, node, evidence, waits_for } = difference;
    let mut line = json!({
        "kind": kind.as_str(), "pk": key.pk, "sk": key.sk, "node": node.id.as_str(), "evidence": format!("{evidence:016x}"),
    });
    if let Some(waits_for) = waits_for {
        line["waits_for"] = json!(waits_for.id.as_str());
    }
    if let Some(tenant) = &node.tenant {
        line["tenant"] = json!(tenant.as_str());
    }
    line
}

/// Reads what [`line`] wrote.
pub(super) fn parse(line: &Value) -> Option<Difference> {
    let text = |name: &str| line.get(name).and_then(Value::as_str);
    let tenant = match text("tenant") {
        None => None,
        Some(tenant) => Some(Tenant::new(tenant).ok()?),
    };
    let node = NodeRef { tenant, id: Id::new(text("node")?).ok()? };
    let waits_for = match text("waits_for") {
        None => None,
        Some(id) => Some(node.sibling(Id::new(id).ok()?)),
    };
    Some(Difference {
        key: ItemKey::new(text("pk")?, text("sk")?),
        kind: Kind::parse(text("kind")?)?,
        node,
        evidence: u64::from_str_radix(text("evidence")?, 16).ok()?,
        waits_for,
    })
}

/// Writes differences into a file, one a line.
pub(super) fn write(path: &Path, differences: &[Difference]) -> Result<(), AuditError> {
    let failed = |source| AuditError::Report { path: path.to_owned(), action: "written", source };
    let mut file = BufWriter::new(File::create(path).map_err(failed)?);
    for difference in differences {
        writeln!(file, "{}", line(difference)).map_err(failed)?;
    }
    file.flush().map_err(failed)
}

/// Reads a file of differences.
pub(super) fn read(path: &Path) -> Result<Vec<Difference>, AuditError> {
    let failed = |source| AuditError::Report { path: path.to_owned(), action: "read", source };
    let mut differences = Vec::new();
    for (position, text) in BufReader::new(File::open(path).map_err(failed)?).lines().enumerate() {
        let line = serde_json::from_str(&text.map_err(failed)?).ok();
        let difference = line.as_ref().and_then(parse);
        differences.push(difference.ok_or(AuditError::Line { path: path.to_owned(), line: position + 1 })?);
    }
    Ok(differences)
}

/// Prints what was found.
pub(super) fn print(found: &Found, whose: Whose, json: bool) {
    if json {
        for (state, differences) in [("confirmed", &found.settled), ("moving", &found.moving)] {
            for difference in differences {
                let mut line = line(difference);
                line["state"] = json!(state);
                say!("{line}");
            }
        }
        say!(
            "{}",
            json!({
                "items": found.items, "differences": faults(&found.settled).len(), "findings": findings(found).len(),
                "moving": found.moving.len(), "settings": whose.as_str(),
                "read_units": found.usage.read_units, "seconds": found.took.as_secs_f64(),
            })
        );
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
    say!(
        "{} items, {:.0} read units, {:.0} s: {}",
        found.items,
        found.usage.read_units,
        found.took.as_secs_f64(),
        match (faults(&found.settled).len(), faults(&found.moving).len()) {
            (0, 0) => "all derived items are right".to_owned(),
            (wrong, 0) => format!("{wrong} differences"),
            (wrong, moving) => format!("{wrong} differences, and {moving} items that still change"),
        }
    );
}

/// The differences that a repair can mend.
pub(super) fn faults(differences: &[Difference]) -> Vec<&Difference> {
    differences.iter().filter(|difference| !difference.kind.is_finding()).collect()
}

fn findings(found: &Found) -> Vec<&Difference> {
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
        let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
        for difference in differences {
            *kinds.entry(difference.kind.as_str()).or_default() += 1;
        }
        let kinds: Vec<String> = kinds.into_iter().map(|(kind, count)| format!("{count} {kind}")).collect();
        text = format!("{text}\nand {more} more ({}); --report FILE has them all", kinds.join(", "));
    }
    text
}
