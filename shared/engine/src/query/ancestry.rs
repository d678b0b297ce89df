//! The placement of a node's parent, by base records.

use sapwood_core::keys::NodeRef;
use sapwood_core::model::{Item, Placement, Stored};
use sapwood_core::plan::Read;
use sapwood_core::plan::ancestry::{AncestorPath, Ancestry, Edge};
use sapwood_table::{ErrorKind, RetryPolicy, Table, TableError};

use super::Reader;

impl<T: Table, P: RetryPolicy> Reader<'_, T, P> {
    /// Reads the ancestor path of a node, strongly consistent, and returns the placement of the node's parent as the fan-out would
    /// compute it; `None` if the parent has no base record that can be understood. `item` is the node's own base record, and
    /// `stored` its lineage, which guesses the path.
    pub(super) async fn placement_of_parent(
        &self,
        node: &NodeRef,
        item: &Item,
        stored: &Stored,
    ) -> Result<Option<Placement>, TableError> {
        let schema = self.client.schema();
        let mut ancestry = Ancestry::default();
        ancestry.add(Edge::read(node, Some(item), schema), Some(stored));
        while let Some(missing) = ancestry.missing(&[&node.id]) {
            let need = missing.need(node, schema);
            let items = self.client.get_many(need.keys, &need.options).await.all()?;
            // `all` fails if a key couldn't be read, so `learn` finds every key.
            let unread = |_| TableError::new(ErrorKind::Retry, "a base record on the ancestor path wasn't read");
            missing.learn(&Read { items, ..Read::default() }, node, schema, &mut ancestry).map_err(unread)?;
        }
        Ok(ancestry.resolve(&node.id).ok().and_then(|path| placement_of_parent(&path)))
    }
}

/// Returns the placement of the second node of a path.
fn placement_of_parent(path: &AncestorPath) -> Option<Placement> {
    // A base record that can't be understood counts as absent, so the path ends there.
    let above = path.edges.get(1..)?;
    let end = above.iter().position(|edge| edge.segment.is_none()).map_or(above.len(), |end| end + 1);
    let (farthest, between) = above[..end].split_last()?;
    let parent = between.first().unwrap_or(farthest);
    parent.segment.as_ref()?;
    Some(Placement {
        ancestors: above[1..end].iter().map(|edge| edge.node.clone()).collect(),
        // Paths count from the farthest ancestor, so its segment isn't a part of them.
        path: between.iter().rev().filter_map(|edge| edge.segment.clone()).collect(),
        ..Placement::default()
    })
}
