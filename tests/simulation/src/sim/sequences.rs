//! Sequences of calls to the API, one after another, with the stream handled only now and then. A model keeps what the
//! answers have promised. In the end the base records are those that were promised, and the rows are those that they
//! ask for.
//!
//! No call fails and no two calls overlap: the only thing that varies is how far the stream is behind. In some runs
//! another client deletes nodes.

use std::collections::{BTreeMap, BTreeSet};

use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use sapwood_core::fanout::StreamRecord;
use sapwood_core::keys::{Id, ItemKey, NodeRef, Schema};
use sapwood_core::model::{AttributeValue, DeletionMode, Item, Latest};
use sapwood_core::plan::{Rule, Rules};
use sapwood_engine::fanout::{self, Fanout};
use sapwood_engine::write::{
    Children, Command, Content, Idempotency, Outcome, Patch, Request, Stamp, Tiebreak, ValueChange, Writer,
};
use sapwood_store::Client;

use super::schedule::{Fault, Run, passes_filter};
use crate::fixture::{NoRetries, at_once};
use crate::memory::MemoryTable;
use crate::own;
use crate::unfinished::unfinished;

const IDS: [&str; 5] = ["a", "b", "c", "d", "e"];

/// A second of a run. A run is shorter than a tombstone counts.
const STEP_SECONDS: u64 = 60;

/// A node as the answers have promised it.
#[derive(Clone, Debug, Default)]
struct Promised {
    parent: Option<String>,
    /// The life that the base record named when it was written.
    born: String,
    /// What the node's deletion does with its children, once the node is being deleted.
    deleting: Option<DeletionMode>,
    /// True if a deletion above the node takes it along.
    doomed: bool,
    /// True if a node between this one and the deletion that takes it along was deleted alone, before any row showed
    /// that it had children, or has a parent that isn't known. Nobody can say then what becomes of this node.
    any_fate: bool,
    /// True if the parent isn't known: the node was to be adopted by a node that is gone.
    any_parent: bool,
}

/// The nodes that the answers have promised.
#[derive(Clone, Debug, Default)]
struct Model {
    nodes: BTreeMap<String, Promised>,
    /// True once another client has deleted a node.
    by_others: bool,
}

impl Model {
    fn children(&self, of: &str) -> Vec<String> {
        let is_child = |node: &Promised| node.parent.as_deref() == Some(of);
        self.nodes.iter().filter(|(_, node)| is_child(node)).map(|(id, _)| id.clone()).collect()
    }

    /// Completes the deletions whose nodes are gone, as their children were told to do.
    fn complete(&mut self, table: &MemoryTable) {
        let is_gone = |id: &String, node: &Promised| base(table, id).is_none_or(|item| born(&item) != node.born);
        loop {
            let gone = self
                .nodes
                .iter()
                .find(|(id, node)| (node.deleting.is_some() || node.doomed || node.any_fate) && is_gone(id, node));
            let Some(id) = gone.map(|(id, _)| id.clone()) else { return };
            let node = self.nodes.remove(&id).unwrap();
            for child in self.children(&id) {
                let heir = node.parent.clone();
                let child = self.nodes.get_mut(&child).unwrap();
                // A child that is being deleted itself isn't acted on.
                if child.deleting.is_some() {
                    continue;
                }
                match node.deleting {
                    Some(DeletionMode::Adopt) => {
                        child.any_parent |= heir.is_some();
                        child.parent = heir;
                    }
                    Some(DeletionMode::Detach) => child.parent = None,
                    Some(DeletionMode::Delete) | None => {}
                }
            }
        }
    }

    fn doom_below(&mut self, id: &str) {
        for child in self.children(id) {
            let node = self.nodes.get_mut(&child).unwrap();
            // Whether the deletion finds a child whose parent isn't known, nobody can say.
            let is_found = !node.any_parent;
            let known = if is_found { &mut node.doomed } else { &mut node.any_fate };
            if std::mem::replace(known, true) {
                continue;
            }
            // A deletion leaves a child alone that has a mark of its own.
            if node.deleting == Some(DeletionMode::Detach) {
                continue;
            }
            let takes_all = is_found && node.deleting != Some(DeletionMode::Adopt);
            self.doom_below(&child);
            if !takes_all {
                self.free_below(&child);
            }
        }
    }

