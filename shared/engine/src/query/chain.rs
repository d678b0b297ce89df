//! A node's way up, by base records.

use std::collections::{BTreeMap, BTreeSet};

use super::Reader;
use sapwood_core::keys::{DEPTH_MAX, Id, ItemKey, NodeRef};
use sapwood_core::model::{BaseNode, Placement, Stored};
use sapwood_table::{ReadOptions, RetryPolicy, Table, TableError};

/// The nodes above another as base records have it, nearest first, at most [`DEPTH_MAX`]. It ends at a root, at a node that
/// isn't there (or can't be understood), or before one that comes twice.
#[derive(Debug, Default)]
pub(super) struct Chain {
    ancestors: Vec<Id>,
    /// What each is called inside a path. One shorter where the last of them isn't there.
    names: Vec<String>,
}

impl Chain {
    /// Where the parent stands, as the fan-out would have placed it: nowhere, if it isn't there.
    pub(super) fn parent(&self) -> Option<Placement> {
        if self.names.is_empty() {
            return None;
        }
        // Without the farthest: paths count from it.
        let path = self.names.iter().take(self.ancestors.len() - 1).rev().cloned().collect();
        Some(Placement { ancestors: self.ancestors[1..].to_vec(), path, ..Placement::default() })
    }
}

impl<T: Table, P: RetryPolicy> Reader<'_, T, P> {
    /// The way up from a node, strongly read: guessed from its lineage, and all of the guess read at once. Where the records
    /// tell otherwise the next guess is the lineage of the node where they do.
    pub(super) async fn chain(&self, node: &NodeRef, base: &BaseNode, stored: &Stored) -> Result<Chain, TableError> {
        let mut chain = Chain::default();
        let mut known: BTreeMap<Id, Option<BaseNode>> = BTreeMap::new();
        let mut guess: Vec<Id> = stored.lineage().map(|l| l.placement.ancestors.clone()).unwrap_or_default();
        let mut next = base.parent.clone();
        while let Some(id) = next.take() {
            if id == node.id || chain.ancestors.contains(&id) || chain.ancestors.len() == DEPTH_MAX {
                break;
            }
            if !known.contains_key(&id) {
                let guessed = guess.contains(&id);
                let ids: BTreeSet<Id> = if guessed {
                    guess.iter().filter(|id| !known.contains_key(*id)).cloned().collect()
                } else {
                    [id.clone()].into()
                };
                let lineage_of = (!guessed).then(|| node.sibling(id.clone()));
                let (read, stored) = self.read_bases(node, &ids, lineage_of.as_ref()).await?;
                known.extend(read);
                guess = stored.lineage().map_or(guess, |lineage| lineage.placement.ancestors.clone());
            }
            if let Some(above) = known.get(&id).and_then(Option::as_ref) {
                chain.names.push(above.name(&node.sibling(id.clone())).to_owned());
                next = above.parent.clone();
            }
            chain.ancestors.push(id);
        }
        Ok(chain)
    }

    /// Base records, as far as they say where their nodes belong, and perhaps the lineage of one.
    async fn read_bases(
        &self,
        node: &NodeRef,
        ids: &BTreeSet<Id>,
        lineage_of: Option<&NodeRef>,
    ) -> Result<(BTreeMap<Id, Option<BaseNode>>, Stored), TableError> {
        let schema = self.client.schema();
        let key = |id: &Id| schema.node_key(&node.sibling(id.clone()));
        let lineage_key = lineage_of.map(|of| schema.lineage_key(of));
        let keys: Vec<ItemKey> = ids.iter().map(key).chain(lineage_key.clone()).collect();
        // A lineage is read whole; a single record can be.
        let attributes = lineage_key.is_none().then(|| self.placing_attributes());
        let mut read = self.client.get_all(&keys, &ReadOptions { strong: true, attributes }).await?;
        let stored = Stored::read(lineage_key.and_then(|key| read.remove(&key)).as_ref(), schema);
        let base = |id: &Id, item| BaseNode::read(item, &node.sibling(id.clone()), schema).ok();
        let bases = ids.iter().map(|id| (id.clone(), read.remove(&key(id)).and_then(|item| base(id, item)))).collect();
        Ok((bases, stored))
    }
}
