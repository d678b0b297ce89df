//! The node's record.
//!
//! - Reads: the record, unless the API has just made its id.
//! - Holds: the preconditions; the node is there or not, as the write asks; it isn't being deleted; and nothing is put
//!   somewhere that is in the trash. At the write, that the record is as it was read.
//! - Writes: the record, as the caller wants it, with the parent, the name and the value that the other parts have
//!   chosen.

use std::borrow::Cow;

use super::super::attempts::Attempt;
use super::super::command::{Content, Patch, ValueChange};
use super::super::record::{Draft, NodeRecord};
use super::super::reorder::Insertion;
use super::super::wanted::{Change, CopyTop};
use super::super::{Outcome, Refusal};
use super::{SaveNode, SaveReads};
use crate::keys::ItemKey;
use crate::model::{BaseNode, Item, has_mark};
use crate::plan::Rule;
use crate::request::Action;

impl SaveNode<'_, '_> {
    /// True if the node can be there: at first no node has an id that the API has just made.
    pub(super) fn reads_node(&self) -> bool {
        !(self.attempts.is_first() && matches!(self.wanted.change, Change::Create { is_made_id: true, .. }))
    }

    pub(super) fn node_key(&self) -> ItemKey {
        self.schema().node_key(self.node)
    }

    pub(super) fn node_reads(&self) -> Option<ItemKey> {
        self.reads_node().then(|| self.node_key())
    }

    /// Checks that the node may be written, given what is there.
    pub(super) fn check_node(&self, look: &SaveReads) -> Result<(), Refusal> {
        let before = look.node.as_deref();
        if before.is_none() && matches!(self.wanted.change, Change::Patch(_) | Change::Restore(_)) {
            return Err(Refusal::NotFound);
        }
        // The preconditions of a copy are about its source.
        if self.wanted.top().is_none() {
            self.attempts.request.preconditions.check_item(before, self.schema())?;
        }
        if let Some(item) = before.filter(|item| has_mark(Some(item))) {
            return Err(Refusal::being_deleted(&self.node.id, item));
        }
        let is_in_trash = before.is_some_and(|item| BaseNode::is_in_trash(item, self.node, self.schema()));
        match (self.wanted.change, before) {
            (Change::Create { .. }, Some(_)) => Err(Refusal::Exists),
            (Change::Restore(_), _) if !is_in_trash => Err(Refusal::NotInTrash),
            (Change::Restore(_), _) => Ok(()),
            _ if is_in_trash && self.wanted.is_placed() => Err(Refusal::InTrash),
            _ => Ok(()),
        }
    }

    /// Drafts the record. `None`: nothing changes, and no unanswered attempt has to be stopped by a new stamp.
    pub(super) fn draft(&self, look: &SaveReads, insertion: &Insertion) -> Result<Option<Draft>, Refusal> {
        let drafted = match self.wanted.change {
            Change::Create { content, .. } | Change::Replace(content) => self.draft_whole(look, content, insertion)?,
            Change::Patch(patch) | Change::Restore(patch) => match self.draft_patched(look, patch, insertion)? {
                Some(draft) => draft,
                // Its stamps say that the revision was appended: an attempt without an answer is settled by them.
                None if patch.revision.is_some() || self.may_come_late() => self.record(look).stamped_again()?,
                None => return Ok(None),
            },
        };
        Ok(Some(self.keep_position(look, insertion, drafted)))
    }

    fn record<'l>(&'l self, look: &'l SaveReads) -> NodeRecord<'l> {
        let (request, before) = (self.attempts.request, look.node.as_deref());
        let (strict, under) = (request.preconditions.are_given(), self.under(look));
        NodeRecord { key: self.node_key(), before, under, strict, stamp: &request.stamp, schema: self.schema() }
    }

    fn draft_whole(&self, look: &SaveReads, content: &Content, insertion: &Insertion) -> Result<Draft, Refusal> {
        let mut content = Cow::Borrowed(content);
        if let Some(taken) = &self.taken {
            content.to_mut().parent.clone_from(taken);
        }
        if let Some(name) = self.other_name() {
            content.to_mut().segment = Some(name.to_owned());
        }
        if let Some((attribute, value)) = self.placed_by_hand(look, insertion) {
            content.to_mut().attributes.insert(attribute, value);
        }
        let mut draft = self.record(look).whole(&content)?;
        if let (Some(gone), Action::Put { condition, .. }) = (&look.gone, &mut draft.action) {
            condition.clone_from(gone);
        }
        match self.wanted.top() {
            Some(CopyTop { mark, .. }) => draft.with_copying(mark),
            None => Ok(draft),
        }
    }

    fn draft_patched(&self, look: &SaveReads, patch: &Patch, insertion: &Insertion) -> Result<Option<Draft>, Refusal> {
        let mut patch = Cow::Borrowed(patch);
        if let Some(taken) = &self.taken {
            patch.to_mut().parent = Some(taken.clone());
        }
        if let Some(name) = self.other_name() {
            patch.to_mut().segment = Some(Some(name.to_owned()));
        }
        if let Some((attribute, value)) = self.placed_by_hand(look, insertion) {
            patch.to_mut().attributes.insert(attribute, ValueChange::Set(value));
        }
        self.record(look).patched(&patch)
    }

    /// True if an attempt got no answer and nothing but the record's stamps keeps it from being carried out after this
    /// write is answered: it has the condition that the record is as it was read. A claim that is completed with the
    /// answer prevents it as well.
    fn may_come_late(&self) -> bool {
        let keeps = self.attempts.context.rules.keeps(Rule::AttemptEnds);
        keeps && self.attempts.is_unanswered() && self.attempts.key_claim_key().is_none()
    }

    /// The attempt where the record doesn't change: it checks the node's position, and completes the claim.
    pub(super) fn unchanged(&self, look: &SaveReads, anchor: Option<Action>) -> Result<Attempt, Refusal> {
        let before = look.node.as_ref().ok_or(Refusal::NotFound)?;
        let checks = self.own_position_stays(before).filter(|_| anchor.is_some()).into_iter().chain(anchor).collect();
        let item = Item::clone(before);
        let outcome = Outcome::Node { node: self.node.clone(), item, created: false, revision: None };
        Ok(self.attempts.attempt(checks, outcome, look.node.clone()))
    }
}
