//! Nodes that were placed below a parent that is gone: too late for its cascade to find them, so they release themselves.

use std::collections::BTreeSet;

use super::Fanout;
use super::release::{Child, Releasing};
use super::store::Store;
use sapwood_core::keys::{ItemKey, NodeRef};
use sapwood_core::model::{BaseNode, Deletion, Stored};
use sapwood_core::plan::{Rule, Rules};
use sapwood_table::{RetryPolicy, Table};

/// Those of one round.
#[derive(Default)]
pub(super) struct Late(Vec<Left>);

struct Left {
    child: Child,
    parent: NodeRef,
    deletion: Deletion,
}

impl Late {
    /// Takes up a node, if a tombstone stands in the place of its parent's lineage and the API has put it under that
    /// parent: another client's waits for its parent, as orphans do.
    pub(super) fn consider(
        &mut self,
        node: &NodeRef,
        base: &BaseNode,
        parent: &NodeRef,
        stored: &Stored,
        rules: Rules,
    ) {
        if let Stored::Tombstone(deletion) = stored
            && (base.is_under(&parent.id) || !rules.keeps(Rule::TombstoneUnder))
        {
            let child = Child { node: node.clone(), base: base.clone() };
            self.0.push(Left { child, parent: parent.clone(), deletion: deletion.clone() });
        }
    }

    /// Releases them. Returns the nodes for which that has to be tried again.
    pub(super) async fn release<T: Table, P: RetryPolicy>(
        self,
        store: &Store<'_, T, P>,
        fanout: &Fanout,
    ) -> BTreeSet<NodeRef> {
        let releasing = Releasing { store, fanout };
        let mut failed = BTreeSet::new();
        // A parent that is there again has a lineage on its way, and that touches its orphans.
        let schema = &fanout.settings.schema;
        let parents: BTreeSet<ItemKey> = self.0.iter().map(|left| schema.node_key(&left.parent)).collect();
        let read = store.get_many(parents, schema).await;
        for Left { child, parent, deletion } in self.0 {
            let released = match read.item(&schema.node_key(&parent)) {
                Ok(Some(_)) if fanout.rules.keeps(Rule::TombstoneGone) => Ok(()),
                Ok(_) => releasing.release_left(&child, &deletion).await,
                Err(failure) => Err(failure),
            };
            if released.is_err() {
                failed.insert(child.node);
            }
        }
        failed
    }
}
