//! What ends an outage for the table, though not for its rows: records that Lambda gave up, a stream that is made anew, settings
//! that changed, a day that is replayed, a week that has passed. And what the operator does about it, by the very steps of docs/runbooks/redrive.sh.

use std::collections::BTreeSet;

use sapwood_core::keys::ItemKey;
use sapwood_core::model::{AttributeValue, Copied, Item, text};

use super::schedule::World;
use super::witness::{Actor, Witness};
use crate::memory::Memory;

/// How long a tombstone counts.
const TOMBSTONE_SECONDS: u64 = 7 * 24 * 60 * 60;

/// What is to be redriven, and how often that was done.
#[derive(Debug, Default)]
pub(super) struct Operator {
    /// The most outages that are still to come.
    pub(super) outages_left: usize,
    lost: BTreeSet<ItemKey>,
    marks: u64,
}

impl Operator {
    /// True if something is to be redriven.
    pub(super) fn is_needed(&self) -> bool {
        !self.lost.is_empty()
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
                self.now += TOMBSTONE_SECONDS;
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
            if let Some(invocation) = self.unfinished.remove(&record.sequence) {
                self.calls.lock().unwrap().end_limbo(invocation);
            }
            self.operator.lost.insert(record.key);
        }
    }

    /// The table is restored, or goes on in another region: its stream begins anew, with lower sequence numbers, and what the old
    /// one still had is lost. The settings may change on that occasion. All items are redriven.
    fn renew_stream(&mut self) -> Result<(), Vec<String>> {
        let ended = std::mem::take(&mut self.running);
        for id in ended.keys().chain(self.unfinished.values()) {
            let mut calls = self.calls.lock().unwrap();
            calls.crash(*id);
            calls.end_limbo(*id);
        }
        self.actor = Actor::Handler;
        self.take_records()?;
        let mut calls = self.calls.lock().unwrap();
        calls.memory.renew_stream();
        self.operator.lost = all_keys(&calls.memory);
        drop(calls);
        (self.queue, self.history) = (Vec::new(), Vec::new());
        self.unfinished.clear();
        let settings = &mut self.fanout.settings;
        let [paths, roots, copied] = [0, 1, 2].map(|_| self.calls.lock().unwrap().coin());
        settings.path_rows ^= paths;
        settings.root_rows ^= roots;
        if copied {
            settings.copied = Copied::Only(BTreeSet::from(["text".to_owned()]));
        }
        Ok(())
    }

    /// The operator redrives one item.
    pub(super) fn redrive(&mut self) {
        let position = self.roll(self.operator.lost.len());
        let key = self.operator.lost.iter().nth(position).unwrap().clone();
        self.operator.lost.remove(&key);
        self.operator.marks += 1;
        // It has 19 digits: it is below any sequence number of a stream.
        let mark = format!("{}", 1_000_000_000_000_000_000 + self.operator.marks);
        self.actor = Actor::Client;
        redrive(&mut self.calls.lock().unwrap().memory, &key, &mark);
    }
}

/// The keys that the recipe "all items" of docs/recovery.md makes.
fn all_keys(memory: &Memory) -> BTreeSet<ItemKey> {
    let contents = memory.contents();
    let keys = contents.iter().filter_map(|((pk, sk), item)| {
        let sk = match sk.as_str() {
            "NODE" | "LINEAGE" => "NODE".to_owned(),
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

fn redrive(memory: &mut Memory, key: &ItemKey, mark: &str) {
    match key.sk.as_str() {
        "NODE" => node(memory, key, mark),
        "LINEAGE" => cascade(memory, &key.pk, mark),
        "CASCADE" => _ = touch(memory, key, mark),
        _ => revision(memory, key, mark),
    }
}

/// Sets an attribute that no row carries, on an item that exists.
fn touch(memory: &mut Memory, key: &ItemKey, mark: &str) -> bool {
    let Some(mut item) = memory.get(key).cloned() else { return false };
    item.insert("_redriven".to_owned(), text(mark));
    memory.write(key, Some(item));
    true
}

fn node(memory: &mut Memory, key: &ItemKey, mark: &str) {
    if touch(memory, key, mark) {
        if memory.get(key).is_some_and(|item| item.contains_key("_deleting")) {
            cascade(memory, &key.pk, mark);
        }
        return;
    }
    let Some(lineage) = memory.get(&ItemKey::new(&key.pk, "LINEAGE")).filter(|item| !item.contains_key("deleted"))
    else {
        return;
    };
    let mut item = Item::new();
    item.extend(lineage.get("born").map(|born| ("_born".to_owned(), born.clone())));
    if let Some(AttributeValue::L(ancestors)) = lineage.get("ancestors") {
        item.extend(ancestors.first().map(|parent| ("parent".to_owned(), parent.clone())));
    }
    if let Some(AttributeValue::L(path)) = lineage.get("path") {
        let own = path.last().filter(|segment| **segment != text(&key.pk));
        item.extend(own.map(|segment| ("segment".to_owned(), segment.clone())));
    }
    if let Some(AttributeValue::M(deleting)) = lineage.get("deleting") {
        let mut deleting = deleting.clone();
        if let Some(heir) = deleting.remove("heir") {
            item.insert("parent".to_owned(), heir.clone());
            if let Some(born) = deleting.remove("heir_born") {
                let under = [("parent".to_owned(), heir), ("born".to_owned(), born)];
                item.insert("_under".to_owned(), AttributeValue::M(under.into_iter().collect()));
            }
        }
        item.insert("_deleting".to_owned(), AttributeValue::M(deleting));
    }
    put_and_delete(memory, key, item, mark);
}

/// Puts back an item that is gone, and deletes it again.
fn put_and_delete(memory: &mut Memory, key: &ItemKey, mut item: Item, mark: &str) {
    item.extend(
        [("PK", &*key.pk), ("SK", &*key.sk), ("_redriven", mark)].map(|(name, it)| (name.to_owned(), text(it))),
    );
    memory.write(key, Some(item));
    memory.write(key, None);
}

fn revision(memory: &mut Memory, key: &ItemKey, mark: &str) {
    if touch(memory, key, mark) {
        return;
    }
    let Some((_, topic)) = key.sk.split_once('_') else { return };
    let copy = memory.get(&ItemKey::new(&key.pk, format!("v0_{topic}")));
    let version = version_of(&key.sk).map(|version| AttributeValue::N(version.to_string()));
    if copy.and_then(|copy| copy.get("_version")) == version.as_ref() {
        put_and_delete(memory, key, Item::new(), mark);
    }
}

/// Puts a cursor, whose record makes the handler do from the start what the lineage's change asked for.
fn cascade(memory: &mut Memory, pk: &str, mark: &str) {
    let key = ItemKey::new(pk, "CASCADE");
    let sequence = format!("{mark:0>40}");
    let texts = [("PK", pk), ("SK", "CASCADE"), ("sequence", &sequence)];
    let mut item: Item = texts.into_iter().map(|(name, value)| (name.to_owned(), text(value))).collect();
    item.insert("format".to_owned(), AttributeValue::N("1".to_owned()));
    memory.write(&key, Some(item));
}
