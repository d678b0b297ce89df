//! Sapwood: a client writes base records, and reads with one Query a question. What the handler takes for it is counted
//! on a meter of its own: it runs behind the event source mapping as deployed.

use std::collections::{BTreeMap, HashMap};
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Instant, UNIX_EPOCH};

use sapwood_core::fanout::StreamRecord;
use sapwood_core::model::{DELETING, DeletionMark, DeletionMode};
use sapwood_dynamodb::DynamoTable;
use sapwood_engine::fanout::{Fanout, Run};
use sapwood_handlers::stream::{decode, response};
use sapwood_local::endpoint::Endpoint;
use sapwood_local::mapping::{Function, Mapping, Settings};
use sapwood_store::Deadline;
use sapwood_tests::intercept::{Intercept, Observer, Request};
use sapwood_tests::running::{TABLE, deployed};

use crate::client::{Client, Item, Of, Query, Range, Table, Value, Write, answer, item, number, s, text};
use crate::meter::{Meter, Sent, Spent};
use crate::pattern::{ALL, Pattern};
use crate::workload::{Node, TEXT};

/// The stack.
pub struct Sapwood {
    client: Client,
    mapping: Mapping,
    handler: Meter,
    handled: Arc<Mutex<Vec<(String, Instant)>>>,
}

/// The handler, counted request by request. It does what the product's does, on a table that is observed.
struct Counted {
    fanout: Fanout,
    table: DynamoTable,
    meter: Meter,
    runs: AtomicU64,
    handled: Arc<Mutex<Vec<(String, Instant)>>>,
}

/// Counts the requests of one run. A request is known by the address of its description, which stays until the request
/// is answered.
struct Observed {
    meter: Meter,
    under_way: Mutex<HashMap<usize, Sent>>,
}

impl Observer for Observed {
    async fn before(&self, request: &Request<'_>) {
        let sent = self.meter.begin().await;
        self.under_way.lock().unwrap().insert(std::ptr::from_ref(request).addr(), sent);
    }

    fn after(&self, request: &Request<'_>) {
        let sent = self.under_way.lock().unwrap().remove(&std::ptr::from_ref(request).addr()).unwrap();
        self.meter.end(sent);
    }
}

impl Function for Counted {
    #[allow(clippy::disallowed_methods, reason = "the lag is real time, and tombstones are dated")]
    async fn invoke(&self, event: String, deadline: Instant) -> Result<serde_json::Value, String> {
        let event: serde_json::Value = serde_json::from_str(&event).unwrap();
        let schema = &self.fanout.settings.schema;
        let records = event["Records"].as_array().unwrap().iter();
        let records: Vec<StreamRecord> =
            records.map(|record| decode(&record.to_string(), schema).unwrap().record).collect();
        let deadline = Deadline::after(deadline.saturating_duration_since(Instant::now()));
        let name = format!("comparison-{}", self.runs.fetch_add(1, Ordering::Relaxed));
        let run = Run { name: &name, now: UNIX_EPOCH.elapsed().unwrap().as_secs() };
        let observer = Observed { meter: self.meter.clone(), under_way: Mutex::default() };
        let table = Intercept { table: self.table.until(deadline), observer };
        let report = self.fanout.run(&table, &deadline, run, &records).await;
        self.meter.add(report.counts.usage.read_units, report.counts.usage.write_units);
        let nodes = records.into_iter().filter(|record| record.key.sk == NODE);
        self.handled.lock().unwrap().extend(nodes.map(|record| (record.key.pk, Instant::now())));
        serde_json::to_value(response(&report)).map_err(|error| error.to_string())
    }
}

/// The sort key of a node.
const NODE: &str = "NODE";

fn key(pk: &str, sk: &str) -> Item {
    item([("PK", s(pk)), ("SK", s(sk))])
}

fn record(node: &Node) -> Item {
    let mut record = key(&node.id, NODE);
    record.extend(item([("name", s(&node.name)), ("text", s(TEXT))]));
    record.extend(node.parent.iter().map(|parent| ("parent".to_owned(), s(parent))));
    record
}

