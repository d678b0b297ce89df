//! A small deployment: a table in memory, the real fan-out on its stream, and the oracle as the judge.
//!
//! A suite writes base records as any client would, lets the table [settle](Fixture::settle), and asks it Queries whose
//! sort keys are spelt as in the documents that the suite is about.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use sapwood_core::keys::{ItemKey, Names, Schema};
use sapwood_core::model::{AttributeValue, Item, Settings, text};
use sapwood_core::plan::{Event, Problem, StreamRecord};
use sapwood_engine::fanout::{Fanout, Limits};
use sapwood_table::{Condition, RetryPolicy, Table};

use crate::memory::MemoryTable;
use crate::oracle::Oracle;
use crate::unfinished::unfinished;

/// How many batches a table may take to come to rest. Trees here have a few hundred nodes at most.
const BATCHES_MAX: usize = 2_000;

/// Most records in a batch, as the template has it.
const BATCH_RECORDS_MAX: usize = 100;

/// A table, the fan-out of its stream, and what judges the two.
#[derive(Clone, Debug)]
pub struct Fixture {
    table: MemoryTable,
    fanout: Fanout,
    oracle: Oracle,
    /// What the fan-out has found that no retry can mend, since the beginning.
    pub problems: Vec<Problem>,
    /// Every record of the stream so far, those the filter holds back as well.
    pub records: Vec<StreamRecord>,
    /// Of them: those that passed the filter.
    pub delivered: usize,
    /// How many batches the table may take to come to rest.
    pub batches_max: usize,
}

impl Default for Fixture {
    fn default() -> Self {
        Self::new(Settings::default(), Oracle::default())
    }
}

