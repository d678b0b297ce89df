//! Compares the totals of a node with what its children were counted as.
//!
//! What is below a node is its children, and what is below them. So the totals of each node can be compared with those
//! right below it, and with all of them the whole table is. A sum of several items isn't a snapshot: what seems wrong
//! counts if a later look finds the same in all of them.

use std::collections::BTreeMap;

use super::difference::Evidence;
use super::{Difference, Kind};
use crate::keys::{DEPTH_MAX, Id, ItemKey, NodeRef, SortKey};
use crate::model::{Amounts, Counted, Epoch, Item, Settings, key_of};
use crate::plan::{Failure, Io, Need, Script};
use crate::request::{Query, ReadOptions};

/// The plan that looks at the totals of a node, in pages of `page_items_max` children. Those of a node with more than
/// `children_max` aren't looked at.
pub fn look_at_totals(
    settings: &Settings,
    node: NodeRef,
    strong: bool,
    page_items_max: usize,
    children_max: usize,
) -> Script<'_, Vec<Difference>> {
    Script::new(move |io| async move {
        let look = Look { settings, node: &node, strong, io: &io };
        Ok(look.carry_out(page_items_max, children_max).await?.into_iter().collect())
    })
}

struct Look<'l> {
    settings: &'l Settings,
    node: &'l NodeRef,
    strong: bool,
    io: &'l Io,
}

impl Look<'_> {
    /// Finds that the totals are wrong. `None` as well where they can't be compared so: in a cycle, above the levels
    /// that are counted, above too many children, and where a child isn't counted as a child of this node. That is
    /// found by itself.
    async fn carry_out(&self, page_items_max: usize, children_max: usize) -> Result<Option<Difference>, Failure> {
        let schema = &self.settings.schema;
        let (epoch_key, counted_key) = (schema.epoch_key(), schema.counted_key(self.node));
        let own =
            Need { query: Some(self.rows(DEPTH_MAX, 1, None)), ..self.need([epoch_key.clone(), counted_key.clone()]) };
        let read = self.io.read(own).await?;
        let Ok(Epoch(epoch)) = Epoch::read(read.item(&epoch_key)?) else { return Ok(None) };
        if read.page.as_ref().is_none_or(|page| !page.items.is_empty()) {
            return Ok(None);
        }
        let above = counted(read.item(&counted_key)?, epoch).map(|(ancestors, _)| ancestors).unwrap_or_default();
        let own = self.lanes(std::slice::from_ref(self.node), epoch).await?;
        let (mut wanted, mut evidence) = (Amounts::default(), Evidence::new());
        let found = Amounts::in_lanes(own.values());
        for lane in own.values() {
            evidence = evidence.and(Some(lane));
        }
        // What can't be added to is wrong, whatever it counts as.
        let is_plain = own.values().all(Amounts::can_be_added_to);
        let (mut after, mut number) = (None, 0);
        loop {
            let page = self.io.page(self.rows(1, page_items_max, after)).await?;
            let children: Vec<NodeRef> = page.items.iter().filter_map(|row| self.child(row)).collect();
            number += children.len();
            if number > children_max || children.iter().any(|child| above.contains(&child.id)) {
                return Ok(None);
            }
            let keys = children.iter().map(|child| schema.counted_key(child));
            let items = self.io.read(self.need(keys)).await?;
            for child in &children {
                let item = items.item(&schema.counted_key(child))?;
                let Some((ancestors, one)) = counted(item, epoch) else { return Ok(None) };
                if ancestors.first() != Some(&self.node.id) {
                    return Ok(None);
                }
                wanted.add(&one);
                evidence = evidence.and(item);
            }
            for lane in self.lanes(&children, epoch).await?.values() {
                let below = Amounts::in_lane(lane);
                wanted.add(&Amounts { children: Default::default(), ..below });
                evidence = evidence.and(Some(lane));
            }
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        let key = schema.totals_key(self.node, epoch, 0);
        Ok((wanted != found || !is_plain).then(|| Difference::of(Kind::TotalWrong, key, self.node, &evidence)))
    }

    fn need(&self, keys: impl IntoIterator<Item = ItemKey>) -> Need {
        let options = ReadOptions { strong: self.strong, attributes: None };
        Need { options, ..Need::keys(keys) }
    }

    /// The rows of the nodes at a depth below the node.
    fn rows(&self, depth: usize, limit: usize, after: Option<String>) -> Query {
        let schema = &self.settings.schema;
        Query {
            pk: schema.partition(self.node),
            range: schema.depth_range(depth, depth),
            after,
            limit,
            descending: false,
            reading: ReadOptions { strong: self.strong, attributes: Some([].into()) },
        }
    }

    fn child(&self, row: &Item) -> Option<NodeRef> {
        let key = key_of(row, &self.settings.schema)?;
        match self.settings.schema.parse_sort_key(&key.sk)? {
            SortKey::Ancestor { id, .. } => Some(self.node.sibling(id)),
            _ => None,
        }
    }

    /// The parts of the totals of these nodes.
    async fn lanes(&self, nodes: &[NodeRef], epoch: u32) -> Result<BTreeMap<ItemKey, Item>, Failure> {
        let schema = &self.settings.schema;
        let keys = nodes.iter().flat_map(|node| schema.totals_keys(node, epoch));
        let keys: Vec<ItemKey> = keys.collect();
        let read = self.io.read(self.need(keys.clone())).await?;
        let mut lanes = BTreeMap::new();
        for key in keys {
            if let Some(lane) = read.item(&key)? {
                lanes.insert(key, lane.clone());
            }
        }
        Ok(lanes)
    }
}

/// The ancestors of a node that is counted in this epoch, and what it adds to its parent's totals.
fn counted(item: Option<&Item>, epoch: u32) -> Option<(Vec<Id>, Amounts)> {
    let counted = Counted::read(item?).ok().flatten().filter(|counted| counted.epoch == epoch)?;
    let share = counted.share?;
    let adds = share.ancestors().first().map(|parent| share.of(parent)).unwrap_or_default();
    Some((share.ancestors().to_vec(), adds))
}
