//! What the mends of a repair may have changed: it is looked at again.

use std::collections::BTreeSet;

use sapwood_core::audit::{Difference, Kind, Subject};
use sapwood_core::keys::{ItemKey, NodeRef, Schema, SortKey};
use sapwood_core::model::{Counted, Settings, Stored, rows};
use sapwood_store::{ReadOptions, TableError};

use crate::connect::TableClient;

/// The nodes and items that the mends of a repair may have changed.
#[derive(Debug, Default)]
pub(super) struct Touched {
    /// The nodes that were mended, all rows that they had, and whatever else their lineages named.
    pub(super) subjects: BTreeSet<Subject>,
    /// The nodes whose children the handler may have written as well.
    pub(super) tops: BTreeSet<NodeRef>,
}

impl Touched {
    /// Adds what mending these differences may change. Call it before they are mended: it reads their lineages.
    pub(super) async fn add(
        &mut self,
        client: &TableClient<'_>,
        settings: &Settings,
        due: &[Difference],
    ) -> Result<(), TableError> {
        let schema = &settings.schema;
        let keys: Vec<ItemKey> = due.iter().map(|one| schema.lineage_key(&one.node)).collect();
        let is_counted =
            |one: &Difference| matches!(one.kind, Kind::CountWrong | Kind::CountSurplus | Kind::CountAhead);
        let counted = due.iter().filter(|one| one.kind.is_of_node()).map(|one| schema.counted_key(&one.node));
        let all: Vec<ItemKey> = keys.iter().cloned().chain(counted).collect();
        let lineages = client.get_all(&all, &ReadOptions { strong: true, attributes: None }).await?;
        for (difference, key) in due.iter().zip(&keys) {
            let node = &difference.node;
            self.subjects.extend([difference.subject(), Subject::Node(node.clone()), Subject::Cursor(node.clone())]);
            let stored = Stored::read(lineages.get(key), schema);
            if let Some(lineage) = stored.lineage() {
                let named = rows(&lineage.placement, node, schema).into_iter().map(|row| row.key);
                let named = named.chain(lineage.stale_rows.iter().cloned());
                self.subjects.extend(named.flat_map(|key| subjects_of(key, schema)));
            }
            let kind = difference.kind;
            let counted = lineages.get(&schema.counted_key(node)).and_then(|item| Counted::read(item).ok().flatten());
            let share = counted.and_then(|counted| counted.share).unwrap_or_default();
            let stands = stored.lineage().map(|lineage| lineage.placement.ancestors.as_slice()).unwrap_or_default();
            let is_elsewhere = kind.is_of_node() && settings.totals.is_some() && share.ancestors() != stands;
            if is_counted(difference) || kind.is_recounted() || is_elsewhere {
                // Any write of the node adds its count to the totals of its ancestors, which can be those of a copy
                // without a part of a transaction, and can lack the same.
                let above = stands.iter().chain(share.ancestors());
                self.subjects.extend(above.map(|id| Subject::Totals(node.sibling(id.clone()))));
            }
            let is_handed_down = kind.is_of_placing()
                || matches!(kind, Kind::LineageSurplus | Kind::DeletionStuck | Kind::CursorStuck | Kind::RecordPutBack);
            self.tops.extend(is_handed_down.then(|| node.clone()));
        }
        Ok(())
    }
}

/// Returns the subjects of an item. A lineage may name any key.
fn subjects_of(key: ItemKey, schema: &Schema) -> Vec<Subject> {
    let (Ok(owner), Some(sort_key)) = (schema.parse_partition(&key.pk), schema.parse_sort_key(&key.sk)) else {
        return Vec::new();
    };
    match &sort_key {
        SortKey::Node | SortKey::Lineage => vec![Subject::Node(owner)],
        SortKey::Cascade => vec![Subject::Cursor(owner)],
        SortKey::Revision { .. } | SortKey::Latest { .. } => vec![Subject::History(owner)],
        row => {
            let id = row.shown().and_then(|id| sapwood_core::keys::Id::new(id).ok());
            let node = id.map(|id| owner.sibling(id));
            node.map_or_else(Vec::new, |node| vec![Subject::Node(node.clone()), Subject::Row { key, node }])
        }
    }
}
