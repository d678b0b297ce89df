//! The real stream handler behind the real event source mapping, on the embedded engine, in the test's process.

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use rand::RngExt;
use rand::rngs::SmallRng;
use sapwood_dynamodb::DynamoTable;
use sapwood_engine::fanout::{Counts, Fanout, Limits, Report};
use sapwood_handlers::stream::{Config, Handler, response};
use sapwood_local::endpoint::{Endpoint, TableStream};
use sapwood_local::mapping::{Function, Mapping, Settings};
use sapwood_local::template::{StartingPosition, Template};
use sapwood_telemetry::metrics::Metrics;
use serde_json::Value;
use tempfile::TempDir;

use crate::client;
use crate::engine::Engine;
use crate::faults::{Call, Fault, Policy, Proxy};
use crate::oracle::{Contents, Oracle};

/// The deployed template.
pub const TEMPLATE: &str = include_str!("../../template.yaml");
/// The table's name.
pub const TABLE: &str = "sapwood";
/// Longest time that a request to the engine may take. It loses nothing, as that of `sapwood dev`.
pub const LOCAL_CALL_TIME_MAX: Duration = Duration::from_secs(60);
/// The file of the records that the mapping discarded.
const FAILURES: &str = "failed-records.jsonl";

/// A running stack.
pub struct Running {
    engine: Engine,
    mapping: Option<Mapping>,
    stream: TableStream,
    proxy: Option<Proxy>,
    invocations: Arc<Mutex<Invocations>>,
    settings: sapwood_core::model::Settings,
    failures: TempDir,
    /// The handler that the mapping invokes.
    pub handler: Handler,
    /// A client of the engine that isn't ours.
    pub client: Client,
}

/// The events of the invocations, and their reports.
#[derive(Default)]
struct Invocations {
    events: Vec<String>,
    reports: Vec<Report>,
}

struct Recording {
    handler: Handler,
    invocations: Arc<Mutex<Invocations>>,
    /// Which invocations die, and when.
    deaths: Option<Arc<Mutex<SmallRng>>>,
}

/// The share of the invocations of a mortal handler that die, and how long they live at most, in milliseconds.
const DEATHS: f64 = 0.25;
const LIFE_MS_MAX: u64 = 60;

impl Recording {
    /// When this invocation dies.
    async fn death(&self) {
        let draw = |deaths: &Arc<Mutex<SmallRng>>| {
            let mut chance = deaths.lock().unwrap();
            chance.random_bool(DEATHS).then(|| Duration::from_millis(chance.random_range(0..LIFE_MS_MAX)))
        };
        match self.deaths.as_ref().and_then(draw) {
            Some(life) => tokio::time::sleep(life).await,
            None => std::future::pending().await,
        }
    }
}

impl Function for Recording {
    async fn invoke(&self, event: String, deadline: Instant) -> Result<Value, String> {
        let left = deadline.saturating_duration_since(Instant::now());
        let report = tokio::select! {
            report = self.handler.run(&event, "test", left) => report.map_err(|error| error.to_string())?,
            () = self.death() => return Err("it has died".to_owned()),
        };
        let answer = serde_json::to_value(response(&report)).map_err(|error| error.to_string())?;
        let mut invocations = self.invocations.lock().unwrap();
        invocations.events.push(event);
        invocations.reports.push(report);
        Ok(answer)
    }
}

impl Running {
    /// Starts a stack in memory, with these parameters of the template.
    pub async fn start(parameters: &[(&str, &str)]) -> Self {
        Self::start_with(parameters, &[], Vec::new(), Limits::default(), None, Metrics::default(), None).await
    }

    /// Starts a stack with these parameters of the template and settings of the mapping, and with these items in the
    /// table before the mapping first reads the stream, so that every batch is full.
    pub async fn start_after(
        parameters: &[(&str, &str)],
        mapping: &[(&str, &str)],
        items: Vec<HashMap<String, AttributeValue>>,
    ) -> Self {
        Self::start_with(parameters, mapping, items, Limits::default(), None, Metrics::default(), None).await
    }

    /// Starts a stack whose handler writes these metrics.
    pub async fn start_measured(metrics: Metrics) -> Self {
        Self::start_with(&[], &[], Vec::new(), Limits::default(), None, metrics, None).await
    }

