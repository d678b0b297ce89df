//! The fixture: a table on an embedded engine, a mapping on its stream, and functions made of closures.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::endpoint::{Endpoint, TableStream};
use crate::engine::{Data, Engine};
use crate::mapping::{Function, Mapping, Observation, Pace, Settings};
use crate::template::Template;
use serde_json::{Value, json};

const TEMPLATE: &str = r#"
Resources:
  Things:
    Type: AWS::DynamoDB::Table
    Properties:
      AttributeDefinitions: [{AttributeName: PK, AttributeType: S}, {AttributeName: SK, AttributeType: S}]
      KeySchema: [{AttributeName: PK, KeyType: HASH}, {AttributeName: SK, KeyType: RANGE}]
      StreamSpecification: {StreamViewType: NEW_AND_OLD_IMAGES}
      TimeToLiveSpecification: {AttributeName: expires, Enabled: true}
  Follower:
    Type: AWS::Serverless::Function
    Properties:
      Timeout: 30
  Changes:
    Type: AWS::Lambda::EventSourceMapping
    Properties:
      FunctionName: !Ref Follower
      EventSourceArn: !GetAtt Things.StreamArn
      StartingPosition: TRIM_HORIZON
      BatchSize: 10
      FunctionResponseTypes: [ReportBatchItemFailures]
      BisectBatchOnFunctionError: true
      MaximumRetryAttempts: 2
      DestinationConfig: {OnFailure: {Destination: a-bucket}}
      FilterCriteria: {Filters: [{Pattern: '{"dynamodb":{"Keys":{"SK":{"S":[{"prefix":"base"}]}}}}'}]}
"#;

pub(crate) fn template() -> Template {
    Template::parse(TEMPLATE).unwrap()
}

/// An engine with the test's table.
pub(crate) struct Fixture {
    data: Data,
    pub(crate) engine: Engine,
    pub(crate) endpoint: Endpoint,
    pub(crate) stream: TableStream,
    pub(crate) failures: tempfile::NamedTempFile,
}

impl Fixture {
    pub(crate) async fn new() -> Self {
        Self::on(&Data::Memory).await
    }

    pub(crate) async fn on(data: &Data) -> Self {
        let engine = Engine::start("127.0.0.1:0".parse().unwrap(), data).unwrap();
        let endpoint = Endpoint::new(engine.url());
        let stream = endpoint.ensure_table("things", &template().table).await.unwrap();
        Fixture { data: data.clone(), engine, endpoint, stream, failures: tempfile::NamedTempFile::new().unwrap() }
    }

    /// Returns settings with short pauses.
    pub(crate) fn settings(&self) -> Settings {
        let pace =
            Pace { backoff_first: Duration::from_millis(2), backoff_max: Duration::from_millis(20), ..Pace::default() };
        Settings {
            position_file: self.data.position_file(),
            failures_file: Some(self.failures.path().to_owned()),
            pace,
            ..Settings::new(&self.endpoint, &self.stream, &template())
        }
    }

    pub(crate) async fn put(&self, pk: &str, sk: &str, n: u64) {
        put(&self.endpoint, pk, sk, n).await;
    }

    pub(crate) fn failures(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.failures.path()).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

pub(crate) async fn put(endpoint: &Endpoint, pk: &str, sk: &str, n: u64) {
    put_item(endpoint, json!({"PK": pk, "SK": sk, "n": n})).await;
}

pub(crate) async fn put_item(endpoint: &Endpoint, item: Value) {
    let item = serde_dynamo::aws_sdk_dynamodb_1::to_item(item).unwrap();
    endpoint.client.put_item().table_name("things").set_item(Some(item)).send().await.unwrap();
}

/// A record that a function got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) pk: String,
    pub(crate) sk: String,
    pub(crate) n: u64,
    pub(crate) sequence_number: String,
}

pub(crate) fn records(event: &str) -> Vec<Seen> {
    let event: Value = serde_json::from_str(event).unwrap();
    let seen = |record: &Value| {
        let change = &record["dynamodb"];
        Seen {
            pk: change["Keys"]["PK"]["S"].as_str().unwrap().to_owned(),
            sk: change["Keys"]["SK"]["S"].as_str().unwrap().to_owned(),
            n: change["NewImage"]["n"]["N"].as_str().map_or(0, |n| n.parse().unwrap()),
            sequence_number: change["SequenceNumber"].as_str().unwrap().to_owned(),
        }
    };
    event["Records"].as_array().unwrap().iter().map(seen).collect()
}

pub(crate) fn failures(of: &[&Seen]) -> Value {
    let failures: Vec<Value> = of.iter().map(|seen| json!({"itemIdentifier": seen.sequence_number})).collect();
    json!({ "batchItemFailures": failures })
}

/// A function made of a closure.
pub(crate) struct Does<C>(pub(crate) C);

impl<C, R> Function for Does<C>
where
    C: Fn(String) -> R + Send + Sync + 'static,
    R: Future<Output = Result<Value, String>> + Send,
{
    async fn invoke(&self, event: String, _deadline: Instant) -> Result<Value, String> {
        (self.0)(event).await
    }
}

/// The records that a function got, batch by batch.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<Vec<Seen>>>>);

impl Log {
    pub(crate) fn add(&self, batch: Vec<Seen>) {
        self.0.lock().unwrap().push(batch);
    }

    pub(crate) fn batches(&self) -> Vec<Vec<Seen>> {
        self.0.lock().unwrap().clone()
    }

    pub(crate) fn numbers(&self) -> Vec<u64> {
        self.batches().iter().flatten().map(|seen| seen.n).collect()
    }

    /// Returns a function that only logs its records.
    pub(crate) fn function(&self) -> impl Function + use<> {
        let log = self.clone();
        Does(move |event: String| {
            let log = log.clone();
            async move {
                log.add(records(&event));
                Ok(Value::Null)
            }
        })
    }
}

/// Starts a mapping and collects what it observes.
pub(crate) fn start_observed(
    mut settings: Settings,
    function: impl Function,
) -> (Mapping, Arc<Mutex<Vec<Observation>>>) {
    let observed = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&observed);
    settings.observer = Some(Arc::new(move |observation| sink.lock().unwrap().push(observation.clone())));
    (Mapping::start(settings, function).unwrap(), observed)
}

/// Waits until the mapping has settled, for at most a minute.
pub(crate) async fn settle(mapping: &Mapping) {
    tokio::time::timeout(Duration::from_secs(60), mapping.settled()).await.unwrap().unwrap();
}
