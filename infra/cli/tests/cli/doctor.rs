//! `sapwood doctor`, the real binary, on `sapwood dev` and on an endpoint that answers as Lambda and CloudWatch do.

use std::collections::{BTreeMap, BTreeSet};
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use sapwood_local::template::Template;
use sapwood_tests::client::{node, put};
use sapwood_tests::running::TEMPLATE;
use serde_json::{Value, json};

use crate::running::{Sapwood, TABLE};

pub(crate) async fn doctor(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sapwood"));
    command.args(["doctor", "--table", TABLE, "--json"]).args(arguments).stdin(Stdio::null());
    tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap()
}

/// The verdict of each check.
pub(crate) fn verdicts(output: &Output) -> BTreeMap<String, String> {
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let text = |line: &Value, name: &str| line[name].as_str().map(str::to_owned);
    lines.filter_map(|line| Some((text(&line, "check")?, text(&line, "verdict")?))).collect()
}

/// What CloudWatch answers.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Alarms {
    There,
    Denied,
    /// Something that isn't CBOR, with a secret in it.
    Garbled,
}

/// Lambda and CloudWatch, for a deployment.
pub(crate) struct Services {
    /// True if the event source mapping is enabled.
    is_enabled: bool,
    alarms: Alarms,
    /// The path and the credentials' scope of each request.
    asked: Mutex<BTreeSet<(String, String)>>,
}

const FUNCTION: &str = "arn:aws:lambda:us-east-1:000000000000:function:sapwood-StreamHandler-1";

impl Services {
    pub(crate) fn new(is_enabled: bool, alarms: Alarms) -> Arc<Self> {
        Arc::new(Self { is_enabled, alarms, asked: Mutex::default() })
    }

    pub(crate) async fn serve(self: &Arc<Self>) -> String {
        let router = Router::new().fallback(Self::answer).with_state(Arc::clone(self));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, router).await });
        url
    }

    /// The regions that requests were signed for.
    fn regions(&self) -> BTreeSet<String> {
        let asked = self.asked.lock().unwrap();
        asked.iter().map(|(_, scope)| scope.split('/').nth(2).unwrap().to_owned()).collect()
    }

    /// The actions that IAM must allow, each with its resource, for what was asked.
    pub(crate) fn actions(&self) -> BTreeSet<String> {
        let asked = self.asked.lock().unwrap();
        asked.iter().map(|(path, _)| action(path)).collect()
    }

    async fn answer(State(services): State<Arc<Self>>, uri: Uri, headers: HeaderMap) -> Response {
        let scope = headers["authorization"].to_str().unwrap().split_once("Credential=").unwrap().1.to_owned();
        services.asked.lock().unwrap().insert((uri.path().to_owned(), scope));
        let template = Template::parse(TEMPLATE).unwrap();
        let path = uri.path();
        if path.contains("/event-source-mappings") {
            // Two pages: the handler's mapping, and another consumer's.
            let is_second = uri.query().is_some_and(|query| query.contains("Marker="));
            let filters: Vec<Value> =
                template.event_source.filter_patterns.iter().map(|pattern| json!({"Pattern": pattern})).collect();
            let ours = json!({
                "UUID": "m", "FunctionArn": FUNCTION, "State": if services.is_enabled { "Enabled" } else { "Disabled" },
                "FilterCriteria": {"Filters": filters}, "FunctionResponseTypes": ["ReportBatchItemFailures"],
                "BisectBatchOnFunctionError": template.event_source.bisects_on_error, "MaximumRetryAttempts": -1,
                "MaximumRecordAgeInSeconds": 21_600,
                "ParallelizationFactor": template.event_source.parallelization_factor,
                "DestinationConfig": {"OnFailure": {"Destination": "arn:aws:s3:::failed"}},
            });
            let theirs =
                json!({"UUID": "t", "FunctionArn": "arn:aws:lambda:us-east-1:0:function:theirs", "State": "Enabled"});
            return match is_second {
                false => axum::Json(json!({"EventSourceMappings": [ours], "NextMarker": "2"})).into_response(),
                true => axum::Json(json!({"EventSourceMappings": [theirs]})).into_response(),
            };
        }
        if path.contains("/concurrency") {
            return axum::Json(json!({})).into_response();
        }
        if path.contains("/configuration") {
            let is_ours = path.contains("StreamHandler");
            let variables = if is_ours { template.environment(TABLE).unwrap() } else { BTreeMap::new() };
            return axum::Json(json!({"LastUpdateStatus": "Successful", "Environment": {"Variables": variables}}))
                .into_response();
        }
        assert!(path.ends_with("/operation/DescribeAlarms"), "{path}");
        match services.alarms {
            Alarms::There => {}
            Alarms::Denied => {
                let answer = cbor(&json!({"__type": "com.amazonaws.cloudwatch#AccessDenied", "message": "no"}));
                return (StatusCode::FORBIDDEN, CBOR, answer).into_response();
            }
            Alarms::Garbled => return (StatusCode::NOT_FOUND, "the password is hunter2").into_response(),
        }
        let alarm = |name: &str, value: &str| {
            let dimensions = [json!({"Name": "FunctionName", "Value": value})];
            json!({"AlarmName": name, "ActionsEnabled": true, "MetricName": "IteratorAge", "StateValue": "OK", "Dimensions": dimensions})
        };
        let alarms = [alarm("ours", "sapwood-StreamHandler-1"), alarm("theirs", "theirs-entirely")];
        (CBOR, cbor(&json!({"MetricAlarms": alarms}))).into_response()
    }
}

