//! How far a move is handed down: which of the nodes below a node stand where its lineage says.
//!
//! A move changes one base record, and the stream handler places what is below, level by level. The rows in the node's
//! own partition, by depth, stay as they are. A walk along them stops at the first node whose lineage isn't placed yet,
//! and can go on from there later: parents come first, so what it has passed stays right as long as the node isn't
//! moved. A position names the node's place, so that a walk begins anew after another move.

use std::hash::{DefaultHasher, Hash, Hasher};

use sapwood_core::keys::{DEPTH_MAX, Id, ItemKey, NodeRef, SortKey};
use sapwood_core::model::{Item, Placement, REVISION, Stored, TOUCHED, WRITE, key_of};
use sapwood_store::{Query, ReadOptions, RetryPolicy, Table, TableError};

use super::status::StatusLook;
use super::{ReadError, Reader, Status};

/// Nodes whose lineages are read together: as many as one BatchGetItem takes.
const NODES_AT_ONCE: usize = 100;

/// How far what is below a node is placed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Below {
    /// True if all of it is.
    pub is_up_to_date: bool,
    /// How many nodes are, as far as all looks of this walk have come.
    pub placed: u64,
    /// The deepest of their levels below the node; 0 before the first.
    pub deepest: usize,
    /// Where the next look goes on; `None` if everything is placed.
    pub next: Option<String>,
    /// True if the look ended because it had seen enough, and not at a node that isn't placed.
    pub is_cut: bool,
}

#[derive(Default)]
struct Walk {
    /// The hash of the placement of the node at the top.
    place: u64,
    placed: u64,
    deepest: usize,
    after: Option<String>,
}

enum Passed {
    Placed,
    /// It isn't below the node any more, or is being deleted: no move places it.
    NotOurs,
    Behind,
}

/// The place of a node whose own rows are right, and its hash. A node that is gone has nothing below it.
fn place_of(look: &StatusLook) -> (Placement, u64) {
    let placement = look.stored.lineage().map(|lineage| lineage.placement.clone()).unwrap_or_default();
    let mut hasher = DefaultHasher::new();
    (&placement.ancestors, &placement.path, placement.trash.is_in()).hash(&mut hasher);
    // Somebody may have moved it away and back.
    for name in [REVISION, WRITE, TOUCHED] {
        let value = look.base.as_ref().and_then(|base| base.item.get(name));
        value.map(|value| format!("{value:?}")).hash(&mut hasher);
    }
    (placement, hasher.finish())
}

impl Walk {
    const SEPARATOR: char = '|';

    fn at(position: &str) -> Result<Self, ReadError> {
        let mut parts = position.splitn(4, Self::SEPARATOR);
        let mut number = || parts.next()?.parse::<u64>().ok();
        let (place, placed, deepest) = (number(), number(), number());
        match (place, placed, deepest.and_then(|deepest| usize::try_from(deepest).ok()), parts.next()) {
            (Some(place), Some(placed), Some(deepest), Some(after)) => {
                let after = Some(after).filter(|sk| !sk.is_empty()).map(str::to_owned);
                Ok(Self { place, placed, deepest, after })
            }
            _ => Err(ReadError::Position),
        }
    }

    fn stops(self) -> Below {
        let Self { place, placed, deepest, after } = self;
        let next = format!("{place}{s}{placed}{s}{deepest}{s}{}", after.unwrap_or_default(), s = Self::SEPARATOR);
        Below { placed, deepest, next: Some(next), ..Below::default() }
    }

    fn ends(self) -> Below {
        Below { is_up_to_date: true, placed: self.placed, deepest: self.deepest, ..Below::default() }
    }
}

