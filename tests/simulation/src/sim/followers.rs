//! Followers of feeds: each keeps a mirror of a tree, reads pages at any time, dies, and goes on from its cursor. At
//! rest each mirror must equal its tree, and no page may have shown a node as it never was.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};

use sapwood_core::fanout::StreamRecord;
use sapwood_core::keys::{Id, NodeRef, Schema};
use sapwood_core::model::{DELETING, Item, Settings, Stored};
use sapwood_core::plan::Rules;
use sapwood_engine::query::{CHANGES_MAX, ChangesPage, Followed, ReadError, Reader};
use sapwood_store::{Client, ErrorKind, RetryPolicy, Table};

use super::calls::{Calls, SimRetryPolicy, SimTable, Skewed};
use super::schedule::World;
use crate::oracle::Contents;

/// Most followers of a run.
const FOLLOWERS_MAX: usize = 8;

/// Most requests of a follower at the end of a run.
const PAGES_AT_REST: usize = 1_000;

/// How long after the last change every entry can be read, in milliseconds: what followers stay behind, and the
/// differences of clocks.
const AT_REST_MS: u64 = 10_000;

pub(super) struct Follower {
    tree: NodeRef,
    mirror: BTreeMap<Id, Arc<Item>>,
    followed: Option<Followed>,
    /// The request that is under way.
    asks: Option<u64>,
    /// All that it was shown.
    shown: Vec<(Id, Arc<Item>)>,
    /// What it was refused with, which nobody should be.
    refused: Option<String>,
}

impl Follower {
    fn new(tree: NodeRef) -> Self {
        Self { tree, mirror: BTreeMap::new(), followed: None, asks: None, shown: Vec::new(), refused: None }
    }

    /// Forgets all, as the answer 410 tells it to.
    fn begin_anew(&mut self) {
        (self.mirror, self.followed, self.asks) = (BTreeMap::new(), None, None);
    }

    /// Does with the mirror what the documentation says.
    fn take(&mut self, page: ChangesPage) {
        for change in page.changes {
            match change.node {
                Some(base) => {
                    self.shown.push((change.id.clone(), Arc::clone(&base.item)));
                    self.mirror.insert(change.id, base.item);
                }
                None => _ = self.mirror.remove(&change.id),
            }
        }
        self.followed = Some(page.followed);
    }
}

pub(super) type Followers = Arc<Mutex<Vec<Follower>>>;

/// What followers may be shown: the states that each record has had, and the trees in which lineages have had a node.
#[derive(Default)]
pub(super) struct Seen {
    records: BTreeMap<NodeRef, Vec<Item>>,
    trees: BTreeSet<(NodeRef, Id)>,
}

impl Seen {
    /// Sees a change of an item.
    pub(super) fn see(&mut self, record: &StreamRecord, schema: &Schema) {
        let Some((node, new)) = schema.parse_partition(&record.key.pk).ok().zip(record.new.as_ref()) else { return };
        match &*record.key.sk {
            "NODE" => self.records.entry(node).or_default().push(new.clone()),
            "LINEAGE" => {
                let tree = Stored::read(Some(new), schema).lineage().and_then(|lineage| lineage.tree(&node));
                self.trees.extend(tree.map(|tree| (node, tree)));
            }
            _ => {}
        }
    }

    /// Where a follower was shown what never was.
    fn never_were<'a>(&'a self, follower: &'a Follower) -> impl Iterator<Item = String> + 'a {
        let tree = &follower.tree;
        follower.shown.iter().filter_map(move |(id, item)| {
            let node = tree.sibling(id.clone());
            let was = self.records.get(&node).is_some_and(|states| states.contains(item));
            let was_there = self.trees.contains(&(node, tree.id.clone()));
            (!was || !was_there).then(|| format!("a follower of {} was shown {id} as it never was", tree.id))
        })
    }
}

