//! Plans every node again after a table has settled. No plan may find anything to do.

use sapwood_core::fanout::{PlaceInput, place};
use sapwood_core::keys::{Id, NodeRef};
use sapwood_core::model::{BaseNode, Settings, Stored};
use sapwood_core::plan::Rules;

use crate::oracle::Contents;

/// Returns the partitions of the nodes whose plans aren't empty.
#[must_use]
pub fn unfinished(contents: &Contents, settings: &Settings) -> Vec<String> {
    let schema = &settings.schema;
    let item = |key: sapwood_core::keys::ItemKey| contents.get(&(key.pk, key.sk));
    let lineage = |node: &NodeRef| Stored::read(item(schema.lineage_key(node)), schema);
    let mut partitions: Vec<&String> = contents.keys().map(|(pk, _)| pk).collect();
    partitions.dedup();
    let is_unfinished = |pk: &String| {
        let Ok(node) = schema.parse_partition(pk) else { return false };
        let base = item(schema.node_key(&node)).and_then(|item| BaseNode::read(item.clone(), &node, schema).ok());
        let parent = base.as_ref().and_then(|base| base.parent.clone()).filter(|parent: &Id| *parent != node.id);
        let parent = parent.and_then(|id| lineage(&node.sibling(id)).lineage().map(|l| l.placement.clone()));
        let (base, parent, stored) = (base.as_ref(), parent.as_ref(), &lineage(&node));
        let (only_touched, mark_went) = (true, None);
        let input = PlaceInput {
            node: &node,
            base,
            stored,
            parent,
            is_predicted: false,
            standing: None,
            only_touched,
            mark_went,
            now: 0,
            new_life: "none",
        };
        !place(&input, settings, Rules::default()).is_empty()
    };
    partitions.into_iter().filter(|pk| is_unfinished(pk)).cloned().collect()
}
