//! The client beneath all patterns: the SDK as any user has it, on an engine of its own. It batches, keeps up to
//! [`IN_FLIGHT_MAX`] requests under way as Sapwood's handler does, and counts on a [`Meter`].

use std::collections::{BTreeMap, HashMap};

use aws_sdk_dynamodb::Client as Sdk;
use aws_sdk_dynamodb::error::SdkError;
pub use aws_sdk_dynamodb::types::AttributeValue as Value;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, ConsumedCapacity, DeleteRequest, GlobalSecondaryIndex, KeySchemaElement, KeyType,
    KeysAndAttributes, Projection, ProjectionType, PutRequest, ReturnConsumedCapacity, ScalarAttributeType,
    WriteRequest,
};
use futures::stream::{self, StreamExt};
use sapwood_tests::client::client;
pub use sapwood_tests::client::{item, s};
use sapwood_tests::engine::Engine;

use crate::meter::Meter;

/// An item, or the key of one.
pub type Item = HashMap<String, Value>;

/// Most requests under way at once: as many as a `sapwood_engine::fanout::Limits` allows by default.
pub const IN_FLIGHT_MAX: usize = 8;

/// What AWS adds to each item, and to each entry of an index, when it charges for storage, in bytes.
const STORED_ITEM_BYTES: usize = 100;

/// A table of a pattern: its keys, and its index with its keys. A key that begins with `+` is a number.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// The table's name.
    pub name: &'static str,
    /// The names of its key attributes.
    pub keys: &'static [&'static str],
    /// The key attributes of its index, and what the index holds.
    pub index: Option<(&'static [&'static str], Holds)>,
}

/// What an index holds of an item.
#[derive(Clone, Copy, Debug)]
pub enum Holds {
    /// All attributes.
    Everything,
    /// The keys of the index and of the table.
    Keys,
}

/// The name of a table's index.
const INDEX: &str = "gsi1";

/// A Query.
#[derive(Clone, Debug)]
pub struct Query {
    /// The table's name.
    pub table: &'static str,
    /// What is asked: the table, its index, or the table with a strongly consistent read.
    pub of: Of,
    /// The name and the value of the partition key.
    pub partition: (&'static str, String),
    /// The name and the range of the sort key.
    pub sort: Option<(&'static str, Range)>,
    /// The number of items of the one page that is read. Without it all pages are.
    pub page: Option<usize>,
}

/// What a Query asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// The table.
    Table,
    /// The table, with a strongly consistent read: before a write that depends on it.
    TableStrongly,
    /// The index. Its reads are eventually consistent, on AWS.
    Index,
}

/// A range of sort keys.
#[derive(Clone, Debug)]
pub enum Range {
    /// This one.
    Is(Value),
    /// Those that begin with this.
    Begins(String),
    /// From one to another.
    Between(Value, Value),
}

/// A write of a batch.
#[derive(Clone, Debug)]
pub enum Write {
    /// Puts the item.
    Put(Item),
    /// Deletes the item of this key.
    Delete(Item),
}

/// A client, and the engine that it has to itself.
pub struct Client {
    sdk: Sdk,
    engine: Engine,
    tables: Vec<Table>,
    /// What this client's requests took.
    pub meter: Meter,
}

impl Client {
    /// Starts an engine with these tables.
    pub async fn start(tables: &[Table]) -> Self {
        let engine = Engine::start();
        let client = Self { sdk: client(&engine.url()), engine, tables: tables.to_vec(), meter: Meter::default() };
        for table in tables {
            client.create(table).await;
        }
        client
    }

    /// The engine's URL.
    #[must_use]
    pub fn url(&self) -> String {
        self.engine.url()
    }

    /// Has [`Client::stored`] count a table that somebody else has made.
    pub fn know(&mut self, table: Table) {
        self.tables.push(table);
    }

    /// Stops the engine.
    pub async fn stop(self) {
        self.engine.stop().await;
    }

    async fn create(&self, table: &Table) {
        let (index_keys, holds) = table.index.unwrap_or((&[], Holds::Keys));
        let mut attributes: Vec<&str> = table.keys.iter().chain(index_keys).copied().collect();
        attributes.sort_unstable();
        attributes.dedup();
        let attributes = attributes.into_iter().map(|key| {
            let kind = if key.starts_with('+') { ScalarAttributeType::N } else { ScalarAttributeType::S };
            let name = key.trim_start_matches('+');
            AttributeDefinition::builder().attribute_name(name).attribute_type(kind).build().unwrap()
        });
        let projection = match holds {
            Holds::Everything => ProjectionType::All,
            Holds::Keys => ProjectionType::KeysOnly,
        };
        let index = (!index_keys.is_empty()).then(|| {
            GlobalSecondaryIndex::builder()
                .index_name(INDEX)
                .set_key_schema(Some(key_schema(index_keys)))
                .projection(Projection::builder().projection_type(projection).build())
                .build()
                .unwrap()
        });
        self.sdk
            .create_table()
            .table_name(table.name)
            .billing_mode(BillingMode::PayPerRequest)
            .set_attribute_definitions(Some(attributes.collect()))
            .set_key_schema(Some(key_schema(table.keys)))
            .set_global_secondary_indexes(index.map(|index| vec![index]))
            .send()
            .await
            .unwrap();
    }