/// Reads a page. Returns true if the follower asks again at once.
async fn read<P: RetryPolicy>(
    table: &impl Table,
    policy: &P,
    settings: &Settings,
    rules: Rules,
    (followers, position): (&Followers, usize),
) -> bool {
    let (tree, asks, from) = {
        let all = followers.lock().unwrap();
        let one = &all[position];
        (one.tree.clone(), one.asks, one.followed.clone().unwrap_or_else(|| Followed::begin(policy.now_ms(), rules)))
    };
    let client = Client::new(table, policy, &settings.schema);
    let items_max = [1, 2, CHANGES_MAX][position % 3];
    let page = Reader::new(&client, settings).changes(&tree, &from, policy.now_ms(), (items_max, rules)).await;
    let mut all = followers.lock().unwrap();
    if all[position].asks != asks {
        // Another feed has begun. Its cursor would be answered with 410.
        return false;
    }
    all[position].asks = None;
    let page = match page {
        Ok(page) => page,
        // The client asks again.
        Err(ReadError::Table(error)) if error.kind == ErrorKind::Retry => return true,
        Err(error) => {
            all[position].refused = Some(error.to_string());
            return false;
        }
    };
    let more = page.more;
    all[position].take(page);
    more
}

impl World<'_> {
    /// True if this invocation is one of a deployment without feeds.
    pub(super) fn is_without_feeds(&self, invocation: u64) -> bool {
        self.profile.switches_feeds && !self.has_feed && !invocation.is_multiple_of(3)
    }

    /// Begins a feed, which is allowed once no handler without feeds is under way.
    fn begin_feed(&mut self) -> bool {
        if !self.has_feed && !self.running.keys().any(|id| self.is_without_feeds(*id)) {
            self.has_feed = true;
            self.followers.lock().unwrap().iter_mut().for_each(Follower::begin_anew);
        }
        self.has_feed
    }

    /// Has a follower ask for a page, unless it waits for one.
    pub(super) fn follow(&mut self) {
        if self.profile.switches_feeds && self.has_feed && self.roll(15) == 0 {
            self.has_feed = false;
        }
        if !self.begin_feed() {
            return;
        }
        let number = self.invocations;
        if self.followers.lock().unwrap().len() < FOLLOWERS_MAX && self.roll(3) == 0 {
            self.begin_to_follow();
        }
        let (position, followers) = {
            let mut all = self.followers.lock().unwrap();
            if all.is_empty() {
                return;
            }
            let position = self.roll(all.len());
            if all[position].asks.is_some_and(|number| self.requests.contains_key(&number)) {
                return;
            }
            all[position].asks = Some(number);
            (position, Arc::clone(&self.followers))
        };
        self.invocations += 1;
        let (calls, settings, rules) = (Arc::clone(&self.calls), self.fanout.settings.clone(), self.fanout.rules);
        let future: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(async move {
            let table = SimTable { calls: Arc::clone(&calls), invocation: number };
            let policy = Skewed(SimRetryPolicy(calls), number);
            read(&table, &policy, &settings, rules, (&followers, position)).await;
        });
        self.requests.insert(number, future);
        self.poll(number);
    }

    /// Adds a follower of the tree of a node, which may be no root.
    fn begin_to_follow(&mut self) {
        let nodes: Vec<NodeRef> = {
            let calls = self.calls.lock().unwrap();
            let known = calls.memory.contents();
            let records = known.keys().filter(|(_, sk)| sk == "NODE");
            records.filter_map(|(pk, _)| self.fanout.settings.schema.parse_partition(pk).ok()).collect()
        };
        if !nodes.is_empty() {
            let node = nodes[self.roll(nodes.len())].clone();
            self.followers.lock().unwrap().push(Follower::new(node));
        }
    }

    /// Has all followers read to the end, and returns where a mirror isn't its tree. `contents` are right.
    pub(super) fn unlike_trees(&mut self, contents: &Contents) -> Vec<String> {
        let mut wrong = Vec::new();
        {
            let mut calls = self.calls.lock().unwrap();
            calls.ms += AT_REST_MS;
            (calls.failures_left, calls.failure_percent) = (0, 0);
        }
        assert!(self.begin_feed(), "nothing is under way");
        let count = self.followers.lock().unwrap().len();
        for position in 0..count {
            for pages in 0.. {
                if pages > PAGES_AT_REST {
                    wrong.push(format!("follower {position} never comes to the end"));
                    break;
                }
                if !self.read_at_rest(position) {
                    break;
                }
            }
        }
        let in_tree = trees(contents, &self.fanout.settings);
        for one in &*self.followers.lock().unwrap() {
            wrong.extend(self.seen.never_were(one));
            wrong.extend(one.refused.iter().map(|error| format!("a follower was refused: {error}")));
            let nobody = BTreeMap::new();
            let wanted = in_tree.get(&one.tree).unwrap_or(&nobody);
            let ids: BTreeSet<&Id> = wanted.keys().chain(one.mirror.keys()).collect();
            for id in ids {
                let (wanted, found) = (wanted.get(id), one.mirror.get(id));
                let is_same = match (wanted, found) {
                    (Some(wanted), Some(found)) => same(wanted, found),
                    (None, None) => true,
                    _ => false,
                };
                if !is_same {
                    let (wanted, found) = (wanted.is_some(), found.is_some());
                    wrong.push(format!(
                        "a follower of {} has {id}: {found}, and should have it: {wanted}; if both, another one",
                        one.tree.id
                    ));
                }
            }
        }
        wrong
    }

    fn read_at_rest(&mut self, position: usize) -> bool {
        let more = Arc::new(std::sync::atomic::AtomicBool::new(false));
        let number = self.invocations;
        self.invocations += 1;
        self.followers.lock().unwrap()[position].asks = Some(number);
        let (followers, told) = (Arc::clone(&self.followers), Arc::clone(&more));
        let (calls, settings, rules) = (Arc::clone(&self.calls), self.fanout.settings.clone(), self.fanout.rules);
        let future: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(async move {
            let table = SimTable { calls: Arc::clone(&calls), invocation: number };
            let policy = Skewed(SimRetryPolicy(calls), number);
            let more = read(&table, &policy, &settings, rules, (&followers, position)).await;
            told.store(more, std::sync::atomic::Ordering::Relaxed);
        });
        self.requests.insert(number, future);
        self.poll(number);
        while self.requests.contains_key(&number) {
            self.step(None);
        }
        more.load(std::sync::atomic::Ordering::Relaxed)
    }
}

