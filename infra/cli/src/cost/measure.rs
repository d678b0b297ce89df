//! Measures what each change takes, with the stream handler on an embedded DynamoDB in this process.

use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Result;
use sapwood_core::keys::{Id, ItemKey, KeyError, NodeRef, Schema, SortKey, Tenant, Version};
use sapwood_core::model::{AttributeValue, Item, item_bytes, key_of, text, with_key};
use sapwood_core::request::{Condition, Scan};
use sapwood_dynamodb::DynamoTable;
use sapwood_engine::fanout::Fanout;
use sapwood_handlers::stream::{Config, Handler, response};
use sapwood_local::endpoint::Endpoint;
use sapwood_local::engine::{Data, Engine};
use sapwood_local::mapping::{Function, Mapping, Settings};
use sapwood_local::template::Template;
use sapwood_store::{ReadOptions, Reply, Scannable, Table};
use serde_json::Value;

/// The table's name, which nobody sees.
const TABLE: &str = "cost";

/// The tenant of the nodes, in a table with tenants.
const TENANT: &str = "acme";

/// The attribute that has the bytes of a record.
const NAME: &str = "name";

const TOPIC: &str = "Audit";

/// The nodes below the top of the subtree that moves.
const BELOW: u32 = 10;

/// Most items of a page.
const PAGE_ITEMS_MAX: usize = 1000;

/// The bytes that DynamoDB adds to each item that it stores.
const STORED_BYTES: usize = 100;

/// The units and records of one change.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Taken {
    /// Write units, of the client and of the handler.
    pub(super) write_units: f64,
    pub(super) read_units: f64,
    /// Records that the handler gets.
    pub(super) records: f64,
}

/// The changes and the items of a node of this shape.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Measured {
    pub(super) create: Taken,
    pub(super) change: Taken,
    /// A node that moves to another tree, alone or as the top of a subtree.
    pub(super) relocation: Taken,
    /// Each node below it.
    pub(super) relocation_below: Taken,
    pub(super) deletion: Taken,
    pub(super) revision: Taken,
    /// The items that a node has in the table, with its rows.
    pub(super) items: usize,
    pub(super) bytes: usize,
    /// The bytes of the largest of its rows.
    pub(super) row_bytes: usize,
}

/// The shape of the nodes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    /// The ancestors of a node.
    pub(super) depth: usize,
    /// The bytes of its record's own attributes.
    pub(super) bytes: usize,
    pub(super) id_bytes: usize,
}

/// Measures nodes of a shape, in a table of these parameters.
pub(super) async fn measure(template: &Template, shape: Shape) -> Result<Measured> {
    let stack = Stack::start(template, shape).await?;
    let measured = stack.measure().await;
    stack.stop().await?;
    measured
}

struct Stack {
    engine: Engine,
    mapping: Mapping,
    table: DynamoTable,
    schema: Schema,
    shape: Shape,
    handled: Arc<Mutex<Taken>>,
}

/// The handler, which adds up what it takes.
struct Counting {
    handler: Handler,
    handled: Arc<Mutex<Taken>>,
}

impl Function for Counting {
    #[allow(clippy::disallowed_methods, reason = "this stands in for Lambda, which knows the remaining time")]
    async fn invoke(&self, event: String, deadline: Instant) -> Result<Value, String> {
        let left = deadline.saturating_duration_since(Instant::now()).max(Duration::from_secs(1));
        let report = self.handler.run(&event, TABLE, left).await.map_err(|error| error.to_string())?;
        let told: Value = serde_json::from_str(&event).map_err(|error| error.to_string())?;
        let records = told["Records"].as_array().map_or(0, Vec::len);
        {
            let mut handled = self.handled.lock().unwrap_or_else(PoisonError::into_inner);
            handled.write_units += report.counts.usage.write_units;
            handled.read_units += report.counts.usage.read_units;
            handled.records += records as f64;
        }
        serde_json::to_value(response(&report)).map_err(|error| error.to_string())
    }
}

impl Stack {
    async fn start(template: &Template, shape: Shape) -> Result<Self> {
        let config = {
            let variables = template.environment(TABLE)?;
            Config::read(|name| variables.get(name).cloned())?
        };
        let engine = Engine::start((Ipv4Addr::LOCALHOST, 0).into(), &Data::Memory)?;
        let endpoint = Endpoint::new(engine.url());
        let stream = endpoint.ensure_table(TABLE, &template.table).await?;
        let schema = config.settings.schema.clone();
        let table = DynamoTable::local(&engine.url(), TABLE, schema.clone());
        let handler = Handler::new(Fanout { settings: config.settings, ..Fanout::default() }, table.clone());
        let handled = Arc::new(Mutex::new(Taken::default()));
        let function = Counting { handler, handled: Arc::clone(&handled) };
        let mapping = Mapping::start(Settings::new(&endpoint, &stream, template), function)?;
        Ok(Self { engine, mapping, table, schema, shape, handled })
    }

    async fn stop(self) -> Result<()> {
        self.mapping.stop().await?;
        Ok(self.engine.stop().await?)
    }

