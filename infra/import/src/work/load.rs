//! Takes the records of a source in.

use rusqlite::{Connection, ToSql, params, params_from_iter};
use sapwood_core::keys::{Id, KeyError, NodeRef, path_segment_bytes};
use sapwood_core::model::{BaseNode, Item, Latest, Settings, item_bytes};

use super::stage::{self, Stage};
use super::{Work, WorkError, faults, tables};
use crate::cost::{NodeSizes, other_units};
use crate::sources::{Content, Entry, Source, jsonl};
use crate::{Fault, Record, Revision};

/// The entries of one transaction.
const ENTRIES_PER_TRANSACTION: u64 = 5_000;

const ENTRIES: &str = "entries";

/// A record as a row of the working file.
struct Row {
    pk: String,
    /// Empty for a node.
    sk: String,
    parent: Option<String>,
    sizes: NodeSizes,
    /// The segment as it stands in the paths of descendants.
    escaped: usize,
    body: String,
}

impl Work {
    /// Takes the next few thousand entries of a source in. Returns false once all are in. A source is read from its
    /// beginning: it fails with [`WorkError::SourceEnds`] if the source has less than was taken in before.
    pub fn load_some(&mut self, source: &mut Source) -> Result<bool, WorkError> {
        if self.stage()? != Stage::Loading {
            return Ok(false);
        }
        while self.to_skip > 0 {
            source.next().ok_or(WorkError::SourceEnds)?;
            self.to_skip -= 1;
        }
        let transaction = self.connection.transaction()?;
        let mut entries = 0;
        for entry in source.by_ref().take(ENTRIES_PER_TRANSACTION as usize) {
            entries += 1;
            take_in(&transaction, &entry, &self.settings, self.as_is)?;
        }
        tables::add(&transaction, ENTRIES, entries)?;
        let is_end = entries < ENTRIES_PER_TRANSACTION;
        if is_end {
            stage::enter(&transaction, Stage::Sorting)?;
        }
        transaction.commit()?;
        Ok(!is_end)
    }

    /// Returns the number of entries that were taken in.
    pub(crate) fn entries(&self) -> Result<u64, WorkError> {
        Ok(tables::integer(&self.connection, ENTRIES)?.unsigned_abs())
    }
}

fn take_in(connection: &Connection, entry: &Entry, settings: &Settings, as_is: bool) -> rusqlite::Result<()> {
    let (row, is_implied) = match &entry.found {
        Ok(Content::Record(record)) => (row(record, settings, as_is), false),
        Ok(Content::Implied(node)) => {
            // Most rows imply the same few nodes.
            let mut known = connection.prepare_cached("SELECT 1 FROM implied WHERE pk = ?")?;
            if known.exists([settings.schema.partition(&node.node)])? {
                return Ok(());
            }
            (row(&Record::Node(node.clone()), settings, as_is), true)
        }
        Ok(Content::Derived | Content::Foreign) => return Ok(()),
        Err(fault) => (Err(fault.clone()), false),
    };
    match row {
        Ok(row) if is_implied => row.insert(connection, entry, "implied", "body", &row.body),
        Ok(row) => {
            row.insert(connection, entry, "record", "sk", &row.sk)?;
            let seq = connection.last_insert_rowid();
            let mut insert = connection.prepare_cached("INSERT INTO body (seq, line) VALUES (?, ?)")?;
            insert.execute(params![seq, row.body]).map(drop)
        }
        Err(fault) => refuse(connection, entry, &fault, settings),
    }
}

/// Notes a fault, and the node that has it: its children have no fault of their own.
fn refuse(connection: &Connection, entry: &Entry, fault: &Fault, settings: &Settings) -> rusqlite::Result<()> {
    let refused = match &entry.found {
        Ok(Content::Record(Record::Node(node))) => Some(&node.node),
        _ => entry.faulty_node.as_ref(),
    };
    if let Some(node) = refused {
        let pk = settings.schema.partition(node);
        connection.prepare_cached("INSERT OR IGNORE INTO faulty (pk) VALUES (?)")?.execute([pk])?;
    }
    faults::add(connection, entry.at, fault)
}

