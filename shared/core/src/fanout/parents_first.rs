//! The order in which the nodes of a batch are planned and written.

use std::collections::{BTreeMap, BTreeSet};

use crate::keys::NodeRef;

/// Orders the nodes as their records are, but so that each comes after its parent, if that is among them. A cycle is
/// opened at any of its nodes.
pub(super) fn parents_first(
    parents: &BTreeMap<NodeRef, Option<NodeRef>>,
    position: impl Fn(&NodeRef) -> Option<usize>,
) -> Vec<&NodeRef> {
    let mut seen = BTreeSet::new();
    let mut order = Vec::with_capacity(parents.len());
    let mut nodes: Vec<&NodeRef> = parents.keys().collect();
    nodes.sort_by_key(|node| position(node));
    for node in nodes {
        let mut path_up = Vec::new();
        let mut next = Some(node);
        while let Some(at) = next
            && seen.insert(at)
        {
            path_up.push(at);
            next = parents.get(at).and_then(|parent| parents.get_key_value(parent.as_ref()?)).map(|(key, _)| key);
        }
        order.extend(path_up.into_iter().rev());
    }
    order
}