    /// Starts a stack with these parameters of the template and these limits. Only its handler reaches the engine
    /// through a proxy, which follows this policy.
    pub async fn start_through(
        parameters: &[(&str, &str)],
        limits: Limits,
        policy: impl Fn(&Call) -> Option<Fault> + Send + Sync + 'static,
    ) -> Self {
        Self::start_with(parameters, &[], Vec::new(), limits, Some(Box::new(policy)), Metrics::default(), None).await
    }

    /// Starts a stack with these settings of the mapping and these limits. Only its handler reaches the engine through
    /// a proxy, which has no policy at first.
    pub async fn start_proxied(mapping: &[(&str, &str)], limits: Limits) -> Self {
        Self::start_with(&[], mapping, Vec::new(), limits, Some(Box::new(|_| None)), Metrics::default(), None).await
    }

    /// Starts a stack with these parameters of the template, whose invocations often die between two requests.
    pub async fn start_mortal(parameters: &[(&str, &str)], chance: SmallRng) -> Self {
        let limits = Limits::default();
        Self::start_with(parameters, &[], Vec::new(), limits, None, Metrics::default(), Some(chance)).await
    }

    #[allow(clippy::too_many_arguments, reason = "each of the starts above gives some of them")]
    async fn start_with(
        parameters: &[(&str, &str)],
        mapping: &[(&str, &str)],
        items: Vec<HashMap<String, AttributeValue>>,
        limits: Limits,
        policy: Option<Policy>,
        metrics: Metrics,
        deaths: Option<SmallRng>,
    ) -> Self {
        let (mut template, config) = deployed(parameters);
        for (name, value) in mapping {
            template.set_mapping(name, value).unwrap();
        }
        let engine = Engine::start();
        let endpoint = Endpoint::new(engine.url());
        let stream = endpoint.ensure_table(TABLE, &template.table).await.unwrap();
        let own = config.settings.clone();
        let mut proxy = None;
        if let Some(policy) = policy {
            let started = Proxy::start(engine.address()).await;
            started.follow(policy);
            proxy = Some(started);
        }
        let url = proxy.as_ref().map_or_else(|| engine.url(), Proxy::url);
        let table = DynamoTable::local(&url, TABLE, config.settings.schema.clone());
        // What comes by way of the proxy may be lost.
        let table = if proxy.is_some() { table } else { table.waiting(LOCAL_CALL_TIME_MAX) };
        let fanout = Fanout { settings: config.settings, limits, ..Fanout::default() };
        let handler = Handler::new(fanout, table).measured(metrics);
        let invocations = Arc::new(Mutex::new(Invocations::default()));
        let deaths = deaths.map(|chance| Arc::new(Mutex::new(chance)));
        let function = Recording { handler: handler.clone(), invocations: Arc::clone(&invocations), deaths };
        let client = client::client(&engine.url());
        client::put_all(&client, TABLE, items).await;
        let failures = tempfile::tempdir().unwrap();
        let failures_file = Some(failures.path().join(FAILURES));
        let settings = Settings { failures_file, ..Settings::new(&endpoint, &stream, &template) };
        let mapping = Some(Mapping::start(settings, function).unwrap());
        Self { engine, mapping, stream, proxy, invocations, settings: own, failures, handler, client }
    }

    /// Starts another proxy in front of the engine.
    pub async fn another_proxy(&self) -> Proxy {
        Proxy::start(self.engine.address()).await
    }

