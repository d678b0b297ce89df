//! Links nodes with their parents, and places them level by level.

use std::error::Error;

use rusqlite::{Connection, params};
use sapwood_core::keys::{NodeRef, Schema};
use sapwood_core::model::Placement;

use super::{WorkError, faults};
use crate::fault::quoted;
use crate::{Fault, FaultKind};

/// The parents that are looked up at a time: what one request of DynamoDB's returns.
const LOOKED_UP_MAX: usize = 100;

/// Nodes couldn't be looked up.
#[derive(Debug, thiserror::Error)]
#[error("parents can't be looked up in the table: {0}")]
pub struct LookupError(#[source] pub Box<dyn Error + Send + Sync>);

/// Looks up nodes that the source names as parents and doesn't have.
pub trait Lookup {
    /// Returns where each of these nodes stands, in their order; `None` for one that isn't in the table. There are at
    /// most 100 different ones. If it fails, the checks can be run again.
    fn lookup(&mut self, nodes: &[NodeRef]) -> Result<Vec<Option<Placement>>, LookupError>;
}

/// An empty table: every parent must be in the source.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nowhere;

impl Lookup for Nowhere {
    fn lookup(&mut self, nodes: &[NodeRef]) -> Result<Vec<Option<Placement>>, LookupError> {
        Ok(vec![None; nodes.len()])
    }
}

/// The meaning of children whose parents are nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Orphans {
    /// Faults of a file.
    Faults,
    /// Nodes of the table like others.
    Nodes,
}

/// Looks the parents up that the source doesn't have, and adds those that the table has, with their ancestors.
pub(crate) fn parents(
    connection: &Connection,
    schema: &Schema,
    lookup: &mut dyn Lookup,
    orphans: Orphans,
) -> Result<(), WorkError> {
    connection.execute_batch(
        "CREATE INDEX by_parent ON record (parent) WHERE parent IS NOT NULL;
         CREATE TEMP TABLE absent (parent TEXT PRIMARY KEY) WITHOUT ROWID;
         INSERT INTO absent SELECT DISTINCT parent FROM record c INDEXED BY by_parent
            WHERE parent IS NOT NULL AND NOT EXISTS (SELECT 1 FROM record p WHERE p.pk = c.parent AND p.sk = '')
            ORDER BY parent;",
    )?;
    connection.execute_batch(
        "INSERT INTO orphan SELECT seq FROM record WHERE parent IN (SELECT parent FROM absent JOIN faulty ON pk = parent);
         DELETE FROM absent WHERE parent IN (SELECT pk FROM faulty);",
    )?;
    let (mut after, mut added) = (String::new(), 0);
    loop {
        let mut batch =
            connection.prepare_cached("SELECT parent FROM absent WHERE parent > ? ORDER BY parent LIMIT ?")?;
        let keys = batch.query_map(params![after, LOOKED_UP_MAX as i64], |row| row.get(0))?;
        let keys: Vec<String> = keys.collect::<Result<_, _>>()?;
        let Some(last) = keys.last() else { break };
        after.clone_from(last);
        let nodes: Vec<NodeRef> = keys
            .iter()
            .map(|key| schema.parse_partition(key).map_err(|error| WorkError::Damaged { reason: error.to_string() }))
            .collect::<Result<_, _>>()?;
        let placements = lookup.lookup(&nodes)?;
        for (position, (key, node)) in keys.iter().zip(&nodes).enumerate() {
            match placements.get(position).and_then(Option::as_ref) {
                Some(placement) => add_existing(connection, node, placement, schema, &mut added)?,
                None => missing(connection, key, node, orphans)?,
            }
        }
    }
    connection.execute_batch("DROP TABLE absent")?;
    Ok(())
}

