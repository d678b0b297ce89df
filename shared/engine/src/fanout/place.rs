//! Placing nodes, in rounds: each round reads, plans and writes for all of its nodes at once, each node's own steps in
//! their order. Nodes whose parents moved meanwhile go into the next round.

use std::collections::{BTreeMap, BTreeSet};

use super::Fanout;
use super::late::Late;
use super::store::{Failure, Read, Store};
use sapwood_core::keys::{ItemKey, NodeRef, Schema};
use sapwood_core::model::{BaseNode, Placement, Settings, Stored, key_of};
use sapwood_core::plan::{PlaceInput, PlacePlan, Placing, Rule, Settle, place};
use sapwood_table::{RetryPolicy, Table, Write};

/// Places these nodes. Returns those that couldn't be, for their records to be delivered again.
pub(super) async fn run<T: Table, P: RetryPolicy>(
    store: &Store<'_, T, P>,
    fanout: &Fanout,
    mut placings: BTreeMap<NodeRef, Placing>,
) -> BTreeSet<NodeRef> {
    let mut failed = BTreeSet::new();
    for _ in 0..fanout.limits.rounds_max {
        if placings.is_empty() {
            return failed;
        }
        store.count(|counts| counts.rounds += 1);
        let mut round = Round { store, fanout, failed: BTreeSet::new() };
        let again = round.run(&placings).await;
        placings = again;
        failed.append(&mut round.failed);
    }
    // Not at rest after so many rounds: somebody keeps moving what is above.
    failed.extend(placings.into_keys());
    failed
}

struct Round<'a, 's, T, P> {
    store: &'a Store<'s, T, P>,
    fanout: &'a Fanout,
    failed: BTreeSet<NodeRef>,
}

/// A node with its plan.
struct Planned {
    node: NodeRef,
    placing: Placing,
    parent: Option<Parent>,
    plan: PlacePlan,
    /// How a step failed, if one did: the later ones are left out.
    stopped: Option<Failure>,
}

/// The parent that a plan was made for.
struct Parent {
    node: NodeRef,
    /// Where it stood, as the plan used it.
    used: Option<Placement>,
    /// Where it stood, as it was read.
    read: Option<Placement>,
}

impl<T: Table, P: RetryPolicy> Round<'_, '_, T, P> {
    /// One round. Returns the nodes to place again.
    async fn run(&mut self, placings: &BTreeMap<NodeRef, Placing>) -> BTreeMap<NodeRef, Placing> {
        let (bases, read) = self.read(placings).await;
        let mut planned = self.plan(placings, &bases, &read);
        self.write(&mut planned, Step::Intent, |p| {
            p.plan.intent.take().map(|item| Write::Put { key: self.schema().lineage_key(&p.node), item })
        })
        .await;
        if self.fanout.rules.keeps(Rule::PutFirst) {
            self.put_rows(&mut planned).await;
            self.delete_rows(&mut planned).await;
        } else {
            self.delete_rows(&mut planned).await;
            self.put_rows(&mut planned).await;
        }
        self.write(&mut planned, Step::Settle, |p| {
            let key = self.schema().lineage_key(&p.node);
            match std::mem::take(&mut p.plan.settle) {
                Settle::Keep => None,
                Settle::Write(item) => Some(Write::Put { key, item }),
                Settle::Delete => Some(Write::Delete(key)),
            }
        })
        .await;
        let again = planned.iter().filter(|p| p.stopped == Some(Failure::Again));
        self.failed.extend(again.map(|p| p.node.clone()));
        self.confirm(&planned, &bases).await
    }

    fn schema(&self) -> &Schema {
        &self.fanout.settings.schema
    }

    /// Reads each node, its lineage, and its parent's: at once, where the record told the parent right.
    async fn read(&mut self, placings: &BTreeMap<NodeRef, Placing>) -> (BTreeMap<NodeRef, Option<BaseNode>>, Read) {
        let schema = self.schema();
        let mut keys = BTreeSet::new();
        for (node, placing) in placings {
            keys.insert(schema.node_key(node));
            keys.insert(schema.lineage_key(node));
            keys.extend(placing.likely_parent.iter().map(|p| schema.lineage_key(&node.sibling(p.clone()))));
        }
        let mut read = self.store.get_many(keys.clone(), schema).await;
        let bases: BTreeMap<NodeRef, Option<BaseNode>> =
            placings.keys().filter_map(|node| Some((node.clone(), self.base(node, &read).ok()?))).collect();
        let unread: BTreeSet<ItemKey> = bases
            .iter()
            .filter_map(|(node, base)| Some(self.schema().lineage_key(&node.sibling(base.as_ref()?.parent.clone()?))))
            .filter(|key| !keys.contains(key))
            .collect();
        if !unread.is_empty() {
            read.extend(self.store.get_many(unread, self.schema()).await);
        }
        (bases, read)
    }

