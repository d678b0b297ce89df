//! A round of placings: it reads, plans and writes for all nodes of a batch at once. Each node's own steps keep their
//! order. A node whose parent moved meanwhile goes into the next round.

mod confirm;
mod stale;
mod standing;
mod write;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::predict::{Climb, parents_first};
use super::{Early, LateChild, PlaceInput, PlacePlan, Placing, Seen, ToCount, place};
use crate::fanout::Context;
use crate::keys::{ItemKey, NodeRef};
use crate::model::{BaseNode, CopyMark, CopyOf, Epoch, Lineage, Placement, Shortfall, Stored, Unreadable, is_touch};
use crate::plan::{Failure, Io, Need, Plan, Problem, Read, Rule};
use write::WriteStep;

/// The plan of a round that places these nodes. A patient round leaves those for later whose parents aren't placed yet.
pub fn place_nodes(context: Context<'_>, placings: BTreeMap<NodeRef, Placing>, is_patient: bool) -> Plan<'_, RoundEnd> {
    Plan::new(|io| async move { Round::new(context, placings, is_patient, &io).carry_out().await })
}

/// The result of a round.
#[derive(Debug, Default)]
pub struct RoundEnd {
    /// Nodes to place again, because their parents have moved away from where the plans took them to be.
    pub again: BTreeMap<NodeRef, Placing>,
    /// Nodes whose records have to be delivered again.
    pub failed: BTreeSet<NodeRef>,
    /// Nodes that were left for later, because their parents aren't placed yet.
    pub early: Early,
    /// Nodes that aren't there, and never were placed, each with the sequence number of its record. Others may have
    /// been placed below them on the strength of their base records.
    pub never_placed: BTreeMap<NodeRef, String>,
    /// Nodes whose parents were deleted. Each has a plan that acts on it.
    pub late_children: Vec<LateChild>,
    /// Nodes at the top of a copy that isn't done.
    pub copying: BTreeSet<NodeRef>,
    /// Copies that are placed now, or gone, and weren't before.
    pub copies: BTreeMap<NodeRef, CopyOf>,
    /// Nodes that are placed, and not counted as they should be.
    pub to_count: BTreeMap<NodeRef, ToCount>,
}

struct Round<'r> {
    context: Context<'r>,
    placings: BTreeMap<NodeRef, Placing>,
    /// True if early nodes are left for later.
    is_patient: bool,
    io: &'r Io,
    /// The nodes' base records; `None` for a record that doesn't exist or can't be understood.
    bases: BTreeMap<NodeRef, Option<BaseNode>>,
    asked: BTreeSet<ItemKey>,
    read: Read,
    planned: Vec<Planned>,
    end: RoundEnd,
}

#[derive(Debug)]
struct Planned {
    node: NodeRef,
    placing: Placing,
    parent: Option<Parent>,
    plan: PlacePlan,
    to_count: Option<ToCount>,
    /// How one of the node's writes failed, if one did. The node's later steps are then left out.
    stopped: Option<Failure>,
    /// True if the table refuses a row of the node.
    lacks_rows: bool,
    /// How many bytes of the node's rows stand already, and so aren't put.
    standing_bytes: usize,
}

/// The parent that a plan was made for.
#[derive(Debug)]
struct Parent {
    node: NodeRef,
    /// The parent's placement that the plan used: as planned in this batch, or as read.
    used: Option<Placement>,
    read: Option<Placement>,
    /// Where the parent will be placed, if it has no lineage and its base record is there.
    predicted: Option<Placement>,
}

impl Parent {
    /// The placement to place a child below.
    fn placement(&self) -> Option<&Placement> {
        self.used.as_ref().or(self.predicted.as_ref())
    }
}

impl<'r> Round<'r> {
    fn new(context: Context<'r>, placings: BTreeMap<NodeRef, Placing>, is_patient: bool, io: &'r Io) -> Self {
        Self {
            context,
            placings,
            is_patient,
            io,
            bases: BTreeMap::new(),
            asked: BTreeSet::new(),
            read: Read::default(),
            planned: Vec::new(),
            end: RoundEnd::default(),
        }
    }