impl<T: Table, P: RetryPolicy> Reader<'_, T, P> {
    /// Tells how far what is below a node is placed, on from a position of an earlier look. All looks together read
    /// each lineage once, strongly. A look ends at the first node that isn't placed, or after some `nodes_max` nodes.
    ///
    /// It covers the nodes in the node's rows. Nodes created or moved there meanwhile are placed by their records.
    pub async fn below(&self, node: &NodeRef, from: Option<&str>, nodes_max: usize) -> Result<Below, ReadError> {
        let walk = from.map_or_else(|| Ok(Walk::default()), Walk::at)?;
        let settled = self.settled(node).await?;
        self.walk(node, settled, walk, nodes_max).await
    }

    /// Tells the same and the status of the node's own rows, from one look. Nothing is below a node that is gone.
    pub async fn status_and_below(
        &self,
        node: &NodeRef,
        from: Option<&str>,
        nodes_max: usize,
    ) -> Result<(Status, Below), ReadError> {
        let (look, status) = self.looked(node).await?;
        if !status.exists && status.is_up_to_date() {
            return Ok((status, Below::default()));
        }
        let walk = from.map_or_else(|| Ok(Walk::default()), Walk::at)?;
        let settled = status.is_up_to_date().then_some(look);
        Ok((status, self.walk(node, settled, walk, nodes_max).await?))
    }

    async fn walk(
        &self,
        node: &NodeRef,
        settled: Option<StatusLook>,
        mut walk: Walk,
        nodes_max: usize,
    ) -> Result<Below, ReadError> {
        let Some((own, hash)) = settled.as_ref().map(place_of) else { return Ok(walk.stops()) };
        if walk.place != hash {
            walk = Walk { place: hash, ..Walk::default() };
        }
        let schema = self.client.schema();
        let mut seen = 0;
        loop {
            let first = Query::first(schema.partition(node), schema.depth_range(1, DEPTH_MAX), NODES_AT_ONCE).of([]);
            let page = self.client.query(&Query { after: walk.after.clone(), ..first }).await?;
            let rows: Vec<(String, usize, NodeRef)> =
                page.items.iter().filter_map(|item| self.descendant_row(node, item)).collect();
            let keys: Vec<ItemKey> = rows.iter().map(|(_, _, below)| schema.lineage_key(below)).collect();
            let lineages = self.client.get_all(&keys, &ReadOptions::default()).await?;
            for (sk, depth, below) in rows {
                let stored = Stored::read(lineages.get(&schema.lineage_key(&below)), schema);
                match passed(&stored, node, &below, &own) {
                    Passed::Placed => {
                        walk.placed += 1;
                        walk.deepest = walk.deepest.max(depth);
                    }
                    Passed::NotOurs => {}
                    Passed::Behind if self.is_held(&stored, node, &below).await? => {}
                    Passed::Behind => return Ok(walk.stops()),
                }
                walk.after = Some(sk);
                seen += 1;
            }
            match page.next {
                None => return Ok(walk.ends()),
                // The last row of a page may be one that can't be read.
                Some(_) if seen >= nodes_max => return Ok(Below { is_cut: true, ..walk.stops() }),
                Some(after) => walk.after = Some(after),
            }
        }
    }

    /// True if a node below the top can't be placed for now, because a node between them is being deleted.
    async fn is_held(&self, stored: &Stored, top: &NodeRef, below: &NodeRef) -> Result<bool, TableError> {
        let schema = self.client.schema();
        let ancestors = stored.lineage().map(|lineage| &lineage.placement.ancestors[..]).unwrap_or_default();
        let between = ancestors.iter().take_while(|id| **id != top.id).map(|id| below.sibling(id.clone()));
        let keys: Vec<ItemKey> = between.map(|node| schema.lineage_key(&node)).collect();
        let read = self.client.get_all(&keys, &ReadOptions::default()).await?;
        let is_deleting =
            |item| Stored::read(Some(item), schema).lineage().is_some_and(|lineage| lineage.deleting.is_some());
        Ok(read.values().any(is_deleting))
    }

    fn descendant_row(&self, node: &NodeRef, item: &Item) -> Option<(String, usize, NodeRef)> {
        let ItemKey { sk, .. } = key_of(item, self.client.schema())?;
        match self.client.schema().parse_sort_key(&sk)? {
            SortKey::Ancestor { depth, id } => Some((sk, depth, node.sibling(id))),
            _ => None,
        }
    }
}

/// Returns what the lineage of a node that a row lists says, if this is the placement of the node above.
fn passed(stored: &Stored, above: &NodeRef, below: &NodeRef, own: &Placement) -> Passed {
    let lineage = match stored {
        Stored::Lineage(lineage) => lineage,
        // A row without a lineage is left of a deleted node.
        Stored::Absent | Stored::Tombstone(_) => return Passed::NotOurs,
        // It can't be told.
        Stored::Newer(_) | Stored::Malformed | Stored::Foreign => return Passed::Behind,
    };
    if lineage.deleting.is_some() {
        return Passed::NotOurs;
    }
    if !lineage.is_settled() {
        return Passed::Behind;
    }
    let Placement { ancestors, path, trash, .. } = &lineage.placement;
    let Some(depth) = ancestors.iter().position(|id| *id == above.id) else { return Passed::NotOurs };
    let further: &[Id] = &ancestors[depth + 1..];
    // In a cycle the ancestors end before the node itself. Of those of a deep node the farthest are cut off.
    let own_ancestors = own.ancestors.iter().position(|id| *id == below.id).unwrap_or(own.ancestors.len());
    let wanted = &own.ancestors[..own_ancestors.min(DEPTH_MAX.saturating_sub(depth + 1))];
    // A path has a segment for each ancestor, but where there are no path rows.
    let has_paths = path.len() == ancestors.len() && own.path.len() == own.ancestors.len();
    let segments = || path[..further.len()] == own.path[own.path.len() - further.len()..];
    // Where ancestors are cut off, nobody knows that the node is in the trash.
    let is_told = trash.is_in() == (own.trash.is_in() && wanted.len() == own.ancestors.len());
    if further == wanted && is_told && (!has_paths || segments()) { Passed::Placed } else { Passed::Behind }
}
