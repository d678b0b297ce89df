//! Compares the totals of a node with what its children were counted as.
//!
//! What is below a node is its children, and what is below them. So the totals of each node can be compared with those
//! right below it, and with all of them the whole table is. A sum of several items isn't a snapshot: what seems wrong
//! counts if a later look finds the same difference. Whatever is written meanwhile changes both sides alike.

use std::collections::BTreeMap;

use super::difference::Evidence;
use super::epoch::Epochs;
use super::{Difference, Kind};
use crate::keys::{DEPTH_MAX, Id, ItemKey, NodeRef};
use crate::model::{Amounts, Counted, Epoch, Item, ROW_ID, Settings, Share, Stored, key_of, shown_by};
use crate::plan::{Failure, Io, Need, Plan, Read};
use crate::request::{Query, ReadOptions};

/// The plan that looks at a node's totals, in pages of `page_items_max` children. Over `children_max` aren't compared.
pub fn look_at_totals(
    settings: &Settings,
    node: NodeRef,
    strong: bool,
    page_items_max: usize,
    children_max: usize,
) -> Plan<'_, Vec<Difference>> {
    Plan::new(move |io| async move {
        let look = TotalsLook { settings, node: &node, strong, io: &io, page_items_max, children_max };
        let (epoch, compared) = match look.compared(None).await? {
            Ok(compared) => compared,
            // Of a newer version's epoch each node says so.
            Err(wrong) => return Ok(wrong.into_iter().collect()),
        };
        let key = settings.schema.totals_key(&node, epoch.0, 0);
        let of = |kind, evidence: &Evidence| vec![Difference::of(kind, key.clone(), &node, evidence)];
        Ok(match compared {
            Compared::By { surplus, unlike: None, .. } if surplus.is_nothing() => Vec::new(),
            Compared::By { surplus, unlike, written } => {
                let surplus = Evidence::new().part(&format!("{surplus:?}"));
                of(Kind::TotalWrong, &Evidence::joined([Some(&surplus), unlike.as_ref(), written.as_ref()]))
            }
            Compared::NotNow(evidence) => of(Kind::TotalUnsettled, &evidence),
            Compared::Never => of(Kind::TotalNotCompared, &Evidence::new()),
        })
    })
}

/// The plan that says whether the totals of the nodes above a node hold what it was counted as, and nothing else is
/// wrong with them. Then they are right once it was counted anew. What can't be compared is taken for a no.
pub fn count_holds(settings: &Settings, node: NodeRef, page_items_max: usize, children_max: usize) -> Plan<'_, bool> {
    Plan::new(move |io| async move {
        let schema = &settings.schema;
        let own = TotalsLook { settings, node: &node, strong: true, io: &io, page_items_max, children_max };
        let (counted, lineage) = (schema.counted_key(&node), schema.lineage_key(&node));
        let keys = [counted.clone(), lineage.clone(), schema.epoch_key(), schema.epoch_copy_key()];
        let read = io.read(own.need(keys)).await?;
        let Ok(epoch) = own.epoch(&read)? else { return Ok(false) };
        let Ok(counted) = read.item(&counted)?.map(Counted::read).transpose() else { return Ok(false) };
        let share = counted.flatten().filter(|counted| counted.epoch == epoch).and_then(|counted| counted.share);
        let share = share.unwrap_or_default();
        let stored = Stored::read(read.item(&lineage)?, schema);
        let stands = stored.lineage().map(|lineage| lineage.placement.ancestors.clone()).unwrap_or_default();
        let above = if share.ancestors().is_empty() { stands.as_slice() } else { share.ancestors() };
        if !stands.is_empty() && above != stands {
            return Ok(false);
        }
        for (position, id) in above.iter().enumerate() {
            let above = node.sibling(id.clone());
            let apart = (position == 0).then_some(&node);
            let wanted = apart.map(|_| share.of(id)).unwrap_or_default();
            match (TotalsLook { node: &above, ..own }).compared(apart).await? {
                Ok((now, Compared::By { surplus, unlike: None, written: None }))
                    if now == epoch && surplus == wanted => {}
                _ => return Ok(false),
            }
        }
        Ok(true)
    })
}

/// How the totals of a node compare with what is right below it.
enum Compared {
    /// They have so much more than that.
    By {
        surplus: Amounts,
        /// The lanes, if one of them has something that can't be added to. That is wrong, whatever it counts as.
        unlike: Option<Evidence>,
        /// The lanes, if they were written while the children were read. Then the surplus may be of that.
        written: Option<Evidence>,
    },
    /// A child isn't counted as a child of this node: it is on its way, or wrong itself.
    NotNow(Evidence),
    /// They can't be: in a cycle, above too many levels or children, or above one that a newer version has counted.
    Never,
}

#[derive(Clone, Copy)]
struct TotalsLook<'l> {
    settings: &'l Settings,
    node: &'l NodeRef,
    strong: bool,
    io: &'l Io,
    page_items_max: usize,
    children_max: usize,
}