    /// A node's base record; none where it isn't there or can't be understood.
    fn base(&self, node: &NodeRef, read: &Read) -> Result<Option<BaseNode>, Failure> {
        let key = self.schema().node_key(node);
        let Some(item) = read.item(&key)? else { return Ok(None) };
        match BaseNode::read(item.clone(), node, self.schema()) {
            Ok(base) => Ok(Some(base)),
            Err(unreadable) => {
                self.store.note_unreadable(&key, format!("this base record counts as not there: {unreadable}"));
                Ok(None)
            }
        }
    }

    /// Plans every node that was read, parents before children, so that a child uses its parent's planned lineage.
    fn plan(
        &mut self,
        placings: &BTreeMap<NodeRef, Placing>,
        bases: &BTreeMap<NodeRef, Option<BaseNode>>,
        read: &Read,
    ) -> Vec<Planned> {
        let parents = bases
            .iter()
            .map(|(node, base)| (node, base.as_ref().and_then(|b| b.parent.clone()).map(|id| node.sibling(id))))
            .collect();
        let mut placed: BTreeMap<&NodeRef, Option<Placement>> = BTreeMap::new();
        let mut planned = Vec::new();
        self.failed.extend(placings.keys().filter(|node| !bases.contains_key(node)).cloned());
        for node in parents_first(&parents) {
            let (Some(placing), Some(base)) = (placings.get(node), bases.get(node)) else { continue };
            let Some(one) = self.plan_one(node, placing, base.as_ref(), &parents, &placed, read) else {
                self.failed.insert(node.clone());
                continue;
            };
            placed.insert(node, one.plan.placed.clone());
            planned.push(one);
        }
        planned
    }

    /// The plan of one node; none where what it needs couldn't be read.
    fn plan_one(
        &self,
        node: &NodeRef,
        placing: &Placing,
        base: Option<&BaseNode>,
        parents: &BTreeMap<&NodeRef, Option<NodeRef>>,
        placed: &BTreeMap<&NodeRef, Option<Placement>>,
        read: &Read,
    ) -> Option<Planned> {
        let stored = self.stored(node, read).ok()?;
        let parent = match parents.get(node)?.as_ref().filter(|parent| *parent != node) {
            None => None,
            Some(parent) => {
                let read = self.placement_of(parent, read).ok()?;
                let used = placed.get(parent).cloned().unwrap_or_else(|| read.clone());
                Some(Parent { node: parent.clone(), used, read })
            }
        };
        let input = PlaceInput {
            node,
            base,
            stored: &stored,
            parent: parent.as_ref().and_then(|p| p.used.as_ref()),
            only_touched: placing.only_touched,
        };
        let plan = place(&input, &self.fanout.settings, self.fanout.rules);
        if let (Some(base), Some(placement)) = (base, &plan.placed) {
            self.note_impossible(node, base, placement, input.parent);
        }
        Some(Planned { node: node.clone(), placing: placing.clone(), parent, plan, stopped: None })
    }

    /// Says which rows a node doesn't have, and why.
    fn note_impossible(&self, node: &NodeRef, base: &BaseNode, placement: &Placement, parent: Option<&Placement>) {
        let key = self.schema().node_key(node);
        if base.parent.as_ref() == Some(&node.id) {
            self.store.note(&key, "the node is its own parent; it has no ancestors until it gets another");
        } else if parent.is_some_and(|p| p.ancestors.contains(&node.id)) {
            self.store.note(&key, "the node is below itself; give one of those on the way another parent");
        } else if parent.is_some_and(|p| p.ancestors.len() == sapwood_core::keys::DEPTH_MAX) {
            self.store.note(&key, "the node is deeper than 98 levels; it has rows under its nearest 98 ancestors only");
        }
        if let Some(Err(error)) = placement.path_key(node).map(|path| self.schema().sort_key(&path)) {
            self.store.note(&key, format!("the node has no path row: {error}"));
        }
    }

    fn placement_of(&self, node: &NodeRef, read: &Read) -> Result<Option<Placement>, Failure> {
        Ok(self.stored(node, read)?.lineage().map(|lineage| lineage.placement.clone()))
    }

    fn stored(&self, node: &NodeRef, read: &Read) -> Result<Stored, Failure> {
        Ok(Stored::read(read.item(&self.schema().lineage_key(node))?, self.schema()))
    }

    async fn put_rows(&self, planned: &mut [Planned]) {
        self.write(planned, Step::Rows, |p| {
            std::mem::take(&mut p.plan.puts)
                .into_iter()
                .filter_map(|item| Some(Write::Put { key: key_of(&item, self.schema())?, item }))
                .collect::<Vec<_>>()
        })
        .await;
    }

    async fn delete_rows(&self, planned: &mut [Planned]) {
        self.write(planned, Step::Rows, |p| {
            std::mem::take(&mut p.plan.deletes).into_iter().map(Write::Delete).collect::<Vec<_>>()
        })
        .await;
    }

