//! JSON Lines: one record a line, read and written without loss.
//!
//! ```json
//! {"id": "d", "parent": "V", "segment": "docs", "attributes": {"name": "Documents", "tags": {"$set": ["new", "red"]}}}
//! {"id": "e", "trashed": {"at": "2026-02-03T04:05:06.789Z", "by": "anna", "parent": "V"}}
//! {"node": "eq", "topic": "Audit", "version": 3, "attributes": {"auditor": "Padma"}}
//! ```
//!
//! A node has `id`; a revision has `node`, `topic` and `version`. Other fields may be absent. An id may be a number.
//! `tenant` is the tenant, if the table has tenants. Attributes are in the JSON of the HTTP API ([`sapwood_json`]):
//! numbers have up to 38 digits, binary is `{"$binary": …}`, a set is `{"$set": […]}`.

use sapwood_core::keys::{Id, NodeRef, Tenant, TrashTime, Version};
use sapwood_core::model::Trashed;
use sapwood_json::{Attributes, Fields, JsonError, Place, or_null, text, value};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::input::{Input, Lines};
use super::{Content, Entry};
use crate::{Fault, Location, Node, Options, Record, Revision};

/// The records of a file.
pub(super) struct JsonLines {
    lines: Lines,
    tenant: Option<Tenant>,
}

impl JsonLines {
    pub(super) fn new(input: Input, options: &Options) -> Self {
        Self { lines: Lines::new(input), tenant: options.tenant.clone() }
    }
}

impl Iterator for JsonLines {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        let (line, text) = self.lines.next()?;
        let tenant = self.tenant.as_ref();
        let at = Location { file: 0, line };
        Some(match text {
            Err(fault) => Entry::new(at, Err(fault)),
            Ok(text) => match read(text, tenant) {
                Ok(record) => Entry::new(at, Ok(Content::Record(record))),
                Err(fault) => Entry { faulty_node: node_of(text, tenant), ..Entry::new(at, Err(fault)) },
            },
        })
    }
}

/// The least that a node's line has.
#[derive(Deserialize)]
struct Least<'l> {
    #[serde(borrow)]
    id: &'l RawValue,
    tenant: Option<String>,
}

/// Returns the node of a line that is faulty otherwise, if it has one.
fn node_of(line: &str, tenant: Option<&Tenant>) -> Option<NodeRef> {
    let least: Least = serde_json::from_str(line).ok()?;
    let tenant = match least.tenant {
        Some(tenant) => Some(Tenant::new(tenant).ok()?),
        None => tenant.cloned(),
    };
    Some(NodeRef { tenant, id: id(least.id, &Place::Body).ok()? })
}

/// Reads a record from a line. `tenant` is the tenant of a record that names none.
pub fn read(line: &str, tenant: Option<&Tenant>) -> Result<Record, Fault> {
    let raw: &RawValue = serde_json::from_str(line)
        .map_err(|error| Fault::unreadable(format!("the line isn't JSON ({error}); write one object a line")))?;
    record(raw, tenant).map_err(|error| fault(&error))
}

fn record(raw: &RawValue, tenant: Option<&Tenant>) -> Result<Record, JsonError> {
    let mut fields = Fields::open(raw, &Place::Body, "an object, with `id` for a node or `node` for a revision")?;
    let tenant = fields.optional("tenant", self::tenant)?.or_else(|| tenant.cloned());
    let revised = fields.optional("node", id)?;
    let record = match revised {
        Some(id) => Record::Revision(Revision {
            node: NodeRef { tenant, id },
            topic: fields.required("topic", "a revision has a topic", text)?,
            version: fields.required("version", "a revision has a version", version)?,
            attributes: fields.optional("attributes", value)?.unwrap_or_default(),
        }),
        None => Record::Node(Node {
            node: NodeRef { tenant, id: fields.required("id", "a node has `id`, and a revision has `node`", id)? },
            parent: fields.optional("parent", or_null(id))?.flatten(),
            segment: fields.optional("segment", or_null(text))?.flatten(),
            trashed: fields.optional("trashed", trashed)?,
            attributes: fields.optional("attributes", value)?.unwrap_or_default(),
        }),
    };
    fields.close()?;
    Ok(record)
}

