//! Compares nodes, rows and cursors with what they should be.

mod names;
mod node;
mod rows;
mod totals;

use std::collections::{BTreeMap, BTreeSet};

use super::difference::Evidence;
use super::recount::lane_keys_beside;
use super::subject::is_newer_memory;
use super::{Difference, Kind, Subject};
use crate::keys::{ItemKey, NodeRef, Schema};
use crate::model::{
    BaseNode, Cursor, CursorError, Item, NameClaim, Placement, Settings, Shown, Stored, has_mark, held_name, shown_by,
};
use crate::plan::{Failure, Io, Need, Plan, Read};
use crate::request::ReadOptions;

/// The plan that looks at these nodes, rows and cursors. [`look_at_history`](super::look_at_history) looks at
/// histories, and [`look_at_totals`](super::look_at_totals) at totals. What is known already isn't read again.
///
/// The first look reads what may be a moment old (`strong` is false), at half the units. What it finds has to be looked
/// at again with strong reads and nothing known.
pub fn look<'a>(
    settings: &'a Settings,
    subjects: BTreeSet<Subject>,
    known: &'a BTreeMap<ItemKey, Item>,
    strong: bool,
) -> Plan<'a, Vec<Difference>> {
    let look = Look { settings, subjects, strong, known, read: Read::default(), found: Vec::new() };
    Plan::new(|io| look.carry_out(io))
}

pub(super) use rows::names;

struct Look<'a> {
    settings: &'a Settings,
    subjects: BTreeSet<Subject>,
    strong: bool,
    known: &'a BTreeMap<ItemKey, Item>,
    read: Read,
    found: Vec<Finding>,
}

/// A difference, and the node whose lineage decides whether it is one.
type Finding = (Difference, Option<NodeRef>);

/// Where a node stands, and what its rows are to show.
struct PlacedNode {
    node: NodeRef,
    placement: Placement,
    shown: Shown,
}

/// A node's items as they were read.
struct Facets<'r> {
    base_item: Option<&'r Item>,
    stored_item: Option<&'r Item>,
    base: Option<BaseNode>,
    stored: Stored,
}

impl<'a> Look<'a> {
    async fn carry_out(mut self, io: Io) -> Result<Vec<Difference>, Failure> {
        self.read(&io, self.own_keys()).await?;
        self.read(&io, self.named_keys()?).await?;
        self.read(&io, self.claimants()?).await?;
        let (found, placed) = self.judge()?;
        self.found = found;
        self.look_at_rows(&io, placed).await?;
        let deciding = self.deciding();
        if !deciding.is_empty() {
            // Another node that stands wrong may be the cause: that node is judged first.
            let schema = self.schema();
            let keys = deciding.iter().flat_map(|node| [schema.node_key(node), schema.lineage_key(node)]);
            self.read(&io, keys.collect()).await?;
            self.read(&io, self.parents_of_deciding()?).await?;
        }
        self.decided()
    }

    /// Reads these items, but those that are known.
    async fn read(&mut self, io: &Io, keys: BTreeSet<ItemKey>) -> Result<(), Failure> {
        let is_known = |key: &ItemKey| self.known.contains_key(key) || self.read.items.contains_key(key);
        let keys = keys.into_iter().filter(|key| !is_known(key)).collect();
        let need = Need { keys, options: ReadOptions { strong: self.strong, attributes: None }, ..Need::default() };
        self.read.extend(io.read(need).await?);
        Ok(())
    }

    fn item(&self, key: &ItemKey) -> Result<Option<&Item>, Failure> {
        self.known.get(key).map_or_else(|| self.read.item(key), |item| Ok(Some(item)))
    }

