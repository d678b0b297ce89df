//! Nodes that were placed below a parent on its way out, or gone: too late for its cascade to find them, so they release
//! themselves.

use std::collections::{BTreeMap, BTreeSet};

use super::Fanout;
use super::release::{Child, Releasing};
use super::store::{Failure, Store};
use crate::keys::{Id, ItemKey, NodeRef};
use crate::model::{BaseNode, Departure, Stored};
use crate::plan::{Rule, Rules};
use crate::table::{Patience, Table};

/// Those of one round.
#[derive(Default)]
pub(super) struct Late {
    /// By a parent that is being removed.
    leaving: BTreeMap<NodeRef, (Departure, BTreeSet<Id>)>,
    /// Those whose parent has been removed.
    left: Vec<Left>,
}

struct Left {
    child: Child,
    parent: NodeRef,
    departure: Departure,
}

impl Late {
    /// Takes up a node, if what stands in the place of its parent's lineage asks for it. Where that is a tombstone, only
    /// one that the API has put under that parent: another client's waits for its parent, as orphans do.
    pub(super) fn consider(
        &mut self,
        node: &NodeRef,
        base: &BaseNode,
        parent: &NodeRef,
        stored: &Stored,
        rules: Rules,
    ) {
        match stored {
            Stored::Lineage(lineage) if rules.keeps(Rule::ReleaseLate) => {
                if let Some(departure) = &lineage.leaving {
                    let new = || (departure.clone(), BTreeSet::new());
                    let (_, ids) = self.leaving.entry(parent.clone()).or_insert_with(new);
                    ids.insert(node.id.clone());
                }
            }
            Stored::Tombstone(departure) if base.is_under(&parent.id) || !rules.keeps(Rule::TombstoneUnder) => {
                let child = Child { node: node.clone(), base: base.clone() };
                self.left.push(Left { child, parent: parent.clone(), departure: departure.clone() });
            }
            _ => {}
        }
    }

    /// Releases them. Returns the nodes for which that has to be tried again.
    pub(super) async fn release<T: Table, P: Patience>(
        self,
        store: &Store<'_, T, P>,
        fanout: &Fanout,
    ) -> BTreeSet<NodeRef> {
        let releasing = Releasing { store, fanout };
        let mut failed = BTreeSet::new();
        for (parent, (departure, ids)) in self.leaving {
            if releasing.release(&parent, &departure, ids.clone()).await.is_err() {
                failed.extend(ids.into_iter().map(|id| parent.sibling(id)));
            }
        }
        // A parent that is there again has a lineage on its way, and that touches its orphans.
        let schema = &fanout.settings.schema;
        let parents: BTreeSet<ItemKey> = self.left.iter().map(|left| schema.node_key(&left.parent)).collect();
        let read = store.get_many(parents, schema).await;
        for Left { child, parent, departure } in self.left {
            let released = match read.item(&schema.node_key(&parent)) {
                Ok(Some(_)) if fanout.rules.keeps(Rule::TombstoneGone) => Ok(()),
                Ok(_) => releasing.release_left(&child, &departure).await,
                Err(failure) => Err(failure),
            };
            if let Err(Failure::Again | Failure::Refused) = released {
                failed.insert(child.node);
            }
        }
        failed
    }
}
