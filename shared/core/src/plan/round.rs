//! A round of placings: it reads, plans and writes for all nodes of a batch at once. Each node's own steps keep their order. A
//! node whose parent moved meanwhile goes into the next round.

mod stale_under;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::child_action::Child;
use super::parents_first::parents_first;
use super::predict::Climb;
use super::step::{Facts, Failure, Need, Plan, PlanReport, Read, Step, Writes, WritesKind};
use super::{
    Context, Early, PlaceInput, PlacePlan, Placing, Problem, Rule, Settle, Shortfall, Standing, Straggler, place,
};
use crate::keys::{Id, ItemKey, NodeRef};
use crate::model::{BaseNode, Deletion, Placement, Shown, Stored, Unreadable, has_mark, is_same_life, is_touch};
use crate::request::Write;

/// One round of placings.
#[derive(Debug)]
pub struct Round<'a> {
    context: Context<'a>,
    placings: BTreeMap<NodeRef, Placing>,
    /// The nodes' base records; `None` for a record that doesn't exist or can't be understood.
    bases: BTreeMap<NodeRef, Option<BaseNode>>,
    /// True if early nodes are left for later.
    is_patient: bool,
    /// The keys that the plan has asked for before it planned.
    asked: BTreeSet<ItemKey>,
    read: Read,
    planned: Vec<Planned>,
    /// The writes of the current step, and for each the position of its node in `planned`.
    writes: Arc<[Write]>,
    owners: Vec<usize>,
    stragglers: Vec<(Child, NodeRef, Deletion)>,
    /// The nodes whose `_under` the plan removes.
    stale: Vec<NodeRef>,
    end: RoundEnd<'a>,
    state: State,
    report: PlanReport,
}

/// The result of a round.
#[derive(Debug, Default)]
pub struct RoundEnd<'a> {
    /// Nodes to place again, because their parents have moved away from where the plans took them to be.
    pub again: BTreeMap<NodeRef, Placing>,
    /// Nodes whose records have to be delivered again.
    pub failed: BTreeSet<NodeRef>,
    /// Nodes that were left for later, because their parents aren't placed yet.
    pub early: Early,
    /// Nodes that aren't there, and never were placed, each with the sequence number of its record. Others may have been placed below
    /// them on the strength of their base records.
    pub never_placed: BTreeMap<NodeRef, String>,
    /// Nodes whose parents were deleted, each with the plan that acts on it.
    pub stragglers: Vec<(NodeRef, Straggler<'a>)>,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Begin,
    /// The plan reads the nodes, their lineages, and the lineages of their likely parents.
    ReadingNodes,
    /// The plan removes `_under` where it is stale. These keys are read next.
    RemovingUnder(BTreeSet<ItemKey>),
    /// The plan reads the lineages of the parents that the records didn't name.
    ReadingParents,
    /// The plan reads upwards from parents without a lineage.
    Climbing,
    /// The plan writes one step of all nodes that haven't stopped.
    Writing(Writing),
    /// The plan reads the parents' lineages again.
    Confirming,
    /// The plan reads the base records of the stragglers' parents, and the records that the stragglers were deleted.
    ReadingStragglersParents,
    /// The plan removes `_under` from those that are no stragglers.
    Releasing,
}

/// The write steps of a placing, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Writing {
    Intent,
    FirstRows,
    SecondRows,
    Settle,
}

/// Rows of fewer bytes than this fit an invocation: a partition of the table takes 1,000 units a second, and rows are put for 36 seconds.
const HEAVY_BYTES: usize = 10_000_000;

/// A node with its plan.
#[derive(Debug)]
struct Planned {
    node: NodeRef,
    placing: Placing,
    parent: Option<Parent>,
    plan: PlacePlan,
    /// How one of the node's writes failed, if one did. The node's later steps are then left out.
    stopped: Option<Failure>,
    /// True if the table refuses a row of the node.
    lacks_rows: bool,
}