    /// One step of all nodes that are still going.
    async fn write<W>(&self, planned: &mut [Planned], step: Step, mut writes_of: impl FnMut(&mut Planned) -> W)
    where
        W: IntoIterator<Item = Write>,
    {
        let mut owners = BTreeMap::new();
        let mut writes = Vec::new();
        for (position, one) in planned.iter_mut().enumerate().filter(|(_, p)| p.stopped.is_none()) {
            for write in writes_of(one) {
                owners.insert(write.key().clone(), (position, matches!(write, Write::Put { .. })));
                writes.push(write);
            }
        }
        if writes.is_empty() {
            return;
        }
        let failed = self.store.write_many(writes).await;
        if step == Step::Rows {
            let done = |put: bool| {
                owners.iter().filter(|(key, (_, is_put))| *is_put == put && !failed.contains_key(key)).count() as u64
            };
            let (puts, deletes) = (done(true), done(false));
            self.store.count(|counts| {
                counts.rows_put += puts;
                counts.rows_deleted += deletes;
            });
        }
        for (key, failure) in failed {
            // A row that the table refuses is left out, and the rest goes on; without its lineage a node can't.
            if (failure == Failure::Again || step == Step::Intent)
                && let Some(one) = owners.get(&key).and_then(|&(position, _)| planned.get_mut(position))
            {
                one.stopped = Some(failure);
            }
        }
    }

    /// Reads the parents again. Returns the nodes whose parent isn't any more where their plan took it to be. Those whose
    /// parent has been removed are released.
    async fn confirm(
        &mut self,
        planned: &[Planned],
        bases: &BTreeMap<NodeRef, Option<BaseNode>>,
    ) -> BTreeMap<NodeRef, Placing> {
        if !self.fanout.rules.keeps(Rule::Confirm) {
            return BTreeMap::new();
        }
        let (settings, rules) = (&self.fanout.settings, self.fanout.rules);
        // Who is being deleted stays where it stands, wherever its parent is.
        let stays =
            |one: &Planned| bases.get(&one.node).and_then(Option::as_ref).filter(|base| base.deleting.is_none());
        let placed = || planned.iter().filter(|p| p.stopped.is_none() && p.plan.placed.is_some());
        let confirmed = || placed().filter_map(|one| Some((one, one.parent.as_ref()?, stays(one)?)));
        let keys: BTreeSet<ItemKey> =
            confirmed().map(|(_, parent, _)| settings.schema.lineage_key(&parent.node)).collect();
        let read = self.store.get_many(keys, &settings.schema).await;
        let (mut again, mut late) = (BTreeMap::new(), Late::default());
        for (one, parent, base) in confirmed() {
            let Ok(now) = self.stored(&parent.node, &read) else {
                self.failed.insert(one.node.clone());
                continue;
            };
            let used = if rules.keeps(Rule::ConfirmAgainstUsed) { &parent.used } else { &parent.read };
            let placed = now.lineage().map(|lineage| &lineage.placement);
            if seen_by_children(used.as_ref(), settings, rules) == seen_by_children(placed, settings, rules) {
                late.consider(&one.node, base, &parent.node, &now, rules);
            } else {
                let placing = Placing { likely_parent: Some(parent.node.id.clone()), ..one.placing.clone() };
                again.insert(one.node.clone(), placing);
            }
        }
        self.failed.extend(Box::pin(late.release(self.store, self.fanout)).await);
        again
    }
}

/// A step of the round.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Intent,
    Rows,
    Settle,
}

/// What a child's placement depends on: whether its parent has a lineage, and what that says.
fn seen_by_children<'a>(
    parent: Option<&'a Placement>,
    settings: &Settings,
    rules: sapwood_core::plan::Rules,
) -> (bool, &'a [sapwood_core::keys::Id], &'a [String]) {
    let counts_path = settings.path_rows && rules.keeps(Rule::ConfirmPath);
    (
        parent.is_some() && rules.keeps(Rule::ConfirmPresence),
        parent.map_or(&[], |p| &p.ancestors),
        parent.filter(|_| counts_path).map_or(&[], |p| &p.path),
    )
}

/// The nodes, each after its parent where that is among them; a cycle is opened somewhere.
fn parents_first<'a>(parents: &BTreeMap<&'a NodeRef, Option<NodeRef>>) -> Vec<&'a NodeRef> {
    let mut seen = BTreeSet::new();
    let mut order = Vec::with_capacity(parents.len());
    for &node in parents.keys() {
        let mut way_up = Vec::new();
        let mut next = Some(node);
        while let Some(at) = next
            && seen.insert(at)
        {
            way_up.push(at);
            next = parents.get(at).and_then(|parent| parents.get_key_value(parent.as_ref()?)).map(|(&key, _)| key);
        }
        order.extend(way_up.into_iter().rev());
    }
    order
}
