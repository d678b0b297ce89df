//! The tables that the conformance suite tests, with their streams.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};

use aws_sdk_dynamodbstreams::Client;
use aws_sdk_dynamodbstreams::config::{BehaviorVersion, Credentials, Region};
use aws_sdk_dynamodbstreams::types::{self, AttributeValue as Sdk, OperationType, ShardIteratorType};
use sapwood_core::fanout::{Event, StreamRecord};
use sapwood_core::keys::Schema;
use sapwood_core::model::{AttributeValue, Item, key_of, sort_sets};
use sapwood_dynamodb::DynamoTable;
use sapwood_local::endpoint::Endpoint;
use sapwood_local::engine::{Data, Engine};
use sapwood_local::template::Template;
use sapwood_store::Table;

use crate::dynamodb_local::DynamoDbLocal;
use crate::memory::MemoryTable;

/// The engine of a table. If two engines differ, DynamoDB Local is right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The table in memory that the simulation uses.
    Simulated,
    /// The embedded engine that `sapwood dev` uses.
    Embedded,
    /// Amazon's DynamoDB Local.
    DynamoDbLocal,
}

/// An empty table with a stream.
pub trait Subject {
    /// The table's type.
    type Table: Table;

    /// The table.
    fn table(&self) -> &Self::Table;

    /// Returns every record of the table's stream, from the beginning.
    fn changes(&self) -> impl Future<Output = Vec<StreamRecord>> + Send;

    /// The engine of the table.
    fn kind(&self) -> Kind;
}

/// The simulated table.
#[derive(Debug, Default)]
pub struct Simulated(MemoryTable);

impl Simulated {
    /// Makes an empty table.
    pub async fn new() -> Self {
        Self::default()
    }
}

impl Subject for Simulated {
    type Table = MemoryTable;

    fn table(&self) -> &MemoryTable {
        &self.0
    }

    async fn changes(&self) -> Vec<StreamRecord> {
        self.0.0.lock().unwrap().stream.clone()
    }

    fn kind(&self) -> Kind {
        Kind::Simulated
    }
}

/// A table on an engine, over HTTP, as the product uses it.
#[derive(Debug)]
pub struct OnEngine {
    table: DynamoTable,
    streams: Client,
    arn: String,
    kind: Kind,
    /// The engine has to live as long as the table.
    _engine: Option<Engine>,
}

impl OnEngine {
    /// Makes a table on an embedded engine of its own.
    pub async fn embedded() -> Self {
        let engine = Engine::start("127.0.0.1:0".parse().unwrap(), &Data::Memory).unwrap();
        let url = engine.url();
        Self::on(&url, Kind::Embedded, Some(engine)).await
    }

    /// Makes a table on the DynamoDB Local that all tests share.
    pub async fn dynamodb_local() -> Self {
        Self::on(&DynamoDbLocal::shared().url(), Kind::DynamoDbLocal, None).await
    }

    async fn on(url: &str, kind: Kind, engine: Option<Engine>) -> Self {
        static TABLES: AtomicU32 = AtomicU32::new(0);
        let name = format!("conformance-{}", TABLES.fetch_add(1, Ordering::Relaxed));
        let template = Template::parse(include_str!("../../template.yaml")).unwrap();
        let stream = Endpoint::new(url).ensure_table(&name, &template.table).await.unwrap();
        let config = aws_sdk_dynamodbstreams::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .http_client(aws_smithy_http_client::Builder::new().build_http())
            .endpoint_url(url)
            .region(Region::new("local"))
            .credentials_provider(Credentials::new("local", "local", None, None, "test"))
            .build();
        Self {
            table: DynamoTable::local(url, name, Schema::default()),
            streams: Client::from_conf(config),
            arn: stream.arn,
            kind,
            _engine: engine,
        }
    }
}

impl Subject for OnEngine {
    type Table = DynamoTable;

    fn table(&self) -> &DynamoTable {
        &self.table
    }

    async fn changes(&self) -> Vec<StreamRecord> {
        let described = self.streams.describe_stream().stream_arn(&self.arn).send().await.unwrap();
        let shards = described.stream_description.and_then(|stream| stream.shards).unwrap();
        let mut changes = Vec::new();
        for shard in shards {
            let from_the_start = self
                .streams
                .get_shard_iterator()
                .stream_arn(&self.arn)
                .shard_id(shard.shard_id.unwrap())
                .shard_iterator_type(ShardIteratorType::TrimHorizon);
            let mut iterator = from_the_start.send().await.unwrap().shard_iterator;
            while let Some(at) = iterator {
                let output = self.streams.get_records().shard_iterator(at).send().await.unwrap();
                let records = output.records.unwrap_or_default();
                iterator = output.next_shard_iterator.filter(|_| !records.is_empty());
                changes.extend(records.into_iter().map(change));
            }
        }
        changes
    }

    fn kind(&self) -> Kind {
        self.kind
    }
}

fn change(record: types::Record) -> StreamRecord {
    let stream_record = record.dynamodb.unwrap();
    StreamRecord {
        key: key_of(&image(stream_record.keys.unwrap()), &Schema::default()).unwrap(),
        sequence: stream_record.sequence_number.unwrap(),
        event: match record.event_name.unwrap() {
            OperationType::Insert => Event::Insert,
            OperationType::Modify => Event::Modify,
            OperationType::Remove => Event::Remove,
            other => panic!("{other:?}"),
        },
        old: stream_record.old_image.map(image),
        new: stream_record.new_image.map(image),
    }
}

fn image(attributes: HashMap<String, Sdk>) -> Item {
    let mut item: Item = attributes.into_iter().map(|(name, attribute)| (name, value(attribute))).collect();
    item.values_mut().for_each(sort_sets);
    item
}

fn value(attribute: Sdk) -> AttributeValue {
    match attribute {
        Sdk::S(text) => AttributeValue::S(text),
        Sdk::N(digits) => AttributeValue::N(digits),
        Sdk::B(bytes) => AttributeValue::B(bytes.into_inner()),
        Sdk::Bool(is) => AttributeValue::Bool(is),
        Sdk::Null(is) => AttributeValue::Null(is),
        Sdk::Ss(set) => AttributeValue::Ss(set),
        Sdk::Ns(set) => AttributeValue::Ns(set),
        Sdk::Bs(set) => AttributeValue::Bs(set.into_iter().map(|bytes| bytes.into_inner()).collect()),
        Sdk::L(list) => AttributeValue::L(list.into_iter().map(value).collect()),
        Sdk::M(map) => AttributeValue::M(map.into_iter().map(|(name, attribute)| (name, value(attribute))).collect()),
        other => panic!("{other:?}"),
    }
}