    /// Reads an item: strongly consistent before a write that depends on it, and otherwise not.
    pub async fn get(&self, table: &str, key: Item, is_strong: bool) -> Option<Item> {
        let sent = self.meter.begin().await;
        let request = self.sdk.get_item().table_name(table).set_key(Some(key)).consistent_read(is_strong);
        let output = request.return_consumed_capacity(ReturnConsumedCapacity::Total).send().await.unwrap();
        self.meter.add(units(output.consumed_capacity.as_ref()), 0.0);
        self.meter.end(sent);
        output.item
    }

    /// Reads items by their keys, at most 100.
    pub async fn get_many(&self, table: &str, keys: Vec<Item>) -> Vec<Item> {
        if keys.is_empty() {
            return Vec::new();
        }
        let sent = self.meter.begin().await;
        let keys = KeysAndAttributes::builder().set_keys(Some(keys)).build().unwrap();
        let request = self.sdk.batch_get_item().request_items(table, keys);
        let output = request.return_consumed_capacity(ReturnConsumedCapacity::Total).send().await.unwrap();
        self.meter.add(output.consumed_capacity().iter().map(|one| units(Some(one))).sum(), 0.0);
        self.meter.end(sent);
        output.responses.unwrap().remove(table).unwrap_or_default()
    }

    /// Reads the items of a Query: one page if it has a size, or else all.
    pub async fn query(&self, query: Query) -> Vec<Item> {
        let mut values = HashMap::from([(":p".to_owned(), s(&query.partition.1))]);
        let mut names = HashMap::from([("#p".to_owned(), query.partition.0.to_owned())]);
        let mut condition = "#p = :p".to_owned();
        if let Some((name, range)) = &query.sort {
            names.insert("#s".to_owned(), (*name).to_owned());
            let (text, from, to) = match range {
                Range::Is(value) => (" AND #s = :s", value.clone(), None),
                Range::Begins(start) => (" AND begins_with(#s, :s)", s(start), None),
                Range::Between(from, to) => (" AND #s BETWEEN :s AND :t", from.clone(), Some(to.clone())),
            };
            condition += text;
            values.insert(":s".to_owned(), from);
            values.extend(to.map(|to| (":t".to_owned(), to)));
        }
        let (mut items, mut start) = (Vec::new(), None);
        loop {
            let sent = self.meter.begin().await;
            let output = self
                .sdk
                .query()
                .table_name(query.table)
                .set_index_name((query.of == Of::Index).then(|| INDEX.to_owned()))
                .consistent_read(query.of == Of::TableStrongly)
                .key_condition_expression(&condition)
                .set_expression_attribute_names(Some(names.clone()))
                .set_expression_attribute_values(Some(values.clone()))
                .set_limit(query.page.map(|size| i32::try_from(size).unwrap()))
                .set_exclusive_start_key(start)
                .return_consumed_capacity(ReturnConsumedCapacity::Total)
                .send()
                .await
                .unwrap();
            self.meter.add(units(output.consumed_capacity.as_ref()), 0.0);
            self.meter.end(sent);
            items.extend(output.items.unwrap_or_default());
            start = output.last_evaluated_key;
            if start.is_none() || query.page.is_some() {
                return items;
            }
        }
    }

    /// Puts an item.
    pub async fn put(&self, table: &str, item: Item) {
        assert!(self.put_if(table, item, None).await);
    }

    /// Puts an item if the condition holds. `:v` stands for the value. Returns false if the condition doesn't hold.
    pub async fn put_if(&self, table: &str, item: Item, condition: Option<(&str, Option<Value>)>) -> bool {
        let sent = self.meter.begin().await;
        let mut request = self.sdk.put_item().table_name(table).set_item(Some(item));
        if let Some((text, value)) = condition {
            request = request.condition_expression(text);
            request =
                value.into_iter().fold(request, |request, value| request.expression_attribute_values(":v", value));
        }
        let put = match request.return_consumed_capacity(ReturnConsumedCapacity::Total).send().await {
            Ok(output) => Some(units(output.consumed_capacity.as_ref())),
            Err(SdkError::ServiceError(failed)) if failed.err().is_conditional_check_failed_exception() => None,
            Err(error) => panic!("{error:?}"),
        };
        // A failed condition costs a unit, which the engine doesn't report.
        self.meter.add(0.0, put.unwrap_or(1.0));
        self.meter.end(sent);
        put.is_some()
    }

    /// Sets an attribute of an item.
    pub async fn set(&self, table: &str, key: Item, name: &str, value: Value) {
        let sent = self.meter.begin().await;
        let output = self
            .sdk
            .update_item()
            .table_name(table)
            .set_key(Some(key))
            .update_expression("SET #n = :v")
            .expression_attribute_names("#n", name)
            .expression_attribute_values(":v", value)
            .return_consumed_capacity(ReturnConsumedCapacity::Total)
            .send()
            .await
            .unwrap();
        self.meter.add(0.0, units(output.consumed_capacity.as_ref()));
        self.meter.end(sent);
    }

