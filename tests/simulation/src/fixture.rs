//! A small deployment: a table in memory, the real fan-out on its stream, and the oracle as its judge.
//!
//! A suite writes base records as any client would, lets the table [settle](Fixture::settle), and queries it with sort
//! keys that are spelt as in the seed document that the suite is about.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use sapwood_core::fanout::{Event, StreamRecord};
use sapwood_core::keys::{ItemKey, Names, Schema};
use sapwood_core::model::{AttributeValue, Item, Settings, text};
use sapwood_core::plan::Problem;
use sapwood_engine::fanout::{Fanout, Limits, Run};
pub use sapwood_store::NoRetries;
use sapwood_store::{Condition, Table};
use tokio::task::coop::unconstrained;

use crate::memory::{MemoryTable, Patient};
use crate::oracle::Oracle;
use crate::unfinished::unfinished;

/// Most batches until a table has to be at rest. Trees here have at most a few hundred nodes.
const BATCHES_MAX: usize = 2_000;

/// Most records in a batch, as in template.yaml.
const BATCH_RECORDS_MAX: usize = 100;

/// A table, the fan-out of its stream, and the oracle.
#[derive(Clone, Debug)]
pub struct Fixture {
    table: MemoryTable,
    fanout: Fanout,
    oracle: Oracle,
    /// Every fault so far that no retry can mend.
    pub problems: Vec<Problem>,
    /// Every record of the stream so far, with those that the filter holds back.
    pub records: Vec<StreamRecord>,
    /// The number of records that were delivered to the fan-out.
    pub delivered: usize,
    /// Most batches until the table has to be at rest.
    pub batches_max: usize,
    /// The time of the fan-out, in seconds since 1970.
    pub now: u64,
}

impl Default for Fixture {
    fn default() -> Self {
        Self::new(Settings::default(), Oracle::default())
    }
}

impl Fixture {
    /// Makes a table with these settings. The oracle has its own settings, which have to say the same.
    #[must_use]
    pub fn new(settings: Settings, oracle: Oracle) -> Self {
        let table = MemoryTable(std::sync::Arc::default(), settings.schema.clone());
        Self {
            table,
            fanout: Fanout { settings, ..Fanout::default() },
            oracle,
            problems: Vec::new(),
            records: Vec::new(),
            delivered: 0,
            batches_max: BATCHES_MAX,
            now: 0,
        }
    }

    /// Makes a table with the common names `pk` and `sk` for its key attributes, and `METADATA` for the sort key of a
    /// node.
    #[must_use]
    pub fn of_metadata() -> Self {
        Self::of_metadata_with_links(&[])
    }

    /// The same, with links by these attributes.
    #[must_use]
    pub fn of_metadata_with_links(links: &[&str]) -> Self {
        let [partition_key, sort_key, node] = ["pk", "sk", "METADATA"].map(str::to_owned);
        let names = Names { partition_key, sort_key, node, ..Names::default() };
        let schema = Schema::new(names, false).unwrap();
        Self::new(
            Settings { schema, links: links.iter().map(|&name| name.to_owned()).collect(), ..Settings::default() },
            Oracle {
                names: ["pk", "sk", "parent", "segment", "METADATA"],
                links: links.iter().map(|&name| name.to_owned()).collect(),
                ..Oracle::default()
            },
        )
    }

    /// Sets other bounds, so that a small tree meets them.
    #[must_use]
    pub fn limited(mut self, limits: Limits) -> Self {
        self.fanout.limits = limits;
        self
    }

    /// The table.
    #[must_use]
    pub fn table(&self) -> &MemoryTable {
        &self.table
    }