/// The parent that a plan was made for.
#[derive(Debug)]
struct Parent {
    node: NodeRef,
    /// The parent's placement that the plan used: as planned in this batch, or as read.
    used: Option<Placement>,
    /// The parent's placement as it was read.
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

impl<'a> Round<'a> {
    /// Makes a round that places these nodes.
    #[must_use]
    pub fn new(context: Context<'a>, placings: BTreeMap<NodeRef, Placing>) -> Self {
        let mut report = PlanReport::default();
        report.tally.rounds = 1;
        Self {
            context,
            placings,
            bases: BTreeMap::new(),
            is_patient: false,
            asked: BTreeSet::new(),
            read: Read::default(),
            planned: Vec::new(),
            writes: Arc::default(),
            owners: Vec::new(),
            stragglers: Vec::new(),
            stale: Vec::new(),
            end: RoundEnd::default(),
            state: State::Begin,
            report,
        }
    }

    /// The round leaves early nodes for later.
    #[must_use]
    pub fn patient(self) -> Self {
        Self { is_patient: true, ..self }
    }

    fn lineage_key(&self, node: &NodeRef) -> ItemKey {
        self.context.schema().lineage_key(node)
    }

    fn note(&mut self, key: ItemKey, reason: impl Into<String>, unreadable: bool) {
        self.report.problems.push(Problem { key, reason: reason.into(), unreadable });
    }

    /// The keys to read first: each node, its lineage, and the lineage of its likely parent.
    fn first_keys(&self) -> BTreeSet<ItemKey> {
        let schema = self.context.schema();
        let mut keys = BTreeSet::new();
        for (node, placing) in &self.placings {
            keys.insert(schema.node_key(node));
            keys.insert(schema.lineage_key(node));
            keys.extend(placing.likely_parent.iter().map(|p| schema.lineage_key(&node.sibling(p.clone()))));
        }
        keys
    }

    /// Asks for items before planning.
    fn ask(&mut self, keys: BTreeSet<ItemKey>, state: State) -> Step<RoundEnd<'a>> {
        self.asked.extend(keys.iter().cloned());
        self.state = state;
        Need::keys(keys).into()
    }

    /// Takes the nodes' base records. Returns the keys of the parents' lineages that weren't read with them.
    fn take_nodes(&mut self, read: Read) -> BTreeSet<ItemKey> {
        self.read = read;
        for node in self.placings.keys().cloned().collect::<Vec<_>>() {
            match self.base(&node) {
                Ok(base) => _ = self.bases.insert(node, base),
                Err(_) => _ = self.end.failed.insert(node),
            }
        }
        let parents = self.bases.iter().filter_map(|(node, base)| Some(node.sibling(base.as_ref()?.parent.clone()?)));
        parents.map(|parent| self.lineage_key(&parent)).filter(|key| !self.asked.contains(key)).collect()
    }