impl TotalsLook<'_> {
    /// The present epoch, or its fault. `None` is none: a newer version has written the epoch.
    fn epoch(&self, read: &Read) -> Result<Result<Epoch, Option<Difference>>, Failure> {
        let schema = &self.settings.schema;
        Ok(match Epochs::of(read, schema)?.judge(self.node, schema) {
            Ok(judged) => judged.map_err(Some),
            Err(_) => Err(None),
        })
    }

    /// Compares the totals of the present epoch. Of a child that is apart only what is below it is taken.
    async fn compared(
        &self,
        apart: Option<&NodeRef>,
    ) -> Result<Result<(Epoch, Compared), Option<Difference>>, Failure> {
        let schema = &self.settings.schema;
        let counted_key = schema.counted_key(self.node);
        let keys = [counted_key.clone(), schema.epoch_key(), schema.epoch_copy_key()];
        let own = Need { query: Some(self.rows(DEPTH_MAX, 1, None)), ..self.need(keys) };
        let read = self.io.read(own).await?;
        let epoch = match self.epoch(&read)? {
            Ok(epoch) => epoch,
            Err(wrong) => return Ok(Err(wrong)),
        };
        let above = counted(read.item(&counted_key)?, epoch).map(|share| share.ancestors().to_vec());
        let compared = match &read.page {
            None => Compared::NotNow(Evidence::new()),
            Some(page) if page.items.iter().any(|row| self.child(row).is_some()) => Compared::Never,
            Some(_) => self.with_children(epoch, &above.unwrap_or_default(), apart).await?,
        };
        Ok(Ok((epoch, compared)))
    }

    /// Compares the totals with those of the children. `above` are the nodes above the node.
    async fn with_children(&self, epoch: Epoch, above: &[Id], apart: Option<&NodeRef>) -> Result<Compared, Failure> {
        let schema = &self.settings.schema;
        let own = self.lanes(std::slice::from_ref(self.node), epoch).await?;
        let mut surplus = Amounts::in_lanes(own.values());
        let is_plain = own.values().all(Amounts::can_be_added_to);
        let all_of = |lanes: &BTreeMap<ItemKey, Item>| {
            lanes.values().fold(Evidence::new(), |evidence, lane| evidence.and(Some(lane)))
        };
        let (mut after, mut number) = (None, 0);
        loop {
            let page = self.io.page(self.rows(1, self.page_items_max, after)).await?;
            let children: Vec<NodeRef> = page.items.iter().filter_map(|row| self.child(row)).collect();
            number += children.len();
            let is_above = |child: &NodeRef| above.contains(&child.id);
            if number > self.children_max || children.iter().any(is_above) {
                return Ok(Compared::Never);
            }
            let keys = children.iter().map(|child| schema.counted_key(child));
            let items = self.io.read(self.need(keys)).await?;
            for child in children.iter().filter(|child| Some(*child) != apart) {
                let item = items.item(&schema.counted_key(child))?;
                if item.is_some_and(|item| Counted::read(item).is_err()) {
                    // A newer version has written it, which is said of the child.
                    return Ok(Compared::Never);
                }
                match counted(item, epoch).filter(|share| share.ancestors().first() == Some(&self.node.id)) {
                    Some(share) => surplus.subtract(&share.of(&self.node.id)),
                    // Where children come all the time, another one is on its way at each look.
                    None => return Ok(Compared::NotNow(Evidence::new().part(child.id.as_str()).and(item))),
                }
            }
            for lane in self.lanes(&children, epoch).await?.values() {
                surplus.subtract(&Amounts { children: Default::default(), ..Amounts::in_lane(lane) });
            }
            after = page.next;
            if after.is_some() {
                continue;
            }
            // Only strong looks are compared with one another.
            let node = std::slice::from_ref(self.node);
            let again = if self.strong { self.lanes(node, epoch).await? } else { own.clone() };
            let written = (again != own).then(|| all_of(&again));
            return Ok(Compared::By { surplus, unlike: (!is_plain).then(|| all_of(&own)), written });
        }
    }

    fn need(&self, keys: impl IntoIterator<Item = ItemKey>) -> Need {
        let options = ReadOptions { strong: self.strong, attributes: None };
        Need { options, ..Need::keys(keys) }
    }

    fn rows(&self, depth: usize, limit: usize, after: Option<String>) -> Query {
        let schema = &self.settings.schema;
        let mut query = Query::first(schema.partition(self.node), schema.depth_range(depth, depth), limit).of([ROW_ID]);
        (query.after, query.reading.strong) = (after, self.strong);
        query
    }

    /// The node that a row shows. `None` for an item of somebody else's.
    fn child(&self, row: &Item) -> Option<NodeRef> {
        shown_by(row, &key_of(row, &self.settings.schema)?, &self.settings.schema)
    }

    async fn lanes(&self, nodes: &[NodeRef], epoch: Epoch) -> Result<BTreeMap<ItemKey, Item>, Failure> {
        let schema = &self.settings.schema;
        let keys: Vec<ItemKey> = nodes.iter().flat_map(|node| schema.totals_keys(node, epoch.0)).collect();
        let read = self.io.read(self.need(keys.clone())).await?;
        let mut lanes = BTreeMap::new();
        for key in keys {
            lanes.extend(read.item(&key)?.map(|lane| (key, lane.clone())));
        }
        Ok(lanes)
    }
}

/// The share that a node is counted with in this epoch. `None` if it isn't.
fn counted(item: Option<&Item>, epoch: Epoch) -> Option<Share> {
    Counted::read(item?).ok().flatten().filter(|counted| counted.epoch == epoch)?.share
}