    async fn carry_out(mut self) -> Result<RoundEnd, Failure> {
        self.io.report(|report| report.tally.rounds = 1);
        self.ask(self.first_keys()).await?;
        let parents = self.take_nodes();
        self.remove_stale().await?;
        self.ask(parents).await?;
        loop {
            let keys = self.keys_to_climb();
            if keys.is_empty() {
                break;
            }
            self.ask(keys).await?;
        }
        self.plan();
        // The plans have what they need of it.
        self.read = Read::default();
        for step in WriteStep::all(self.context.rules) {
            self.write(step).await?;
        }
        self.confirm().await?;
        self.take_placed();
        Ok(self.end)
    }

    async fn ask(&mut self, keys: BTreeSet<ItemKey>) -> Result<(), Failure> {
        if !keys.is_empty() {
            self.asked.extend(keys.iter().cloned());
            self.read.extend(self.io.read(Need::keys(keys)).await?);
        }
        Ok(())
    }

    fn lineage_key(&self, node: &NodeRef) -> ItemKey {
        self.context.schema().lineage_key(node)
    }

    fn note(&self, key: ItemKey, reason: impl Into<String>, unreadable: bool) {
        self.io.note(Problem { key, reason: reason.into(), unreadable });
    }

    /// Each node's record, lineage and likely parent's lineage; where totals are kept, its count and the epoch.
    fn first_keys(&self) -> BTreeSet<ItemKey> {
        let schema = self.context.schema();
        let mut keys = BTreeSet::new();
        for (node, placing) in &self.placings {
            keys.insert(schema.node_key(node));
            keys.insert(schema.lineage_key(node));
            keys.extend(placing.likely_parent.iter().map(|p| schema.lineage_key(&node.sibling(p.clone()))));
            keys.extend(self.keeps_totals().then(|| schema.counted_key(node)));
        }
        keys.extend(self.keeps_totals().then(|| schema.epoch_key()));
        keys
    }

    fn parents(&self) -> impl Iterator<Item = NodeRef> {
        self.bases.iter().filter_map(|(node, base)| Some(node.sibling(base.as_ref()?.parent.clone()?)))
    }

    /// Takes the nodes' base records. Returns the keys of the parents' lineages that weren't read with them.
    fn take_nodes(&mut self) -> BTreeSet<ItemKey> {
        for node in self.placings.keys().cloned().collect::<Vec<_>>() {
            match self.base(&node) {
                Ok(base) => {
                    if base.as_ref().is_some_and(|base| CopyMark::read(&base.item).is_some()) {
                        self.end.copying.insert(node.clone());
                    }
                    self.bases.insert(node, base);
                }
                Err(_) => _ = self.end.failed.insert(node),
            }
        }
        self.parents().map(|parent| self.lineage_key(&parent)).filter(|key| !self.asked.contains(key)).collect()
    }

    /// The keys that tell where parents without a lineage will be placed. A patient round only asks if they are there.
    fn keys_to_climb(&self) -> BTreeSet<ItemKey> {
        let schema = self.context.schema();
        let parents: BTreeSet<NodeRef> = self.parents().filter(|parent| !self.bases.contains_key(parent)).collect();
        let climbs = parents.iter().map(|parent| Climb::from(parent, &self.read, &self.asked, &self.context));
        let unasked = climbs.filter(|climb| !(self.is_patient && climb.is_coming())).filter_map(Climb::unasked);
        let keys = unasked.flat_map(|node| [schema.node_key(&node), schema.lineage_key(&node)]);
        keys.filter(|key| !self.asked.contains(key)).collect()
    }

    /// Returns a node's base record; `None` if it doesn't exist or can't be understood.
    fn base(&self, node: &NodeRef) -> Result<Option<BaseNode>, Failure> {
        let schema = self.context.schema();
        let key = schema.node_key(node);
        let Some(item) = self.read.shared(&key)? else { return Ok(None) };
        match BaseNode::read(Arc::clone(item), node, schema) {
            Ok(base) => Ok(Some(base)),
            Err(Unreadable::PutBack) => Ok(None),
            Err(unreadable) => {
                self.note(key, format!("this base record counts as not there: {unreadable}"), true);
                Ok(None)
            }
        }
    }

