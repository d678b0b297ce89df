//! Where a node will be placed whose stream record wasn't handled yet: base records say it, up to the next lineage.
//!
//! A child that is placed below such a node waits in the register of orphans. Once the node is placed as predicted,
//! nothing changes but that the child waits no more. Here is also the order in which the nodes of a batch are planned.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::context::Context;
use super::placement;
use crate::keys::{DEPTH_MAX, ItemKey, NodeRef};
use crate::model::{BaseNode, Placement, Stored};
use crate::plan::Read;

/// The nodes from one on upwards that have base records and no lineage.
pub(super) struct Climb {
    path: Vec<(NodeRef, BaseNode)>,
    top: Top,
}

/// How a climb ends.
enum Top {
    /// At a node that is placed.
    Placed(Placement),
    /// At a root, or below a node that isn't there.
    End,
    /// At a node that the round hasn't asked for.
    Unasked(NodeRef),
    /// At a node whose read has failed, or whose lineage a newer handler has written.
    Unread,
    /// In a circle, or at something that can't be understood.
    Unknown,
}

impl Climb {
    /// Climbs from a node on, as far as it was asked for.
    pub(super) fn from(start: &NodeRef, read: &Read, asked: &BTreeSet<ItemKey>, context: &Context<'_>) -> Self {
        let schema = context.schema();
        let (mut path, mut at): (Vec<(NodeRef, BaseNode)>, _) = (Vec::new(), start.clone());
        let top = loop {
            let [base, lineage] = [schema.node_key(&at), schema.lineage_key(&at)];
            if path.iter().any(|(node, _)| *node == at) {
                break Top::Unknown;
            }
            if !asked.contains(&lineage) {
                break Top::Unasked(at);
            }
            let Ok(lineage) = read.item(&lineage) else { break Top::Unread };
            match Stored::read(lineage, schema) {
                // A lineage is never climbed past. Its changes are handed down to those that were placed below it.
                Stored::Lineage(lineage) => break Top::Placed(lineage.placement),
                Stored::Absent | Stored::Foreign | Stored::Tombstone(_) => {}
                Stored::Malformed => break Top::Unknown,
                Stored::Newer(_) => break Top::Unread,
            }
            if !asked.contains(&base) {
                break Top::Unasked(at);
            }
            let Ok(base) = read.shared(&base) else { break Top::Unread };
            let Some(base) = base.and_then(|item| BaseNode::read(Arc::clone(item), &at, schema).ok()) else {
                break Top::End;
            };
            let above = base.parent.clone().map(|id| at.sibling(id));
            path.push((at, base));
            match above.filter(|_| path.len() < DEPTH_MAX) {
                Some(above) => at = above,
                None => break Top::End,
            }
        };
        Self { path, top }
    }

    /// True if the first node is there and will be placed.
    pub(super) fn is_coming(&self) -> bool {
        !self.path.is_empty()
    }

    /// True if where the first node will be placed can be told once more can be read.
    pub(super) fn is_unread(&self) -> bool {
        matches!(self.top, Top::Unread)
    }

    /// The node to ask for, to climb on.
    pub(super) fn unasked(self) -> Option<NodeRef> {
        if let Top::Unasked(node) = self.top { Some(node) } else { None }
    }

    /// Where the first node will be placed, if all above it is known.
    pub(super) fn prediction(&self, context: &Context<'_>) -> Option<Placement> {
        let mut above = match &self.top {
            Top::Placed(placement) => Some(placement.clone()),
            Top::End => None,
            Top::Unasked(_) | Top::Unread | Top::Unknown => return None,
        };
        for (node, base) in self.path.iter().rev() {
            above = Some(placement(&context.wanted(node, base, above.as_ref())));
        }
        above.filter(|_| self.is_coming())
    }
}

/// Orders nodes as their records are, but each after its parent, if that is among them. A cycle opens at any node.
pub(super) fn parents_first(
    parents: &BTreeMap<NodeRef, Option<NodeRef>>,
    position: impl Fn(&NodeRef) -> Option<usize>,
) -> Vec<&NodeRef> {
    let mut seen = BTreeSet::new();
    let mut order = Vec::with_capacity(parents.len());
    let mut nodes: Vec<&NodeRef> = parents.keys().collect();
    nodes.sort_by_key(|node| position(node));
    for node in nodes {
        let mut path_up = Vec::new();
        let mut next = Some(node);
        while let Some(at) = next
            && seen.insert(at)
        {
            path_up.push(at);
            next = parents.get(at).and_then(|parent| parents.get_key_value(parent.as_ref()?)).map(|(key, _)| key);
        }
        order.extend(path_up.into_iter().rev());
    }
    order
}