    /// Takes a node that was deleted alone: by the API, before rows showed that it has children, or by another client.
    /// The API's are adopted by a node above, or become roots, unless the id comes back before they are placed. Another
    /// client's are orphans, unless a deletion was to take them along or to give them another parent.
    fn delete(&mut self, id: &str, by_api: bool) {
        self.by_others |= !by_api;
        let Some(node) = self.nodes.remove(id) else { return };
        let was_deleting = node.deleting.is_some();
        for child in self.children(id) {
            self.nodes.get_mut(&child).unwrap().any_parent |= was_deleting || by_api;
        }
        self.free_below(id);
    }

    /// Takes back what is known of the doomed nodes below this one.
    fn free_below(&mut self, id: &str) {
        // Where parents aren't known, the model can have a circle.
        let (mut next, mut seen) = (self.children(id), BTreeSet::new());
        while let Some(child) = next.pop() {
            if !seen.insert(child.clone()) {
                continue;
            }
            next.extend(self.children(&child));
            let node = self.nodes.get_mut(&child).unwrap();
            if std::mem::take(&mut node.doomed) {
                (node.any_fate, node.any_parent) = (true, true);
            }
        }
    }

    /// Takes a node as an answer has promised it.
    fn put(&mut self, id: &str, item: &Item) {
        let parent = text(item, "parent");
        let above = parent.as_ref().and_then(|parent| self.nodes.get(parent)).cloned().unwrap_or_default();
        let before = self.nodes.remove(id);
        let moved = before.as_ref().is_none_or(|before| before.parent != parent);
        let was_doomed = before.as_ref().is_some_and(|before| before.doomed);
        // What becomes of a node that stays where it is was decided when its parent's deletion began: a parent that
        // detaches its children dooms none of them.
        let before = before.filter(|_| !moved).unwrap_or(Promised {
            doomed: above.doomed,
            any_fate: above.any_fate,
            ..Promised::default()
        });
        let node = Promised { parent, born: born(item), ..before };
        let (is_doomed, any_fate) = (node.doomed, node.any_fate);
        self.nodes.insert(id.to_owned(), node);
        if was_doomed && !is_doomed {
            self.save_below(id);
        }
        // A node takes along what is below it.
        if is_doomed || any_fate {
            self.doom_below(id);
        }
        if any_fate {
            self.free_below(id);
        }
    }

    /// Takes a node that has left a subtree that is deleted, with all that is below it.
    fn save_below(&mut self, id: &str) {
        for child in self.children(id) {
            let node = self.nodes.get_mut(&child).unwrap();
            if std::mem::take(&mut node.doomed) && node.deleting != Some(DeletionMode::Delete) {
                self.save_below(&child);
            }
        }
    }

    /// Compares what was promised with the base records.
    fn differences(&self, table: &MemoryTable) -> Vec<String> {
        let mut wrong = Vec::new();
        for (id, node) in &self.nodes {
            if node.any_fate {
                continue;
            }
            let item = base(table, id).filter(|item| born(item) == node.born);
            match item {
                Some(_) if node.doomed || node.deleting.is_some() => wrong.push(format!("{id} should be deleted")),
                None if !node.doomed && node.deleting.is_none() => wrong.push(format!("{id} was deleted")),
                Some(item)
                    if !self.by_others
                        && text(&item, "parent").is_some_and(|parent| base(table, &parent).is_none()) =>
                {
                    wrong.push(format!("{id} is in no list"));
                }
                Some(item) if !node.any_parent && text(&item, "parent") != node.parent => {
                    wrong.push(format!("{id} is under {:?}, not {:?}", text(&item, "parent"), node.parent));
                }
                _ => {}
            }
        }
        let promised = |id: &&&str| self.nodes.contains_key(**id);
        let others = IDS.iter().filter(|id| !promised(id) && base(table, id).is_some());
        wrong.extend(others.map(|id| format!("{id} is there, and nobody has promised it")));
        wrong
    }
}