/// Adds a node of the table and its ancestors, unless the source has them: it may move some. `added` counts them.
fn add_existing(
    connection: &Connection,
    node: &NodeRef,
    placement: &Placement,
    schema: &Schema,
    added: &mut i64,
) -> rusqlite::Result<()> {
    let mut insert = connection.prepare_cached(
        "INSERT INTO record (seq, pk, sk, parent, tenant, id, segment, escaped) SELECT ?7, ?1, '', ?2, ?3, ?4, ?5, ?6
         WHERE NOT EXISTS (SELECT 1 FROM record WHERE pk = ?1 AND sk = '')",
    )?;
    let chain = || std::iter::once(&node.id).chain(&placement.ancestors);
    let parents = placement.ancestors.iter().map(Some).chain([None]);
    let segments = placement.path.iter().rev().map(Some).chain(std::iter::repeat(None));
    for ((id, parent), segment) in chain().zip(parents).zip(segments) {
        let pk = schema.partition(&node.sibling(id.clone()));
        let parent = parent.map(|parent| schema.partition(&node.sibling(parent.clone())));
        let segment = segment.map_or(id.as_str(), String::as_str);
        let escaped = sapwood_core::keys::path_segment_bytes(segment);
        let sizes = [pk.len() - id.as_str().len(), id.as_str().len(), segment.len(), escaped].map(|bytes| bytes as i64);
        let number = -1 - *added;
        *added += insert.execute(params![pk, parent, sizes[0], sizes[1], sizes[2], sizes[3], number])? as i64;
    }
    Ok(())
}

/// Remembers the children of a parent that is nowhere.
fn missing(connection: &Connection, key: &str, parent: &NodeRef, orphans: Orphans) -> rusqlite::Result<()> {
    if orphans == Orphans::Nodes {
        let insert = "INSERT INTO orphan SELECT seq FROM record INDEXED BY by_parent WHERE parent = ? AND seq > 0";
        return connection.prepare_cached(insert)?.execute([key]).map(drop);
    }
    let mut children = connection.prepare_cached(
        "SELECT file, line, seq FROM record INDEXED BY by_parent WHERE parent = ? AND seq > 0 ORDER BY seq",
    )?;
    let mut rows = children.query([key])?;
    while let Some(row) = rows.next()? {
        let id = quoted(parent.id.as_str());
        let message =
            format!("the parent {id} is neither in the file nor in the table; add it, or give the node another parent");
        faults::add(connection, faults::location(row)?, &Fault { kind: FaultKind::MissingParent, message })?;
        connection.prepare_cached("INSERT INTO orphan (seq) VALUES (?)")?.execute([row.get::<_, i64>(2)?])?;
    }
    Ok(())
}

/// Links nodes with their parents by number. Both indexes are read in their order, without jumps.
pub(crate) fn link(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(
        "INSERT INTO edge (parent, child)
            SELECT p.seq, c.seq
            FROM record c INDEXED BY by_parent CROSS JOIN record p INDEXED BY by_key
            WHERE c.parent IS NOT NULL AND p.pk = c.parent AND p.sk = ''
            ORDER BY p.seq, c.seq;
         DROP INDEX by_parent;",
    )
}

/// Places all nodes below roots, level by level. A node without its parent counts as a root: one fault is enough.
pub(crate) fn place(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(
        "INSERT INTO place SELECT 0, seq, 0, 0, 0, 0, 0 FROM record
            WHERE sk = '' AND (parent IS NULL OR seq IN (SELECT seq FROM orphan)) ORDER BY seq",
    )?;
    // The farthest ancestor has no segment in a path.
    let mut below = connection.prepare(
        "INSERT INTO place
            SELECT p.depth + 1, e.child, p.ids + r.id, max(p.longest_id, r.id), iif(p.depth = 0, r.id, p.farthest_id),
                   iif(p.depth = 0, 0, p.segments + r.segment), iif(p.depth = 0, 0, p.path + r.escaped + 1)
            FROM place p CROSS JOIN edge e ON e.parent = p.seq CROSS JOIN record r ON r.seq = p.seq
            WHERE p.depth = ? ORDER BY e.child",
    )?;
    let mut depth = 0_i64;
    while below.execute([depth])? > 0 {
        depth += 1;
    }
    Ok(())
}

/// Puts the nodes of cycles, and those below, on a last level of their own. Returns its number, if there are any.
pub(crate) fn place_the_others(connection: &Connection) -> rusqlite::Result<Option<i64>> {
    let last: i64 = connection.query_row("SELECT coalesce(max(depth), 0) + 1 FROM place", [], |row| row.get(0))?;
    let insert = "INSERT INTO place SELECT ?, seq, 0, 0, 0, 0, 0 FROM record
        WHERE sk = '' AND seq > 0 AND seq NOT IN (SELECT seq FROM place) ORDER BY seq";
    let count = connection.execute(insert, params![last])?;
    Ok((count > 0).then_some(last))
}