    fn schema(&self) -> &'a Schema {
        &self.settings.schema
    }

    fn own_keys(&self) -> BTreeSet<ItemKey> {
        let schema = self.schema();
        let keys = |subject: &Subject| match subject {
            Subject::Node(node) if self.settings.totals.is_some() => {
                let own = [schema.node_key(node), schema.lineage_key(node), schema.counted_key(node)];
                own.into_iter().chain([schema.epoch_key(), schema.epoch_copy_key()]).collect()
            }
            Subject::Node(node) => vec![schema.node_key(node), schema.lineage_key(node)],
            Subject::Lane { key, node } if self.settings.totals.is_some() => {
                let lanes = lane_keys_beside(key, node, schema).into_iter().map(|(_, key)| key);
                let own = [key.clone(), schema.epoch_key(), schema.epoch_copy_key(), schema.node_key(node)];
                lanes.chain(own).collect()
            }
            Subject::Row { key, node } => vec![key.clone(), schema.lineage_key(node)],
            Subject::Remembered { key, .. } if *key == schema.epoch_key() => {
                vec![schema.epoch_key(), schema.epoch_copy_key()]
            }
            Subject::Foreign { key, .. } | Subject::Remembered { key, .. } => vec![key.clone()],
            Subject::Claim { key, node } if self.settings.names.is_on() => vec![key.clone(), schema.node_key(node)],
            Subject::Cursor(node) => vec![schema.cascade_key(node), schema.node_key(node)],
            Subject::Claim { .. } | Subject::Lane { .. } | Subject::Totals(_) | Subject::History(_) => Vec::new(),
        };
        self.subjects.iter().flat_map(keys).collect()
    }

    /// The items that the subjects are compared with.
    fn named_keys(&self) -> Result<BTreeSet<ItemKey>, Failure> {
        let schema = self.schema();
        let mut keys = BTreeSet::new();
        for subject in &self.subjects {
            let Subject::Node(node) = subject else { continue };
            let facets = self.facets(node)?;
            let Some(base) = &facets.base else { continue };
            keys.extend(parent_of(node, base).map(|parent| schema.lineage_key(&parent)));
            keys.extend(base.deleting.is_some().then(|| schema.cascade_key(node)));
            keys.extend(held_name(node, facets.base_item, self.settings).map(|(claim, _)| claim));
        }
        Ok(keys)
    }

    fn claimants(&self) -> Result<BTreeSet<ItemKey>, Failure> {
        let mut keys = BTreeSet::new();
        for subject in self.subjects.iter().filter(|_| self.settings.names.is_on()) {
            let Subject::Node(node) = subject else { continue };
            let Some(claim) = self.claim(node)? else { continue };
            keys.extend(claim.claimant.map(|claimant| self.schema().node_key(&claimant)));
        }
        Ok(keys)
    }

    fn facets(&self, node: &NodeRef) -> Result<Facets<'_>, Failure> {
        let schema = self.schema();
        let base_item = self.item(&schema.node_key(node))?;
        let stored_item = self.item(&schema.lineage_key(node))?;
        let base = base_item.and_then(|item| BaseNode::read(item.clone(), node, schema).ok());
        Ok(Facets { base_item, stored_item, base, stored: Stored::read(stored_item, schema) })
    }

    /// Judges all but rows. Returns what is wrong, and the nodes that stand where they belong.
    fn judge(&self) -> Result<(Vec<Finding>, Vec<PlacedNode>), Failure> {
        let (mut found, mut placed) = (Vec::new(), Vec::new());
        for subject in &self.subjects {
            match subject {
                Subject::Node(node) => {
                    let mut of_node = Vec::new();
                    placed.extend(self.judge_node(node, &mut of_node)?);
                    if self.settings.names.is_on() {
                        of_node.extend(self.judge_name(node)?);
                    }
                    if of_node.is_empty() {
                        continue;
                    }
                    let parent = self.parent(node)?;
                    found.extend(of_node.into_iter().map(|one| {
                        let above = parent.clone().filter(|_| depends_on_parent(one.kind));
                        (one, above)
                    }));
                }
                Subject::Row { key, node } => {
                    found.extend(self.judge_row(key, node)?.map(|one| (one, Some(node.clone()))));
                }
                Subject::Foreign { key, node } => {
                    let is_owners = |item: &Item| {
                        shown_by(item, key, self.schema()).is_none() && NameClaim::node_in(item).is_none()
                    };
                    let is_there = self.item(key)?.is_some_and(is_owners);
                    // The item is its owner's.
                    let one = || Difference::of(Kind::ReservedKey, key.clone(), node, &Evidence::new());
                    found.extend(is_there.then(|| (one(), None)));
                }
                Subject::Claim { key, node } if self.settings.names.is_on() => {
                    found.extend(self.judge_claim(key, node)?.map(|one| (one, None)));
                }
                Subject::Lane { key, node } if self.settings.totals.is_some() => {
                    found.extend(self.judge_lane(key, node)?.map(|one| (one, None)));
                }
                Subject::Cursor(node) => found.extend(self.judge_cursor(node)?.map(|one| (one, None))),
                Subject::Remembered { key, node } if *key == self.schema().epoch_key() => {
                    if self.settings.totals.is_some()
                        && let Ok(Err(wrong)) = self.epoch(node)?
                    {
                        found.push((wrong, None));
                    }
                }
                Subject::Remembered { key, node } => {
                    let newer = self.item(key)?.filter(|item| is_newer_memory(item, key, self.schema()));
                    let one =
                        |item| Difference::of(Kind::NewerFormat, key.clone(), node, &Evidence::new().and(Some(item)));
                    found.extend(newer.map(|item| (one(item), None)));
                }
                Subject::Claim { .. } | Subject::Lane { .. } | Subject::Totals(_) | Subject::History(_) => {}
            }
        }
        Ok((found, placed))
    }

    fn parent(&self, node: &NodeRef) -> Result<Option<NodeRef>, Failure> {
        Ok(self.facets(node)?.base.as_ref().and_then(|base| parent_of(node, base)))
    }

    /// The nodes that decide whether something is wrong.
    fn deciding(&self) -> BTreeSet<NodeRef> {
        self.found.iter().filter_map(|(_, above)| above.clone()).collect()
    }

    fn parents_of_deciding(&self) -> Result<BTreeSet<ItemKey>, Failure> {
        let mut keys = BTreeSet::new();
        for node in self.deciding() {
            keys.extend(self.parent(&node)?.map(|parent| self.schema().lineage_key(&parent)));
        }
        Ok(keys)
    }

    /// A finding that depends on a node that stands wrong waits for it, and is reported with it: to place a child anew
    /// below a wrong lineage would take its whole subtree along, and back again.
    fn decided(&mut self) -> Result<Vec<Difference>, Failure> {
        let mut wrong = BTreeMap::new();
        for node in self.deciding() {
            let mut found = Vec::new();
            self.judge_node(&node, &mut found)?;
            wrong.extend(found.into_iter().find(|one| one.kind.names_rows()).map(|one| (node, one)));
        }
        let mut found = std::mem::take(&mut self.found);
        let mut deciding = BTreeSet::new();
        for (difference, above) in &mut found {
            // A node's children depend on where it stands alone.
            let decides = |one: &Difference| one.kind.is_of_placing() || difference.kind == Kind::RowSurplus;
            let wrong_above = above.take().filter(|above| wrong.get(above).is_some_and(decides));
            deciding.extend(wrong_above.clone());
            difference.waits_for = wrong_above;
        }
        let is_reported = |node: &NodeRef| found.iter().any(|(one, _)| one.kind.names_rows() && one.node == *node);
        let unreported: Vec<Difference> =
            deciding.iter().filter(|node| !is_reported(node)).filter_map(|node| wrong.remove(node)).collect();
        Ok(unreported.into_iter().chain(found.into_iter().map(|(difference, _)| difference)).collect())
    }

    fn judge_cursor(&self, node: &NodeRef) -> Result<Option<Difference>, Failure> {
        let schema = self.schema();
        let key = schema.cascade_key(node);
        let Some(item) = self.item(&key)? else { return Ok(None) };
        let base = self.item(&schema.node_key(node))?;
        let kind = match Cursor::read(item) {
            // Without a deletion the sign of a blocked one is a leftover.
            Ok(cursor) if cursor.rests(item) && has_mark(base) => Kind::DeletionBlocked,
            Ok(_) => Kind::CursorStuck,
            Err(CursorError::Malformed) if Cursor::is_ours(item) => Kind::CursorUnreadable,
            Err(CursorError::Malformed) => Kind::ReservedKey,
            Err(CursorError::Newer(_)) => Kind::NewerFormat,
        };
        Ok(Some(Difference::of(kind, key, node, &Evidence::new().and(Some(item)))))
    }
}

/// True for what may be wrong only because the node's parent is.
fn depends_on_parent(kind: Kind) -> bool {
    kind.names_rows() || matches!(kind, Kind::Orphan | Kind::Cycle | Kind::TooDeep | Kind::PathTooLong)
}

fn parent_of(node: &NodeRef, base: &BaseNode) -> Option<NodeRef> {
    base.parent.as_ref().filter(|parent| **parent != node.id).map(|parent| node.sibling(parent.clone()))
}
