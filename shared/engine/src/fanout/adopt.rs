//! Giving a child whose parent is gone to another: a move, checked all the way up so that no cycle comes of it.

use std::collections::BTreeSet;

use super::release::{Child, Releasing};
use super::store::Failure;
use sapwood_core::keys::{DEPTH_MAX, ItemKey, NodeRef};
use sapwood_core::model::{BaseNode, Item, Stored};
use sapwood_core::plan::Rule;
use sapwood_table::{Action, Condition, RetryPolicy, Table, Transacted};

/// What came of it.
pub(super) enum Adopted {
    /// The child is below its new parent, or has changed meanwhile and has a record of its own coming.
    Done,
    /// The child is above that parent, or the way up is too long.
    Cycle,
    /// Somebody on the way up has changed meanwhile.
    Changed,
}

/// Puts a child under a parent that was there a moment ago. Every edge from there to the root is checked in the same
/// transaction: the child has no way up of its own, so the two ways don't meet.
pub(super) async fn adopt<T: Table, P: RetryPolicy>(
    releasing: &Releasing<'_, '_, T, P>,
    child: &Child,
    parent: &NodeRef,
) -> Result<Adopted, Failure> {
    let schema = &releasing.fanout.settings.schema;
    // The lineage guesses the way; base records tell it.
    let key = schema.lineage_key(parent);
    let read = releasing.store.get_many(BTreeSet::from([key.clone()]), schema).await;
    let stored = Stored::read(read.item(&key)?, schema);
    let guessed = stored.lineage().map_or(&[][..], |lineage| &lineage.placement.ancestors);
    let keys = guessed.iter().map(|id| parent.sibling(id.clone())).chain([parent.clone()]);
    let mut looked_at: BTreeSet<ItemKey> = keys.map(|node| schema.node_key(&node)).collect();
    let mut read = releasing.store.get_many(looked_at.clone(), schema).await;

    let mut actions = vec![releasing.adoption(child, &parent.id)];
    let mut next = Some(parent.clone());
    let mut way = BTreeSet::new();
    while let Some(at) = next {
        if at == child.node || way.len() >= DEPTH_MAX {
            return Ok(Adopted::Cycle);
        }
        // A cycle above, which other clients made, is none of this child's.
        if !way.insert(at.clone()) {
            break;
        }
        let key = schema.node_key(&at);
        if looked_at.insert(key.clone()) {
            read.extend(releasing.store.get_many(BTreeSet::from([key.clone()]), schema).await);
        }
        let item = read.item(&key)?;
        if item.is_none() && at == *parent {
            return Ok(Adopted::Changed);
        }
        actions.push(Action::Check { condition: same_parent(item, &schema.names().parent), key });
        let base = item.and_then(|item| BaseNode::read(item.clone(), &at, schema).ok());
        next = base.and_then(|base| base.parent).map(|id| at.sibling(id));
    }
    if !releasing.fanout.rules.keeps(Rule::AdoptAncestorPath) {
        actions.truncate(1);
    }
    match releasing.store.transact(&schema.node_key(&child.node), &actions).await {
        Ok(Transacted::Done) => {
            releasing.store.count(|counts| counts.released += 1);
            Ok(Adopted::Done)
        }
        Ok(Transacted::Failed(failed)) if failed.contains(&0) => Ok(Adopted::Done),
        Ok(Transacted::Failed(_)) => Ok(Adopted::Changed),
        // It is noted; as a root it may be possible.
        Err(Failure::Refused) => Ok(Adopted::Cycle),
        Err(Failure::Again) => Err(Failure::Again),
    }
}

/// That a base record names the same parent as it did, or still isn't there.
fn same_parent(item: Option<&Item>, name: &str) -> Condition {
    match item {
        None => Condition::Absent,
        Some(item) => Condition::All(vec![Condition::Exists, Condition::is(name, item.get(name).cloned())]),
    }
}