impl Row {
    /// Puts the row into a table that has another column besides.
    fn insert(
        &self,
        connection: &Connection,
        entry: &Entry,
        table: &str,
        other: &str,
        value: &str,
    ) -> rusqlite::Result<()> {
        let NodeSizes { base, copied, id, tenant, parent: above, segment, path_end, other_units } = self.sizes;
        let sizes = [base, copied, tenant, id, above, segment, self.escaped, path_end, other_units];
        let sizes = sizes.map(|size| size as i64);
        let (file, line) = (entry.at.file as i64, entry.at.line as i64);
        let texts: [&dyn ToSql; 5] = [&self.pk, &self.parent, &file, &line, &value];
        let values = texts.into_iter().chain(sizes.iter().map(|size| size as &dyn ToSql));
        let mut insert = connection.prepare_cached(&format!(
            "INSERT INTO {table} (pk, parent, file, line, {other}, base, copied, tenant, id, above, segment, escaped, path_end, other_units)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        ))?;
        insert.execute(params_from_iter(values)).map(drop)
    }
}

fn row(record: &Record, settings: &Settings, as_is: bool) -> Result<Row, Fault> {
    let schema = &settings.schema;
    let item = record.accepted(schema, as_is)?;
    let body = jsonl::write(record).map_err(|error| Fault::refused(format!("{error}; correct the number")))?;
    match record {
        Record::Node(node) => {
            let pk = schema.partition(&node.node);
            let parent = node.parent.clone().map(|parent| schema.partition(&node.node.sibling(parent)));
            let (escaped, _) = path_sizes(&node.node, node.segment.as_deref());
            let mut sizes = node_sizes(&node.node, node.parent.as_ref(), node.segment.as_deref(), &item, settings);
            if let Ok(base) = BaseNode::read(item, &node.node, schema) {
                sizes.other_units = other_units(&node.node, &base, settings) as usize;
            }
            Ok(Row { pk, sk: String::new(), parent, sizes, escaped, body })
        }
        Record::Revision(revision) => {
            let key = record.key(schema).map_err(|error| Fault::refused(error.to_string()))?;
            let copied = copy_bytes(revision, &item, settings).map_err(|error| Fault::refused(error.to_string()))?;
            let sizes = NodeSizes { base: item_bytes(&item), copied, ..NodeSizes::default() };
            Ok(Row { pk: key.pk, sk: key.sk, parent: None, sizes, escaped: 0, body })
        }
    }
}

pub(crate) fn node_sizes(
    node: &NodeRef,
    parent: Option<&Id>,
    segment: Option<&str>,
    item: &Item,
    settings: &Settings,
) -> NodeSizes {
    let id = node.id.as_str();
    NodeSizes {
        base: item_bytes(item),
        copied: item_bytes(&settings.copies(item)),
        id: id.len(),
        tenant: settings.schema.partition(node).len() - id.len(),
        parent: parent.map_or(0, |parent| parent.as_str().len()),
        segment: segment.map_or(id.len(), str::len),
        path_end: path_sizes(node, segment).1,
        other_units: 0,
    }
}

/// Returns the sizes of a node's part in the key of a path, in bytes: in those of its descendants, and in its own.
pub(crate) fn path_sizes(node: &NodeRef, segment: Option<&str>) -> (usize, usize) {
    let id = node.id.as_str();
    let escaped = path_segment_bytes(segment.unwrap_or(id));
    match segment.filter(|segment| *segment != id) {
        Some(_) => (escaped, escaped + "!".len() + path_segment_bytes(id)),
        None => (escaped, escaped),
    }
}

fn copy_bytes(revision: &Revision, item: &Item, settings: &Settings) -> Result<usize, KeyError> {
    let latest = Latest { node: revision.node.clone(), topic: revision.topic.clone() };
    Ok(item_bytes(&Latest::copy(&latest.key(settings)?, revision.version, item, settings)))
}
