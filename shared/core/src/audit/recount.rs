//! Counts totals anew, in place, while the table is in use.
//!
//! Whatever changes what is counted below a node writes a lane of its totals in the same transaction
//! ([`Rule::CountWrites`]), and each lane says how often it was written. So what is counted below a node stays the same
//! from a look at its lanes until a transaction that holds only while they are as they were read. In between the whole
//! table is read, and each `COUNTED` once: the sum is exact, whatever goes on elsewhere. All nodes are asked, and not
//! those that have rows below the node: one that has just moved away can still be counted there.
//!
//! What a transaction has written isn't there for all reads at once: a lane can be read as after it, and a `COUNTED` a
//! moment later as before. So whoever carries this out waits for such transactions before it reads the table.

use std::collections::{BTreeMap, BTreeSet};

use super::Mended;
use crate::fanout::Context;
use crate::keys::{ItemKey, NodeRef, Schema, SortKey};
use crate::model::{Amounts, AttributeValue, Counted, Epoch, Item, Stored, key_of, text, with_key};
use crate::plan::conditions::as_read;
use crate::plan::{Failure, Io, Need, Plan, Rule, Task, TaskOutcome};
use crate::request::{Action, Condition, Update};

/// The attribute of a lane that names the recount under way. Lanes that are deleted and come back lack it.
pub(super) const RECOUNT: &str = "_recount";

/// Totals that are being counted anew.
#[derive(Clone, Debug)]
pub struct Recount {
    name: String,
    epoch: Epoch,
    epoch_as_read: Option<AttributeValue>,
    nodes: BTreeMap<NodeRef, Totals>,
    /// True if a newer version has written the epoch.
    is_unreadable: bool,
    /// The nodes that a newer version has counted. Nobody can say where, but above where they stand.
    newer: BTreeSet<NodeRef>,
}

#[derive(Clone, Debug, Default)]
struct Totals {
    lanes: BTreeMap<u32, Item>,
    /// The counts of nodes below it, as far as they were read.
    counted: Amounts,
}

impl Recount {
    /// The plan that begins to count the totals of these nodes and of those above them, which can lack the same and
    /// then only seem right. `name` is no other recount's. Once all transactions under way are over, the whole table
    /// has to be [taken](Recount::take), read strongly consistent.
    pub fn begin(context: Context<'_>, mut nodes: BTreeSet<NodeRef>, name: String) -> Plan<'_, Self> {
        Plan::new(|io| async move {
            let schema = context.schema();
            if context.rules.keeps(Rule::RecountAbove) {
                nodes.extend(nodes_above(&nodes, schema, &io).await?.0);
            }
            let epoch_key = schema.epoch_key();
            let read = io.read(Need::keys([epoch_key.clone()])).await?;
            let epoch_item = read.item(&epoch_key)?;
            let epoch_as_read = epoch_item.and_then(|item| item.get(Epoch::EPOCH).cloned());
            let begun = |epoch, nodes, is_unreadable| Self {
                name: name.clone(),
                epoch,
                epoch_as_read,
                nodes,
                is_unreadable,
                newer: BTreeSet::new(),
            };
            let Ok(epoch) = Epoch::read(epoch_item) else {
                let nodes = nodes.into_iter().map(|node| (node, Totals::default())).collect();
                return Ok(begun(Epoch::default(), nodes, true));
            };
            let mark = |node| {
                let key = schema.totals_key(node, epoch.0, 0);
                let update = Update::set(RECOUNT, text(name.as_str()));
                Task::Write(Action::Update { key, update, condition: Condition::Always })
            };
            for node in nodes.iter().filter(|_| context.rules.keeps(Rule::RecountMark)) {
                io.one(mark(node)).await?;
            }
            let keys = nodes.iter().flat_map(|node| lane_keys(schema, node, epoch)).map(|(_, key)| key);
            let read = io.read(Need::keys(keys)).await?;
            let mut all = BTreeMap::new();
            for node in nodes {
                let mut totals = Totals::default();
                for (lane, key) in lane_keys(schema, &node, epoch) {
                    totals.lanes.extend(read.item(&key)?.map(|item| (lane, item.clone())));
                }
                all.insert(node, totals);
            }
            Ok(begun(epoch, all, false))
        })
    }

    /// Takes items of the table. Each has to come once.
    pub fn take<'i>(&mut self, items: impl IntoIterator<Item = &'i Item>, schema: &Schema) {
        for item in items {
            let Some(key) = key_of(item, schema) else { continue };
            if !matches!(schema.parse_sort_key(&key.sk), Some(SortKey::Counted)) {
                continue;
            }
            let Ok(node) = schema.parse_partition(&key.pk) else { continue };
            let Ok(counted) = Counted::read(item) else {
                self.newer.insert(node);
                continue;
            };
            let Some(Counted { epoch, share: Some(share), .. }) = counted else { continue };
            for ancestor in share.ancestors().iter().filter(|_| epoch == self.epoch) {
                if let Some(totals) = self.nodes.get_mut(&node.sibling(ancestor.clone())) {
                    totals.counted.add(&share.of(ancestor));
                }
            }
        }
    }

