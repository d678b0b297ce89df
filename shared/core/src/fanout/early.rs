//! Early nodes: their parents are there and aren't placed yet, because batches are handled side by side. Waiting for
//! the parents a moment saves placing the nodes twice.

use std::collections::BTreeMap;

use super::Placing;
use super::context::Context;
use crate::keys::NodeRef;
use crate::model::Stored;
use crate::plan::{Need, Plan};

/// How often the plan looks without seeing one more parent placed. The waits between the looks grow.
const LOOKS_MAX: u32 = 3;

/// Nodes that wait for their parents.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Early {
    /// Each with its parent, which may be one of them.
    nodes: BTreeMap<NodeRef, (Placing, NodeRef)>,
}

impl Early {
    /// True if no node waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// True if the node waits.
    #[must_use]
    pub fn contains(&self, node: &NodeRef) -> bool {
        self.nodes.contains_key(node)
    }

    /// Has a node wait for its parent.
    pub fn insert(&mut self, node: NodeRef, placing: Placing, parent: NodeRef) {
        self.nodes.insert(node, (placing, parent));
    }

    /// Adds the nodes of another round.
    pub fn extend(&mut self, other: Self) {
        self.nodes.extend(other.nodes);
    }

    /// All nodes, to be placed now.
    #[must_use]
    pub fn into_placings(self) -> BTreeMap<NodeRef, Placing> {
        self.nodes.into_iter().map(|(node, (placing, _))| (node, placing)).collect()
    }

    fn parents_to_come(&self) -> impl Iterator<Item = &NodeRef> {
        self.nodes.values().map(|(_, parent)| parent).filter(|parent| !self.contains(parent))
    }

    /// Takes out the nodes below these parents, and those below them.
    fn take_below(&mut self, is_placed: impl Fn(&NodeRef) -> bool) -> BTreeMap<NodeRef, Placing> {
        let mut ready = BTreeMap::new();
        loop {
            let is_ready = |parent: &NodeRef| is_placed(parent) || ready.contains_key(parent);
            let next: Vec<NodeRef> =
                self.nodes.iter().filter(|(_, (_, parent))| is_ready(parent)).map(|(node, _)| node.clone()).collect();
            if next.is_empty() {
                return ready;
            }
            for node in next {
                ready.extend(self.nodes.remove(&node).map(|(placing, _)| (node, placing)));
            }
        }
    }
}

/// The outcome of the wait.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Awaited {
    /// Nodes whose parents are placed, and those below them.
    pub ready: BTreeMap<NodeRef, Placing>,
    /// Nodes that still wait.
    pub early: Early,
}

/// The plan that waits until parents of early nodes are placed. While parents come one after the other it is worth
/// waiting for the next: a round takes some requests.
pub fn await_parents(context: Context<'_>, mut early: Early) -> Plan<'_, Awaited> {
    Plan::new(|io| async move {
        let schema = context.schema();
        let (mut ready, mut looks) = (BTreeMap::new(), 0);
        while io.wait(1 + looks).await? {
            let read = io.read(Need::keys(early.parents_to_come().map(|parent| schema.lineage_key(parent)))).await?;
            let is_placed = |parent: &NodeRef| {
                let item = read.item(&schema.lineage_key(parent)).ok().flatten();
                matches!(Stored::read(item, schema), Stored::Lineage(_))
            };
            let more = early.take_below(is_placed);
            looks = if more.is_empty() { looks + 1 } else { 0 };
            let is_over = if more.is_empty() { !ready.is_empty() || looks == LOOKS_MAX } else { early.is_empty() };
            ready.extend(more);
            if is_over {
                break;
            }
        }
        Ok(Awaited { ready, early })
    })
}
