//! What a move must check of the ancestor paths, so that no two moves at the same time make a cycle, and how deep it
//! takes a subtree.

use super::Refusal;
use crate::keys::{DEPTH_MAX, Id, NodeRef, Schema};
use crate::model::{Stored, ancestor_in};
use crate::plan::ancestry::{AncestorPath, Edge, PathEnd};
use crate::plan::{Rule, Rules};
use crate::request::{Page, Query};

/// A move, and both ancestor paths as they were read.
#[derive(Debug)]
pub(super) struct Move<'a> {
    pub(super) node: &'a Id,
    /// The path up from the node; none where the node isn't there yet.
    pub(super) own: Option<&'a AncestorPath>,
    pub(super) target: &'a AncestorPath,
    pub(super) height: usize,
}

impl<'a> Move<'a> {
    /// The edges that must still be as they were read when the node is moved: at most `room`, and those of the new
    /// parent's path where both paths have more.
    ///
    /// A cycle can only be closed by moves that meet on these edges, so one of two such moves fails. Both paths end in
    /// the same edges from their lowest common ancestor upwards. A move above it carries both along and closes nothing.
    pub(super) fn checks(&self, room: usize, rules: Rules) -> Result<Vec<&'a Edge>, Refusal> {
        let Self { node, own, target, height } = *self;
        let Some(parent) = target.edges.first() else { return Ok(Vec::new()) };
        if target.position(node).is_some() {
            return Err(Refusal::Cycle { node: node.clone(), parent: parent.node.clone() });
        }
        // The node comes to be as many levels down as there are nodes above it.
        let depth = target.edges.len() + height;
        match target.end {
            PathEnd::Circle => return Err(Refusal::Circle(parent.node.clone())),
            PathEnd::Root if depth <= DEPTH_MAX => {}
            PathEnd::Root | PathEnd::TooLong => return Err(Refusal::TooDeep { depth }),
        }
        if target.trashed().is_some()
            && let Some(top) = target.edges.last()
        {
            return Err(Refusal::ParentInTrash { parent: parent.node.clone(), top: top.node.clone() });
        }
        let above = own.map_or(&[][..], |own| &own.edges[1..]);
        if let Some(edge) = above.iter().chain(&target.edges).find(|edge| edge.deleting) {
            return Err(Refusal::BeingDeleted { id: edge.node.clone(), operation: None });
        }
        if !rules.keeps(Rule::AncestorPathChecks) {
            return Ok(Vec::new());
        }
        // The lowest common ancestor is the first on the one path that is on the other as well.
        let meeting = above.iter().enumerate().find_map(|(at, edge)| Some((at, target.position(&edge.node)?)));
        if let Some((own_below, target_below)) = meeting {
            let own_below = if rules.keeps(Rule::OwnAncestorPath) { own_below } else { 0 };
            if own_below + target_below <= room {
                return Ok(above[..own_below].iter().chain(&target.edges[..target_below]).collect());
            }
        }
        Ok(target.edges.iter().collect())
    }
}

pub(super) fn deepest_row(node: &NodeRef, schema: &Schema) -> Query {
    Query::first(schema.partition(node), schema.depth_range(1, DEPTH_MAX), 1).descending().of([])
}

/// How many levels there are below a node, by its deepest row.
pub(super) fn height(page: &Page, schema: &Schema) -> usize {
    page.items.first().and_then(|row| ancestor_in(row, schema)).map_or(0, |(depth, _)| depth)
}

pub(super) fn is_in_trash(lineage: &Stored) -> bool {
    lineage.lineage().is_some_and(|lineage| lineage.placement.trash.is_in())
}

/// How deep a node is by its lineage; `None` where the lineage doesn't say what the base record says.
pub(super) fn depth_of(edge: &Edge, lineage: &Stored) -> Option<usize> {
    match (&edge.parent, lineage.lineage()) {
        (None, _) => Some(0),
        (Some(parent), Some(lineage)) if lineage.placement.ancestors.first() == Some(parent) => {
            Some(lineage.placement.ancestors.len())
        }
        _ => None,
    }
}
