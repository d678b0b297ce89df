//! Totals: how many nodes are below a node, and what their numbers add up to.

use std::collections::{BTreeMap, BTreeSet};

use sapwood_core::keys::{ItemKey, NodeRef, SortKey};
use sapwood_core::model::{Amounts, Decimal, Epoch, FORMAT_ATTRIBUTE, Item, key_of};
use sapwood_table::{Query, ReadOptions, RetryPolicy, Table};

use super::{ReadError, Reader};

/// Most parts of totals in a page. A node has four of each epoch, and those of earlier ones are deleted sooner or
/// later.
const LANES_MAX: usize = 100;

/// What is below a node, by its totals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Totals {
    /// The number of nodes below it.
    pub count: u64,
    /// How many of them are its children.
    pub children: u64,
    /// What the numbers of the nodes below it add up to, by attribute.
    pub sums: BTreeMap<String, Decimal>,
}

impl<T: Table, P: RetryPolicy> Reader<'_, T, P> {
    /// Returns the totals of a node, in one round trip. They follow the rows, a moment later. A Query isn't a snapshot
    /// of several items, so a node that moves meanwhile may be in no total of two, or in both.
    ///
    /// # Errors
    /// [`ReadError::SwitchedOff`] if the deployment keeps none, and [`ReadError::Absent`].
    pub async fn totals(&self, node: &NodeRef, strong: bool) -> Result<Totals, ReadError> {
        let Some(kept) = &self.settings.totals else {
            return Err(ReadError::SwitchedOff { what: "totals", variable: "TOTALS" });
        };
        let schema = self.client.schema();
        let (node_key, epoch_key) = (schema.node_key(node), schema.epoch_key());
        let own = [FORMAT_ATTRIBUTE, Epoch::EPOCH].map(str::to_owned);
        let attributes: BTreeSet<String> = self.placing_attributes().into_iter().chain(own).collect();
        let reading = ReadOptions { strong, attributes: Some(attributes) };
        let query = Query {
            pk: node_key.pk.clone(),
            range: schema.totals_range(),
            after: None,
            limit: LANES_MAX,
            // The present epoch is the highest.
            descending: true,
            reading: ReadOptions { strong, attributes: None },
        };
        let keys = [node_key.clone(), epoch_key.clone()];
        let (items, page) = futures::join!(self.client.get_all(&keys, &reading), self.client.query(&query));
        let (mut items, page) = (items?, page?);
        self.base(node, items.remove(&node_key))?;
        let lanes: Vec<(u32, Amounts)> = page.items.iter().filter_map(|lane| self.lane(lane)).collect();
        // A newer version's epoch shows in the lanes.
        let epoch = Epoch::read(items.get(&epoch_key)).unwrap_or_default();
        // Where the item is lost, nodes stay in theirs.
        let now = lanes.iter().map(|(epoch, _)| *epoch).chain([epoch.0]).max();
        let mut all = Amounts::default();
        lanes.iter().filter(|(epoch, _)| Some(*epoch) == now).for_each(|(_, lane)| all.add(lane));
        let sum = |name: &String| (name.clone(), all.sums.get(name).copied().unwrap_or_default());
        Ok(Totals {
            // What is read one after another can be less than nothing.
            count: all.count.count().unwrap_or_default(),
            children: all.children.count().unwrap_or_default(),
            sums: kept.attributes().iter().map(sum).collect(),
        })
    }

    /// The epoch of a lane, and what is in it.
    fn lane(&self, item: &Item) -> Option<(u32, Amounts)> {
        let ItemKey { sk, .. } = key_of(item, self.client.schema())?;
        match self.client.schema().parse_sort_key(&sk)? {
            SortKey::Totals { epoch, .. } => Some((epoch, Amounts::in_lane(item))),
            _ => None,
        }
    }
}