    /// Asks for the lineages of parents that weren't read yet.
    fn read_parents(&mut self, keys: BTreeSet<ItemKey>) -> Step<RoundEnd<'a>> {
        if keys.is_empty() { self.climb() } else { self.ask(keys, State::ReadingParents) }
    }

    /// The keys to read to know where parents without a lineage will be placed. A round that leaves their children for later needs to know
    /// no more than that they are there.
    fn keys_to_climb(&self) -> BTreeSet<ItemKey> {
        let schema = self.context.schema();
        let parents = self.bases.iter().filter_map(|(node, base)| Some(node.sibling(base.as_ref()?.parent.clone()?)));
        let parents: BTreeSet<NodeRef> = parents.filter(|parent| !self.bases.contains_key(parent)).collect();
        let climbs = parents.iter().map(|parent| Climb::from(parent, &self.read, &self.asked, &self.context));
        let unasked = climbs.filter(|climb| !(self.is_patient && climb.is_coming())).filter_map(Climb::unasked);
        let keys = unasked.flat_map(|node| [schema.node_key(&node), schema.lineage_key(&node)]);
        keys.filter(|key| !self.asked.contains(key)).collect()
    }

    /// Asks for what is missing to plan. If nothing is, plans and begins to write.
    fn climb(&mut self) -> Step<RoundEnd<'a>> {
        let keys = self.keys_to_climb();
        if !keys.is_empty() {
            return self.ask(keys, State::Climbing);
        }
        self.plan();
        // The plans have what they need of it.
        self.read = Read::default();
        self.write_from(Writing::Intent)
    }

    /// Returns a node's base record; `None` if it doesn't exist or can't be understood.
    fn base(&mut self, node: &NodeRef) -> Result<Option<BaseNode>, Failure> {
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
                self.end.early.insert(node.clone(), placing, parent.clone());
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
        self.is_patient && node != parent && (self.end.early.contains(parent) || is_coming())
    }

    fn plan_one(
        &mut self,
        node: &NodeRef,
        parent: Option<&NodeRef>,
        placed: &BTreeMap<NodeRef, Option<Placement>>,
    ) -> Result<Planned, Failure> {
        let placing = self.placings.get(node).cloned().unwrap_or_default();
        let base = self.bases.get(node).cloned().flatten();
        let stored = self.stored(node)?;
        // A touch takes nobody away. If it counted, a node that can't be understood and waits for itself would touch itself for ever.
        let went = base.is_none() && !placing.only_touched;
        if went && matches!(stored, Stored::Absent | Stored::Tombstone(_)) {
            self.end.never_placed.insert(node.clone(), placing.sequence.clone());
        }
        let parent = match parent.filter(|parent| *parent != node) {
            None => None,
            Some(parent) => {
                let read = self.stored(parent)?.lineage().map(|lineage| lineage.placement.clone());
                let used = placed.get(parent).cloned().unwrap_or_else(|| read.clone());
                // A parent that has a lineage needs no prediction.
                let is_unknown = read.is_none() && !placed.contains_key(parent);
                let climb = is_unknown.then(|| Climb::from(parent, &self.read, &self.asked, &self.context));
                let predicted = climb.and_then(|climb| climb.prediction(&self.context));
                Some(Parent { node: parent.clone(), used, read, predicted })
            }
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
        Ok(Planned { node: node.clone(), placing, parent, plan, stopped: None, lacks_rows: false })
    }

    /// Notes which rows a node can't have, and why.
    fn note_shortfalls(&mut self, node: &NodeRef, base: &BaseNode, placement: &Placement, parent: Option<&Placement>) {
        let context = self.context;
        for shortfall in Shortfall::of(&context.wanted(node, base, parent), placement).filter(Shortfall::is_a_problem) {
            self.note(context.schema().node_key(node), shortfall.to_string(), false);
        }
    }

    /// Returns what stands in the place of a node's lineage. An item of a newer format fails the node, because only the handler
    /// that wrote the item may change it.
    fn stored(&mut self, node: &NodeRef) -> Result<Stored, Failure> {
        let key = self.lineage_key(node);
        let stored = Stored::read(self.read.item(&key)?, self.context.schema());
        if let Err(newer) = stored.check_format() {
            self.note(key, newer.to_string(), false);
            return Err(Failure::Again);
        }
        Ok(stored)
    }

    /// Returns the next step, from this one on, that has something to write. After the last step the plan confirms the parents.
    fn write_from(&mut self, mut step: Writing) -> Step<RoundEnd<'a>> {
        loop {
            let mut writes = self.writes(step);
            let kind = if step == Writing::FirstRows && !self.end.early.is_empty() {
                WritesKind::Meanwhile { ahead: self.first_ahead(&mut writes) }
            } else {
                step.kind()
            };
            let (owners, writes): (Vec<usize>, Vec<Write>) = writes.into_iter().unzip();
            (self.owners, self.writes) = (owners, writes.into());
            if !self.writes.is_empty() {
                self.state = State::Writing(step);
                return Step::Write(Writes { writes: Arc::clone(&self.writes), kind });
            }
            match step.next() {
                Some(next) => step = next,
                None => return self.confirm(),
            }
        }
    }

    /// Moves the writes of the node whose record comes first to the front. Returns how many they are.
    fn first_ahead(&self, writes: &mut [(usize, Write)]) -> usize {
        let owners = writes.iter().map(|(owner, _)| *owner);
        let first = owners.min_by_key(|owner| self.planned.get(*owner).map(|one| one.placing.position));
        let is_behind = |(owner, _): &(usize, Write)| Some(*owner) != first;
        writes.sort_by_key(is_behind);
        writes.iter().take_while(|write| !is_behind(write)).count()
    }

    /// Takes the writes of a step out of the plans, each with the position of its node in `planned`.
    fn writes(&mut self, step: Writing) -> Vec<(usize, Write)> {
        let puts = (step == Writing::FirstRows) == self.context.rules.keeps(Rule::PutFirst);
        let schema = self.context.schema();
        let mut writes = Vec::new();
        for (position, one) in self.planned.iter_mut().enumerate().filter(|(_, one)| one.stopped.is_none()) {
            let lineage = schema.lineage_key(&one.node);
            let of_one: Vec<Write> = match step {
                Writing::Intent => {
                    one.plan.intent.take().map(|item| Write::Put { key: lineage, item }).into_iter().collect()
                }
                Writing::FirstRows | Writing::SecondRows if puts => {
                    let base = self.bases.get(&one.node).and_then(Option::as_ref);
                    let shown = base.map(|base| Arc::new(Shown::of(&one.node, base, self.context.settings)));
                    let put = |row| Some(Write::PutRow { row, shown: Arc::clone(shown.as_ref()?) });
                    std::mem::take(&mut one.plan.puts).into_iter().filter_map(put).collect()
                }
                Writing::FirstRows | Writing::SecondRows => {
                    std::mem::take(&mut one.plan.deletes).into_iter().map(Write::Delete).collect()
                }
                Writing::Settle => match std::mem::take(&mut one.plan.settle) {
                    Settle::Keep => Vec::new(),
                    Settle::Write(item) => vec![Write::Put { key: lineage, item }],
                    Settle::Delete => vec![Write::Delete(lineage)],
                },
            };
            writes.extend(of_one.into_iter().map(|write| (position, write)));
        }
        writes
    }

    fn written(&mut self, step: Writing, failed: &BTreeMap<ItemKey, Failure>) -> Step<RoundEnd<'a>> {
        let tally = &mut self.report.tally;
        for (write, owner) in self.writes.iter().zip(&self.owners) {
            match failed.get(write.key()) {
                // A row that the table refuses is left out, and the node's other rows are written. Without its lineage a node stops.
                Some(&failure) => {
                    if let Some(one) = self.planned.get_mut(*owner) {
                        one.lacks_rows |= step.is_of_rows();
                        if failure == Failure::Again || !step.is_of_rows() {
                            one.stopped = Some(failure);
                        }
                    }
                }
                None if step.is_of_rows() && matches!(write, Write::Delete(_)) => tally.rows_deleted += 1,
                None if step.is_of_rows() => tally.rows_put += 1,
                None => {}
            }
        }
        if step.is_of_rows() {
            self.note_heavy();
        }
        self.writes = Arc::default();
        match step.next() {
            Some(next) => self.write_from(next),
            None => self.confirm(),
        }
    }

    /// Notes the nodes whose rows weren't all put, if these have so many bytes that no invocation may put them.
    fn note_heavy(&mut self) {
        if self.planned.iter().all(|one| one.stopped.is_none()) {
            return;
        }
        let mut bytes: BTreeMap<usize, usize> = BTreeMap::new();
        let puts = self.writes.iter().zip(&self.owners).filter(|(write, _)| matches!(write, Write::PutRow { .. }));
        for (write, owner) in puts {
            *bytes.entry(*owner).or_default() += write.sent_bytes();
        }
        bytes.retain(|owner, bytes| {
            *bytes > HEAVY_BYTES && self.planned.get(*owner).is_some_and(|one| one.stopped == Some(Failure::Again))
        });
        for (owner, bytes) in bytes {
            let key = self.context.schema().node_key(&self.planned[owner].node);
            let reason = format!(
                "its rows have {} MB in requests and weren't all put: if no invocation puts them, nothing behind it is handled. Make it smaller, or copy fewer attributes",
                bytes / 1_000_000
            );
            self.note(key, reason, false);
        }
    }

    /// Reads the parents' lineages again.
    fn confirm(&mut self) -> Step<RoundEnd<'a>> {
        for one in &self.planned {
            match one.stopped {
                Some(Failure::Again) => _ = self.end.failed.insert(one.node.clone()),
                None if one.plan.again => _ = self.end.again.insert(one.node.clone(), one.placing.clone()),
                Some(Failure::Refused) | None => {}
            }
        }
        if !self.context.rules.keeps(Rule::Confirm) {
            return self.finish();
        }
        let schema = self.context.schema();
        let is_predicted = |parent: &Parent| parent.predicted.is_some() && self.context.rules.keeps(Rule::ConfirmBase);
        let keys: BTreeSet<ItemKey> = self
            .confirmed()
            .flat_map(|(_, parent, _)| {
                let base = is_predicted(parent).then(|| schema.node_key(&parent.node));
                std::iter::once(schema.lineage_key(&parent.node)).chain(base)
            })
            .collect();
        self.state = State::Confirming;
        Need::keys(keys).into()
    }

    /// The nodes to confirm, with their parents and base records. A node that is being deleted keeps its placement wherever its
    /// parent is, so it isn't confirmed.
    fn confirmed(&self) -> impl Iterator<Item = (&Planned, &Parent, &BaseNode)> {
        let is_done = |one: &&Planned| one.stopped.is_none() && one.plan.placed.is_some() && !one.plan.again;
        let placed = self.planned.iter().filter(is_done);
        placed.filter_map(|one| {
            let base = self.bases.get(&one.node)?.as_ref().filter(|base| base.deleting.is_none())?;
            Some((one, one.parent.as_ref()?, base))
        })
    }

    /// A node is placed again if its parent has moved away from where the plan took it to be. A node whose parent was deleted is
    /// a straggler if the API has put it under that parent. A node that another client put there waits for its parent, as orphans
    /// do.
    fn confirm_with(&mut self, read: Read) -> Step<RoundEnd<'a>> {
        self.read = read;
        let rules = self.context.rules;
        let (mut again, mut failed, mut stragglers) = (BTreeMap::new(), BTreeSet::new(), Vec::new());
        for (one, parent, base) in self.confirmed() {
            let Ok(now) = self.confirmed_lineage(&parent.node) else {
                failed.insert(one.node.clone());
                continue;
            };
            let used = if rules.keeps(Rule::ConfirmAgainstUsed) { &parent.used } else { &parent.read };
            let placed = now.lineage().map(|lineage| &lineage.placement);
            let Ok(is_as_predicted) = self.is_as_predicted(parent) else {
                failed.insert(one.node.clone());
                continue;
            };
            if self.seen_by_children(used.as_ref()) != self.seen_by_children(placed) || !is_as_predicted {
                let likely_parent = Some(parent.node.id.clone());
                again.insert(one.node.clone(), Placing { likely_parent, ..one.placing.clone() });
            } else if let Stored::Tombstone(tombstone) = now
                && self.context.counts(&tombstone)
                && self.is_under(base, &parent.node.id, tombstone.born.as_deref())
                && (one.placing.newest.may_be_of(&base.item) || !rules.keeps(Rule::StragglerAsShown))
            {
                let child = Child { node: one.node.clone(), base: base.clone() };
                stragglers.push((child, parent.node.clone(), tombstone.deletion));
            }
        }
        for one in &mut self.planned {
            if let Some(placing) = again.get_mut(&one.node) {
                let base = self.bases.remove(&one.node).flatten();
                // While a node is being deleted its rows aren't put, so nobody knows what they show.
                let base = base.filter(|base| !one.lacks_rows && !has_mark(Some(&base.item)));
                let stands = base.zip(one.plan.placed.take());
                placing.standing = stands.map(|(base, placement)| Arc::new(Standing { base, placement }));
            }
        }
        self.end.again.extend(again);
        self.end.failed.extend(failed);
        self.stragglers = stragglers;
        if self.stragglers.is_empty() {
            return self.finish();
        }
        self.state = State::ReadingStragglersParents;
        let schema = self.context.schema();
        let keys = |(child, parent, _): &(Child, NodeRef, Deletion)| {
            [schema.node_key(parent), schema.deleted_key(&child.node)]
        };
        Need::keys(self.stragglers.iter().flat_map(keys)).into()
    }

    /// True if the API has put the node under this very life of the parent.
    fn is_under(&self, base: &BaseNode, parent: &Id, born: Option<&str>) -> bool {
        let under = base.born_of(parent);
        if !self.context.rules.keeps(Rule::TombstoneUnder) {
            return true;
        }
        under.is_some() && !self.context.rules.keeps(Rule::TombstoneLife) || is_same_life(under.as_deref(), born)
    }

    /// False if the parent was predicted and isn't there any more. Nobody may place it now, so nobody tells its children.
    fn is_as_predicted(&self, parent: &Parent) -> Result<bool, Failure> {
        if parent.predicted.is_none() || !self.context.rules.keeps(Rule::ConfirmBase) {
            return Ok(true);
        }
        let key = self.context.schema().node_key(&parent.node);
        let item = self.read.shared(&key)?.cloned();
        Ok(item.is_some_and(|item| BaseNode::read(item, &parent.node, self.context.schema()).is_ok()))
    }

    fn confirmed_lineage(&self, parent: &NodeRef) -> Result<Stored, Failure> {
        Ok(Stored::read(self.read.item(&self.lineage_key(parent))?, self.context.schema()))
    }

    /// What a child's placement depends on: whether its parent has a lineage, and the parent's ancestors and path.
    fn seen_by_children<'p>(&self, parent: Option<&'p Placement>) -> (bool, &'p [Id], &'p [String]) {
        let rules = self.context.rules;
        let counts_path = self.context.settings.path_rows && rules.keeps(Rule::ConfirmPath);
        (
            parent.is_some() && rules.keeps(Rule::ConfirmPresence),
            parent.map_or(&[], |p| &p.ancestors),
            parent.filter(|_| counts_path).map_or(&[], |p| &p.path),
        )
    }

    fn finish(&mut self) -> Step<RoundEnd<'a>> {
        Step::Done(std::mem::take(&mut self.end))
    }
}