/// The nodes of each tree, by records and lineages.
fn trees(contents: &Contents, settings: &Settings) -> BTreeMap<NodeRef, BTreeMap<Id, Item>> {
    let mut trees: BTreeMap<NodeRef, BTreeMap<Id, Item>> = BTreeMap::new();
    for ((pk, sk), record) in contents.iter().filter(|((_, sk), _)| sk == "NODE") {
        _ = sk;
        let Ok(node) = settings.schema.parse_partition(pk) else { continue };
        let Some(lineage) = contents.get(&(pk.clone(), "LINEAGE".to_owned())) else { continue };
        let Some(serde_dynamo::AttributeValue::L(ancestors)) = lineage.get("ancestors") else { continue };
        if lineage.contains_key("trash") {
            continue;
        }
        let tree = match ancestors.last() {
            None => node.id.clone(),
            Some(serde_dynamo::AttributeValue::S(id)) => Id::new(id).unwrap(),
            Some(_) => continue,
        };
        trees.entry(node.sibling(tree)).or_default().insert(node.id.clone(), record.clone());
    }
    trees
}

/// True if two states of a node are the same to a follower: what Sapwood notes in a record isn't shown. Whoever puts a
/// record back from a copy may put such a note back, too.
fn same(one: &Item, other: &Item) -> bool {
    let shown = |item: &Item| {
        let mut item = item.clone();
        item.retain(|name, _| !["_touched", "_redriven", "_copying", "_under", DELETING].contains(&&**name));
        item
    };
    shown(one) == shown(other)
}

impl Calls {
    /// Time passes: a moment with each step, and seconds now and then.
    pub(super) fn tick(&mut self) {
        use rand::RngExt;
        let longest = if self.rng.random_ratio(1, 15) { 9_000 } else { 30 };
        self.ms += self.rng.random_range(0..longest);
    }

    /// The time in milliseconds since 1970, by the clock of this invocation. It may be 1.5 s wrong.
    pub(super) fn now_ms(&self, invocation: u64) -> u64 {
        let skew = invocation.wrapping_mul(7_919) % 3_001;
        self.now * 1_000 + self.ms + skew - 1_500
    }
}
