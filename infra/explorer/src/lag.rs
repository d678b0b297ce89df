//! How many items lag behind the base records, below every node. The comparison of `verify` judges a node by its
//! parent's lineage, so that it sees the top of a move alone while the lineages below are still those of before.

use std::collections::BTreeMap;

use sapwood_core::fanout::placement;
use sapwood_core::keys::{ItemKey, NodeRef, SortKey};
use sapwood_core::model::{
    BaseNode, Item, Placement, PlacementInput, Settings, Shown, Stored, has_mark, key_of, rows, shown_by,
};
use sapwood_core::plan::Rules;
use sapwood_store::{Client, ReadOptions, RetryPolicy, Scan, Scannable, TableError};
use serde_json::{Value, json};

/// Items in a page of the scan, or of a partition.
pub(crate) const PAGE_ITEMS_MAX: usize = 500;

/// The most items that are scanned. Nothing is counted in a larger table.
const ITEMS_MAX: usize = 20_000;

/// Counts the rows and lineages of the whole table that are still to be put, deleted and changed. Null if it is too
/// large to be scanned.
pub(crate) async fn lag<T: Scannable, P: RetryPolicy>(
    client: &Client<'_, T, P>,
    settings: &Settings,
) -> Result<Value, TableError> {
    let (mut items, mut after) = (BTreeMap::new(), None);
    loop {
        let (reading, limit) = (ReadOptions::default(), PAGE_ITEMS_MAX);
        let page = client.scan(&Scan { segment: 0, segments: 1, after, limit, reading }).await?;
        items.extend(page.items.into_iter().filter_map(|item| Some((key_of(&item, &settings.schema)?, item))));
        after = page.next;
        if after.is_none() || items.len() > ITEMS_MAX {
            return Ok(if after.is_none() { count(&items, settings) } else { Value::Null });
        }
    }
}

fn count(items: &BTreeMap<ItemKey, Item>, settings: &Settings) -> Value {
    let schema = &settings.schema;
    let base = |(key, item): (&ItemKey, &Item)| {
        let node = schema.parse_partition(&key.pk).ok()?;
        schema.parse_sort_key(&key.sk).filter(|sort_key| *sort_key == SortKey::Node)?;
        Some((node.clone(), BaseNode::read(item.clone(), &node, schema).ok()?))
    };
    let bases: BTreeMap<NodeRef, BaseNode> = items.iter().filter_map(base).collect();
    let (mut put, mut change, mut wanted, mut placed) = (0_usize, 0_usize, BTreeMap::new(), BTreeMap::new());
    for node in bases.keys() {
        place(node, &bases, &mut placed, settings);
    }
    for (node, placement) in placed.iter().filter_map(|(node, placement)| Some((node, placement.as_ref()?))) {
        let Some(base) = bases.get(node) else { continue };
        match Stored::read(items.get(&schema.lineage_key(node)), schema).lineage() {
            None => put += 1,
            Some(lineage) => change += usize::from(lineage.placement != *placement),
        }
        let shown = Shown::of(node, base, settings);
        let rows = rows(placement, node, schema).into_iter();
        wanted.extend(rows.map(|row| (row.key.clone(), row.item_of(&shown, schema))));
    }
    for (key, item) in &wanted {
        put += usize::from(!items.contains_key(key));
        change += usize::from(items.get(key).is_some_and(|found| found != item));
    }
    let others = items.iter().filter(|(key, _)| !wanted.contains_key(*key));
    let surplus = others.filter_map(|(key, item)| shown_by(item, key, schema));
    let delete = surplus.filter(|node| placed.get(node) != Some(&None)).count();
    json!({"put": put, "delete": delete, "change": change})
}

/// Adds the placements of a node and of those above it, by base records alone. `None`: in a cycle, or being deleted.
fn place(
    node: &NodeRef,
    bases: &BTreeMap<NodeRef, BaseNode>,
    placed: &mut BTreeMap<NodeRef, Option<Placement>>,
    settings: &Settings,
) {
    let (mut line, mut at, mut above, mut is_judged) = (Vec::<(NodeRef, &BaseNode)>::new(), node.clone(), None, true);
    while let Some(base) = bases.get(&at) {
        if let Some(found) = placed.get(&at) {
            (is_judged, above) = (found.is_some(), found.clone());
            break;
        }
        is_judged = line.iter().all(|(below, _)| *below != at);
        let parent = base.parent.clone().filter(|_| is_judged).map(|parent| at.sibling(parent));
        line.extend(is_judged.then_some((at.clone(), base)));
        let Some(parent) = parent else { break };
        at = parent;
    }
    for (node, base) in line.into_iter().rev() {
        is_judged &= !has_mark(Some(&base.item));
        let (parent, rules) = (above.as_ref(), Rules::default());
        above = is_judged.then(|| placement(&PlacementInput { node: &node, base, parent, settings, rules }));
        placed.insert(node, above.clone());
    }
}