    /// The engine's address.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.engine.address()
    }

    /// True on the embedded engine, false on DynamoDB Local.
    #[must_use]
    pub fn is_embedded(&self) -> bool {
        matches!(self.engine, Engine::Embedded(_))
    }

    /// The URL of the engine.
    #[must_use]
    pub fn url(&self) -> String {
        self.engine.url()
    }

    /// The ARN of the table's stream.
    #[must_use]
    pub fn stream_arn(&self) -> &str {
        &self.stream.arn
    }

    /// The proxy between the handler and the engine, if there is one.
    #[must_use]
    pub fn proxy(&self) -> Option<&Proxy> {
        self.proxy.as_ref()
    }

    /// The oracle of a stack with these settings.
    #[must_use]
    pub fn oracle(&self) -> Oracle {
        let settings = &self.settings;
        Oracle {
            path_rows: settings.path_rows,
            root_rows: settings.root_rows,
            order: settings.order.as_ref().map(ToString::to_string),
            links: settings.links.iter().cloned().collect(),
            tenants: settings.schema.has_tenants(),
            ..Oracle::default()
        }
    }

    /// Waits until everything that was written is handled, and what the handler wrote as well.
    pub async fn settle(&self) {
        let mapping = self.mapping.as_ref().expect("the stack is paused");
        mapping.settled().await.unwrap();
    }

    /// Stops the mapping. Of what is written from now on nobody is told, as of records that are older than a stream, or
    /// that were lost.
    pub async fn pause(&mut self) {
        self.settle().await;
        self.mapping.take().unwrap().stop().await.unwrap();
    }

    /// Starts a mapping that reads what is written from now on, and a handler with these parameters of the template.
    pub async fn resume(&mut self, parameters: &[(&str, &str)]) {
        let (template, config) = deployed(parameters);
        self.settings = config.settings.clone();
        let table = DynamoTable::local(&self.engine.url(), TABLE, config.settings.schema.clone());
        let table = table.waiting(LOCAL_CALL_TIME_MAX);
        self.handler = Handler::new(Fanout { settings: config.settings, ..Fanout::default() }, table);
        let (handler, invocations) = (self.handler.clone(), Arc::clone(&self.invocations));
        let function = Recording { handler, invocations, deaths: None };
        let mut settings = Settings::new(&Endpoint::new(self.engine.url()), &self.stream, &template);
        settings.source.starting_position = StartingPosition::Latest;
        self.mapping = Some(Mapping::start(settings, function).unwrap());
        // Its position is known once it has read the stream.
        self.settle().await;
    }

    /// Has the handler leave its settings in the table, as that of a deployed stack does with its first batch. By
    /// itself it doesn't: what tests count is what it writes for records.
    pub async fn announce(&self) {
        let handler = self.handler.clone().announcing();
        handler.run(r#"{"Records": []}"#, "announcement", Duration::from_secs(60)).await.unwrap();
    }

    /// Takes the events and reports since this was last called.
    pub fn take(&self) -> (Vec<String>, Vec<Report>) {
        let invocations = std::mem::take(&mut *self.invocations.lock().unwrap());
        (invocations.events, invocations.reports)
    }

    /// The file of the records that the mapping discarded. Each line is a JSON document, as in the bucket of failed
    /// records.
    #[must_use]
    pub fn failures_file(&self) -> PathBuf {
        self.failures.path().join(FAILURES)
    }

    /// Returns the records that the mapping discarded.
    #[must_use]
    pub fn discarded(&self) -> Vec<Value> {
        let lines = std::fs::read_to_string(self.failures_file()).unwrap_or_default();
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Reads the whole table.
    pub async fn contents(&self) -> Contents {
        client::contents(&self.client, TABLE, ["PK", "SK"]).await
    }

    /// Panics if the table isn't what its base records call for.
    pub async fn assert_right(&self, oracle: &Oracle) {
        let differences = oracle.differences(&self.contents().await);
        assert!(
            differences.is_empty(),
            "{} differences: {:#?}",
            differences.len(),
            &differences[..differences.len().min(10)]
        );
    }

    /// Stops the stack.
    pub async fn stop(self) {
        if let Some(mapping) = self.mapping {
            mapping.stop().await.unwrap();
        }
        self.engine.stop().await;
    }
}

/// The template with these parameters, and what it makes of the function.
#[must_use]
pub fn deployed(parameters: &[(&str, &str)]) -> (Template, Config) {
    let parameters: BTreeMap<String, String> =
        parameters.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let mut template = Template::parse_with(TEMPLATE, &parameters).unwrap();
    // The local stack runs one batch at a time unless it is told otherwise. Tests run as many at once as are deployed.
    let factor = template.event_source.parallelization_factor.to_string();
    template.set_mapping("ParallelizationFactor", &factor).unwrap();
    let variables = template.environment(TABLE).unwrap();
    let config = Config::read(|name| variables.get(name).cloned()).unwrap();
    (template, config)
}

/// Adds up the counts of reports.
#[must_use]
pub fn total(reports: &[Report]) -> Counts {
    let mut sum = Counts::default();
    for report in reports {
        sum += report.counts;
    }
    sum
}
