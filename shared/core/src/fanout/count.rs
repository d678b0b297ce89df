//! Counts nodes: brings the totals of their ancestors up to date with where placing has left them.
//!
//! What a node was counted as ([`Counted`]) and the totals change in one transaction, on the condition that the first
//! is as it was read. So at every moment the totals are the sum of what nodes were counted as. Nodes of a batch share
//! transactions.

use std::collections::{BTreeMap, BTreeSet};

use super::context::Context;
use crate::keys::{Id, ItemKey, LANES, NodeRef};
use crate::model::{Amounts, AttributeValue, Counted, Epoch, Item, NewerFormat, Share, TOUCHED, item_bytes, text};
use crate::plan::{Added, Counting, Failure, Io, Need, Plan, Rule, Rules, Task, TaskOutcome};
use crate::request::{Action, Condition, TRANSACTION_BYTES_MAX, Update};

/// A node that isn't counted as it should be.
#[derive(Clone, Debug, PartialEq)]
pub struct ToCount {
    /// The share that the totals should hold; `None` if the node has gone.
    share: Option<Share>,
    seen: Seen,
    position: usize,
    only_touched: bool,
}

impl ToCount {
    /// Compares what a node was counted as with the share that it should have. `None` if nothing is to be done.
    pub(crate) fn of(share: Option<Share>, seen: Seen, rules: Rules) -> Option<Self> {
        let one = Self { share, seen, position: 0, only_touched: false };
        (!one.is_right(rules)).then_some(one)
    }

    pub(super) fn with_records(self, position: usize, only_touched: bool) -> Self {
        Self { position, only_touched, ..self }
    }

    /// The epoch in which the node is counted. A handler that hasn't seen a new one yet doesn't go back.
    fn epoch(&self, rules: Rules) -> Epoch {
        let counted = self.seen.counted.as_ref().filter(|_| rules.keeps(Rule::EpochOnwards));
        counted.map_or(self.seen.epoch, |counted| self.seen.epoch.or_later(counted.epoch))
    }

    /// The share that the totals of the node's epoch hold.
    fn before(&self, rules: Rules) -> Share {
        let counted = self.seen.counted.as_ref().filter(|counted| counted.epoch == self.epoch(rules));
        counted.and_then(|counted| counted.share.clone()).unwrap_or_default()
    }

    fn is_right(&self, rules: Rules) -> bool {
        match (&self.share, &self.seen.counted) {
            (None, Some(Counted { share: None, .. })) => true,
            (Some(share), Some(Counted { share: Some(counted), epoch, .. })) => {
                share == counted && *epoch == self.epoch(rules)
            }
            (None, None) => self.seen.version.is_none() && !rules.keeps(Rule::CountedWhereNone),
            _ => false,
        }
    }

    /// The node's next count, and the changes of totals by it. Where one transaction hasn't room for all, that is a
    /// step on the way: fewer of the ancestors of before, and then more of the new ones.
    fn next(&self, ancestors_max: usize, rules: Rules) -> (Option<Share>, BTreeMap<Id, Amounts>) {
        let (before, wanted) = (self.before(rules), self.share.clone().unwrap_or_default());
        let changes = changes(&before, &wanted, rules);
        if changes.len() <= ancestors_max {
            return (self.share.clone(), changes);
        }
        let (old, new) = (before.ancestors(), wanted.ancestors());
        let is_on_its_way = old.is_empty() || (before.adds_as(&wanted) && new.starts_with(old));
        let step = if is_on_its_way {
            wanted.below(&new[..new.len().min(old.len() + ancestors_max)])
        } else {
            before.below(&old[..old.len().saturating_sub(ancestors_max)])
        };
        let changes = self::changes(&before, &step, rules);
        (Some(step), changes)
    }
}

fn changes(before: &Share, after: &Share, rules: Rules) -> BTreeMap<Id, Amounts> {
    let mut changes = after.change_from(before);
    if !rules.keeps(Rule::CountChildren) {
        changes.retain(|_, change| !change.is_of_children());
    }
    changes
}

/// A node's count as it was read.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Seen {
    counted: Option<Counted>,
    /// The name of the write, whatever it is; `None` if there was no item.
    version: Option<Option<AttributeValue>>,
    epoch: Epoch,
}

impl Seen {
    pub(crate) fn read(counted: Option<&Item>, epoch: Epoch) -> Result<Self, NewerFormat> {
        Ok(Self {
            counted: counted.map(Counted::read).transpose()?.flatten(),
            version: counted.map(|item| item.get(Counted::VERSION).cloned()),
            epoch,
        })
    }

    pub(crate) fn has_share(&self) -> bool {
        self.counted.as_ref().is_some_and(|counted| counted.share.is_some())
    }

    /// True if the node is counted in a later epoch than the present one.
    pub(crate) fn is_ahead(&self) -> bool {
        self.has_share() && self.counted.as_ref().is_some_and(|counted| counted.epoch.is_after(self.epoch))
    }

    /// The condition that the item wasn't written since.
    fn condition(&self) -> Condition {
        match &self.version {
            None => Condition::Absent,
            Some(version) => Condition::is(Counted::VERSION, version.clone()),
        }
    }
}

