//! A table that counts requests and round trips, and the calls that the tests make.

use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use sapwood_core::keys::{Id, ItemKey, NodeRef, Schema, Version};
use sapwood_core::model::{AttributeValue, ETag, Item, Latest, Lineage, Placement, Settings, number, text, text_of};
use sapwood_engine::query::{Operation, ReadError, Reader};
use sapwood_engine::write::{
    Command, Content, Outcome, Patch, Preconditions, Refusal, Request, Stamp, Tags, Tiebreak, ValueChange, WriteError,
    Writer,
};
use sapwood_simulation::intercept::Intercept;
use sapwood_simulation::memory::{MemoryTable, Patient};
use sapwood_simulation::round_trips::RoundTrips;
use sapwood_store::{Action, Client};

/// A table whose requests are answered at the next poll, so that the polls of a future are its round trips.
pub(crate) type CountedTable = Intercept<MemoryTable, RoundTrips>;

/// What a call took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Took {
    pub(crate) round_trips: usize,
    pub(crate) reads: usize,
    pub(crate) writes: usize,
}

/// Runs a future to its end; how often it was polled before.
pub(crate) fn run<F: Future>(future: F) -> (usize, F::Output) {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    for polls in 0..100_000 {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return (polls, output);
        }
    }
    panic!("it doesn't end");
}

#[derive(Default)]
pub(crate) struct Fixture {
    pub(crate) table: CountedTable,
    pub(crate) settings: Settings,
    pub(crate) transactions: Mutex<Vec<Vec<Action>>>,
    next: Mutex<u64>,
}

pub(crate) fn id(text: &str) -> Id {
    Id::new(text).unwrap()
}

pub(crate) fn node(text: &str) -> NodeRef {
    id(text).into()
}

pub(crate) fn under(parent: Option<&str>, attributes: &[(&str, AttributeValue)]) -> Content {
    let attributes = attributes.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    Content { parent: parent.map(id), attributes, ..Content::default() }
}

pub(crate) fn moved(parent: Option<&str>) -> Patch {
    Patch { parent: Some(parent.map(id)), ..Patch::default() }
}

pub(crate) fn changed(changes: &[(&str, ValueChange)]) -> Patch {
    let attributes = changes.iter().map(|(name, change)| ((*name).to_owned(), change.clone())).collect();
    Patch { attributes, ..Patch::default() }
}

pub(crate) fn create(of: &str, is_made_id: bool, content: &Content) -> Command {
    Command::Create { node: node(of), is_made_id, content: content.clone() }
}

pub(crate) fn replace(of: &str, content: &Content) -> Command {
    Command::Replace { node: node(of), content: content.clone() }
}

pub(crate) fn patch(of: &str, patch: &Patch) -> Command {
    Command::Patch { node: node(of), patch: patch.clone() }
}

pub(crate) fn topic(of: &str, topic: &str) -> Latest {
    Latest { node: node(of), topic: topic.to_owned() }
}

/// The precondition that the record has this tag.
pub(crate) fn if_match(tag: ETag) -> Preconditions {
    Preconditions { if_match: Some(Tags::These(vec![tag])), ..Preconditions::default() }
}

/// The precondition that there is no record.
pub(crate) fn if_absent() -> Preconditions {
    Preconditions { if_none_match: Some(Tags::Any), ..Preconditions::default() }
}

pub(crate) fn list(values: impl Iterator<Item = AttributeValue>) -> AttributeValue {
    AttributeValue::L(values.collect())
}

/// What a write has done to a record.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Written {
    pub(crate) item: Item,
    pub(crate) created: bool,
    pub(crate) version: Option<Version>,
}

impl From<Outcome> for Written {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Node { item, created, .. } => Self { item, created, version: None },
            Outcome::Revision { item, created, version, .. } => Self { item, created, version: Some(version) },
            other => panic!("{other:?}"),
        }
    }
}

/// Why a write was refused, on a table that never fails.
pub(crate) fn refusal(error: WriteError) -> Refusal {
    match error {
        WriteError::Refused(refusal) => refusal,
        WriteError::Table(error) => panic!("{error}"),
    }
}

pub(crate) type Writes<'a> = Writer<'a, CountedTable, Patient>;

impl Fixture {
    /// A stamp that no other has.
    pub(crate) fn stamp(&self) -> Stamp {
        let mut next = self.next.lock().unwrap();
        *next += 1;
        let at = format!("2026-01-01T00:00:00.{:03}Z", *next % 1_000);
        let tiebreak = Tiebreak::new(1_000_000_000_000 + *next, "write");
        Stamp { at, seconds: 1_000_000, by: "anna".to_owned(), token: format!("write {next}"), tiebreak }
    }

