//! How many nodes are below those in view, and what their numbers add up to, where the table keeps totals.

use std::collections::BTreeMap;

use sapwood_core::keys::{ItemKey, LANES, NodeRef};
use sapwood_core::model::{Amounts, AttributeValue, Epoch, Item, Settings};
use sapwood_json::Attributes;
use sapwood_table::{Client, ReadOptions, RetryPolicy, Table, TableError};
use serde::Serialize;

/// Most nodes whose totals one call reads: their lanes are as many keys as one BatchGetItem takes.
pub(super) const NODES_MAX: usize = 25;

/// What is below a node, by its totals.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Below {
    count: u64,
    children: u64,
    sums: Attributes,
}

/// Returns the totals of these nodes, in their order, with one request for the epoch and one for the lanes of
/// [`NODES_MAX`] nodes. A node without lanes has nothing below it. Returns nothing if the table keeps no totals.
pub(super) async fn totals<T: Table, P: RetryPolicy>(
    client: &Client<'_, T, P>,
    settings: &Settings,
    nodes: &[NodeRef],
) -> Result<Vec<Below>, TableError> {
    let Some(kept) = settings.totals.as_ref().filter(|_| !nodes.is_empty()) else { return Ok(Vec::new()) };
    let (schema, reading) = (client.schema(), ReadOptions::default());
    let epoch = client.get(&schema.epoch_key(), &reading).await?;
    // The next stream record finds the item that a newer version has written.
    let Epoch(epoch) = Epoch::read(epoch.as_ref()).unwrap_or_default();
    let lanes =
        |node: &NodeRef| -> Vec<ItemKey> { (0..LANES).map(|lane| schema.totals_key(node, epoch, lane)).collect() };
    let found = client.get_many(nodes.iter().flat_map(lanes).collect(), &reading).await.all()?;
    let below = |node: &NodeRef| added(&lanes(node), &found, kept.attributes());
    Ok(nodes.iter().map(below).collect())
}

fn added<'a>(
    lanes: &[ItemKey],
    found: &BTreeMap<ItemKey, Item>,
    attributes: impl IntoIterator<Item = &'a String>,
) -> Below {
    let mut all = Amounts::default();
    lanes.iter().filter_map(|lane| found.get(lane)).for_each(|lane| all.add(&Amounts::in_lane(lane)));
    let sum = |name: &String| {
        let sum = all.sums.get(name).copied().unwrap_or_default();
        (name.clone(), AttributeValue::N(sum.to_string()))
    };
    Below {
        // What is read one after another can be less than nothing.
        count: all.count.count().unwrap_or_default(),
        children: all.children.count().unwrap_or_default(),
        sums: Attributes(attributes.into_iter().map(sum).collect()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use sapwood_core::keys::{Id, Schema};
    use sapwood_core::model::{Decimal, number};

    use super::*;

    #[test]
    fn lanes_are_added_up_and_each_sum_that_is_kept_is_there() {
        let (schema, node) = (Schema::default(), NodeRef { tenant: None, id: Id::new("V").unwrap() });
        let lane = |count: usize, size: usize| {
            Item::from([("_count".to_owned(), number(count)), ("_sum_size".to_owned(), number(size))])
        };
        let keys: Vec<ItemKey> = (0..LANES).map(|lane| schema.totals_key(&node, 0, lane)).collect();
        let found = [(keys[0].clone(), lane(2, 30)), (keys[3].clone(), lane(1, 12))].into();
        let Below { count, children, sums } = added(&keys, &found, &["price".to_owned(), "size".to_owned()]);
        assert_eq!((count, children), (3, 0));
        let of = |name: &str| match sums.0.get(name) {
            Some(AttributeValue::N(digits)) => Decimal::sum(digits),
            _ => None,
        };
        assert_eq!((of("size"), of("price")), (Decimal::value("42"), Decimal::value("0")));
    }
}
