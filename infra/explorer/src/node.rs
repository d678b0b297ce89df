//! A node, and every item that is derived from it: what the middle of the page shows.

use std::collections::{BTreeMap, BTreeSet};

use sapwood_api::contract::TotalsBody;
use sapwood_core::audit::Subject;
use sapwood_core::keys::{Id, ItemKey, NodeRef, Schema, SortKey};
use sapwood_core::model::{
    AttributeValue, BaseNode, Item, Placement, Stored, held_name, item_bytes, key_of, rows, text, text_of,
};
use sapwood_engine::audit::Audit;
use sapwood_engine::query::totals_of_nodes;
use sapwood_json::Attributes;
use sapwood_store::{Client, Query, ReadOptions, RetryPolicy, Table, TableError};
use serde::Serialize;

use super::node_state::{NodeState, state};
use sapwood_core::model::Settings;

/// Most bytes of an attribute that is shown whole. Of a longer one its size is shown.
const ATTRIBUTE_BYTES_MAX: usize = 1_024;
/// Most attributes of an item that are shown.
const ATTRIBUTES_MAX: usize = 60;
/// Most characters of a text that stand for a longer one.
const BEGINNING_CHARACTERS: usize = 120;
/// Most `v0_` copies that are shown.
const COPIES_MAX: usize = 100;
/// Most lanes of totals that are shown, those of the present epoch first.
const LANES_MAX: usize = 20;
/// Most characters of a label.
const LABEL_CHARACTERS_MAX: usize = 200;

/// The attributes whose text names a node to people. The first that it has counts.
pub(crate) const LABELS: [&str; 2] = ["name", "title"];

/// A node with all that is derived from it.
#[derive(Serialize)]
pub(crate) struct Whole {
    id: String,
    label: String,
    state: NodeState,
    parent: Option<String>,
    segment: Option<String>,
    /// The attributes of the base record that are the user's own, as far as they are shown whole.
    attributes: Attributes,
    /// True if some attributes aren't shown whole, so that they can't be edited here.
    is_cut: bool,
    /// From the root down.
    ancestors: Vec<Ancestor>,
    items: Vec<Shown>,
    /// Its totals, if the table keeps them.
    below: Option<TotalsBody>,
    /// The comparison's findings about the base record, which only its owner can mend.
    findings: Vec<&'static str>,
    requests: u64,
    read_units: f64,
}

#[derive(Serialize)]
struct Ancestor {
    id: String,
    label: String,
}

/// An item of a node.
#[derive(Serialize)]
struct Shown {
    pk: String,
    sk: String,
    kind: &'static str,
    /// The difference that `sapwood verify` finds in it; `None` if it is right.
    wrong: Option<&'static str>,
    /// True if it is a row of an earlier place, which the handler is about to delete.
    is_stale: bool,
    /// `None` if it isn't there.
    bytes: Option<usize>,
    depth: Option<usize>,
    item: Option<Attributes>,
}

