//! Nodes that a page shows twice, because they move: the new row is put before the old one is deleted.

use std::collections::{BTreeMap, BTreeSet};

use super::{Page, Reader};
use sapwood_core::keys::{Id, ItemKey, NodeRef, Schema, SortKey};
use sapwood_core::model::{Stored, rows};
use sapwood_store::{ReadOptions, RetryPolicy, Table};

pub(super) fn shown_by(key: &ItemKey, schema: &Schema) -> Option<Id> {
    match schema.parse_sort_key(&key.sk)? {
        SortKey::Ancestor { id, .. }
        | SortKey::Child { id, .. }
        | SortKey::OrderedRoot { id, .. }
        | SortKey::Trash { id, .. } => Some(id),
        // A node without a segment of its own is the last one.
        SortKey::Path { segments, id } => id.or_else(|| Id::new(segments.last()?).ok()),
        _ => None,
    }
}

impl<T: Table, P: RetryPolicy> Reader<'_, T, P> {
    /// Keeps, of a page, one row of each node: the one that its lineage names, or the last. `shown` has the row and the
    /// node of each entry. It takes no request unless a node is there twice; if that fails, the page stays.
    pub(super) async fn without_older<R>(&self, pk: &str, page: Page<R>, shown: &[(ItemKey, Option<Id>)]) -> Page<R> {
        let schema = self.client.schema();
        let mut of: BTreeMap<&Id, Vec<usize>> = BTreeMap::new();
        for (position, (_, id)) in shown.iter().enumerate() {
            if let Some(id) = id {
                of.entry(id).or_default().push(position);
            }
        }
        of.retain(|_, positions| positions.len() > 1);
        let owner = schema.parse_partition(pk).ok().filter(|_| !of.is_empty());
        let Some(owner) = owner else { return page };
        let node = |id: &Id| NodeRef { tenant: owner.tenant.clone(), id: id.clone() };
        let keys: Vec<ItemKey> = of.keys().map(|id| schema.lineage_key(&node(id))).collect();
        let Ok(lineages) = self.client.get_all(&keys, &ReadOptions::default()).await else { return page };
        let mut older: BTreeSet<usize> = BTreeSet::new();
        for ((id, positions), key) in of.into_iter().zip(&keys) {
            let stored = Stored::read(lineages.get(key), schema);
            let named: Vec<ItemKey> = stored.lineage().map_or_else(Vec::new, |lineage| {
                rows(&lineage.placement, &node(id), schema).into_iter().map(|row| row.key).collect()
            });
            let newest = positions.iter().find(|position| named.contains(&shown[**position].0)).or(positions.last());
            older.extend(positions.iter().filter(|position| Some(*position) != newest).copied());
        }
        let items = page.items.into_iter().enumerate().filter(|(position, _)| !older.contains(position));
        Page { items: items.map(|(_, item)| item).collect(), next: page.next }
    }
}