    /// Writes items of distinct keys, 25 a request.
    pub async fn write(&self, table: &str, writes: impl IntoIterator<Item = Write>) {
        let requests: Vec<WriteRequest> = writes.into_iter().map(Write::request).collect();
        let chunks = requests.chunks(25).map(|chunk| self.write_chunk(table, chunk.to_vec()));
        side_by_side(chunks.collect()).await;
    }

    async fn write_chunk(&self, table: &str, mut left: Vec<WriteRequest>) {
        while !left.is_empty() {
            let sent = self.meter.begin().await;
            let request = self.sdk.batch_write_item().request_items(table, left);
            let output = request.return_consumed_capacity(ReturnConsumedCapacity::Total).send().await.unwrap();
            self.meter.add(0.0, output.consumed_capacity().iter().map(|one| units(Some(one))).sum());
            self.meter.end(sent);
            left = output.unprocessed_items.unwrap_or_default().remove(table).unwrap_or_default();
        }
    }

    /// The number of items in all tables, and the bytes that AWS would charge for, indexes included. Nothing of this is
    /// counted.
    pub async fn stored(&self) -> (usize, usize) {
        let (mut items, mut bytes) = (0, 0);
        let tables = self.tables.iter().map(|table| (table.name, None));
        let indexes = self.tables.iter().filter(|table| table.index.is_some()).map(|table| (table.name, Some(INDEX)));
        for (table, index) in tables.chain(indexes) {
            let scan = self.sdk.scan().table_name(table).set_index_name(index.map(str::to_owned));
            let mut found = scan.into_paginator().items().send();
            while let Some(item) = found.next().await {
                bytes += STORED_ITEM_BYTES + item_bytes(&item.unwrap());
                items += usize::from(index.is_none());
            }
        }
        (items, bytes)
    }
}

impl Write {
    fn request(self) -> WriteRequest {
        let request = WriteRequest::builder();
        match self {
            Self::Put(item) => request.put_request(PutRequest::builder().set_item(Some(item)).build().unwrap()),
            Self::Delete(key) => request.delete_request(DeleteRequest::builder().set_key(Some(key)).build().unwrap()),
        }
        .build()
    }
}

/// Runs futures, up to [`IN_FLIGHT_MAX`] at once. Returns what they return, in their order.
pub async fn side_by_side<T>(futures: Vec<impl Future<Output = T>>) -> Vec<T> {
    stream::iter(futures).buffered(IN_FLIGHT_MAX).collect().await
}

/// The text of an attribute.
///
/// # Panics
/// If it isn't there, or isn't a text.
#[must_use]
pub fn text<'a>(item: &'a Item, name: &str) -> &'a str {
    item.get(name).and_then(|value| value.as_s().ok()).unwrap_or_else(|| panic!("no {name} in {item:?}"))
}

/// Makes a number.
#[must_use]
pub fn n(number: usize) -> Value {
    Value::N(number.to_string())
}

/// The number of an attribute.
///
/// # Panics
/// If it isn't there, or isn't a number.
#[must_use]
pub fn number(item: &Item, name: &str) -> usize {
    let number = item.get(name).and_then(|value| value.as_n().ok()?.parse().ok());
    number.unwrap_or_else(|| panic!("no {name} in {item:?}"))
}

/// The answer to a question about nodes: the name of each by its id.
#[must_use]
pub fn answer(items: &[Item], id: &str) -> BTreeMap<String, String> {
    items.iter().map(|item| (text(item, id).to_owned(), text(item, "name").to_owned())).collect()
}

fn key_schema(keys: &[&str]) -> Vec<KeySchemaElement> {
    let kinds = keys.iter().zip([KeyType::Hash, KeyType::Range]);
    let elements = kinds.map(|(key, kind)| {
        KeySchemaElement::builder().attribute_name(key.trim_start_matches('+')).key_type(kind).build().unwrap()
    });
    elements.collect()
}

fn units(capacity: Option<&ConsumedCapacity>) -> f64 {
    capacity.and_then(ConsumedCapacity::capacity_units).unwrap()
}

/// The size of an item by [AWS's
/// rules](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html).
fn item_bytes(item: &Item) -> usize {
    item.iter().map(|(name, value)| name.len() + value_bytes(value)).sum()
}

fn value_bytes(value: &Value) -> usize {
    match value {
        Value::S(text) => text.len(),
        Value::N(digits) => digits.len().div_ceil(2) + 1,
        Value::L(values) => 3 + values.iter().map(|value| 1 + value_bytes(value)).sum::<usize>(),
        Value::M(values) => 3 + values.iter().map(|(name, value)| 1 + name.len() + value_bytes(value)).sum::<usize>(),
        Value::Bool(_) | Value::Null(_) => 1,
        other => panic!("no pattern writes {other:?}"),
    }
}
