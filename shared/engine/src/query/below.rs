//! How far a move is handed down: which of the nodes below a node stand where its lineage says.
//!
//! A move changes one base record. The stream handler then places what is below, level by level. The rows in the node's
//! own partition, which list all that is below it by depth, stay as they are. So a walk along them, which looks at each
//! node's lineage and stops at the first that isn't placed yet, can go on later from where it stopped: what it has
//! passed stays right, since a node is placed by its parent's lineage, and parents come first in that order.

use std::collections::{BTreeMap, BTreeSet};

use sapwood_core::keys::{DEPTH_MAX, Id, ItemKey, NodeRef, SortKey};
use sapwood_core::model::{Item, Placement, Stored, key_of};
use sapwood_table::{Query, ReadOptions, RetryPolicy, Table, TableError};

use super::{ReadError, Reader};

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

/// A walk along the rows of a node's partition.
#[derive(Default)]
struct Walk {
    placed: u64,
    deepest: usize,
    /// The sort key of the last row that was passed.
    after: Option<String>,
}

/// What a row's node is found to be.
enum Passed {
    /// It is placed below the node.
    Placed,
    /// It isn't below the node any more, or is being deleted: no move places it.
    NotOurs,
    /// It isn't placed yet.
    Behind,
}

impl Walk {
    const SEPARATOR: char = '|';

    fn at(position: &str) -> Result<Self, ReadError> {
        let mut parts = position.splitn(3, Self::SEPARATOR);
        let mut number = || parts.next()?.parse::<u64>().ok();
        let (placed, deepest) = (number(), number());
        match (placed, deepest.and_then(|deepest| usize::try_from(deepest).ok()), parts.next()) {
            (Some(placed), Some(deepest), Some(after)) => {
                Ok(Self { placed, deepest, after: Some(after).filter(|sk| !sk.is_empty()).map(str::to_owned) })
            }
            _ => Err(ReadError::Position),
        }
    }

    fn stops(self) -> Below {
        let Self { placed, deepest, after } = self;
        let next = format!("{placed}{s}{deepest}{s}{}", after.unwrap_or_default(), s = Self::SEPARATOR);
        Below { placed, deepest, next: Some(next), ..Below::default() }
    }

    fn ends(self) -> Below {
        Below { is_up_to_date: true, placed: self.placed, deepest: self.deepest, ..Below::default() }
    }
}

impl<T: Table, P: RetryPolicy> Reader<'_, T, P> {
    /// Tells how far what is below a node is placed by the node's own place, from a position of an earlier look on. All
    /// looks together read each node once: a strong read of its lineage. A look ends at the first node that isn't
    /// placed yet, or after some `nodes_max` nodes.
    ///
    /// It is about the nodes that the rows in the node's partition list. What is created or moved there meanwhile is
    /// placed by its own record.
    ///
    /// # Errors
    /// [`ReadError::Position`] and [`ReadError::Table`].
    pub async fn below(&self, node: &NodeRef, from: Option<&str>, nodes_max: usize) -> Result<Below, ReadError> {
        let mut walk = from.map_or_else(|| Ok(Walk::default()), Walk::at)?;
        let Some(own) = self.settled_placement(node).await? else { return Ok(walk.stops()) };
        let schema = self.client.schema();
        let mut seen = 0;
        loop {
            let query = Query {
                pk: schema.partition(node),
                range: schema.depth_range(1, DEPTH_MAX),
                after: walk.after.clone(),
                limit: NODES_AT_ONCE,
                descending: false,
                reading: ReadOptions { strong: true, attributes: Some(BTreeSet::new()) },
            };
            let page = self.client.query(&query).await?;
            let rows: Vec<(String, usize, NodeRef)> =
                page.items.iter().filter_map(|item| self.descendant_row(node, item)).collect();
            let lineages = self.lineages_of(&rows).await?;
            for (sk, depth, below) in rows {
                let stored = Stored::read(lineages.get(&schema.lineage_key(&below)), schema);
                match passed(&stored, node, &own) {
                    Passed::Placed => {
                        walk.placed += 1;
                        walk.deepest = walk.deepest.max(depth);
                    }
                    Passed::NotOurs => {}
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

    /// The placement of a node whose own rows are right; `None` while they aren't. A node that is gone has nothing
    /// below it.
    async fn settled_placement(&self, node: &NodeRef) -> Result<Option<Placement>, ReadError> {
        if !self.is_up_to_date(node).await? {
            return Ok(None);
        }
        let key = self.client.schema().lineage_key(node);
        let stored = self.client.get(&key, &ReadOptions::default()).await?;
        let stored = Stored::read(stored.as_ref(), self.client.schema());
        Ok(Some(stored.lineage().map(|lineage| lineage.placement.clone()).unwrap_or_default()))
    }

    fn descendant_row(&self, node: &NodeRef, item: &Item) -> Option<(String, usize, NodeRef)> {
        let ItemKey { sk, .. } = key_of(item, self.client.schema())?;
        match self.client.schema().parse_sort_key(&sk)? {
            SortKey::Ancestor { depth, id } => Some((sk, depth, node.sibling(id))),
            _ => None,
        }
    }

    async fn lineages_of(&self, rows: &[(String, usize, NodeRef)]) -> Result<BTreeMap<ItemKey, Item>, TableError> {
        let schema = self.client.schema();
        let keys: Vec<ItemKey> = rows.iter().map(|(_, _, below)| schema.lineage_key(below)).collect();
        self.client.get_all(&keys, &ReadOptions::default()).await
    }
}

/// What the lineage of a node that a row lists says, if this is the placement of the node above.
fn passed(stored: &Stored, above: &NodeRef, own: &Placement) -> Passed {
    let Some(lineage) = stored.lineage() else { return Passed::NotOurs };
    if lineage.deleting.is_some() {
        return Passed::NotOurs;
    }
    if !lineage.is_settled() {
        return Passed::Behind;
    }
    let Placement { ancestors, path, .. } = &lineage.placement;
    let Some(depth) = ancestors.iter().position(|id| *id == above.id) else { return Passed::NotOurs };
    let further: &[Id] = &ancestors[depth + 1..];
    // Of the ancestors of a deep node the farthest are cut off, and then its path has as many segments.
    let is_below = further.len() == own.ancestors.len().min(DEPTH_MAX.saturating_sub(depth + 1))
        && own.ancestors.starts_with(further)
        && (further.len() < own.ancestors.len() || path.starts_with(&own.path));
    if is_below { Passed::Placed } else { Passed::Behind }
}