fn base(table: &MemoryTable, id: &str) -> Option<Item> {
    table.0.lock().unwrap().get(&ItemKey::new(id, "NODE")).cloned()
}

fn text(item: &Item, name: &str) -> Option<String> {
    match item.get(name) {
        Some(AttributeValue::S(text)) => Some(text.clone()),
        _ => None,
    }
}

fn born(item: &Item) -> String {
    text(item, "_born").unwrap_or_default()
}

struct World {
    rng: SmallRng,
    table: MemoryTable,
    fanout: Fanout,
    queue: Vec<StreamRecord>,
    model: Model,
    number: u64,
    trace: u64,
    /// What was done, to be told with a fault.
    log: Vec<String>,
}

impl World {
    fn now(&self) -> u64 {
        1_000_000 + self.number * STEP_SECONDS
    }

    fn command(&mut self) -> Command {
        let id = |rng: &mut SmallRng| Id::new(*IDS.choose(rng).unwrap()).unwrap();
        let node = NodeRef::from(id(&mut self.rng));
        let parent = Some(id(&mut self.rng)).filter(|_| self.rng.random_ratio(4, 5));
        let name = ("name".to_owned(), AttributeValue::N(self.number.to_string()));
        let attributes = own::attributes(u32::try_from(self.number).unwrap());
        let content = Content { parent: parent.clone(), attributes: attributes.clone(), ..Content::default() };
        match self.rng.random_range(0..20) {
            0..=6 => Command::Create { node, is_made_id: false, content },
            7 => Command::Replace { node, content },
            8..=10 => Command::Patch { node, patch: Patch { parent: Some(parent), ..Patch::default() } },
            11 => {
                let set = |(name, value)| (name, ValueChange::Set(value));
                let attributes = attributes.into_iter().map(set).collect();
                Command::Patch { node, patch: Patch { attributes, ..Patch::default() } }
            }
            12 => Command::Append { topic: Latest { node, topic: "Audit".to_owned() }, attributes: Item::from([name]) },
            13..=16 => Command::Delete {
                node,
                children: Children::Restrict,
                revisions: false,
                operation: format!("o{}", self.number),
            },
            _ => {
                let modes = [DeletionMode::Delete, DeletionMode::Delete, DeletionMode::Adopt, DeletionMode::Detach];
                let children = Children::With(*modes.choose(&mut self.rng).unwrap());
                let (revisions, operation) = (self.rng.random_ratio(1, 4), format!("o{}", self.number));
                Command::Delete { node, children, revisions, operation }
            }
        }
    }

    fn send(&mut self, command: &Command, key: &str) -> Option<Outcome> {
        let settings = self.fanout.settings.clone();
        let client = Client::new(&self.table, &NoRetries, &settings.schema);
        let writer = Writer::new(&client, &settings).with(sapwood_engine::write::Limits::default(), self.fanout.rules);
        let stamp = Stamp {
            at: format!("2026-01-01T00:00:00.{:03}Z", self.number % 1_000),
            seconds: self.now(),
            by: "somebody".to_owned(),
            token: format!("t{}", self.number),
            tiebreak: Tiebreak::new(self.number, ""),
        };
        let idempotency = Idempotency { tenant: None, hash: key.to_owned(), fingerprint: "f".to_owned() };
        let request = Request { idempotency: Some(idempotency), ..Request::new(stamp) };
        let answer = at_once(writer.write(command, &request));
        self.log
            .push(format!("{command:?} -> {}", answer.as_ref().map_or_else(ToString::to_string, |_| "done".into())));
        answer.ok()
    }

