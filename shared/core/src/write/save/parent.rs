//! The parent that the node gets.
//!
//! - Reads: the parent, both lineages, the deepest row below the node, what tells that its id was deleted; and of a
//!   node that moves the records of both ancestor paths.
//! - Holds: the parent is there, and isn't below the node, nor in the trash; nothing on the paths is being deleted; the
//!   subtree isn't too deep there.
//! - Writes: checks that the edges of the paths are as they were read, so that no two moves make a cycle.

use super::super::attempts::{Attempt, Stop};
use super::super::moves::{Move, deepest_row, depth_of, is_in_trash};
use super::super::names::Naming;
use super::super::wanted::Change;
use super::super::{NoWayBack, Refusal};
use super::{SaveNode, SaveReads};
use crate::keys::{DEPTH_MAX, Id, ItemKey};
use crate::model::{BaseNode, Item, Trashed, Under, life_of, text};
use crate::plan::ancestry::{AncestorPath, Ancestry, Edge};
use crate::plan::conditions::still_gone;
use crate::plan::{Failure, Io};
use crate::request::{Action, Query, TRANSACTION_ACTIONS_MAX};

impl SaveNode<'_, '_> {
    /// The parent that the node gets, if it gets one.
    pub(super) fn parent(&self) -> Option<&Id> {
        self.taken.as_ref().map_or(self.wanted.parent, Option::as_ref)
    }

    pub(super) fn parent_afterwards(&self, before: Option<&Item>) -> Option<Id> {
        match (&self.taken, self.wanted.change) {
            (Some(taken), _) => taken.clone(),
            (None, Change::Patch(_)) if !self.wanted.names_parent => {
                BaseNode::parent_in(before?, self.node, self.schema())
            }
            (None, _) => self.wanted.parent.cloned(),
        }
    }

    /// The parent that the node gets, and the life of it that its record names, or its lineage.
    pub(super) fn under(&self, look: &SaveReads) -> Option<Under> {
        let born = look.parent.as_ref().and_then(life_of).or(look.parent_lineage.born_now());
        self.parent().map(|parent| Under { parent: parent.clone(), born: born.map(str::to_owned) })
    }

    pub(super) fn parent_reads(&self) -> Vec<ItemKey> {
        let (schema, Some(parent)) = (self.schema(), self.parent()) else { return Vec::new() };
        let parent = self.node.sibling(parent.clone());
        let mut keys = vec![schema.node_key(&parent), schema.lineage_key(&parent)];
        if self.reads_node() {
            keys.extend([schema.lineage_key(self.node), schema.deleted_key(self.node)]);
        }
        keys
    }

    /// The query for the deepest row below the node, which tells whether something hangs under its id.
    pub(super) fn deepest_row(&self) -> Option<Query> {
        self.parent().filter(|_| self.reads_node()).map(|_| deepest_row(self.node, self.schema()))
    }

    /// Takes the neighbour's parent, or that of before the trash, if none is named. True if it wasn't looked at yet.
    pub(super) fn takes_another_parent(&mut self, look: &SaveReads) -> Result<bool, Refusal> {
        if self.wanted.goes_back() { self.goes_elsewhere_back(look) } else { self.goes_elsewhere_beside(look) }
    }

    fn goes_elsewhere_beside(&mut self, look: &SaveReads) -> Result<bool, Refusal> {
        let anchor = self.anchor().filter(|anchor| self.wanted.takes_parent() && anchor.id != self.node.id);
        let Some((anchor, item)) = anchor.zip(look.anchor.as_ref()) else { return Ok(false) };
        let parent = BaseNode::parent_in(item, &anchor, self.schema());
        if parent == self.parent_afterwards(look.node.as_deref()) {
            return Ok(false);
        }
        if parent.as_ref() == Some(&self.node.id) {
            return Err(self.cycle());
        }
        self.taken = Some(parent);
        self.siblings.begin_anew();
        Ok(true)
    }

    fn goes_elsewhere_back(&mut self, look: &SaveReads) -> Result<bool, Refusal> {
        let Some(trashed) = look.node.as_deref().and_then(Trashed::read) else { return Ok(false) };
        if self.taken.as_ref() != Some(&trashed.parent) {
            self.siblings.begin_anew();
            let is_looked_at = trashed.parent.is_none();
            self.taken = Some(trashed.parent);
            return Ok(!is_looked_at);
        }
        let Some(parent) = trashed.parent else { return Ok(false) };
        if still_gone(look.parent.as_ref()).is_some() {
            return Err(Refusal::NoWayBack { parent, why: NoWayBack::Gone });
        }
        // A parent whose life wasn't known then hadn't been placed yet, or wasn't there: the node waits for any.
        if trashed.born.is_some() && self.under(look).and_then(|under| under.born) != trashed.born {
            return Err(Refusal::NoWayBack { parent, why: NoWayBack::OtherLife });
        }
        Ok(false)
    }