    /// Plans every node that was read. Parents come first, so that a child uses its parent's planned placement.
    fn plan(&mut self) {
        let parents: BTreeMap<NodeRef, Option<NodeRef>> = self
            .bases
            .iter()
            .map(|(node, base)| (node.clone(), base.as_ref().and_then(|b| b.parent.clone()).map(|id| node.sibling(id))))
            .collect();
        let mut placed: BTreeMap<NodeRef, Option<Placement>> = BTreeMap::new();
        for node in parents_first(&parents, |node| {
            let in_order = self.context.rules.keeps(Rule::RecordOrder);
            self.placings.get(node).filter(|_| in_order).map(|placing| placing.position)
        }) {
            let parent = parents.get(node).and_then(Option::as_ref);
            if let Some(parent) = parent.filter(|parent| self.is_early(node, parent)) {
                let placing = self.placings.get(node).cloned().unwrap_or_default();
                self.end.early.insert(node.clone(), (placing, parent.clone()));
                continue;
            }
            match self.plan_one(node, parent, &placed) {
                Ok(one) => {
                    placed.insert(node.clone(), one.plan.placed.clone());
                    self.planned.push(one);
                }
                Err(_) => _ = self.end.failed.insert(node.clone()),
            }
        }
    }

    /// True if the node is left for later: its parent is there and isn't placed yet, or is early itself.
    fn is_early(&self, node: &NodeRef, parent: &NodeRef) -> bool {
        let is_coming = || {
            !self.bases.contains_key(parent) && Climb::from(parent, &self.read, &self.asked, &self.context).is_coming()
        };
        self.is_patient && node != parent && (self.end.early.contains_key(parent) || is_coming())
    }

    fn plan_one(
        &mut self,
        node: &NodeRef,
        parent: Option<&NodeRef>,
        placed: &BTreeMap<NodeRef, Option<Placement>>,
    ) -> Result<Planned, Failure> {
        let mut placing = self.placings.get(node).cloned().unwrap_or_default();
        let base = self.bases.get(node).cloned().flatten();
        let stored = self.stored(node)?;
        if placing.copy_of.is_none() && !stored.lineage().is_some_and(Lineage::is_settled) {
            // Its creation may have been lost.
            placing.copy_of = base.as_ref().and_then(|base| CopyOf::read(&base.item));
        }
        // A touch takes no node away, or an unreadable node that waits for itself would touch itself for ever.
        let went = base.is_none() && !placing.only_touched;
        if went && matches!(stored, Stored::Absent | Stored::Foreign | Stored::Tombstone(_)) {
            self.end.never_placed.insert(node.clone(), placing.sequence.clone());
        }
        let parent = match parent.filter(|parent| *parent != node) {
            Some(parent) => Some(self.parent(parent, placing.copy_of.is_some(), placed)?),
            None => None,
        };
        // A base record that was only touched since has the same rows.
        let standing = placing.standing.as_ref().filter(|standing| {
            let before = &standing.base.item;
            base.as_ref().is_some_and(|base| base.item == *before || is_touch(Some(before), Some(&base.item)))
        });
        if stored.lineage().is_some_and(|lineage| lineage.names_others(node, self.context.schema())) {
            let reason = "this lineage names items that can't be rows of its node; they stay, and it forgets them";
            self.note(self.lineage_key(node), reason, false);
        }
        let new_life = format!("{}.{}", self.context.run.name, self.planned.len());
        let input = PlaceInput {
            node,
            base: base.as_ref(),
            stored: &stored,
            parent: parent.as_ref().and_then(Parent::placement),
            is_predicted: parent.as_ref().is_some_and(|p| p.predicted.is_some()),
            standing: standing.map(|standing| &standing.placement),
            only_touched: placing.only_touched,
            mark_went: placing.mark_went.then_some(placing.sequence.as_str()),
            now: self.context.run.now,
            new_life: &new_life,
        };
        let plan = place(&input, self.context.settings, self.context.rules);
        if let (Some(base), Some(placement)) = (&base, &plan.placed) {
            self.note_shortfalls(node, base, placement, parent.as_ref().and_then(Parent::placement));
        }
        let to_count = self.to_count(node, base.as_ref(), &plan)?;
        let to_count = to_count.map(|one| one.with_records(placing.position, placing.only_touched));
        let node = node.clone();
        Ok(Planned { node, placing, parent, plan, to_count, stopped: None, lacks_rows: false, standing_bytes: 0 })
    }

