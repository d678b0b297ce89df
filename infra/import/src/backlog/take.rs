//! Takes what pages of the table show.

use std::collections::BTreeSet;

use rusqlite::{Connection, OptionalExtension, params};
use sapwood_core::audit::{Kind, Position};
use sapwood_core::keys::{ItemKey, NodeRef, Schema};
use sapwood_core::model::{BaseNode, Settings};

use super::{Backlog, WorkError};
use crate::cost::{NodeSizes, other_units};
use crate::work::load::{node_sizes, path_sizes};
use crate::work::tables;

/// How far a part of the table is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// The next page begins here; `None` at the part's beginning.
    At(Option<Position>),
    /// All of it is read.
    Done,
}

/// The records and items to mend that a page of the table shows.
#[derive(Debug, Default)]
pub struct PageWork {
    /// The nodes that are to be placed, with their records.
    pub nodes: Vec<(NodeRef, BaseNode)>,
    /// The nodes among them whose lineages change. The handler hands that down to their children.
    pub moved: Vec<NodeRef>,
    /// The other items to mend, each with the kind of its difference.
    pub others: Vec<(ItemKey, Kind)>,
    /// The epochs of totals that its items are of.
    pub epochs: BTreeSet<u32>,
    /// Where the next page of the part begins; `None` at its end.
    pub next: Option<Position>,
}

/// The beginning of the names of values that are epochs of totals.
const EPOCH: &str = "epoch ";

impl Backlog {
    /// Returns the epochs of totals that the pages have shown.
    pub fn epochs(&self) -> Result<Vec<u32>, WorkError> {
        let mut query = self.connection.prepare("SELECT value FROM value WHERE name LIKE ? || '%'")?;
        Ok(query.query_map([EPOCH], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?)
    }

    /// Returns how far a part of the table is read.
    pub fn part(&self, segment: u32) -> Result<Part, WorkError> {
        let query = "SELECT is_done, after_pk, after_sk, history FROM scanned WHERE segment = ?";
        let schema = &self.settings.schema;
        let read = |row: &rusqlite::Row<'_>| {
            if row.get(0)? {
                return Ok(Part::Done);
            }
            let (pk, sk): (String, String) = (row.get(1)?, row.get(2)?);
            let history: Option<String> = row.get(3)?;
            let history = history.and_then(|key| schema.parse_partition(&key).ok());
            Ok(Part::At(Some(Position { after: ItemKey { pk, sk }, history })))
        };
        Ok(self.connection.query_row(query, [segment], read).optional()?.unwrap_or(Part::At(None)))
    }

    /// Takes a page of a part of the table, and remembers that it was read. If it fails the page has to be taken again.
    pub fn take(&mut self, segment: u32, page: &PageWork) -> Result<(), WorkError> {
        let (settings, schema) = (&self.settings, &self.settings.schema);
        let transaction = self.connection.transaction()?;
        for (node, base) in &page.nodes {
            insert(&transaction, node, base, settings)?;
        }
        for epoch in &page.epochs {
            tables::set(&transaction, &format!("{EPOCH}{epoch}"), i64::from(*epoch))?;
        }
        for node in &page.moved {
            let insert = "INSERT OR IGNORE INTO moved (pk) VALUES (?)";
            transaction.prepare_cached(insert)?.execute([schema.partition(node)])?;
        }
        for (key, kind) in &page.others {
            let insert = "INSERT INTO other (pk, sk, kind) VALUES (?, ?, ?)";
            transaction.prepare_cached(insert)?.execute([&key.pk, &key.sk, kind.as_str()])?;
        }
        remember(&transaction, segment, page.next.as_ref(), schema)?;
        transaction.commit()?;
        Ok(())
    }
}

fn insert(connection: &Connection, node: &NodeRef, base: &BaseNode, settings: &Settings) -> rusqlite::Result<()> {
    // A node that is its own parent stands as a root does, for the order.
    let parent = base.parent.as_ref().filter(|parent| **parent != node.id);
    let segment = base.segment.as_deref();
    let NodeSizes { base: bytes, copied, tenant, id, parent: above, segment: own, path_end, .. } =
        node_sizes(node, parent, segment, &base.item, settings);
    let others = other_units(node, base, settings) as usize;
    let sizes = [bytes, copied, tenant, id, above, own, path_sizes(node, segment).0, path_end, others];
    let [bytes, copied, tenant, id, above, own, escaped, path_end, others] = sizes.map(|size| size as i64);
    let schema = &settings.schema;
    let parent = parent.map(|parent| schema.partition(&node.sibling(parent.clone())));
    let mut insert = connection.prepare_cached(
        "INSERT INTO record (pk, sk, parent, base, copied, tenant, id, above, segment, escaped, path_end, other_units)
         VALUES (?, '', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )?;
    let pk = schema.partition(node);
    let values = params![pk, parent, bytes, copied, tenant, id, above, own, escaped, path_end, others];
    insert.execute(values).map(drop)
}

fn remember(connection: &Connection, segment: u32, next: Option<&Position>, schema: &Schema) -> rusqlite::Result<()> {
    let mut remember = connection.prepare_cached("INSERT OR REPLACE INTO scanned VALUES (?, ?, ?, ?, ?)")?;
    let history = next.and_then(|next| next.history.as_ref()).map(|node| schema.partition(node));
    let after = next.map(|next| (&next.after.pk, &next.after.sk)).unzip();
    remember.execute(params![segment, after.0, after.1, history, next.is_none()]).map(drop)
}
