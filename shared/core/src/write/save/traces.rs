//! An attempt without an answer.
//!
//! - Reads: what tells of the attempt: the record of its idempotency key, the revision that it appended, and what the
//!   deletion of its node leaves.
//! - Holds: it is settled. A node that was created and deleted since isn't created again.
//! - Writes: for a node that isn't there, checks that what tells of its deletion is as it was read.

use super::super::attempts::Trace;
use super::super::traces::{deleted_since, traces_stay};
use super::{SaveNode, SaveReads};
use crate::keys::ItemKey;
use crate::model::{Item, life_of};
use crate::plan::{Failure, Read, Rule};
use crate::request::Action;

impl SaveNode<'_, '_> {
    pub(super) fn trace_reads(&self) -> Vec<ItemKey> {
        if !self.attempts.is_unanswered() {
            return Vec::new();
        }
        let mut keys = vec![self.schema().lineage_key(self.node), self.schema().deleted_key(self.node)];
        keys.extend(self.attempts.key_claim_key());
        keys.extend(self.next.iter().flat_map(|next| &next.actions).map(|action| action.key().clone()));
        keys
    }

    /// The evidence of an attempt without an answer besides the node's record: the revision that was appended with it.
    /// A node that was created leaves the record of its deletion, or its tombstone, if it was deleted since.
    pub(super) fn trace(&self, look: &SaveReads, read: &Read) -> Result<Trace, Failure> {
        let (attempts, stamp) = (&self.attempts, &self.attempts.request.stamp);
        if let Some(next) = self.next.as_ref().filter(|_| self.was_sent()) {
            let found = read.item(&next.key)?;
            if stamp.made(found) || stamp.made_before(found) {
                return Ok(Trace::Done);
            }
        }
        let keeps = attempts.context.rules.keeps(Rule::CreatedAndDeleted);
        if !attempts.is_unanswered() || attempts.decided_on().is_some() || !keeps {
            return Ok(Trace::None);
        }
        let deleted = read.item(&self.schema().deleted_key(self.node))?;
        let is_own = |born: Option<&str>| born == Some(&stamp.token);
        let born = |item: Option<&Item>| is_own(item.and_then(life_of));
        if born(look.node.as_deref()) || born(deleted) || is_own(look.node_lineage.born()) {
            return Ok(Trace::Done);
        }
        // Others may have deleted this node since, and then another one of the same id.
        let (node_lineage, settings) = (&look.node_lineage, attempts.context.settings);
        let was_deleted = || look.node.is_none() && deleted_since(stamp.seconds, deleted, node_lineage, settings);
        Ok(if was_deleted() { Trace::Lost } else { Trace::None })
    }

    /// The checks that a repeated create adds to its transaction.
    pub(super) fn traces(&self, read: &Read) -> Result<Vec<Action>, Failure> {
        if !self.attempts.is_unanswered() || !self.attempts.context.rules.keeps(Rule::TracesStay) {
            return Ok(Vec::new());
        }
        Ok(traces_stay(self.node, read, self.schema())?.into())
    }
}