    /// Runs something with a writer; what it took, too.
    pub(crate) fn counted<R>(&self, call: impl AsyncFnOnce(&Writes<'_>, Stamp) -> R) -> (Took, R) {
        let session = Client::new(&self.table, &Patient, &self.settings.schema);
        let writer = Writer::new(&session, &self.settings);
        let stamp = self.stamp();
        let (round_trips, result) = run(call(&writer, stamp));
        let counted = self.table.observer.take();
        let took = Took { round_trips, reads: counted.reads, writes: counted.writes() };
        self.transactions.lock().unwrap().extend(counted.transactions);
        (took, result)
    }

    /// How far an operation is.
    pub(crate) fn operation(&self, id: &str) -> Result<Operation, ReadError> {
        let session = Client::new(&self.table, &Patient, &self.settings.schema);
        run(Reader::new(&session, &self.settings).operation(None, id)).1
    }

    pub(crate) fn write<R>(&self, call: impl AsyncFnOnce(&Writes<'_>, Stamp) -> R) -> R {
        self.counted(call).1
    }

    /// Carries a command out. Returns what it took, too.
    pub(crate) fn carry_out_counted(&self, command: &Command) -> (Took, Result<Outcome, Refusal>) {
        let (took, done) = self.counted(async |writer, stamp| writer.write(command, &Request::new(stamp)).await);
        (took, done.map_err(refusal))
    }

    pub(crate) fn carry_out(&self, command: &Command) -> Result<Outcome, Refusal> {
        self.carry_out_counted(command).1
    }

    /// Carries a command out if its record is in the state that these name.
    pub(crate) fn carry_out_if(&self, command: &Command, preconditions: Preconditions) -> Result<Outcome, Refusal> {
        let done = self.write(async |writer, stamp| {
            writer.write(command, &Request { preconditions, ..Request::new(stamp) }).await
        });
        done.map_err(refusal)
    }

    pub(crate) fn create(&self, of: &str, content: &Content) -> Result<Written, Refusal> {
        self.carry_out(&create(of, false, content)).map(Written::from)
    }

    pub(crate) fn replace(&self, of: &str, content: &Content) -> Result<Written, Refusal> {
        self.carry_out(&replace(of, content)).map(Written::from)
    }

    pub(crate) fn patch(&self, of: &str, change: &Patch) -> Result<Written, Refusal> {
        self.carry_out(&patch(of, change)).map(Written::from)
    }

    /// The entity tag of a node.
    pub(crate) fn tag(&self, of: &str) -> ETag {
        ETag::of(&self.base(of).unwrap(), &self.settings.schema)
    }

    /// Puts a tree of nodes by the API, parents first: `("b", "a")` is b under a, `("a", "")` a root.
    pub(crate) fn tree(&self, nodes: &[(&str, &str)]) {
        for (of, parent) in nodes {
            self.create(of, &under(Some(*parent).filter(|parent| !parent.is_empty()), &[])).unwrap();
        }
    }

    /// What another client writes.
    pub(crate) fn foreign(&self, of: &str, attributes: &[(&str, AttributeValue)]) {
        let key = Schema::default().node_key(&node(of));
        let mut item = bare(&key);
        item.extend(attributes.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
        self.memory().lock().unwrap().write(&key, Some(item));
    }

    /// What the stream does: each node gets its lineage, and a row under each of its ancestors.
    pub(crate) fn place_all(&self) {
        let mut memory = self.memory().lock().unwrap();
        let contents = memory.contents();
        let parent = |of: &str| match contents.get(&(of.to_owned(), "NODE".to_owned()))?.get("parent")? {
            AttributeValue::S(parent) => Some(parent.clone()),
            _ => None,
        };
        for (of, _) in contents.keys().filter(|(_, sk)| sk == "NODE") {
            let mut ancestors: Vec<Id> = Vec::new();
            let mut next = parent(of);
            while let Some(above) = next.filter(|above| above != of && !ancestors.contains(&id(above))) {
                next = parent(&above);
                ancestors.push(id(&above));
            }
            for (position, ancestor) in ancestors.iter().take(98).enumerate() {
                let key = ItemKey::new(ancestor.as_str(), format!("NODE#{:04}#{of}", position + 1));
                memory.write(&key, Some(bare(&key)));
            }
            let placement = Placement { root: ancestors.is_empty(), ancestors, ..Placement::default() };
            let born = text_of(&contents[&(of.clone(), "NODE".to_owned())], "_born").map(str::to_owned);
            let lineage = Lineage { placement, born, ..Lineage::default() };
            let key = Schema::default().lineage_key(&node(of));
            memory.write(&key, Some(lineage.item(&node(of), &Schema::default())));
        }
    }

    pub(crate) fn item(&self, pk: &str, sk: &str) -> Option<Item> {
        self.memory().lock().unwrap().get(&ItemKey::new(pk, sk)).cloned()
    }

    pub(crate) fn base(&self, of: &str) -> Option<Item> {
        self.item(of, "NODE")
    }

    pub(crate) fn parent(&self, of: &str) -> Option<AttributeValue> {
        self.base(of).unwrap().get("parent").cloned()
    }

    pub(crate) fn memory(&self) -> &Arc<Mutex<sapwood_simulation::memory::Memory>> {
        &self.table.table.0
    }
}

fn bare(key: &ItemKey) -> Item {
    Item::from([("PK".to_owned(), text(&key.pk)), ("SK".to_owned(), text(&key.sk))])
}

pub(crate) fn n(value: usize) -> AttributeValue {
    number(value)
}