    /// The plan that ends it. Returns what has become of the totals of each node, those above included:
    /// [`Mended::Recounted`], [`Mended::Gone`] if they were right, [`Mended::Busy`] if they were written meanwhile, or
    /// [`Mended::Left`] if a newer version has written something that has a say.
    pub fn end(self, context: Context<'_>) -> Plan<'_, BTreeMap<NodeRef, Mended>> {
        Plan::new(|io| async move {
            let mut mended = BTreeMap::new();
            let (above_newer, are_all) = nodes_above(&self.newer, context.schema(), &io).await?;
            // Without a lineage that can be read nobody can say where a node is counted.
            let is_unreadable = self.is_unreadable || !are_all;
            for (node, totals) in &self.nodes {
                if is_unreadable || above_newer.contains(node) {
                    mended.insert(node.clone(), Mended::Left);
                    continue;
                }
                let epoch = Condition::is(Epoch::EPOCH, self.epoch_as_read.clone());
                let epoch = Action::Check { key: context.schema().epoch_key(), condition: epoch };
                let lanes = totals.actions(node, self.epoch, &self.name, context);
                let actions = std::iter::once(epoch).chain(lanes).collect();
                let outcome = io.one(Task::Transact(actions)).await?;
                let is_done = outcome == TaskOutcome::Held;
                let means = if totals.is_right() { Mended::Gone } else { Mended::Recounted };
                mended.insert(node.clone(), if is_done { means } else { Mended::Busy });
            }
            Ok(mended)
        })
    }
}

impl Totals {
    fn is_right(&self) -> bool {
        Amounts::in_lanes(self.lanes.values()) == self.counted && self.lanes.values().all(Amounts::can_be_added_to)
    }

    /// Puts all counts into the first lane and deletes the others, while all are as read: a recount's mark goes, too.
    fn actions(&self, node: &NodeRef, epoch: Epoch, name: &str, context: Context<'_>) -> Vec<Action> {
        let (schema, rules) = (context.schema(), context.rules);
        let mut actions = Vec::new();
        for (lane, key) in lane_keys(schema, node, epoch) {
            let there = self.lanes.get(&lane);
            let as_read = match there {
                _ if !rules.keeps(Rule::RecountAsRead) => Condition::Always,
                None => Condition::Absent,
                Some(item) => is_as_read(item, schema),
            };
            actions.push(match there {
                _ if lane == 0 => {
                    let item = self.counted.lane(with_key(&key, schema), self.writes().saturating_add(1));
                    // The lanes may have been deleted before they were read.
                    let condition = if rules.keeps(Rule::RecountMark) && rules.keeps(Rule::RecountAsRead) {
                        Condition::All(vec![Condition::is(RECOUNT, Some(text(name))), as_read])
                    } else {
                        as_read
                    };
                    Action::Put { key, item, condition }
                }
                None if as_read == Condition::Always => continue,
                None => Action::Check { key, condition: as_read },
                Some(_) => Action::Delete { key, condition: as_read },
            });
        }
        actions
    }

    fn writes(&self) -> u64 {
        self.lanes.values().filter_map(Amounts::writes_of).fold(0, u64::saturating_add)
    }
}

/// The nodes above these, by their lineages, and false if a newer version has written one of the lineages.
async fn nodes_above(
    nodes: &BTreeSet<NodeRef>,
    schema: &Schema,
    io: &Io,
) -> Result<(BTreeSet<NodeRef>, bool), Failure> {
    let read = io.read(Need::keys(nodes.iter().map(|node| schema.lineage_key(node)))).await?;
    let (mut above, mut are_all) = (BTreeSet::new(), true);
    for node in nodes {
        let stored = Stored::read(read.item(&schema.lineage_key(node))?, schema);
        are_all &= stored.check_format().is_ok();
        let ancestors = stored.lineage().into_iter().flat_map(|lineage| &lineage.placement.ancestors);
        above.extend(ancestors.map(|id| node.sibling(id.clone())));
    }
    Ok((above, are_all))
}

fn lane_keys(schema: &Schema, node: &NodeRef, epoch: Epoch) -> impl Iterator<Item = (u32, ItemKey)> {
    (0..).zip(schema.totals_keys(node, epoch.0))
}

/// The lanes of the totals that a lane belongs to.
pub(super) fn lane_keys_beside(key: &ItemKey, node: &NodeRef, schema: &Schema) -> Vec<(u32, ItemKey)> {
    match schema.parse_sort_key(&key.sk) {
        Some(SortKey::Totals { epoch, .. }) => lane_keys(schema, node, Epoch(epoch)).collect(),
        _ => Vec::new(),
    }
}

/// True if nothing is counted by these lanes together.
pub(super) fn are_nothing<'l>(lanes: impl IntoIterator<Item = &'l Item>) -> bool {
    let lanes: Vec<&Item> = lanes.into_iter().collect();
    lanes.iter().copied().all(Amounts::can_be_added_to) && Amounts::in_lanes(lanes).is_nothing()
}

/// The condition that a lane is as it was read. Handlers count their writes; other clients may write anything.
pub(super) fn is_as_read(item: &Item, schema: &Schema) -> Condition {
    as_read(item, [Amounts::WRITES], schema)
}