    /// Why a node can't go back where it was, in place of why it can't come where a caller says.
    pub(super) fn no_way_back(&self, stop: Stop) -> Stop {
        let why = match &stop {
            Stop::Refused(Refusal::ParentInTrash { .. }) => NoWayBack::InTrash,
            Stop::Refused(Refusal::Cycle { .. }) => NoWayBack::Cycle,
            _ => return stop,
        };
        match self.parent().filter(|_| self.wanted.goes_back()) {
            Some(parent) => Refusal::NoWayBack { parent: parent.clone(), why }.into(),
            None => stop,
        }
    }

    pub(super) fn cycle(&self) -> Refusal {
        Refusal::Cycle { node: self.node.id.clone(), parent: self.node.id.clone() }
    }

    /// The edge up from the parent, if something can be put under it.
    pub(super) fn usable_parent(&self, parent: &Id, look: &SaveReads) -> Result<Edge, Refusal> {
        let (schema, target) = (self.schema(), self.node.sibling(parent.clone()));
        let item = look.parent.as_ref().ok_or_else(|| Refusal::ParentMissing(parent.clone()))?;
        if let Err(source) = BaseNode::read(item.clone(), &target, schema) {
            return Err(Refusal::ParentUnreadable { id: parent.clone(), source });
        }
        Ok(Edge::read(&target, Some(item), schema))
    }

    /// The checks of the ancestor paths: none for a node that stays under its parent, or a new one without a subtree.
    pub(super) async fn path_checks(
        &self,
        io: &Io,
        look: &SaveReads,
        attempt: &Attempt,
        naming: &Naming,
    ) -> Result<Vec<Action>, Stop> {
        let Some(parent) = self.parent() else { return Ok(Vec::new()) };
        let edge = self.usable_parent(parent, look)?;
        let is_parent = |item: &Item| item.get(&self.schema().names().parent) == Some(&text(parent.as_str()));
        match look.node.as_deref().map(is_parent) {
            Some(true) => return Ok(Vec::new()),
            None if !look.hangs => {
                if edge.deleting {
                    let record = look.parent.as_ref().ok_or(Failure::Again)?;
                    return Err(Refusal::being_deleted(parent, record).into());
                }
                match depth_of(&edge, &look.parent_lineage) {
                    // A parent that seems to be in the trash may be back.
                    Some(_) if edge.trashed.is_some() || is_in_trash(&look.parent_lineage) => {}
                    Some(above) if above + look.height < DEPTH_MAX => return Ok(Vec::new()),
                    Some(above) => return Err(Refusal::TooDeep { depth: above + 1 + look.height }.into()),
                    None => {}
                }
            }
            None | Some(false) => {}
        }
        let (schema, mut ancestry) = (self.schema(), Ancestry::default());
        ancestry.add(Edge::read(self.node, look.node.as_deref(), schema), Some(&look.node_lineage));
        ancestry.add(edge, Some(&look.parent_lineage));
        ancestry.read_on(io, schema, self.node, &[&self.node.id, parent]).await?;
        // The neighbour is checked, or gets a value.
        let beside = usize::from(self.anchor().is_some()) + self.next.as_ref().map_or(0, |next| next.actions.len());
        let names = naming.actions_max() + usize::from(self.wanted.top().is_some());
        let room = TRANSACTION_ACTIONS_MAX.saturating_sub(attempt.len() + look.traces.len() + names + beside);
        Ok(self.edge_checks(look, &ancestry.path(&self.node.id)?, &ancestry.path(parent)?, room)?)
    }

    fn edge_checks(
        &self,
        look: &SaveReads,
        own: &AncestorPath,
        target: &AncestorPath,
        room: usize,
    ) -> Result<Vec<Action>, Refusal> {
        let (schema, rules) = (self.schema(), self.attempts.context.rules);
        let own = look.node.is_some().then_some(own);
        let edges = Move { node: &self.node.id, own, target, height: look.height }.checks(room, rules)?;
        if edges.len() > room {
            return Err(Refusal::TooDeepToCheck);
        }
        if look.node.is_none() && !look.hangs {
            // The paths were only read to see how deep the node comes to be.
            return Ok(Vec::new());
        }
        let check = |edge: &Edge| Action::Check {
            key: schema.node_key(&self.node.sibling(edge.node.clone())),
            condition: edge.same_parent_and_kept(schema, rules),
        };
        Ok(edges.into_iter().map(check).collect())
    }
}