    /// The state of the parent of a node, or of a copy.
    fn parent(
        &self,
        parent: &NodeRef,
        is_of_copy: bool,
        placed: &BTreeMap<NodeRef, Option<Placement>>,
    ) -> Result<Parent, Failure> {
        let read = self.stored(parent)?.lineage().map(|lineage| lineage.placement.clone());
        let used = placed.get(parent).cloned().unwrap_or_else(|| read.clone());
        // A parent that has a lineage needs no prediction.
        let is_unknown = read.is_none() && !placed.contains_key(parent);
        let climb = is_unknown.then(|| Climb::from(parent, &self.read, &self.asked, &self.context));
        // As an orphan a copy would be off its operation before it is in the lists of its top, and so would be what is
        // placed below it meanwhile, which doesn't see that it is one.
        if is_of_copy && climb.as_ref().is_some_and(Climb::is_unread) {
            return Err(Failure::Again);
        }
        let predicted = climb.and_then(|climb| climb.prediction(&self.context));
        Ok(Parent { node: parent.clone(), used, read, predicted })
    }

    fn keeps_totals(&self) -> bool {
        self.context.settings.totals.is_some()
    }

    /// Compares what a node was counted as with where its plan leaves it. An item of a newer format fails the node.
    fn to_count(&self, node: &NodeRef, base: Option<&BaseNode>, plan: &PlacePlan) -> Result<Option<ToCount>, Failure> {
        let Some(totals) = &self.context.settings.totals else { return Ok(None) };
        let placed = base.zip(plan.placed.as_ref());
        let share = placed.map(|(base, placed)| totals.share(placed.ancestors.clone(), &base.item));
        let (key, epoch) = (self.context.schema().counted_key(node), self.context.schema().epoch_key());
        let (counted, stored) = (self.read.item(&key)?, self.read.item(&epoch)?);
        let epoch = Epoch::read(stored).map_err(|newer| self.io.newer(epoch, newer))?;
        let seen = Seen::read(counted, epoch).map_err(|newer| self.io.newer(key, newer))?;
        Ok(ToCount::of(share, seen, self.context.rules))
    }

    /// Takes the copies that are placed now, and the nodes to count, but for what has to be placed again.
    fn take_placed(&mut self) {
        for one in &mut self.planned {
            let is_last = !self.end.again.contains_key(&one.node) && !self.end.failed.contains(&one.node);
            if is_last {
                self.end.copies.extend(one.placing.copy_of.take().map(|of| (one.node.clone(), of)));
            }
            if is_last && one.stopped.is_none() {
                self.end.to_count.extend(one.to_count.take().map(|to_count| (one.node.clone(), to_count)));
            }
        }
    }

    fn note_shortfalls(&self, node: &NodeRef, base: &BaseNode, placement: &Placement, parent: Option<&Placement>) {
        let context = self.context;
        for shortfall in Shortfall::of(&context.wanted(node, base, parent), placement).filter(Shortfall::is_a_problem) {
            self.note(context.schema().node_key(node), shortfall.to_string(), false);
        }
    }

    /// The node's stored lineage. One of a newer format fails the node: only the handler that wrote it may change it.
    fn stored(&self, node: &NodeRef) -> Result<Stored, Failure> {
        let key = self.lineage_key(node);
        let stored = Stored::read(self.read.item(&key)?, self.context.schema());
        stored.check_format().map_err(|newer| self.io.newer(key, newer))?;
        Ok(stored)
    }
}
