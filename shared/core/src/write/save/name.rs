//! The name that the node has among its siblings, where no two may have one.
//!
//! - Reads: for a create below a parent the claim of the name, along with the parent; a claim on which an attempt has
//!   failed, and the record of the node that it names; for another name all claims with a number.
//! - Holds: no sibling has the name.
//! - Writes: the claim of the name, and the end of the claim of the name that the node had.

use super::super::Refusal;
use super::super::attempts::Stop;
use super::super::names::{Naming, SiblingName};
use super::super::wanted::Change;
use super::{SaveNode, SaveReads};
use crate::keys::ItemKey;
use crate::model::text_of;
use crate::plan::{Io, Rule};
use crate::request::Action;

impl SaveNode<'_, '_> {
    /// The key of a new node's name claim, read with its parent: a taken name is refused without a write.
    pub(super) fn name_claim_key(&self) -> Option<ItemKey> {
        let (settings, Change::Create { .. }) = (self.attempts.context.settings, self.wanted.change) else {
            return None;
        };
        let name = self.other_name().or(self.wanted.segment.flatten()).unwrap_or(self.node.id.as_str());
        let names = Some(settings.names).filter(|names| names.is_on())?;
        Some(settings.schema.name_key(self.node, Some(self.parent()?), names.compared(name)))
    }

    /// True if the node gets another name where a sibling has its own. After an attempt without an answer it keeps the
    /// one that it was sent with, unless the claim of its idempotency key lets only one of them be carried out: with
    /// another one the answer couldn't say which of the two the node has.
    fn may_rename(&self) -> bool {
        let is_sent = self.attempts.is_unanswered() && self.attempts.key_claim_key().is_none();
        self.wanted.may_rename() && !(is_sent && self.attempts.context.rules.keeps(Rule::SameNameAgain))
    }

    /// The name that the node is to have, below the parent that it is to have.
    pub(super) fn sibling_name(&self, look: &SaveReads) -> SiblingName {
        let before = look.node.as_deref();
        let had = before.and_then(|item| text_of(item, &self.schema().names().segment));
        let name = self.wanted.segment.unwrap_or(had).unwrap_or(self.node.id.as_str()).to_owned();
        SiblingName { parent: self.parent_afterwards(before), name }
    }

    /// The name that the node gets in the place of one that a sibling has.
    pub(super) fn other_name(&self) -> Option<&str> {
        self.renamed.as_ref().map(|renamed| renamed.name.as_str())
    }

    /// Claims the node's new name, and gives back the one that it had. `None`: the write looks again with another name.
    pub(super) async fn names(
        &mut self,
        io: &Io,
        look: &SaveReads,
        naming: &Naming,
    ) -> Result<Option<Vec<Action>>, Stop> {
        let attempts = &*self.attempts;
        let read = look.name_claim.as_ref().map(|(key, found)| (key, found.as_ref()));
        match naming.claim(io, self.node, attempts, read, self.wanted.may_rename()).await {
            Err(Stop::Refused(refusal @ Refusal::NameTaken { .. })) if self.may_rename() => {
                let (of, last) = (self.sibling_name(look), self.renamed.take());
                self.renamed = Some(Naming::renamed(io, self.node, of, self.attempts, last, refusal).await?);
                Ok(None)
            }
            claim => Ok(Some(naming.release(self.node, attempts).into_iter().chain(claim?).collect())),
        }
    }
}
