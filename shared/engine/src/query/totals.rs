//! Totals: how many nodes are below a node, and what their numbers add up to.

use std::collections::{BTreeMap, BTreeSet};

use sapwood_core::keys::{ItemKey, NodeRef};
use sapwood_core::model::{Amounts, Decimal, Epoch, FORMAT_ATTRIBUTE, Item, Totals as Kept, key_of};
use sapwood_store::{Client, Query, ReadOptions, RetryPolicy, Table, TableError};

use super::{ReadError, Reader};

/// Most parts of totals in a page. A node has four of each epoch, and earlier epochs are deleted in time.
const LANES_MAX: usize = 100;

/// The totals of a node: how many nodes are below it, and their sums.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Totals {
    /// The number of nodes below it.
    pub count: u64,
    /// How many of them are its children.
    pub children: u64,
    /// The sums of the numbers of the nodes below it, by attribute.
    pub sums: BTreeMap<String, Decimal>,
    /// How many of the nodes below it have something there that can't be added up. It counts as 0.
    pub left_out: u64,
}

impl Totals {
    fn of(all: &Amounts, kept: &Kept) -> Self {
        let sum = |name: &String| (name.clone(), all.sums.get(name).copied().unwrap_or_default());
        Self {
            // Lanes are read one after another, so their sum can be less than nothing.
            count: all.count.count().unwrap_or_default(),
            children: all.children.count().unwrap_or_default(),
            sums: kept.attributes().iter().map(sum).collect(),
            left_out: all.left_out.count().unwrap_or_default(),
        }
    }
}

impl<T: Table, P: RetryPolicy> Reader<'_, T, P> {
    /// Returns the totals of a node, in one round trip as a rule. They follow the rows, a moment later. A Query isn't a
    /// snapshot of several items, so a node that moves meanwhile may be in no total of two, or in both.
    ///
    /// # Errors
    /// [`ReadError::SwitchedOff`] if the deployment keeps none, and [`ReadError::Absent`].
    pub async fn totals(&self, node: &NodeRef, strong: bool) -> Result<Totals, ReadError> {
        let kept = self.kept_totals()?;
        let schema = self.client.schema();
        let (node_key, epoch_key) = (schema.node_key(node), schema.epoch_key());
        let own = [FORMAT_ATTRIBUTE, Epoch::EPOCH].map(str::to_owned);
        let attributes: BTreeSet<String> = self.placing_attributes().into_iter().chain(own).collect();
        let reading = ReadOptions { strong, attributes: Some(attributes) };
        let newest = Query::first(node_key.pk.clone(), schema.totals_range(), LANES_MAX).descending();
        let query = Query { reading: ReadOptions { strong, attributes: None }, ..newest };
        let keys = [node_key.clone(), epoch_key.clone()];
        let (items, page) = futures::join!(self.client.get_all(&keys, &reading), self.client.query(&query));
        let (mut items, page) = (items?, page?);
        self.base(node, items.remove(&node_key))?;
        // A newer version's epoch can't be read.
        let epoch = Epoch::read(items.get(&epoch_key)).unwrap_or_default();
        let present: Vec<ItemKey> = schema.totals_keys(node, epoch.0).collect();
        let all = if page.next.is_some() {
            // The page has parts of many epochs.
            Amounts::in_lanes(self.client.get_all(&present, &query.reading).await?.values())
        } else {
            let is_present = |lane: &&Item| key_of(lane, schema).is_some_and(|key| present.contains(&key));
            Amounts::in_lanes(page.items.iter().filter(is_present))
        };
        Ok(Totals::of(&all, kept))
    }

    /// Returns the totals of several nodes, also of those without any. Two round trips, and four items a node.
    ///
    /// # Errors
    /// [`ReadError::SwitchedOff`] if the deployment keeps none.
    pub async fn totals_of_nodes(
        &self,
        nodes: &[NodeRef],
        strong: bool,
    ) -> Result<BTreeMap<NodeRef, Totals>, ReadError> {
        Ok(totals_of_nodes(self.client, self.kept_totals()?, nodes, strong).await?)
    }

    fn kept_totals(&self) -> Result<&Kept, ReadError> {
        let switched_off = ReadError::SwitchedOff { what: "totals", parameter: "Totals=count" };
        self.settings.totals.as_ref().ok_or(switched_off)
    }
}

/// Returns the kept totals of these nodes, also of those without any. Two round trips, and four items a node.
pub async fn totals_of_nodes<T: Table, P: RetryPolicy>(
    client: &Client<'_, T, P>,
    kept: &Kept,
    nodes: &[NodeRef],
    strong: bool,
) -> Result<BTreeMap<NodeRef, Totals>, TableError> {
    if nodes.is_empty() {
        return Ok(BTreeMap::new());
    }
    let schema = client.schema();
    let reading = ReadOptions { strong, attributes: None };
    let epoch = client.get(&schema.epoch_key(), &reading).await?;
    let Epoch(epoch) = Epoch::read(epoch.as_ref()).unwrap_or_default();
    let keys: Vec<ItemKey> = nodes.iter().flat_map(|node| schema.totals_keys(node, epoch)).collect();
    let found = client.get_all(&keys, &reading).await?;
    let totals = |node: &NodeRef| {
        let lanes: Vec<&Item> = schema.totals_keys(node, epoch).filter_map(|key| found.get(&key)).collect();
        (node.clone(), Totals::of(&Amounts::in_lanes(lanes), kept))
    };
    Ok(nodes.iter().map(totals).collect())
}

#[cfg(test)]
mod tests {
    use sapwood_core::model::number;

    use super::*;

    #[test]
    fn lanes_are_added_up_and_each_sum_that_is_kept_is_there() {
        let lane = |count: usize, size: usize| {
            Item::from([("_count".to_owned(), number(count)), ("_sum_size".to_owned(), number(size))])
        };
        let kept = Kept::of(["price", "size"].map(str::to_owned));
        let Totals { count, children, sums, left_out } =
            Totals::of(&Amounts::in_lanes(&[lane(2, 30), lane(1, 12)]), &kept);
        assert_eq!((count, children, left_out), (3, 0, 0));
        assert_eq!(
            (sums.get("size").copied(), sums.get("price").copied()),
            (Decimal::value("42"), Decimal::value("0"))
        );
    }
}
