//! The fan-out: plans bring the derived rows up to date with a batch of stream records, and this module runs them.

mod executor;

use std::collections::{BTreeMap, BTreeSet};

use sapwood_core::fanout::{
    Batch, Context, Copied, Early, HandDown, LineageChange, Orphans, Placing, StreamRecord, ToCount, TopicChanges,
    await_parents, continue_copy, continue_cursor, copy_highest, copy_newest, count_nodes, hand_down, note_placed,
    place_nodes, placings_of, touch_orphans,
};
pub use sapwood_core::fanout::{Limits, Run};
use sapwood_core::keys::{ItemKey, NodeRef};
use sapwood_core::model::{CopyOf, Latest, Settings};
use sapwood_core::plan::{Plan, Problem, Rule, Rules, Tally};
use sapwood_store::{BatchBytes, Client, RetryPolicy, Table, Usage};

use executor::Executor;

/// The fan-out of one table.
#[derive(Clone, Debug, Default)]
pub struct Fanout {
    /// The settings of the table.
    pub settings: Settings,
    /// The bounds of the fan-out.
    pub limits: Limits,
    /// The rules of the protocol. Only tests break one.
    pub rules: Rules,
    /// How many bytes of rows go in one request, as earlier batches have found.
    pub batch_bytes: BatchBytes,
}

/// The result of a batch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// The sequence numbers of the records to deliver again, as the stream gave them: for each item that failed, its
    /// first record of the batch. Empty if all is done.
    pub failed: Vec<String>,
    /// Faults that no retry can mend, for the log.
    pub problems: Vec<Problem>,
    /// The work done, and the usage of the requests.
    pub counts: Counts,
}

/// The work done for one batch or several, and the usage of the requests.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counts {
    /// The usage of the requests.
    pub usage: Usage,
    /// The work done.
    pub tally: Tally,
}

impl std::ops::AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.usage += other.usage;
        self.tally += other.tally;
    }
}

impl Fanout {
    /// Brings the derived rows up to date with the items of a batch of records. It can be repeated with any records, as
    /// long as no two batches with records of one item run at once. Records passed by value are freed first.
    pub async fn run<T: Table, P: RetryPolicy>(
        &self,
        table: &T,
        retry_policy: &P,
        run: Run<'_>,
        records: impl AsRef<[StreamRecord]>,
    ) -> Report {
        let context = Context { settings: &self.settings, limits: self.limits, rules: self.rules, run };
        let Limits { requests_in_flight_max, bytes_in_flight_max, .. } = self.limits;
        let client = Client::new(table, retry_policy, context.schema())
            .named(run.name, requests_in_flight_max)
            .within(bytes_in_flight_max)
            .with_batches_of(self.batch_bytes.clone());
        let executor = Executor::new(&client, self.rules);
        let Batch { items, placings, cascades, cursors, latests, problems } =
            Batch::of(records.as_ref(), &self.settings, self.rules);
        drop(records);
        executor.note(problems);
        let run = Running { context, executor };
        // The futures are boxed: nested in one another they grow too large for the compiler to lay out.
        let (unplaced, uncascaded, uncopied) = futures::join!(
            Box::pin(run.place(placings)),
            Box::pin(run.cascade(cascades, cursors)),
            Box::pin(run.copy(latests)),
        );
        let schema = context.schema();
        let failed: BTreeSet<ItemKey> =
            unplaced.iter().map(|node| schema.node_key(node)).chain(uncascaded).chain(uncopied).collect();
        let failed = items.into_iter().filter(|(key, _)| failed.contains(key)).map(|(_, sequence)| sequence).collect();
        let (tally, problems) = run.executor.finish();
        Report { failed, problems, counts: Counts { usage: client.usage(), tally } }
    }
}

struct Running<'a, T, P> {
    context: Context<'a>,
    executor: Executor<'a, T, P>,
}

