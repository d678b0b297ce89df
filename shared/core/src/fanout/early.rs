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

/// Nodes that wait for their parents, each with its parent, which may be one of them.
pub type Early = BTreeMap<NodeRef, (Placing, NodeRef)>;

/// All nodes that wait, to be placed now.
#[must_use]
pub fn placings_of(early: Early) -> BTreeMap<NodeRef, Placing> {
    early.into_iter().map(|(node, (placing, _))| (node, placing)).collect()
}

/// Takes out the nodes below these parents, and those below them.
fn take_below(early: &mut Early, is_placed: impl Fn(&NodeRef) -> bool) -> BTreeMap<NodeRef, Placing> {
    let mut ready = BTreeMap::new();
    loop {
        let is_ready = |parent: &NodeRef| is_placed(parent) || ready.contains_key(parent);
        let next: Vec<NodeRef> =
            early.iter().filter(|(_, (_, parent))| is_ready(parent)).map(|(node, _)| node.clone()).collect();
        if next.is_empty() {
            return ready;
        }
        for node in next {
            ready.extend(early.remove(&node).map(|(placing, _)| (node, placing)));
        }
    }
}

/// The plan that waits until parents of early nodes are placed. While parents come one after the other it is worth
/// waiting for the next: a round takes some requests. It returns the nodes whose parents are placed, with those below
/// them, and the nodes that still wait.
pub fn await_parents(context: Context<'_>, mut early: Early) -> Plan<'_, (BTreeMap<NodeRef, Placing>, Early)> {
    Plan::new(|io| async move {
        let schema = context.schema();
        let (mut ready, mut looks) = (BTreeMap::new(), 0);
        while io.wait(1 + looks).await? {
            let to_come = early.values().map(|(_, parent)| parent).filter(|parent| !early.contains_key(*parent));
            let read = io.read(Need::keys(to_come.map(|parent| schema.lineage_key(parent)))).await?;
            let is_placed = |parent: &NodeRef| {
                let item = read.item(&schema.lineage_key(parent)).ok().flatten();
                matches!(Stored::read(item, schema), Stored::Lineage(_))
            };
            let more = take_below(&mut early, is_placed);
            looks = if more.is_empty() { looks + 1 } else { 0 };
            let is_over = if more.is_empty() { !ready.is_empty() || looks == LOOKS_MAX } else { early.is_empty() };
            ready.extend(more);
            if is_over {
                break;
            }
        }
        Ok((ready, early))
    })
}