/// Reads a node with all that is derived from it.
pub(crate) async fn whole<T: Table, P: RetryPolicy>(
    client: &Client<'_, T, P>,
    settings: &Settings,
    node: &NodeRef,
) -> Result<Whole, TableError> {
    let schema = &settings.schema;
    let own = [schema.node_key(node), schema.lineage_key(node), schema.cascade_key(node), schema.deleted_key(node)];
    let mut found = client.get_many(own.iter().cloned().collect(), &ReadOptions::default()).await.all()?;
    let stored = Stored::read(found.get(&own[1]), schema);
    let placement = stored.lineage().map(|lineage| lineage.placement.clone()).unwrap_or_default();
    let stale: BTreeSet<ItemKey> =
        stored.lineage().into_iter().flat_map(|lineage| lineage.stale_rows.clone()).collect();
    let wanted: Vec<ItemKey> = match stored.lineage() {
        Some(_) => rows(&placement, node, schema).into_iter().map(|row| row.key).collect(),
        None => Vec::new(),
    };
    let claim = held_name(node, found.get(&own[0]), settings).map(|(claim, _)| claim);
    let above = placement.ancestors.iter().map(|id| schema.node_key(&node.sibling(id.clone())));
    let parent = found.get(&own[0]).and_then(|record| BaseNode::parent_in(record, node, schema));
    let of_parent = parent.iter().map(|id| schema.lineage_key(&node.sibling(id.clone())));
    let keys = wanted.iter().chain(&stale).chain(&claim).cloned().chain(above).chain(of_parent).collect();
    found.extend(client.get_many(keys, &ReadOptions::default()).await.all()?);
    let copies = copies(client, schema, node).await?;
    let counted = counted(client, settings, node).await?;
    let below = totals(client, settings, std::slice::from_ref(node)).await?.pop();
    let subjects = [Subject::Node(node.clone()), Subject::History(node.clone())].into_iter().collect();
    let differences = Audit::new(client, settings).look(subjects).await?;
    let (findings, faults): (Vec<_>, Vec<_>) = differences.into_iter().partition(|one| one.kind.is_finding());
    let wrong: BTreeMap<_, _> = faults.iter().map(|one| (one.key.clone(), one.kind.as_str())).collect();
    // A missing item is shown where the comparison misses it.
    let own = own.into_iter().filter(|key| found.contains_key(key) || wrong.contains_key(key));
    let claim = claim.filter(|key| found.contains_key(key));
    let others = copies.keys().chain(counted.keys()).chain(wrong.keys()).cloned();
    let listed = own.chain(wanted).chain(claim).chain(stale.iter().cloned()).chain(others);
    let mut seen = BTreeSet::new();
    let listed: Vec<ItemKey> = listed.filter(|key| seen.insert(key.clone())).collect();
    let show = |key: ItemKey| {
        let item = found.get(&key).or_else(|| copies.get(&key)).or_else(|| counted.get(&key));
        let (wrong, is_stale) = (wrong.get(&key).copied(), stale.contains(&key));
        shown(key, item, wrong, is_stale, schema)
    };
    let record = found.get(&schema.node_key(node));
    let own = Attributes::of_node(record.unwrap_or(&Item::new()), schema).0;
    let brief = brief(&own);
    Ok(Whole {
        id: node.id.as_str().to_owned(),
        label: record.map_or_else(|| node.id.as_str().to_owned(), |record| label(record, &node.id, schema)),
        state: state(node, &found, schema),
        parent: parent.map(|id| id.as_str().to_owned()),
        segment: record.and_then(|record| text_of(record, &schema.names().segment)).map(str::to_owned),
        is_cut: brief != own,
        attributes: Attributes(brief),
        ancestors: ancestors(&placement, node, &found, schema),
        items: listed.into_iter().map(show).collect(),
        below,
        findings: findings.iter().map(|finding| finding.kind.as_str()).collect(),
        requests: client.usage().requests,
        read_units: client.usage().read_units,
    })
}

/// Returns a node's name for people.
pub(crate) fn label(item: &Item, id: &Id, schema: &Schema) -> String {
    let named = LABELS.iter().find_map(|name| text_of(item, name)).filter(|text| !text.trim().is_empty());
    let name = named.or_else(|| text_of(item, &schema.names().segment)).unwrap_or(id.as_str());
    name.chars().take(LABEL_CHARACTERS_MAX).collect()
}

fn ancestors(placement: &Placement, node: &NodeRef, found: &BTreeMap<ItemKey, Item>, schema: &Schema) -> Vec<Ancestor> {
    let named = placement.ancestors.iter().rev().map(|id| {
        let record = found.get(&schema.node_key(&node.sibling(id.clone())));
        let label = record.map_or_else(|| id.as_str().to_owned(), |record| label(record, id, schema));
        Ancestor { id: id.as_str().to_owned(), label }
    });
    named.collect()
}

async fn copies<T: Table, P: RetryPolicy>(
    client: &Client<'_, T, P>,
    schema: &Schema,
    node: &NodeRef,
) -> Result<BTreeMap<ItemKey, Item>, TableError> {
    // The prefix of all topics is empty, so it isn't too long.
    let Ok(range) = schema.latest_range("") else { return Ok(BTreeMap::new()) };
    let (pk, reading) = (schema.partition(node), ReadOptions::default());
    let query = Query { pk, range, after: None, limit: COPIES_MAX, descending: false, reading };
    let page = client.query(&query).await?;
    Ok(page.items.into_iter().filter_map(|item| Some((key_of(&item, schema)?, item))).collect())
}