impl<'a, T: Table, P: RetryPolicy> Running<'a, T, P> {
    /// Places nodes, round by round. Nodes whose parents are being placed elsewhere wait for them a moment. Then the
    /// copies go on whose tops are among the nodes. Returns the nodes whose records have to be delivered again.
    async fn place(&self, mut placings: BTreeMap<NodeRef, Placing>) -> BTreeSet<NodeRef> {
        let Limits { rounds_max, waits_max, .. } = self.context.limits;
        let (mut failed, mut never_placed, mut copying) = (BTreeSet::new(), BTreeMap::new(), BTreeSet::new());
        let (mut early, mut rounds, mut waits, mut is_patient) = (Early::default(), 0, 0, true);
        let (mut to_count, mut copies) = (BTreeMap::new(), BTreeMap::new());
        if !self.context.rules.keeps(Rule::CopyPlaced) {
            let of = |(node, placing): (&NodeRef, &Placing)| Some((node.clone(), placing.copy_of.clone()?));
            failed.extend(self.note_placed(placings.iter().filter_map(of).collect()).await);
        }
        while !(placings.is_empty() && early.is_empty()) && rounds < rounds_max {
            if placings.is_empty() {
                waits += 1;
                let awaited = self.executor.run(await_parents(self.context, early.clone())).await;
                let (ready, rest) = awaited.unwrap_or_default();
                // No node waits for ever. Those that are left are placed as base records predict.
                is_patient = !ready.is_empty() && waits < waits_max;
                (placings, early) = if is_patient { (ready, rest) } else { (placings_of(early), Early::default()) };
            }
            let nodes: Vec<NodeRef> = placings.keys().cloned().collect();
            let Ok(end) = self.executor.run(place_nodes(self.context, placings, is_patient)).await else {
                failed.extend(nodes);
                placings = BTreeMap::new();
                break;
            };
            failed.extend(end.failed);
            never_placed.extend(end.never_placed);
            copying.extend(end.copying);
            to_count.extend(end.to_count);
            copies.extend(end.copies);
            for late_child in end.late_children {
                let node = late_child.child.node.clone();
                if self.executor.run(late_child.plan(self.context)).await.is_err() {
                    failed.insert(node);
                }
            }
            early.extend(end.early);
            rounds += usize::from(!end.again.is_empty());
            placings = end.again;
        }
        // The ancestors of these nodes keep moving. The nodes' records are delivered again.
        failed.extend(placings.into_keys().chain(early.into_keys()));
        failed.extend(self.count(to_count).await);
        failed.extend(self.touch_orphans_of(never_placed).await);
        failed.extend(self.note_placed(copies).await);
        failed.extend(self.continue_copies(copying).await);
        failed
    }

    /// Has operations no longer name copies that are placed. Returns those whose records have to be delivered again.
    async fn note_placed(&self, copies: BTreeMap<NodeRef, CopyOf>) -> BTreeSet<NodeRef> {
        if copies.is_empty() {
            return BTreeSet::new();
        }
        let all = copies.keys().cloned().collect();
        self.executor.run(note_placed(self.context, copies)).await.unwrap_or(all)
    }

    async fn count(&self, nodes: BTreeMap<NodeRef, ToCount>) -> BTreeSet<NodeRef> {
        if nodes.is_empty() {
            return BTreeSet::new();
        }
        let all = nodes.keys().cloned().collect();
        self.executor.run(count_nodes(self.context, nodes)).await.unwrap_or(all)
    }

    /// Goes on with the copies of subtrees at these tops. Returns the nodes to deliver again.
    async fn continue_copies(&self, tops: BTreeSet<NodeRef>) -> Vec<NodeRef> {
        let plans = tops.iter().map(|top| continue_copy(self.context, top.clone())).collect();
        let results = Box::pin(self.executor.run_all(plans)).await;
        tops.into_iter().zip(results).filter(|(_, result)| result.is_err()).map(|(top, _)| top).collect()
    }