impl Writing {
    fn is_of_rows(self) -> bool {
        matches!(self, Self::FirstRows | Self::SecondRows)
    }

    /// What the writes are, in a round that leaves nobody for later.
    fn kind(self) -> WritesKind {
        match self {
            Self::FirstRows => WritesKind::FirstRows,
            Self::SecondRows => WritesKind::SecondRows,
            Self::Intent | Self::Settle => WritesKind::Lineages,
        }
    }

    fn next(self) -> Option<Self> {
        match self {
            Self::Intent => Some(Self::FirstRows),
            Self::FirstRows => Some(Self::SecondRows),
            Self::SecondRows => Some(Self::Settle),
            Self::Settle => None,
        }
    }
}

impl<'a> Plan for Round<'a> {
    type Done = RoundEnd<'a>;

    fn next(&mut self, facts: Facts) -> Result<Step<RoundEnd<'a>>, Failure> {
        match std::mem::take(&mut self.state) {
            State::Begin => Ok(self.ask(self.first_keys(), State::ReadingNodes)),
            State::ReadingNodes => {
                let parents = self.take_nodes(facts.read()?);
                Ok(self.remove_stale_under(parents))
            }
            State::RemovingUnder(parents) => Ok(self.removed_under(facts.outcomes()?, parents)),
            State::ReadingParents | State::Climbing => {
                self.read.extend(facts.read()?);
                Ok(self.climb())
            }
            State::Writing(step) => Ok(self.written(step, &facts.written()?)),
            State::Confirming => Ok(self.confirm_with(facts.read()?)),
            State::ReadingStragglersParents => Ok(self.take_stragglers(&facts.read()?)),
            State::Releasing => Ok(self.released(facts.outcomes()?)),
        }
    }

    fn take_report(&mut self) -> PlanReport {
        std::mem::take(&mut self.report)
    }
}