/// Reads an id, or a whole number as one: most databases count.
fn id(raw: &RawValue, at: &Place<'_>) -> Result<Id, JsonError> {
    let is_whole = raw.get().strip_prefix('-').unwrap_or(raw.get()).bytes().all(|byte| byte.is_ascii_digit());
    if !is_whole {
        return sapwood_json::id(raw, at);
    }
    Id::new(raw.get()).map_err(|source| JsonError::Key { path: at.to_string(), source })
}

fn tenant(raw: &RawValue, at: &Place<'_>) -> Result<Tenant, JsonError> {
    Tenant::new(text(raw, at)?).map_err(|source| JsonError::Key { path: at.to_string(), source })
}

/// Reads how a node was put into the trash. The life of its parent is that of another table.
fn trashed(raw: &RawValue, at: &Place<'_>) -> Result<Trashed, JsonError> {
    let mut fields = Fields::open(raw, at, "an object with `at`, `by` and `parent`")?;
    let trashed = Trashed {
        at: fields.optional("at", time)?.unwrap_or_else(TrashTime::unknown),
        by: fields.optional("by", text)?,
        parent: fields.optional("parent", id)?,
        born: None,
    };
    fields.close().map(|()| trashed)
}

fn time(raw: &RawValue, at: &Place<'_>) -> Result<TrashTime, JsonError> {
    let wanted = "a time such as `2026-02-03T04:05:06.789Z`";
    TrashTime::parse(&text(raw, at)?).ok_or_else(|| JsonError::Type { path: at.to_string(), wanted })
}

fn version(raw: &RawValue, at: &Place<'_>) -> Result<Version, JsonError> {
    let wrong = || JsonError::Type { path: at.to_string(), wanted: "a whole number" };
    let number: u64 = raw.get().parse().map_err(|_| wrong())?;
    Version::new(number).map_err(|source| JsonError::Key { path: at.to_string(), source })
}

/// Returns a mistake in JSON as a fault, with its place in the line.
pub(super) fn fault(error: &JsonError) -> Fault {
    let at = if error.path().is_empty() { String::new() } else { format!("`{}`: ", error.path()) };
    match error {
        JsonError::Syntax { detail } => Fault::unreadable(format!("the JSON is wrong ({detail}); write it again")),
        JsonError::Unknown { .. } => Fault::unreadable(format!(
            "{at}the line can't have this field; leave it out (attributes go into `attributes`)"
        )),
        JsonError::Key { .. } | JsonError::Digits { .. } | JsonError::Range { .. } | JsonError::Nested { .. } => {
            Fault::refused(format!("{at}{error}"))
        }
        _ => Fault::unreadable(format!("{at}{error}")),
    }
}

/// Returns a record as a line, without the line's end. It fails only at a number that no table can have.
pub fn write(record: &Record) -> serde_json::Result<String> {
    match record {
        Record::Node(node) => serde_json::to_string(&NodeLine {
            tenant: node.node.tenant.as_ref().map(Tenant::as_str),
            id: node.node.id.as_str(),
            parent: node.parent.as_ref().map(Id::as_str),
            segment: node.segment.as_deref(),
            trashed: node.trashed.as_ref().map(|trashed| TrashedLine {
                at: Some(trashed.at.as_str()).filter(|_| trashed.at != TrashTime::unknown()),
                by: trashed.by.as_deref(),
                parent: trashed.parent.as_ref().map(Id::as_str),
            }),
            attributes: &node.attributes,
        }),
        Record::Revision(revision) => serde_json::to_string(&RevisionLine {
            tenant: revision.node.tenant.as_ref().map(Tenant::as_str),
            node: revision.node.id.as_str(),
            topic: &revision.topic,
            version: revision.version.number(),
            attributes: &revision.attributes,
        }),
    }
}

#[derive(Serialize)]
struct NodeLine<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant: Option<&'a str>,
    id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    segment: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trashed: Option<TrashedLine<'a>>,
    #[serde(skip_serializing_if = "is_empty")]
    attributes: &'a Attributes,
}

#[derive(Serialize)]
struct TrashedLine<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<&'a str>,
}

#[derive(Serialize)]
struct RevisionLine<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant: Option<&'a str>,
    node: &'a str,
    topic: &'a str,
    version: u32,
    #[serde(skip_serializing_if = "is_empty")]
    attributes: &'a Attributes,
}

fn is_empty(attributes: &&Attributes) -> bool {
    attributes.0.is_empty()
}