/// The action of a request's path, and its resource.
fn action(path: &str) -> String {
    let path = path.replace("%3A", ":");
    if let Some((function, what)) = path.split_once("/functions/").and_then(|(_, rest)| rest.rsplit_once('/')) {
        let action = match what {
            "configuration" => "GetFunctionConfiguration",
            "concurrency" => "GetFunctionConcurrency",
            other => panic!("no action of {other}"),
        };
        return format!("lambda:{action} on {function}");
    }
    if path.ends_with("/event-source-mappings") || path.ends_with("/event-source-mappings/") {
        return "lambda:ListEventSourceMappings on *".to_owned();
    }
    let (_, operation) = path.split_once("/operation/").unwrap_or_else(|| panic!("no action of {path}"));
    format!("cloudwatch:{operation} on *")
}

/// CloudWatch answers in CBOR.
const CBOR: [(&str, &str); 2] = [("content-type", "application/cbor"), ("smithy-protocol", "rpc-v2-cbor")];

fn cbor(value: &Value) -> Vec<u8> {
    let head = |kind: u8, length: usize| [kind << 5 | 25, (length >> 8) as u8, length as u8].to_vec();
    let text = |text: &str| [head(3, text.len()), text.as_bytes().to_vec()].concat();
    match value {
        Value::Bool(value) => vec![0xf4 + u8::from(*value)],
        Value::String(value) => text(value),
        Value::Array(values) => values.iter().fold(head(4, values.len()), |all, value| [all, cbor(value)].concat()),
        Value::Object(map) => {
            map.iter().fold(head(5, map.len()), |all, (name, value)| [all, text(name), cbor(value)].concat())
        }
        other => panic!("{other}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_local_table_is_looked_at_and_what_isnt_there_doesnt_apply() {
    let running = Sapwood::start(&[]);
    put(&running.client, TABLE, node("D", None, "D")).await;
    running.becomes_right().await;
    let looked = doctor(&["--endpoint", &running.url]).await;
    println!("{looked:?}");
    assert_eq!(looked.status.code(), Some(0), "{looked:?}");
    let verdicts = verdicts(&looked);
    for (check, verdict) in [("table", "ok"), ("keys", "ok"), ("stream", "ok"), ("ttl", "ok"), ("release", "ok")] {
        assert_eq!(verdicts[check], verdict, "{check}");
    }
    assert_eq!([&verdicts["mapping"], &verdicts["alarms"]], ["not-here", "not-here"]);

    let absent = Command::new(env!("CARGO_BIN_EXE_sapwood"))
        .args(["doctor", "--table", "nowhere", "--endpoint", &running.url])
        .output()
        .unwrap();
    assert_eq!(absent.status.code(), Some(1), "{absent:?}");
    assert!(String::from_utf8_lossy(&absent.stdout).starts_with("fail     table"), "{absent:?}");
    let nobody = doctor(&["--endpoint", "http://127.0.0.1:9"]).await;
    assert_eq!(nobody.status.code(), Some(4), "{nobody:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn lambda_and_cloudwatch_are_asked_and_one_denied_call_leaves_the_others() {
    let running = Sapwood::start(&[]);
    put(&running.client, TABLE, node("D", None, "D")).await;
    running.becomes_right().await;
    let services = Services::new(true, Alarms::There);
    let url = services.serve().await;
    let looked = doctor(&["--endpoint", &running.url, "--services-endpoint", &url, "--region", "eu-central-1"]).await;
    assert_eq!(looked.status.code(), Some(0), "{looked:?}");
    let found = verdicts(&looked);
    for check in ["mapping", "filter", "failures", "retries", "destination", "handler", "concurrency", "settings"] {
        assert_eq!(found[check], "ok", "{check}: {looked:?}");
    }
    // One alarm is ours: nobody hears of it, and the others aren't there.
    assert_eq!([&found["alarm-actions"], &found["alarms-missing"]], ["warn", "warn"]);
    let said = String::from_utf8(looked.stdout).unwrap();
    assert!(said.contains("nobody hears of ours:"), "{said}");
    // An emulator keeps regions apart.
    assert_eq!(services.regions(), BTreeSet::from(["eu-central-1".to_owned()]));

    let url = Services::new(false, Alarms::Denied).serve().await;
    let looked = doctor(&["--endpoint", &running.url, "--services-endpoint", &url]).await;
    assert_eq!(looked.status.code(), Some(1), "{looked:?}");
    let found = verdicts(&looked);
    assert_eq!([&found["mapping"], &found["alarms"], &found["filter"]], ["fail", "unknown", "ok"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_cant_be_read_is_unknown_and_isnt_quoted() {
    let running = Sapwood::start(&[]);
    let url = Services::new(true, Alarms::Garbled).serve().await;
    let looked = doctor(&["--endpoint", &running.url, "--services-endpoint", &url]).await;
    assert_eq!(looked.status.code(), Some(0), "{looked:?}");
    let found = verdicts(&looked);
    assert_eq!([&found["mapping"], &found["alarms"]], ["ok", "unknown"]);
    let said = String::from_utf8(looked.stdout).unwrap();
    assert!(said.contains("can't be read: the answer is HTTP 404") && !said.contains("hunter2"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn replicas_of_a_global_table_are_warned_of() {
    let answer = async |headers: HeaderMap| -> Response {
        if headers["x-amz-target"] != "DynamoDB_20120810.DescribeTable" {
            let denied = json!({"__type": "com.amazon.coral.service#AccessDeniedException", "message": "no"});
            return (StatusCode::BAD_REQUEST, axum::Json(denied)).into_response();
        }
        axum::Json(json!({"Table": {"TableStatus": "ACTIVE", "Replicas": [{"RegionName": "eu-west-1"}]}}))
            .into_response()
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, Router::new().fallback(answer)).await });
    let looked = doctor(&["--endpoint", &url]).await;
    assert_eq!(verdicts(&looked).get("replicas").map(String::as_str), Some("warn"), "{looked:?}");
    assert!(String::from_utf8_lossy(&looked.stdout).contains("eu-west-1"), "{looked:?}");
}