impl Sapwood {
    /// Starts a stack, with these settings of the mapping.
    pub async fn start_with(settings: &[(&str, &str)]) -> Self {
        let (mut template, config) = deployed(&[]);
        for (name, value) in settings {
            template.set_mapping(name, value).unwrap();
        }
        let mut client = Client::start(&[]).await;
        client.know(Table { name: TABLE, keys: &["PK", "SK"], index: None });
        let endpoint = Endpoint::new(client.url());
        let stream = endpoint.ensure_table(TABLE, &template.table).await.unwrap();
        let (handler, handled) = (Meter::default(), Arc::default());
        let function = Counted {
            table: DynamoTable::local(&client.url(), TABLE, config.settings.schema.clone()),
            fanout: Fanout { settings: config.settings, ..Fanout::default() },
            meter: handler.clone(),
            runs: AtomicU64::default(),
            handled: Arc::clone(&handled),
        };
        let mapping = Mapping::start(Settings::new(&endpoint, &stream, &template), function).unwrap();
        Self { client, mapping, handler, handled }
    }

    /// Takes the nodes whose records were handled since this was last called, with the times.
    pub fn take_handled(&self) -> Vec<(String, Instant)> {
        std::mem::take(&mut self.handled.lock().unwrap())
    }

    async fn rows(&self, id: &str, levels: RangeInclusive<usize>, page: Option<usize>) -> BTreeMap<String, String> {
        let (from, to) = (format!("NODE#{:04}#", levels.start()), format!("NODE#{:04}$", levels.end()));
        let (partition, sort) = (("PK", id.to_owned()), Some(("SK", Range::Between(s(from), s(to)))));
        answer(&self.client.query(Query { table: TABLE, of: Of::Table, partition, sort, page }).await, "_id")
    }
}

impl Pattern for Sapwood {
    const NAME: &'static str = "Sapwood";

    async fn start() -> Self {
        Self::start_with(&[]).await
    }

    async fn import(&self, nodes: &[Node]) {
        self.client.write(TABLE, nodes.iter().map(|node| Write::Put(record(node)))).await;
    }

    async fn create(&self, node: &Node) {
        self.client.put(TABLE, record(node)).await;
    }

    async fn rename(&self, id: &str, name: &str) {
        self.client.set(TABLE, key(id, NODE), "name", s(name)).await;
    }

    async fn relocate(&self, id: &str, parent: &str) {
        self.client.set(TABLE, key(id, NODE), "parent", s(parent)).await;
    }

    /// Marks the node, as the API does. The handler deletes the rest.
    async fn delete(&self, id: &str) {
        let mode = DeletionMode::Delete;
        let mark = DeletionMark { mode, operation: format!("delete {id}"), revisions: false, mark: None };
        self.client.set(TABLE, key(id, NODE), DELETING, mark.value().into()).await;
    }

    async fn below(&self, id: &str, levels: RangeInclusive<usize>) -> BTreeMap<String, String> {
        self.rows(id, levels, None).await
    }

    async fn page(&self, id: &str, size: usize) -> BTreeMap<String, String> {
        self.rows(id, 1..=ALL, Some(size)).await
    }

    async fn ancestors(&self, id: &str) -> Vec<String> {
        let lineage = self.client.get(TABLE, key(id, "LINEAGE"), false).await.unwrap();
        let Value::L(ancestors) = &lineage["ancestors"] else { panic!("{lineage:?}") };
        ancestors.iter().map(|id| id.as_s().unwrap().clone()).collect()
    }

    /// Numbers the revision after the newest copy. Another writer may have been first, or the copy may be late: the
    /// next number is tried.
    async fn revise(&self, id: &str, topic: &str, text: &str) {
        let newest = self.client.get(TABLE, key(id, &format!("v0_{topic}")), true).await;
        let mut version = newest.map_or(0, |newest| number(&newest, "_version"));
        loop {
            version += 1;
            let mut revision = key(id, &format!("v{version:03}_{topic}"));
            revision.insert("text".to_owned(), s(text));
            if self.client.put_if(TABLE, revision, Some(("attribute_not_exists(PK)", None))).await {
                return;
            }
        }
    }

    async fn newest(&self, id: &str, topic: &str) -> Option<String> {
        let newest = self.client.get(TABLE, key(id, &format!("v0_{topic}")), false).await;
        newest.map(|newest| text(&newest, "text").to_owned())
    }

    async fn settle(&self) {
        self.mapping.settled().await.unwrap();
    }

    fn client(&self) -> &Client {
        &self.client
    }

    fn take_behind(&self) -> Spent {
        self.handler.take()
    }

    async fn stop(self) {
        self.mapping.stop().await.unwrap();
        self.client.stop().await;
    }
}
