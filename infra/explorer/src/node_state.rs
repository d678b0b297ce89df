//! Where a node is on its way, as a badge in the tree says it.

use std::collections::{BTreeMap, BTreeSet};

use sapwood_core::keys::{DEPTH_MAX, Id, ItemKey, NodeRef, Schema};
use sapwood_core::model::{BaseNode, COPYING, InTrash, Item, Lineage, Stored, has_mark};
use sapwood_store::{Client, ReadOptions, RetryPolicy, Table, TableError};
use serde::Serialize;

/// Where a node is on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum NodeState {
    /// Its rows are where its record wants them, as far as its lineage says.
    Right,
    /// It has no record.
    Gone,
    /// Its record can't be understood.
    Unreadable,
    /// It has a record, and no lineage yet.
    Arriving,
    /// Its lineage is that of an earlier place, or not settled.
    OnItsWay,
    /// Its parent isn't there.
    Orphan,
    Deleting,
    /// It is the top of a copy that goes on.
    Copying,
    /// It is above itself.
    Cycle,
    /// It, or a node above it, is in the trash.
    InTrash,
}

/// Returns the states of these nodes. It reads their records and lineages, and their parents' lineages.
pub(crate) async fn states<T: Table, P: RetryPolicy>(
    client: &Client<'_, T, P>,
    nodes: &[NodeRef],
) -> Result<Vec<NodeState>, TableError> {
    let schema = client.schema();
    let keys = nodes.iter().flat_map(|node| [schema.node_key(node), schema.lineage_key(node)]).collect();
    let mut found = client.get_many(keys, &ReadOptions::default()).await.all()?;
    let parents: BTreeSet<ItemKey> = nodes
        .iter()
        .filter_map(|node| Some(schema.lineage_key(&node.sibling(parent_of(node, &found, schema)?))))
        .filter(|key| !found.contains_key(key))
        .collect();
    found.extend(client.get_many(parents, &ReadOptions::default()).await.all()?);
    Ok(nodes.iter().map(|node| state(node, &found, schema)).collect())
}

fn parent_of(node: &NodeRef, found: &BTreeMap<ItemKey, Item>, schema: &Schema) -> Option<Id> {
    BaseNode::parent_in(found.get(&schema.node_key(node))?, node, schema)
}

/// Returns the state of a node, by its record, its lineage and its parent's, as far as they are among these items.
pub(crate) fn state(node: &NodeRef, found: &BTreeMap<ItemKey, Item>, schema: &Schema) -> NodeState {
    let Some(record) = found.get(&schema.node_key(node)) else { return NodeState::Gone };
    let Ok(base) = BaseNode::read(record.clone(), node, schema) else { return NodeState::Unreadable };
    if has_mark(Some(record)) {
        return NodeState::Deleting;
    }
    let stored = Stored::read(found.get(&schema.lineage_key(node)), schema);
    let Some(lineage) = stored.lineage() else { return NodeState::Arriving };
    let Lineage { placement, .. } = lineage;
    // The ancestors that it should have, by its record and its parent's lineage.
    let of_parent = base.parent.as_ref().map(|parent| schema.lineage_key(&node.sibling(parent.clone())));
    let above = Stored::read(of_parent.and_then(|key| found.get(&key)), schema);
    let above = above.lineage().map(|lineage| lineage.placement.ancestors.clone()).unwrap_or_default();
    let expected: Vec<Id> = base.parent.iter().cloned().chain(above).take(DEPTH_MAX).collect();
    if expected.contains(&node.id) {
        return NodeState::Cycle;
    }
    let is_placed = placement.ancestors == expected;
    if !lineage.is_settled() || !is_placed {
        NodeState::OnItsWay
    } else if placement.orphan {
        NodeState::Orphan
    } else if record.contains_key(COPYING) {
        NodeState::Copying
    } else if placement.trash != InTrash::default() {
        NodeState::InTrash
    } else {
        NodeState::Right
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use sapwood_core::model::{Placement, text};

    use super::*;

    fn node(id: &str) -> NodeRef {
        NodeRef { tenant: None, id: Id::new(id).unwrap() }
    }

    fn record(id: &str, parent: Option<&str>) -> (ItemKey, Item) {
        let key = Schema::default().node_key(&node(id));
        let mut item = sapwood_core::model::with_key(&key, &Schema::default());
        item.extend(parent.map(|parent| ("parent".to_owned(), text(parent))));
        (key, item)
    }

    fn lineage(id: &str, change: impl FnOnce(&mut Lineage)) -> (ItemKey, Item) {
        let mut lineage = Lineage::default();
        change(&mut lineage);
        (Schema::default().lineage_key(&node(id)), lineage.item(&node(id), &Schema::default()))
    }

    fn below(ancestors: &[&str]) -> impl FnOnce(&mut Lineage) {
        let ancestors = ancestors.iter().map(|id| Id::new(*id).unwrap()).collect();
        |lineage| lineage.placement = Placement { ancestors, ..Placement::default() }
    }

    #[test]
    fn a_node_is_on_its_way_until_its_lineage_is_that_of_its_parent() {
        let schema = Schema::default();
        let parent = [record("V", Some("D")), lineage("V", below(&["D"]))];
        let of = |items: Vec<(ItemKey, Item)>| {
            state(&node("d"), &items.into_iter().chain(parent.clone()).collect(), &schema)
        };
        assert_eq!(of(vec![]), NodeState::Gone);
        assert_eq!(of(vec![record("d", Some("V"))]), NodeState::Arriving);
        assert_eq!(of(vec![record("d", Some("V")), lineage("d", below(&["V", "D"]))]), NodeState::Right);
        // The parent has moved, and hasn't handed it down.
        assert_eq!(of(vec![record("d", Some("V")), lineage("d", below(&["V", "C"]))]), NodeState::OnItsWay);
        // The node has moved.
        assert_eq!(of(vec![record("d", None), lineage("d", below(&["V", "D"]))]), NodeState::OnItsWay);
        let pending = lineage("d", |lineage| {
            below(&["V", "D"])(lineage);
            lineage.rows_pending = true;
        });
        assert_eq!(of(vec![record("d", Some("V")), pending]), NodeState::OnItsWay);
        let orphan = lineage("d", |lineage| {
            below(&["X"])(lineage);
            lineage.placement.orphan = true;
        });
        assert_eq!(of(vec![record("d", Some("X")), orphan]), NodeState::Orphan);
        let both = vec![record("d", Some("V")), lineage("d", below(&["V"])), lineage("V", below(&["d"]))];
        assert_eq!(of_all(both), NodeState::Cycle);
    }

    fn of_all(items: Vec<(ItemKey, Item)>) -> NodeState {
        state(&node("d"), &items.into_iter().collect(), &Schema::default())
    }
}
