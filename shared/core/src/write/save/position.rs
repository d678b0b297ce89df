//! The node's position among its siblings, where these are ordered by hand.
//!
//! - Reads: the sibling that the node comes next to; rows and records of the others, by
//!   [`FindSpot`](super::super::reorder::find_spot::FindSpot); and siblings that get other values as a whole.
//! - Holds: the sibling has the same parent, and there is room beside it.
//! - Writes: the node's value, which goes into its record; a check of the sibling, or values of siblings; before the
//!   node, in transactions of their own, values of more siblings than fit.

use super::super::Refusal;
use super::super::attempts::Stop;
use super::super::command::Patch;
use super::super::record::Draft;
use super::super::reorder::Insertion;
use super::super::reorder::find_spot::SpotRequest;
use super::super::wanted::Change;
use super::{SaveNode, SaveReads};
use crate::keys::NodeRef;
use crate::model::{AttributeValue, Item, text};
use crate::plan::Io;
use crate::request::{Action, Condition};

impl<'a> SaveNode<'_, 'a> {
    pub(super) fn by_hand(&self) -> Option<&'a str> {
        let order = self.attempts.context.settings.order.as_ref().filter(|order| order.by_hand)?;
        Some(order.attribute())
    }

    /// The sibling that the node comes next to.
    pub(super) fn anchor(&self) -> Option<NodeRef> {
        Some(self.node.sibling(self.wanted.spot?.anchor()?.clone()))
    }

    pub(super) async fn find_position(&self, io: &Io, look: &SaveReads) -> Result<Insertion, Stop> {
        let Some(spot) = self.wanted.spot else { return Ok(Insertion::default()) };
        if spot.anchor() == Some(&self.node.id) {
            // A node beside itself stays. One that isn't there, or is in the trash, has no siblings.
            let has_siblings = look.node.is_some() && !matches!(self.wanted.change, Change::Restore(_));
            let refusal = || Refusal::NotASibling(self.node.id.clone()).into();
            return has_siblings.then(Insertion::default).ok_or_else(refusal);
        }
        if let Some(parent) = self.parent() {
            self.usable_parent(parent, look)?;
        }
        let (node, own, anchor) = (self.node, look.node.as_deref(), look.anchor.as_ref());
        let request = SpotRequest { node, parent: self.parent_afterwards(own), spot, own, anchor };
        self.siblings.find(io, self.attempts.context, &self.attempts.request.stamp, request).await
    }

    /// The attribute that orders by hand, with the new value, or the kept one where the caller doesn't name it.
    pub(super) fn placed_by_hand(&self, look: &SaveReads, insertion: &Insertion) -> Option<(String, AttributeValue)> {
        let attribute = self.by_hand().filter(|attribute| !self.wanted.names(attribute))?;
        let is_whole = !matches!(self.wanted.change, Change::Patch(Patch { clears: false, .. }) | Change::Restore(_));
        let kept = || look.node.as_ref().filter(|_| is_whole)?.get(attribute).cloned();
        Some((attribute.to_owned(), insertion.value.as_ref().map(text).or_else(kept)?))
    }

    /// Adds the condition that the node's value is as it was read to a draft that keeps its position: an update, which
    /// doesn't write the value again, or a put, which writes the value that was read.
    pub(super) fn keep_position(&self, look: &SaveReads, insertion: &Insertion, mut draft: Draft) -> Draft {
        let (Some(attribute), Some(before), None) = (self.by_hand(), look.node.as_deref(), &insertion.value) else {
            return draft;
        };
        let keeps = match &draft.action {
            Action::Update { .. } => insertion.anchor.is_some(),
            _ => !self.wanted.names(attribute),
        };
        if let (true, Action::Update { condition, .. } | Action::Put { condition, .. }) = (keeps, &mut draft.action) {
            let as_read = std::mem::replace(condition, Condition::Exists);
            *condition = Condition::All(vec![as_read, Condition::is(attribute, before.get(attribute).cloned())]);
        }
        draft
    }

    /// The check that the node has kept its parent and its value.
    pub(super) fn own_position_stays(&self, before: &Item) -> Option<Action> {
        let attribute = self.by_hand()?;
        let same = |name: &str| Condition::is(name, before.get(name).cloned());
        let conditions = vec![Condition::Exists, same(&self.schema().names().parent), same(attribute)];
        Some(Action::Check { key: self.node_key(), condition: Condition::All(conditions) })
    }
}
