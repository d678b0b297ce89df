//! Reads ways up: guesses them from lineages, reads all of a guess at once, and walks on only from where it doesn't chain.

use std::collections::{BTreeMap, BTreeSet};

use futures::future::try_join_all;

use super::Writer;
use super::way::{Known, Rung, Way};
use sapwood_core::keys::{Id, ItemKey, NodeRef};
use sapwood_core::model::{DELETING, Item, Stored};
use sapwood_table::{BATCH_GET_KEYS_MAX, ReadOptions, RetryPolicy, Table, TableError};

/// What is known of the ways, and what their lineages say.
#[derive(Debug, Default)]
pub(super) struct Climb {
    pub(super) known: Known,
    guesses: Vec<Vec<Id>>,
}

impl Climb {
    /// Adds what was read of a node.
    pub(super) fn add(&mut self, rung: Rung, lineage: Option<&Stored>) {
        let above = lineage.and_then(Stored::lineage).map_or(&[][..], |lineage| &lineage.placement.ancestors);
        self.guesses.push(std::iter::once(rung.node.clone()).chain(above.iter().cloned()).collect());
        self.known.add(rung);
    }

    /// What to read where a way goes on at a node that isn't known: the records of the guess that it is on; where it is
    /// on none, its lineage as well.
    fn ahead(&self, unknown: &Id) -> (Vec<Id>, bool) {
        let guess = self.guesses.iter().find_map(|guess| Some(&guess[guess.iter().position(|id| id == unknown)?..]));
        match guess {
            Some(guess) => (guess.iter().filter(|id| !self.known.contains(id)).cloned().collect(), false),
            None => (vec![unknown.clone()], true),
        }
    }
}

impl<T: Table, P: RetryPolicy> Writer<'_, T, P> {
    /// The ways up from these nodes, read strongly.
    pub(super) async fn climb(
        &self,
        climb: &mut Climb,
        tenant_of: &NodeRef,
        from: &[&Id],
    ) -> Result<Vec<Way>, TableError> {
        let schema = self.client.schema();
        loop {
            let ways: Vec<Result<Way, Id>> = from.iter().map(|id| climb.known.climb(id)).collect();
            let unknown: BTreeSet<Id> = ways.iter().filter_map(|way| way.as_ref().err().cloned()).collect();
            if unknown.is_empty() {
                return Ok(ways.into_iter().flatten().collect());
            }
            let (mut nodes, mut lineages) = (BTreeSet::new(), BTreeSet::new());
            for id in &unknown {
                let (ahead, is_lost) = climb.ahead(id);
                nodes.extend(ahead);
                lineages.extend(is_lost.then(|| id.clone()));
            }
            let node_key = |id: &Id| schema.node_key(&tenant_of.sibling(id.clone()));
            let lineage_key = |id: &Id| schema.lineage_key(&tenant_of.sibling(id.clone()));
            let keys = nodes.iter().map(node_key).chain(lineages.iter().map(lineage_key)).collect();
            // A lineage is needed whole, and is small.
            let attributes = lineages.is_empty().then(|| [schema.names().parent.clone(), DELETING.to_owned()].into());
            let items = self.read(keys, &ReadOptions { strong: true, attributes }).await?;
            for id in nodes {
                let node = tenant_of.sibling(id);
                let rung = Rung::read(&node, items.get(&schema.node_key(&node)), schema);
                if lineages.contains(&node.id) {
                    climb.add(rung, Some(&Stored::read(items.get(&schema.lineage_key(&node)), schema)));
                } else {
                    climb.known.add(rung);
                }
            }
        }
    }

    /// Reads items in one round trip, however many.
    pub(super) async fn read(
        &self,
        keys: Vec<ItemKey>,
        reading: &ReadOptions,
    ) -> Result<BTreeMap<ItemKey, Item>, TableError> {
        let chunks = keys.chunks(BATCH_GET_KEYS_MAX).map(|chunk| self.client.get_all(chunk, reading));
        Ok(try_join_all(chunks).await?.into_iter().flatten().collect())
    }
}