/// The plan that counts nodes. Returns the nodes whose records have to be delivered again.
pub fn count_nodes(context: Context<'_>, nodes: BTreeMap<NodeRef, ToCount>) -> Plan<'_, BTreeSet<NodeRef>> {
    Plan::new(|io| async move {
        let mut counter = Counter { context, io: &io, left: nodes, stopped: BTreeMap::new(), writes: 0 };
        counter.count().await?;
        counter.touch().await
    })
}

struct Counter<'c> {
    context: Context<'c>,
    io: &'c Io,
    left: BTreeMap<NodeRef, ToCount>,
    stopped: BTreeMap<NodeRef, ToCount>,
    /// How many names were given to writes.
    writes: usize,
}

/// Nodes that share a transaction.
#[derive(Default)]
struct Group {
    nodes: Vec<(NodeRef, Counted)>,
    counted: Vec<Action>,
    /// The changes of each ancestor's totals in an epoch.
    changes: BTreeMap<(NodeRef, u32), Amounts>,
    bytes: usize,
}

impl Counter<'_> {
    async fn count(&mut self) -> Result<(), Failure> {
        let (mut alone, mut looks) = (BTreeSet::new(), 0);
        while !self.left.is_empty() {
            let groups = self.groups(&alone);
            let mut changed = BTreeSet::new();
            // So many at a time: each has a lane of its own.
            for (number, side_by_side) in groups.chunks(LANES as usize).enumerate() {
                let lanes = (0..).map(|lane| lane + number * LANES as usize);
                let outcomes = self.carry_out(side_by_side, lanes).await?;
                for (group, outcome) in side_by_side.iter().zip(outcomes) {
                    let nodes = group.nodes.iter().map(|(node, _)| node.clone());
                    match outcome {
                        Ok(TaskOutcome::Held) => self.take(group),
                        Ok(TaskOutcome::Failed(_)) => changed.extend(nodes),
                        // The others can be written without the node that can't.
                        Err(Failure::Refused) if group.nodes.len() > 1 => alone.extend(nodes),
                        // The executor has noted it. No retry would help, and an audit finds the node.
                        Err(Failure::Refused) => nodes.for_each(|node| _ = self.left.remove(&node)),
                        Err(Failure::Again) => nodes.for_each(|node| self.stop(node)),
                    }
                }
            }
            if !changed.is_empty() {
                looks += 1;
                self.look_again(changed, looks > self.context.limits.rounds_max).await?;
            }
        }
        Ok(())
    }

    fn stop(&mut self, node: NodeRef) {
        if let Some(one) = self.left.remove(&node) {
            self.stopped.insert(node, one);
        }
    }

    /// Packs the next step of each node into transactions, in the order of the batch.
    fn groups(&mut self, alone: &BTreeSet<NodeRef>) -> Vec<Group> {
        let (rules, schema) = (self.context.rules, self.context.schema());
        let actions_max = self.context.limits.count_actions_max.max(2);
        let mut nodes: Vec<NodeRef> = self.left.keys().cloned().collect();
        nodes.sort_by_key(|node| self.left.get(node).map(|one| one.position));
        let mut groups: Vec<Group> = Vec::new();
        for node in nodes {
            let version = self.name();
            let Some(one) = self.left.get(&node) else { continue };
            let (share, changes) = one.next(actions_max - 1, rules);
            let counted = Counted { epoch: one.epoch(rules), version, share };
            let item = counted.item(&node, self.context.settings, self.context.run.now);
            let (key, bytes) = (schema.counted_key(&node), item_bytes(&item));
            let condition = rules.on(Rule::CountedAsRead, one.seen.condition());
            let action = match &counted.share {
                None if !rules.keeps(Rule::CountedTombstone) => Action::Delete { key, condition },
                _ => Action::Put { key, item, condition },
            };
            let Epoch(epoch) = counted.epoch;
            let changes: BTreeMap<(NodeRef, u32), Amounts> =
                changes.into_iter().map(|(id, change)| ((node.sibling(id), epoch), change)).collect();
            let has_room = |group: &Group| {
                let more = changes.keys().filter(|ancestor| !group.changes.contains_key(*ancestor)).count();
                !alone.contains(&node)
                    && !group.nodes.iter().any(|(other, _)| alone.contains(other))
                    && group.nodes.len() + 1 + group.changes.len() + more <= actions_max
                    && group.bytes + bytes <= TRANSACTION_BYTES_MAX
            };
            if !groups.last().is_some_and(has_room) {
                groups.push(Group::default());
            }
            if let Some(group) = groups.last_mut() {
                group.nodes.push((node, counted));
                group.counted.push(action);
                group.bytes += bytes;
                for (ancestor, change) in changes {
                    group.changes.entry(ancestor).or_default().add(&change);
                }
            }
        }
        groups
    }

    fn name(&mut self) -> String {
        if !self.context.rules.keeps(Rule::CountedName) {
            return "one for all".to_owned();
        }
        self.writes += 1;
        format!("{}.{}", self.context.run.name, self.writes)
    }

    async fn carry_out(
        &self,
        groups: &[Group],
        lanes: impl Iterator<Item = usize>,
    ) -> Result<Vec<Result<TaskOutcome, Failure>>, Failure> {
        let first = self.first_lane();
        let countings: Vec<Counting> =
            groups.iter().zip(lanes).map(|(group, lane)| self.counting(group, first + lane)).collect();
        if self.context.rules.keeps(Rule::CountTogether) {
            return self.io.all(countings.into_iter().map(Task::Count).collect()).await;
        }
        let (mut counted, mut added) = (Vec::new(), Vec::new());
        for counting in countings {
            counted.push(Task::Count(Counting { added: Vec::new(), ..counting.clone() }));
            added.extend(counting.added.into_iter().map(|added| Counting {
                counted: Vec::new(),
                added: vec![added],
                lane: counting.lane,
            }));
        }
        let outcomes = self.io.all(counted).await?;
        self.io.all(added.into_iter().map(Task::Count).collect()).await?;
        Ok(outcomes)
    }

    /// The lane of a run's first transaction. Runs side by side choose different ones, as a rule.
    fn first_lane(&self) -> usize {
        self.context.run.name.bytes().fold(0, |hash: usize, byte| (hash * 31 + usize::from(byte)) % LANES as usize)
    }

    fn counting(&self, group: &Group, lane: usize) -> Counting {
        let schema = self.context.schema();
        // A recount must notice the write even if the sums stay: a child can come as another one goes.
        let all = self.context.rules.keeps(Rule::CountWrites);
        let changes = group.changes.iter().filter(|(_, change)| all || !change.is_nothing());
        let added = changes.map(|((ancestor, epoch), change)| {
            let lanes: Vec<ItemKey> = schema.totals_keys(ancestor, *epoch).collect();
            Added { lanes, update: self.update(change) }
        });
        Counting { counted: group.counted.clone(), added: added.collect(), lane }
    }

    fn update(&self, change: &Amounts) -> Update {
        let Update { set, remove, add } = change.added();
        if self.context.rules.keeps(Rule::AddToLanes) {
            return Update { set, remove, add };
        }
        let set = add.into_iter().map(|(name, more)| (name, AttributeValue::N(more.to_string()))).collect();
        Update { set, remove, ..Update::default() }
    }

    /// Takes the results of a transaction. A node counted as a step on the way stays for the next.
    fn take(&mut self, group: &Group) {
        let rules = self.context.rules;
        for (node, counted) in &group.nodes {
            let Some(one) = self.left.get_mut(node) else { continue };
            one.seen.version = Some(Some(text(&counted.version)));
            one.seen.counted = Some(counted.clone());
            if one.is_right(rules) {
                self.left.remove(node);
            }
        }
    }

    /// Looks again at nodes written since they were read, by an unanswered attempt or an earlier delivery.
    async fn look_again(&mut self, nodes: BTreeSet<NodeRef>, is_last: bool) -> Result<(), Failure> {
        let (rules, schema) = (self.context.rules, self.context.schema());
        let read = self.io.read(Need::keys(nodes.iter().map(|node| schema.counted_key(node)))).await?;
        for node in nodes {
            let item = read.item(&schema.counted_key(&node));
            let Some(one) = self.left.get_mut(&node) else { continue };
            let Some(seen) = item.ok().and_then(|item| Seen::read(item, one.seen.epoch).ok()) else {
                self.stop(node);
                continue;
            };
            let counted = one.seen.counted.take().filter(|_| !rules.keeps(Rule::CountedAgain));
            one.seen = Seen { counted: counted.or(seen.counted), ..seen };
            if one.is_right(rules) {
                self.left.remove(&node);
            } else if is_last {
                self.stop(node);
            }
        }
        Ok(())
    }

    /// Touches the nodes that couldn't be counted: their next event counts them, and puts no rows again as failing
    /// their records would. A node that was only touched, or can't be touched, fails its record: where the table takes
    /// no transactions for long, it waits for Lambda's retries.
    async fn touch(self) -> Result<BTreeSet<NodeRef>, Failure> {
        let is_there = |one: &ToCount| one.share.is_some() && !one.only_touched;
        let (touched, mut failed): (BTreeMap<NodeRef, ToCount>, BTreeMap<NodeRef, ToCount>) =
            self.stopped.into_iter().partition(|(_, one)| is_there(one) && self.context.rules.keeps(Rule::CountLater));
        if touched.is_empty() {
            return Ok(failed.into_keys().collect());
        }
        let schema = self.context.schema();
        let task = |node: &NodeRef| {
            Task::Write(Action::Update {
                key: schema.node_key(node),
                update: Update::set(TOUCHED, text(self.context.run.name)),
                condition: Condition::Exists,
            })
        };
        let outcomes = self.io.all(touched.keys().map(task).collect()).await?;
        let undone = touched.into_iter().zip(outcomes).filter(|(_, outcome)| *outcome != Ok(TaskOutcome::Held));
        failed.extend(undone.map(|(one, _)| one));
        Ok(failed.into_keys().collect())
    }
}