/// Reads a node's count, and the lanes of its totals.
async fn counted<T: Table, P: RetryPolicy>(
    client: &Client<'_, T, P>,
    settings: &Settings,
    node: &NodeRef,
) -> Result<BTreeMap<ItemKey, Item>, TableError> {
    let schema = client.schema();
    if settings.totals.is_none() {
        return Ok(BTreeMap::new());
    }
    let (pk, range, reading) = (schema.partition(node), schema.totals_range(), ReadOptions::default());
    let query = Query { pk, range, after: None, limit: LANES_MAX, descending: true, reading: reading.clone() };
    let own = [schema.counted_key(node)];
    let (mut found, lanes) = futures::try_join!(client.get_all(&own, &reading), client.query(&query))?;
    found.extend(lanes.items.into_iter().filter_map(|lane| Some((key_of(&lane, schema)?, lane))));
    Ok(found)
}

fn shown(key: ItemKey, item: Option<&Item>, wrong: Option<&'static str>, is_stale: bool, schema: &Schema) -> Shown {
    let sort_key = schema.parse_sort_key(&key.sk);
    let depth = match &sort_key {
        Some(SortKey::Ancestor { depth, .. }) => Some(*depth),
        _ => None,
    };
    let kind = match sort_key {
        Some(SortKey::Lineage) if item.is_some_and(|item| item.contains_key("deleted")) => "tombstone",
        Some(sort_key) => kind(&sort_key),
        None => "other",
    };
    Shown {
        kind,
        wrong,
        is_stale,
        bytes: item.map(item_bytes),
        depth,
        item: item.map(|item| Attributes(brief(item))),
        pk: key.pk,
        sk: key.sk,
    }
}

/// The kind of an item, as the page groups them.
pub(crate) fn kind(key: &SortKey) -> &'static str {
    match key {
        SortKey::Node => "node",
        SortKey::Ancestor { .. } => "ancestor",
        SortKey::Path { .. } => "path",
        SortKey::Root(_) => "root",
        SortKey::Orphan(_) => "orphan",
        SortKey::Child { .. } | SortKey::OrderedRoot { .. } => "child",
        SortKey::Link { .. } => "link",
        SortKey::Trash { .. } => "trash",
        SortKey::Name(_) | SortKey::RootName(_) => "name",
        SortKey::Lineage => "lineage",
        SortKey::Cascade => "cursor",
        SortKey::Deleted => "deleted",
        SortKey::Latest { .. } => "copy",
        SortKey::Revision { .. } => "revision",
        SortKey::Counted | SortKey::Totals { .. } => "total",
        SortKey::Operation(_) | SortKey::Idempotency { .. } | SortKey::Change { .. } => "other",
    }
}

/// Returns an item as the page shows it: long attributes by their beginning and size. A record has up to 400 KB.
pub(crate) fn brief(item: &Item) -> Item {
    let short = item.iter().take(ATTRIBUTES_MAX).map(|(name, value)| {
        let bytes = item_bytes(&Item::from([(name.clone(), value.clone())]));
        let value = match value {
            value if bytes <= ATTRIBUTE_BYTES_MAX => value.clone(),
            AttributeValue::S(long) => {
                let beginning: String = long.chars().take(BEGINNING_CHARACTERS).collect();
                text(format!("{beginning}… ({bytes} bytes)"))
            }
            _ => text(format!("… ({bytes} bytes)")),
        };
        let name: String = name.chars().take(LABEL_CHARACTERS_MAX).collect();
        (name, value)
    });
    short.collect()
}

/// Most nodes whose totals one call reads: their lanes are as many keys as one BatchGetItem takes.
pub(crate) const NODES_MAX: usize = 25;

/// Returns the totals of these nodes, in their order, in two requests. Empty if the table keeps no totals.
pub(crate) async fn totals<T: Table, P: RetryPolicy>(
    client: &Client<'_, T, P>,
    settings: &Settings,
    nodes: &[NodeRef],
) -> Result<Vec<TotalsBody>, TableError> {
    let Some(kept) = &settings.totals else { return Ok(Vec::new()) };
    let found = totals_of_nodes(client, kept, nodes, false).await?;
    Ok(nodes.iter().filter_map(|node| found.get(node).cloned()).map(TotalsBody::from).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_attribute_is_shown_by_its_beginning_and_its_size() {
        let long = "ä".repeat(200_000);
        let item = Item::from([("long".to_owned(), text(&long)), ("short".to_owned(), text("kept"))]);
        let brief = brief(&item);
        assert_eq!(brief.get("short"), Some(&text("kept")));
        let shown = text_of(&brief, "long").unwrap_or_default();
        assert!(shown.starts_with('ä') && shown.ends_with("… (400004 bytes)"), "{shown}");
    }
}