    /// Sends a call, takes its answer into the model, and sometimes sends it again with the same key.
    fn call(&mut self) -> Result<(), String> {
        self.number += 1;
        let key = format!("k{}", self.number);
        let command = self.command();
        self.model.complete(&self.table);
        let Some(outcome) = self.send(&command, &key) else { return Ok(()) };
        self.trace = (self.trace ^ self.number).wrapping_mul(0x0000_0100_0000_01b3);
        match (&outcome, &command) {
            (Outcome::Node { node, item, .. }, _) => self.model.put(node.id.as_str(), item),
            (Outcome::Deleted, Command::Delete { node, .. }) => self.model.delete(node.id.as_str(), true),
            (Outcome::Deleting { node, mode, .. }, _) => {
                self.model.nodes.entry(node.as_str().to_owned()).or_default().deleting = Some(*mode);
                if *mode == DeletionMode::Delete {
                    self.model.doom_below(node.as_str());
                } else {
                    // A deletion from above is on its way, too, and either may come first.
                    self.model.free_below(node.as_str());
                }
            }
            _ => {}
        }
        if self.rng.random_ratio(1, 8) {
            self.number += 1;
            if self.send(&command, &key) != Some(outcome) {
                return Err("a repeated request got another answer".to_owned());
            }
        }
        Ok(())
    }

    /// Another client deletes a node, whatever is below it.
    fn delete_as_another_client(&mut self) {
        self.model.complete(&self.table);
        let id = *IDS.choose(&mut self.rng).unwrap();
        self.log.push(format!("another client deletes {id}"));
        self.table.0.lock().unwrap().write(&ItemKey::new(id, "NODE"), None);
        self.model.delete(id, false);
    }

    /// Handles some records, in the order of the stream.
    fn handle(&mut self, records_max: usize) -> Result<(), String> {
        self.number += 1;
        let new = std::mem::take(&mut self.table.0.lock().unwrap().stream);
        self.queue.extend(new.into_iter().filter(|record| passes_filter(&record.key.sk)));
        let batch: Vec<StreamRecord> = self.queue.drain(..self.queue.len().min(records_max)).collect();
        let name = format!("run{}", self.number);
        let run = fanout::Run { name: &name, now: self.now() };
        self.log.push(format!("{} records are handled", batch.len()));
        let report = at_once(self.fanout.run(&self.table, &NoRetries, run, &batch));
        if report.failed.is_empty() { Ok(()) } else { Err(format!("records failed: {:?}", report.problems)) }
    }

    fn settle(&mut self) -> Result<(), String> {
        for _ in 0..10_000 {
            self.handle(100)?;
            if self.queue.is_empty() && self.table.0.lock().unwrap().stream.is_empty() {
                return Ok(());
            }
        }
        Err("the table doesn't come to rest".to_owned())
    }

    fn play(&mut self) -> Result<(), String> {
        let with_others = self.rng.random_bool(0.3);
        for _ in 0..self.rng.random_range(10..=40) {
            self.call()?;
            match self.rng.random_range(0..12) {
                0 => self.settle()?,
                1..=2 => self.handle(self.rng.clone().random_range(1..=6))?,
                3 if with_others => self.delete_as_another_client(),
                _ => {}
            }
        }
        self.settle()?;
        self.model.complete(&self.table);
        let contents = self.table.0.lock().unwrap().contents();
        let mut wrong = self.model.differences(&self.table);
        wrong.extend(own::oracle().differences(&contents));
        wrong.extend(unfinished(&contents, &self.fanout.settings));
        if wrong.is_empty() { Ok(()) } else { Err(wrong.join("; ")) }
    }
}

/// Runs a sequence of calls, with this rule broken, if any.
///
/// # Errors
/// The [`Fault`], with what was done.
pub fn run_sequence(seed: u64, broken: Option<Rule>) -> Result<Run, Fault> {
    let table = MemoryTable(std::sync::Arc::default(), Schema::default());
    let rules = broken.map_or_else(Rules::default, Rules::without);
    let fanout = Fanout { settings: own::settings(), rules, ..Fanout::default() };
    let rng = SmallRng::seed_from_u64(seed);
    let mut world =
        World { rng, table, fanout, queue: Vec::new(), model: Model::default(), number: 0, trace: 0, log: Vec::new() };
    match world.play() {
        Ok(()) => Ok(Run { steps: world.number as usize, trace: world.trace }),
        Err(what) => {
            world.log.push(what);
            Err(Fault { seed, what: world.log })
        }
    }
}
