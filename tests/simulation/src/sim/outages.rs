//! What ends an outage for the table, though not for its rows: records that Lambda gave up, a stream that is made anew,
//! settings that changed, a day that is replayed, a week that has passed. And what the operator does about it: `sapwood
//! redrive`, one call at a time.

use std::collections::BTreeSet;
use std::pin::Pin;
use std::sync::{Arc, Mutex};

use sapwood_core::keys::ItemKey;
use sapwood_core::model::{AttributeValue, Copied, Item, Settings};
use sapwood_core::plan::Rules;
use sapwood_engine::audit::Audit;
use sapwood_store::Client;

use super::calls::{Shared, SimRetryPolicy, SimTable};
use super::clock;
use super::schedule::World;
use super::witness::{Actor, Witness};
use crate::memory::Memory;

/// What is to be redriven, and how often that was done.
#[derive(Debug, Default)]
pub(super) struct Operator {
    /// The most outages that are still to come.
    pub(super) outages_left: usize,
    lost: Lost,
    marks: u64,
}

/// The items whose records are lost.
type Lost = Arc<Mutex<BTreeSet<ItemKey>>>;

impl Operator {
    /// True if something is to be redriven.
    pub(super) fn is_needed(&self) -> bool {
        !self.lost.lock().unwrap().is_empty()
    }

    fn lose(&self, key: ItemKey) {
        self.lost.lock().unwrap().insert(key);
    }

    /// Takes the item at this position among those that are lost.
    fn take(&self, position: usize) -> ItemKey {
        let mut lost = self.lost.lock().unwrap();
        let key = lost.iter().nth(position).unwrap().clone();
        lost.remove(&key);
        key
    }
}

impl World<'_> {
    /// One outage.
    pub(super) fn outage(&mut self) -> Result<(), Vec<String>> {
        self.operator.outages_left -= 1;
        match self.roll(5) {
            0 => self.renew_stream()?,
            // The stream stood still for so long that no tombstone counts any more. DynamoDB hasn't deleted any.
            2 if self.running.is_empty() => {
                self.pass(clock::WEEK)?;
                self.witness.iter_mut().for_each(Witness::forget_buried);
            }
            1 => {
                let day = self.history.clone();
                self.requeue(&day);
            }
            _ => self.give_up(),
        }
        Ok(())
    }

    /// Lambda gives up records that failed too often, or that are too old.
    fn give_up(&mut self) {
        for record in std::mem::take(&mut self.queue) {
            if self.roll(2) == 0 {
                self.queue.push(record);
                continue;
            }
            if let Some((_, invocation)) = self.unfinished.remove(&record.sequence) {
                self.calls.lock().unwrap().end_limbo(invocation);
            }
            self.witness.iter_mut().for_each(|witness| witness.lost(&record.key));
            self.operator.lose(record.key);
        }
    }

    /// The table is restored, or goes on in another region: its stream begins anew, with lower sequence numbers, and
    /// what the old one still had is lost. The settings may change on that occasion. All items are redriven.
    fn renew_stream(&mut self) -> Result<(), Vec<String>> {
        let ended = std::mem::take(&mut self.running);
        for id in ended.keys().chain(self.unfinished.values().map(|(_, invocation)| invocation)) {
            let mut calls = self.calls.lock().unwrap();
            calls.crash(*id);
            calls.end_limbo(*id);
        }
        self.actor = Actor::Handler(0);
        self.take_records()?;
        // Whoever redrives has the old settings, and begins again with the new ones.
        self.actor = Actor::Repair;
        self.end_redrives();
        self.take_records()?;
        let mut calls = self.calls.lock().unwrap();
        calls.memory.renew_stream();
        let lost = all_keys(&calls.memory);
        drop(calls);
        self.witness.iter_mut().for_each(|witness| lost.iter().for_each(|key| witness.lost(key)));
        *self.operator.lost.lock().unwrap() = lost;
        (self.queue, self.history) = (Vec::new(), Vec::new());
        self.unfinished.clear();
        let settings = &mut Arc::make_mut(&mut self.fanout).settings;
        let [paths, roots, copied] = [0, 1, 2].map(|_| self.calls.lock().unwrap().coin());
        settings.path_rows ^= paths;
        settings.root_rows ^= roots;
        if copied {
            settings.copied = Copied::Only(BTreeSet::from(["text".to_owned()]));
        }
        Ok(())
    }

    /// The operator begins to redrive one item.
    pub(super) fn redrive(&mut self) {
        let count = self.operator.lost.lock().unwrap().len();
        let position = self.roll(count);
        let key = self.operator.take(position);
        self.operator.marks += 1;
        // It has 19 digits: it is below any sequence number of a stream.
        let name = format!("{}", 1_000_000_000_000_000_000 + self.operator.marks);
        let (calls, settings) = (Arc::clone(&self.calls), self.fanout.settings.clone());
        let lost = Arc::clone(&self.operator.lost);
        let rules = self.fanout.rules;
        self.begin_redrive(|number| redrive(number, calls, settings, rules, key, lost, name));
    }
}

/// A redrive that hasn't come to its end. If it fails or is killed, the operator runs the same command again.
struct Unfinished {
    key: Option<ItemKey>,
    lost: Lost,
}

impl Unfinished {
    fn ends(mut self) {
        self.key = None;
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        self.lost.lock().unwrap().extend(self.key.take());
    }
}

fn redrive(
    number: u64,
    calls: Shared,
    settings: Settings,
    rules: Rules,
    key: ItemKey,
    lost: Lost,
    name: String,
) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    let unfinished = Unfinished { key: Some(key.clone()), lost };
    Box::pin(async move {
        let table = SimTable { calls: Arc::clone(&calls), invocation: number };
        let retry_policy = SimRetryPolicy(calls);
        let client = Client::new(&table, &retry_policy, &settings.schema);
        if Audit::new(&client, &settings).redrive(key, name, rules).await.is_ok() {
            unfinished.ends();
        }
    })
}

/// The keys of all that a comparison looks at.
fn all_keys(memory: &Memory) -> BTreeSet<ItemKey> {
    let contents = memory.contents();
    let keys = contents.iter().filter_map(|((pk, sk), item)| {
        let sk = match sk.as_str() {
            "NODE" | "LINEAGE" | "COUNTED" => "NODE".to_owned(),
            "CASCADE" => "LINEAGE".to_owned(),
            sk if sk.starts_with("v0_") => revision_of(sk, item)?,
            sk if version_of(sk).is_some() => sk.to_owned(),
            _ => return None,
        };
        Some(ItemKey::new(pk, sk))
    });
    keys.collect()
}

fn version_of(sk: &str) -> Option<u32> {
    let digits = sk.strip_prefix('v')?.split_once('_')?.0.trim_start_matches(['a', 'b', 'c']);
    digits.parse().ok().filter(|version| *version > 0)
}

/// The sort key of the revision that a copy shows.
fn revision_of(copy: &str, item: &Item) -> Option<String> {
    let Some(AttributeValue::N(version)) = item.get("_version") else { return None };
    let (version, topic) = (version.parse::<u32>().ok()?, copy.strip_prefix("v0_")?);
    Some(if version < 1_000 { format!("v{version:03}_{topic}") } else { format!("va{version}_{topic}") })
}
