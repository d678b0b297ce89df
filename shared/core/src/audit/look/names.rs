//! Compares nodes with the claims of their names.

use super::super::difference::Evidence;
use super::{Difference, Kind, Look};
use crate::keys::{ItemKey, NodeRef};
use crate::model::{Item, NameClaim, held_name, holds_name};
use crate::plan::Failure;

pub(super) struct Claimed<'r> {
    key: ItemKey,
    item: Option<&'r Item>,
    pub(super) claimant: Option<NodeRef>,
}

impl Look<'_> {
    pub(super) fn claim(&self, node: &NodeRef) -> Result<Option<Claimed<'_>>, Failure> {
        let record = self.item(&self.schema().node_key(node))?;
        let Some((key, _)) = held_name(node, record, self.settings) else { return Ok(None) };
        let item = self.item(&key)?;
        let claimant = item.and_then(NameClaim::node_in).map(|id| node.sibling(id));
        Ok(Some(Claimed { key, item, claimant }))
    }

    /// Finds a name that is unclaimed, or claimed by a sibling.
    pub(super) fn judge_name(&self, node: &NodeRef) -> Result<Option<Difference>, Failure> {
        let Some(Claimed { key, item, claimant }) = self.claim(node)? else { return Ok(None) };
        if claimant.as_ref() == Some(node) {
            return Ok(None);
        }
        if item.is_some() && claimant.is_none() {
            // The item is its owner's.
            return Ok(Some(Difference::of(Kind::ReservedKey, key, node, &Evidence::new())));
        }
        let other = match &claimant {
            Some(claimant) => self.item(&self.schema().node_key(claimant))?,
            None => None,
        };
        let is_held = claimant
            .is_some_and(|claimant| held_name(&claimant, other, self.settings).is_some_and(|(held, _)| held == key));
        let kind = if is_held { Kind::NameClash } else { Kind::NameUnclaimed };
        let node_key = self.schema().node_key(node);
        let evidence = Evidence::new().and(self.item(&node_key)?).and(item).and(other);
        Ok(Some(Difference::of(kind, node_key, node, &evidence)))
    }

    pub(super) fn judge_claim(&self, key: &ItemKey, node: &NodeRef) -> Result<Option<Difference>, Failure> {
        let item = self.item(key)?;
        if item.and_then(NameClaim::node_in).as_ref() != Some(&node.id) {
            return Ok(None);
        }
        let record = self.item(&self.schema().node_key(node))?;
        if holds_name(node, record, key, self.settings) {
            return Ok(None);
        }
        Ok(Some(Difference::of(Kind::NameLeft, key.clone(), node, &Evidence::new().and(item).and(record))))
    }
}