impl Fixture {
    /// A table kept by these settings, which the oracle is told once more in its own words.
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
        }
    }

    /// A table as many are: key attributes `pk` and `sk`, an entity's own attributes under `METADATA`.
    #[must_use]
    pub fn of_metadata() -> Self {
        let [partition_key, sort_key, node] = ["pk", "sk", "METADATA"].map(str::to_owned);
        let names = Names { partition_key, sort_key, node, ..Names::default() };
        let schema = Schema::new(names, false).unwrap();
        Self::new(
            Settings { schema, ..Settings::default() },
            Oracle { names: ["pk", "sk", "parent", "segment", "METADATA"], ..Oracle::default() },
        )
    }

    /// The same with other bounds, so that a small tree meets them.
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

    /// How the table is kept.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.fanout.settings
    }

    /// How the keys are spelt.
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

    /// Through the table's own PutItem, so that it comes back as DynamoDB would have it (25.00 as 25).
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

    /// Sets an attribute of an item that is there, or removes it, and leaves the others as they are (UpdateItem).
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

    /// Delivers the stream until nothing of it is left, and holds the whole table against the oracle.
    ///
    /// # Panics
    /// Where the table doesn't come to rest, a record fails, the table differs from what its base records call for,
    /// or planning once more would write something.
    pub fn settle(&mut self) {
        let mut queue: Vec<StreamRecord> = Vec::new();
        for _ in 0..self.batches_max {
            let new = std::mem::take(&mut self.table.0.lock().unwrap().stream);
            queue.extend(new.iter().filter(|change| self.passes_filter(&change.key.sk)).cloned());
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

    /// Hands one batch to the fan-out, whatever its records are: [`settle`](Fixture::settle) for the usual way.
    ///
    /// # Panics
    /// Where a record fails.
    pub fn deliver(&mut self, batch: &[StreamRecord]) {
        let name = self.delivered.to_string();
        let report = at_once(self.fanout.run(&self.table, &Impatient, &name, batch));
        assert_eq!(report.failed, Vec::<String>::new(), "records failed: {:?}", report.problems);
        self.delivered += batch.len();
        self.problems.extend(report.problems);
    }

    /// True for a sort key whose records the event source mapping hands to the function.
    #[must_use]
    pub fn passes_filter(&self, sk: &str) -> bool {
        let schema = self.schema();
        schema.filter_exact().iter().any(|exact| exact == sk)
            || schema.filter_prefixes().iter().any(|prefix| sk.starts_with(prefix.as_str()))
    }

    fn assert_right(&self) {
        let memory = self.table.0.lock().unwrap();
        let differences = self.oracle.differences(&memory.contents());
        assert!(differences.is_empty(), "the table differs from the oracle's:\n{}", differences.join("\n"));
        let unfinished = unfinished(&memory.contents(), &self.fanout.settings);
        assert!(unfinished.is_empty(), "planning again gives something for {}", unfinished.join(", "));
    }

    /// An item (GetItem).
    #[must_use]
    pub fn get(&self, pk: &str, sk: &str) -> Option<Item> {
        self.table.0.lock().unwrap().get(&ItemKey::new(pk, sk)).cloned()
    }

    /// `PK = pk` alone: an item collection in the order of its sort keys.
    #[must_use]
    pub fn query(&self, pk: &str) -> Vec<Item> {
        self.select(pk, |_| true)
    }

    /// `PK = pk AND SK BETWEEN from AND to`.
    ///
    /// # Panics
    /// Where `from` is past `to`, which DynamoDB refuses.
    #[must_use]
    pub fn query_between(&self, pk: &str, from: &str, to: &str) -> Vec<Item> {
        assert!(from <= to, "BETWEEN {from} AND {to} is no range");
        self.select(pk, |sk| (from..=to).contains(&sk))
    }

    /// `PK = pk AND begins_with(SK, prefix)`.
    ///
    /// # Panics
    /// Where the prefix is empty, which DynamoDB refuses.
    #[must_use]
    pub fn query_begins_with(&self, pk: &str, prefix: &str) -> Vec<Item> {
        assert!(!prefix.is_empty(), "begins_with wants text");
        self.select(pk, |sk| sk.starts_with(prefix))
    }

    /// Strings compare by their bytes in Rust as in DynamoDB.
    fn select(&self, pk: &str, is_in: impl Fn(&str) -> bool) -> Vec<Item> {
        let contents = self.table.0.lock().unwrap().contents();
        contents.into_iter().filter(|((p, sk), _)| p == pk && is_in(sk)).map(|(_, item)| item).collect()
    }

    /// The nodes that these items are about, in their order: a row says whose it is, any other item by its partition.
    ///
    /// # Panics
    /// Where an item says neither.
    #[must_use]
    pub fn ids(&self, items: &[Item]) -> Vec<String> {
        let partition_key = &self.schema().names().partition_key;
        let id = |item: &Item| match item.get("_id").or_else(|| item.get(partition_key)) {
            Some(AttributeValue::S(id)) => id.clone(),
            other => panic!("no id: {other:?}"),
        };
        items.iter().map(id).collect()
    }

    /// The sort keys of these items, in their order.
    ///
    /// # Panics
    /// Where an item has none.
    #[must_use]
    pub fn sort_keys(&self, items: &[Item]) -> Vec<String> {
        items.iter().map(|item| text_at(item, &self.schema().names().sort_key).to_owned()).collect()
    }

    /// How many items the table holds.
    #[must_use]
    pub fn len(&self) -> usize {
        self.table.0.lock().unwrap().contents().len()
    }

    /// Whether the table holds nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The text of an attribute.
///
/// # Panics
/// Where the item has no such text.
#[must_use]
pub fn text_at<'a>(item: &'a Item, name: &str) -> &'a str {
    match item.get(name) {
        Some(AttributeValue::S(text)) => text,
        other => panic!("{name} is {other:?}"),
    }
}

/// Whatever event the records of an item name, in their order.
#[must_use]
pub fn events_of(records: &[StreamRecord], pk: &str, sk: &str) -> Vec<Event> {
    records.iter().filter(|record| record.key == ItemKey::new(pk, sk)).map(|record| record.event).collect()
}

/// Gives up at the first failure: this table has none.
#[derive(Clone, Copy, Debug)]
pub struct Impatient;

impl RetryPolicy for Impatient {
    async fn wait(&self, _attempt: u32) -> bool {
        false
    }
}

/// Runs a future whose every call is answered at once.
pub fn at_once<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        // What is pending has only given way: nobody else is to answer.
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
    }
}
