//! The real handler behind the real event source mapping, on the embedded engine, in this process.

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use sapwood_engine::fanout::{Counts, Fanout, Limits, Report};
use sapwood_local::endpoint::Endpoint;
use sapwood_local::engine::{Data, Engine};
use sapwood_local::mapping::{Function, Mapping, Settings};
use sapwood_local::template::Template;
use sapwood_table::DynamoTable;
use sapwood_telemetry::metrics::Metrics;
use serde_json::Value;
use stream_handler::{Config, Handler, response};
use tempfile::TempDir;

use crate::client;
use crate::faults::{Call, Fault, Policy, Proxy};
use crate::oracle::{Contents, Oracle};

/// The template that is deployed.
pub const TEMPLATE: &str = include_str!("../../template.yaml");
/// The table's name.
pub const TABLE: &str = "sapwood";
/// The file of what was given up.
const FAILURES: &str = "failed-records.jsonl";

/// A running stack.
pub struct Running {
    engine: Engine,
    mapping: Mapping,
    proxy: Option<Proxy>,
    heard: Arc<Mutex<Heard>>,
    path_rows: bool,
    failures: TempDir,
    /// The handler that is invoked.
    pub handler: Handler,
    /// A foreign client of the engine.
    pub client: Client,
}

/// What was invoked and what came of it.
#[derive(Default)]
struct Heard {
    events: Vec<String>,
    reports: Vec<Report>,
}

struct Listening {
    handler: Handler,
    heard: Arc<Mutex<Heard>>,
}

impl Function for Listening {
    async fn invoke(&self, event: String, deadline: Instant) -> Result<Value, String> {
        let left = deadline.saturating_duration_since(Instant::now());
        let report = self.handler.run(&event, "test", left).await.map_err(|error| error.to_string())?;
        let answer = serde_json::to_value(response(&report)).map_err(|error| error.to_string())?;
        let mut heard = self.heard.lock().unwrap();
        heard.events.push(event);
        heard.reports.push(report);
        Ok(answer)
    }
}

impl Running {
    /// A stack in memory, with parameters of the template set.
    pub async fn start(parameters: &[(&str, &str)]) -> Self {
        Self::start_after(parameters, Vec::new()).await
    }

    /// The same, with these items in the table before its stream is first read: then every batch is full.
    pub async fn start_after(parameters: &[(&str, &str)], items: Vec<HashMap<String, AttributeValue>>) -> Self {
        Self::start_with(parameters, items, Limits::default(), None, Metrics::default()).await
    }

    /// A stack whose handler's metrics go there.
    pub async fn start_measured(metrics: Metrics) -> Self {
        Self::start_with(&[], Vec::new(), Limits::default(), None, metrics).await
    }

    /// A stack with these limits whose handler reaches the engine through a proxy that follows this policy; nobody else
    /// does.
    pub async fn start_through(
        limits: Limits,
        policy: impl Fn(&Call) -> Option<Fault> + Send + Sync + 'static,
    ) -> Self {
        Self::start_with(&[], Vec::new(), limits, Some(Box::new(policy)), Metrics::default()).await
    }

    /// The same, without a policy at first, with parameters of the template set.
    pub async fn start_proxied(parameters: &[(&str, &str)], limits: Limits) -> Self {
        Self::start_with(parameters, Vec::new(), limits, Some(Box::new(|_| None)), Metrics::default()).await
    }

    async fn start_with(
        parameters: &[(&str, &str)],
        items: Vec<HashMap<String, AttributeValue>>,
        limits: Limits,
        policy: Option<Policy>,
        metrics: Metrics,
    ) -> Self {
        let parameters: BTreeMap<String, String> =
            parameters.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let template = Template::parse_with(TEMPLATE, &parameters).unwrap();
        let variables = template.environment(TABLE).unwrap();
        let config = Config::read(|name| variables.get(name).cloned()).unwrap();
        let engine = Engine::start("127.0.0.1:0".parse().unwrap(), &Data::Memory).unwrap();
        let endpoint = Endpoint::new(engine.url());
        let stream = endpoint.ensure_table(TABLE, template.table()).await.unwrap();
        let path_rows = config.settings.path_rows;
        let mut proxy = None;
        if let Some(policy) = policy {
            let started = Proxy::start(engine.address()).await;
            started.follow(policy);
            proxy = Some(started);
        }
        let url = proxy.as_ref().map_or_else(|| engine.url(), Proxy::url);
        let table = DynamoTable::local(&url, TABLE, config.settings.schema.clone());
        let fanout = Fanout { settings: config.settings, limits, ..Fanout::default() };
        let handler = Handler::new(fanout, table).measured(metrics);
        let heard = Arc::new(Mutex::new(Heard::default()));
        let function = Listening { handler: handler.clone(), heard: Arc::clone(&heard) };
        let client = client::client(&engine.url());
        client::put_all(&client, TABLE, items).await;
        let failures = tempfile::tempdir().unwrap();
        let failures_file = Some(failures.path().join(FAILURES));
        let settings = Settings { failures_file, ..Settings::new(&endpoint, &stream, &template) };
        let mapping = Mapping::start(settings, function).unwrap();
        Self { engine, mapping, proxy, heard, path_rows, failures, handler, client }
    }

    /// Another proxy before the engine.
    pub async fn another_proxy(&self) -> Proxy {
        Proxy::start(self.engine.address()).await
    }

    /// The engine's address.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.engine.address()
    }

    /// Where the engine listens.
    #[must_use]
    pub fn url(&self) -> String {
        self.engine.url()
    }

    /// The proxy between the handler and the engine, where there is one.
    #[must_use]
    pub fn proxy(&self) -> Option<&Proxy> {
        self.proxy.as_ref()
    }

    /// Whether the template switches path rows on.
    #[must_use]
    pub fn has_path_rows(&self) -> bool {
        self.path_rows
    }

    /// Waits until everything that was written is handled, and whatever that wrote.
    pub async fn settle(&self) {
        self.mapping.settled().await.unwrap();
    }

    /// The events and reports since this was last asked.
    pub fn take(&self) -> (Vec<String>, Vec<Report>) {
        let heard = std::mem::take(&mut *self.heard.lock().unwrap());
        (heard.events, heard.reports)
    }

    /// Where what the mapping gave up is kept: a JSON document a line, as the bucket of failed records has them.
    #[must_use]
    pub fn failures_file(&self) -> PathBuf {
        self.failures.path().join(FAILURES)
    }

    /// What the mapping has given up.
    #[must_use]
    pub fn given_up(&self) -> Vec<Value> {
        let lines = std::fs::read_to_string(self.failures_file()).unwrap_or_default();
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The whole table.
    pub async fn contents(&self) -> Contents {
        client::contents(&self.client, TABLE, ["PK", "SK"]).await
    }

    /// Panics unless the table is what its base records call for.
    pub async fn assert_right(&self, oracle: &Oracle) {
        let differences = oracle.differences(&self.contents().await);
        assert!(
            differences.is_empty(),
            "{} differences: {:#?}",
            differences.len(),
            &differences[..differences.len().min(10)]
        );
    }

    /// Ends it.
    pub async fn stop(self) {
        self.mapping.stop().await.unwrap();
        self.engine.stop().await.unwrap();
    }
}

/// What reports come to, together.
#[must_use]
pub fn total(reports: &[Report]) -> Counts {
    let mut sum = Counts::default();
    for report in reports {
        sum += report.counts;
    }
    sum
}