    /// Touches the nodes below these that were placed by records now gone. Returns the nodes to deliver again.
    async fn touch_orphans_of(&self, never_placed: BTreeMap<NodeRef, String>) -> BTreeSet<NodeRef> {
        if !self.context.rules.keeps(Rule::TouchNeverPlaced) {
            return BTreeSet::new();
        }
        let Orphans { mut failed, unknown } = self.touch_orphans(never_placed).await;
        let (nodes, cascades): (Vec<NodeRef>, Vec<Plan<'_, ()>>) = unknown
            .into_iter()
            .map(|(node, sequence)| (node.clone(), hand_down(self.context, node, sequence, HandDown::ToChildren)))
            .unzip();
        let results = Box::pin(self.executor.run_all(cascades)).await;
        failed.extend(nodes.into_iter().zip(results).filter(|(_, result)| result.is_err()).map(|(node, _)| node));
        failed
    }

    /// Touches the orphans that wait for these nodes, as far as the register can tell them.
    async fn touch_orphans(&self, nodes: BTreeMap<NodeRef, String>) -> Orphans {
        let (context, schema) = (self.context, self.context.schema());
        let mut by_partition: BTreeMap<String, BTreeMap<NodeRef, String>> = BTreeMap::new();
        for (node, sequence) in nodes {
            by_partition.entry(schema.orphans_partition(&node)).or_default().insert(node, sequence);
        }
        let asked: Vec<Vec<NodeRef>> = by_partition.values().map(|nodes| nodes.keys().cloned().collect()).collect();
        let looks = by_partition.into_iter().map(|(partition, nodes)| touch_orphans(context, partition, nodes));
        let mut told = Orphans::default();
        for (nodes, orphans) in asked.into_iter().zip(Box::pin(self.executor.run_all(looks.collect())).await) {
            match orphans {
                Ok(Orphans { failed, unknown }) => {
                    told.failed.extend(failed);
                    told.unknown.extend(unknown);
                }
                Err(_) => told.failed.extend(nodes),
            }
        }
        told
    }

    /// Hands lineages down and continues cursors. Returns the items whose records have to be delivered again.
    async fn cascade(&self, changes: BTreeMap<NodeRef, LineageChange>, cursors: BTreeSet<NodeRef>) -> Vec<ItemKey> {
        let schema = self.context.schema();
        let continue_cursors = async {
            let keys = cursors.iter().map(|node| schema.cascade_key(node)).collect();
            let slices = cursors.iter().map(|node| continue_cursor(self.context, node.clone())).collect();
            self.run_all(keys, slices).await
        };
        let (lineages, cursors) = futures::join!(self.hand_down(changes), continue_cursors);
        lineages.into_iter().chain(cursors).collect()
    }

    /// Touches the orphans of new lineages, and cascades the others. A node whose orphans the register can't tell is
    /// cascaded, too. Returns the lineages whose records have to be delivered again.
    async fn hand_down(&self, changes: BTreeMap<NodeRef, LineageChange>) -> Vec<ItemKey> {
        let (context, schema) = (self.context, self.context.schema());
        let (mut new, mut cascades) = (BTreeMap::new(), BTreeMap::new());
        for (node, LineageChange { sequence, kind }) in changes {
            if kind == HandDown::ToOrphans {
                new.insert(node, sequence);
            } else {
                cascades.insert(node.clone(), hand_down(context, node, sequence, kind));
            }
        }
        let Orphans { failed, unknown } = self.touch_orphans(new).await;
        for (node, sequence) in unknown {
            cascades.insert(node.clone(), hand_down(context, node, sequence, HandDown::ToChildren));
        }
        let keys = cascades.keys().map(|node| schema.lineage_key(node)).collect();
        let uncascaded = self.run_all(keys, cascades.into_values().collect()).await;
        failed.iter().map(|node| schema.lineage_key(node)).chain(uncascaded).collect()
    }

    /// Runs plans, several at a time. `keys` has the item of each plan, in order. Returns the items whose plans failed.
    async fn run_all(&self, keys: Vec<ItemKey>, plans: Vec<Plan<'_, ()>>) -> Vec<ItemKey> {
        // The future is boxed for the same reason as in `Fanout::run`.
        let results = Box::pin(self.executor.run_all(plans)).await;
        keys.into_iter().zip(results).filter(|(_, result)| result.is_err()).map(|(key, _)| key).collect()
    }

    /// Makes each topic's copy equal to its newest revision. Returns the revisions to deliver again.
    async fn copy(&self, topics: BTreeMap<Latest, TopicChanges>) -> Vec<ItemKey> {
        let settings = self.context.settings;
        let copied = self.executor.run(copy_highest(self.context, &topics)).await;
        let copied = copied.unwrap_or_else(|_| vec![Copied::Failed; topics.len()]);
        let settle = topics.keys().zip(copied).map(|(latest, copied)| async move {
            match copied {
                Copied::Done => true,
                Copied::LookForNewest => self.executor.run(copy_newest(self.context, latest.clone())).await.is_ok(),
                Copied::Failed => false,
            }
        });
        let settled = self.executor.client.all(settle.collect()).await;
        let unsettled = topics.iter().zip(settled).filter(|(_, settled)| !settled).map(|(topic, _)| topic);
        let keys = unsettled.flat_map(|(latest, changes)| {
            changes.versions.iter().filter_map(move |version| latest.revision_key(*version, settings).ok())
        });
        keys.collect()
    }
}