    /// The settings of the table.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.fanout.settings
    }

    /// The schema of the table's keys.
    #[must_use]
    pub fn schema(&self) -> &Schema {
        &self.fanout.settings.schema
    }

    /// Puts an item in the place of whatever is there.
    pub fn put(&mut self, pk: &str, sk: &str, attributes: &[(&str, AttributeValue)]) {
        let names = self.schema().names();
        let keys = [(names.partition_key.clone(), text(pk)), (names.sort_key.clone(), text(sk))];
        let attributes = attributes.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
        self.put_item(&attributes.chain(keys).collect());
    }

    /// Puts an item with the table's PutItem, which stores it as DynamoDB does (25.00 as 25).
    fn put_item(&self, item: &Item) {
        at_once(self.table.put(item, &Condition::Always)).expect("DynamoDB would refuse this item");
    }

    /// Puts a node's base record.
    pub fn put_node(&mut self, id: &str, parent: Option<&str>, attributes: &[(&str, AttributeValue)]) {
        let names = self.schema().names().clone();
        let mut attributes = attributes.to_vec();
        attributes.extend(parent.map(|parent| (names.parent.as_str(), text(parent))));
        self.put(id, &names.node, &attributes);
    }

    /// Sets an attribute of an existing item, or removes it with `None`, and leaves the other attributes as they are
    /// (UpdateItem).
    pub fn update(&mut self, pk: &str, sk: &str, attribute: &str, value: Option<AttributeValue>) {
        let mut item = self.get(pk, sk).expect("there is such an item");
        match value {
            Some(value) => item.insert(attribute.to_owned(), value),
            None => item.remove(attribute),
        };
        self.put_item(&item);
    }

    /// Deletes an item.
    pub fn delete(&mut self, pk: &str, sk: &str) {
        at_once(self.table.delete(&ItemKey::new(pk, sk), &Condition::Always)).expect("DynamoDB would refuse this key");
    }

    /// Deletes a node's base record.
    pub fn delete_node(&mut self, id: &str) {
        let sk = self.schema().names().node.clone();
        self.delete(id, &sk);
    }

    /// Delivers the stream until nothing of it is left, and compares the whole table with the oracle's.
    ///
    /// # Panics
    /// If the table doesn't come to rest, a record fails, the table differs from what its base records call for, or
    /// planning again would write something.
    pub fn settle(&mut self) {
        let mut queue: Vec<StreamRecord> = Vec::new();
        for _ in 0..self.batches_max {
            let new = std::mem::take(&mut self.table.0.lock().unwrap().stream);
            queue.extend(new.iter().filter(|record| self.passes_filter(&record.key.sk)).cloned());
            self.records.extend(new);
            if queue.is_empty() {
                self.assert_right();
                return;
            }
            let batch: Vec<StreamRecord> = queue.drain(..queue.len().min(BATCH_RECORDS_MAX)).collect();
            self.deliver(&batch);
        }
        panic!("the table hasn't come to rest after {} batches", self.batches_max);
    }

    /// Runs the fan-out on one batch of any records. Most tests call [`settle`](Fixture::settle) instead.
    ///
    /// # Panics
    /// If a record fails.
    pub fn deliver(&mut self, batch: &[StreamRecord]) {
        let name = self.delivered.to_string();
        let run = Run { name: &name, now: self.now };
        let report = at_once(self.fanout.run(&self.table, &Patient, run, batch));
        assert_eq!(report.failed, Vec::<String>::new(), "records failed: {:?}", report.problems);
        self.delivered += batch.len();
        self.problems.extend(report.problems);
    }

    /// True if the event source mapping delivers records of this sort key.
    #[must_use]
    pub fn passes_filter(&self, sk: &str) -> bool {
        self.schema().passes_filter(sk)
    }

    /// Takes the records of the stream that the event source mapping delivers.
    ///
    /// # Panics
    /// If a test has panicked while it held the table.
    #[must_use]
    pub fn take_records(&self) -> Vec<StreamRecord> {
        let records = std::mem::take(&mut self.table.0.lock().unwrap().stream);
        records.into_iter().filter(|record| self.passes_filter(&record.key.sk)).collect()
    }

    fn assert_right(&self) {
        let memory = self.table.0.lock().unwrap();
        let differences = self.oracle.differences(&memory.contents());
        assert!(differences.is_empty(), "the table differs from the oracle's:\n{}", differences.join("\n"));
        let unfinished = unfinished(&memory.contents(), &self.fanout.settings);
        assert!(unfinished.is_empty(), "planning again finds something to do for {}", unfinished.join(", "));
    }

    /// Returns an item (GetItem).
    #[must_use]
    pub fn get(&self, pk: &str, sk: &str) -> Option<Item> {
        self.table.0.lock().unwrap().get(&ItemKey::new(pk, sk)).cloned()
    }

    /// Queries `PK = pk`: a whole item collection, in the order of its sort keys.
    #[must_use]
    pub fn query(&self, pk: &str) -> Vec<Item> {
        self.select(pk, |_| true)
    }

    /// Queries `PK = pk AND SK BETWEEN from AND to`.
    ///
    /// # Panics
    /// If `from` is past `to`, which DynamoDB refuses.
    #[must_use]
    pub fn query_between(&self, pk: &str, from: &str, to: &str) -> Vec<Item> {
        assert!(from <= to, "BETWEEN {from} AND {to} is no range");
        self.select(pk, |sk| (from..=to).contains(&sk))
    }

    /// Queries `PK = pk AND begins_with(SK, prefix)`.
    ///
    /// # Panics
    /// If the prefix is empty, which DynamoDB refuses.
    #[must_use]
    pub fn query_begins_with(&self, pk: &str, prefix: &str) -> Vec<Item> {
        assert!(!prefix.is_empty(), "begins_with wants text");
        self.select(pk, |sk| sk.starts_with(prefix))
    }

    /// Returns the items of a partition whose sort keys are in a range. Rust compares strings by their bytes, as
    /// DynamoDB does.
    fn select(&self, pk: &str, is_in: impl Fn(&str) -> bool) -> Vec<Item> {
        let contents = self.table.0.lock().unwrap().contents();
        contents.into_iter().filter(|((p, sk), _)| p == pk && is_in(sk)).map(|(_, item)| item).collect()
    }

    /// Returns the nodes that these items are about, in their order. A row names its node in `_id`, any other item in
    /// its partition key.
    ///
    /// # Panics
    /// If an item has neither.
    #[must_use]
    pub fn ids(&self, items: &[Item]) -> Vec<String> {
        let partition_key = &self.schema().names().partition_key;
        let id = |item: &Item| match item.get("_id").or_else(|| item.get(partition_key)) {
            Some(AttributeValue::S(id)) => id.clone(),
            other => panic!("no id: {other:?}"),
        };
        items.iter().map(id).collect()
    }

    /// Returns the sort keys of these items, in their order.
    ///
    /// # Panics
    /// If an item has none.
    #[must_use]
    pub fn sort_keys(&self, items: &[Item]) -> Vec<String> {
        items.iter().map(|item| text_at(item, &self.schema().names().sort_key).to_owned()).collect()
    }

    /// The number of items in the table.
    #[must_use]
    pub fn len(&self) -> usize {
        self.table.0.lock().unwrap().contents().len()
    }

    /// True if the table is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Returns the text of an attribute.
///
/// # Panics
/// If the item has no such text.
#[must_use]
pub fn text_at<'a>(item: &'a Item, name: &str) -> &'a str {
    match item.get(name) {
        Some(AttributeValue::S(text)) => text,
        other => panic!("{name} is {other:?}"),
    }
}

/// Returns the events of an item's records, in their order.
#[must_use]
pub fn events_of(records: &[StreamRecord], pk: &str, sk: &str) -> Vec<Event> {
    records.iter().filter(|record| record.key == ItemKey::new(pk, sk)).map(|record| record.event).collect()
}

/// Runs a future whose calls are all answered at once.
pub fn at_once<F: Future>(future: F) -> F::Output {
    // Within a task tokio's own futures stop after some polls until the task returns to the runtime, which this one
    // doesn't.
    let mut future = pin!(unconstrained(future));
    let mut context = Context::from_waker(Waker::noop());
    loop {
        // A pending future has only yielded. It waits for nobody, so it is polled again.
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
    }
}
