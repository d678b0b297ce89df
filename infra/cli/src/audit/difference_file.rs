//! Differences as JSON, and files of them, one a line.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result, anyhow};
use sapwood_core::audit::{Difference, Kind};
use sapwood_core::keys::{Id, ItemKey, NodeRef, Tenant};
use serde_json::{Value, json};

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
    let node = node(text("node")?, text("tenant"))?;
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

/// Returns the node of an id and a tenant, if they can be one.
pub(super) fn node(id: &str, tenant: Option<&str>) -> Option<NodeRef> {
    let tenant = tenant.map(Tenant::new).transpose().ok()?;
    Some(NodeRef { tenant, id: Id::new(id).ok()? })
}

/// Writes differences into a file, one a line.
pub(super) fn write(path: &Path, differences: &[Difference]) -> Result<()> {
    let failed = |source: io::Error| anyhow!("the report {} can't be written: {source}", path.display());
    let mut file = BufWriter::new(File::create(path).map_err(failed)?);
    for difference in differences {
        writeln!(file, "{}", line(difference)).map_err(failed)?;
    }
    file.flush().map_err(failed)
}

pub(super) fn read(path: &Path) -> Result<Vec<Difference>> {
    let failed = |source: io::Error| anyhow!("the report {} can't be read: {source}", path.display());
    let mut differences = Vec::new();
    for (position, text) in BufReader::new(File::open(path).map_err(failed)?).lines().enumerate() {
        let line = serde_json::from_str(&text.map_err(failed)?).ok();
        let difference = line.as_ref().and_then(parse);
        differences.push(difference.with_context(|| {
            let (line, path) = (position + 1, path.display());
            format!("line {line} of the report {path} isn't a difference; give the file that `sapwood verify --report` wrote")
        })?);
    }
    Ok(differences)
}