    async fn measure(&self) -> Result<Measured> {
        let Shape { depth, bytes, .. } = self.shape;
        let (here, there) = (self.chain("h", depth).await?, self.chain("t", depth).await?);
        let name = |letter: &str| letter.repeat(bytes);
        let before = self.items().await?;
        let create = self.put(&self.node("n", Some(&here), &name("a"))?).await?;
        let mut own = self.items().await?;
        own.retain(|(key, _)| !before.iter().any(|(other, _)| other == key));
        let base = self.schema.node_key(&self.named("n")?);
        let rows = own.iter().filter(|(key, _)| key.pk != base.pk).map(|(_, bytes)| *bytes);

        let change = self.put(&self.node("n", Some(&here), &name("b"))?).await?;
        let relocation = self.put(&self.node("n", Some(&there), &name("b"))?).await?;
        let deletion = self.taken(self.table.delete(&base, &Condition::Always)).await?;
        self.put(&self.node("s", Some(&here), &name("a"))?).await?;
        for number in 0..BELOW {
            self.put(&self.node(&format!("s{number}"), Some("s"), &name("a"))?).await?;
        }
        let subtree = self.put(&self.node("s", Some(&there), &name("a"))?).await?;
        self.put(&self.revision(1, &name("a"))?).await?;
        let revision = self.put(&self.revision(2, &name("b"))?).await?;
        Ok(Measured {
            create,
            change,
            relocation,
            relocation_below: subtree.with(relocation, |all, top| all - top).times(1.0 / f64::from(BELOW)),
            deletion,
            revision,
            items: own.len(),
            bytes: own.iter().map(|(_, bytes)| bytes + STORED_BYTES).sum(),
            row_bytes: rows.max().unwrap_or_default(),
        })
    }

    /// Makes nodes, each below the one before. Returns the name of the last.
    async fn chain(&self, prefix: &str, length: usize) -> Result<String> {
        let mut parent: Option<String> = None;
        for number in 0..length {
            let name = format!("{prefix}{number}");
            self.put(&self.node(&name, parent.as_deref(), NAME)?).await?;
            parent = Some(name);
        }
        Ok(parent.unwrap_or_default())
    }

    /// Writes an item, and waits until the handler has followed it.
    async fn put(&self, item: &Item) -> Result<Taken> {
        self.taken(self.table.put(item, &Condition::Always)).await
    }

    /// Measures a write of the client, with all that the handler does for it.
    async fn taken<T>(
        &self,
        write: impl Future<Output = Result<Reply<T>, sapwood_store::TableError>>,
    ) -> Result<Taken> {
        *self.handled.lock().unwrap_or_else(PoisonError::into_inner) = Taken::default();
        let reply = write.await?;
        self.mapping.settled().await?;
        let handled = *self.handled.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(Taken { write_units: handled.write_units + reply.write_units, ..handled })
    }

    /// All items of the table, with their bytes.
    async fn items(&self) -> Result<Vec<(ItemKey, usize)>> {
        let (mut items, mut after) = (Vec::new(), None);
        loop {
            let reading = ReadOptions::default();
            let scan = Scan { segment: 0, segments: 1, after, limit: PAGE_ITEMS_MAX, reading };
            let page = self.table.scan(&scan).await?.value;
            items.extend(page.items.iter().filter_map(|item| Some((key_of(item, &self.schema)?, item_bytes(item)))));
            after = page.next;
            if after.is_none() {
                return Ok(items);
            }
        }
    }

    /// An id of the wanted length, or of its name's where that is longer.
    fn id(&self, name: &str) -> Result<Id, KeyError> {
        let width = self.shape.id_bytes;
        Id::new(format!("{name:->width$}"))
    }

    fn named(&self, name: &str) -> Result<NodeRef, KeyError> {
        let tenant = self.schema.has_tenants().then(|| Tenant::new(TENANT)).transpose()?;
        Ok(NodeRef { tenant, id: self.id(name)? })
    }

    fn node(&self, name: &str, parent: Option<&str>, value: &str) -> Result<Item, KeyError> {
        let mut item = with_key(&self.schema.node_key(&self.named(name)?), &self.schema);
        item.insert(NAME.to_owned(), text(value));
        if let Some(parent) = parent {
            item.insert(self.schema.names().parent.clone(), AttributeValue::S(self.id(parent)?.as_str().to_owned()));
        }
        Ok(item)
    }

    fn revision(&self, number: u64, value: &str) -> Result<Item> {
        let key = SortKey::Revision { version: Version::new(number)?, topic: TOPIC.to_owned() };
        let mut item = with_key(&self.schema.item_key(&self.named("n")?, &key)?, &self.schema);
        item.insert(NAME.to_owned(), text(value));
        Ok(item)
    }
}

impl Taken {
    pub(super) fn with(self, other: Self, of: impl Fn(f64, f64) -> f64) -> Self {
        Self {
            write_units: of(self.write_units, other.write_units),
            read_units: of(self.read_units, other.read_units),
            records: of(self.records, other.records),
        }
    }

    pub(super) fn times(self, number: f64) -> Self {
        self.with(self, |own, _| own * number)
    }
}
