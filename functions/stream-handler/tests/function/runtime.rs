//! Tests of the binary itself, on a stand-in for Lambda's runtime API.

use std::time::Duration;

use sapwood_tests::https::Https;
use sapwood_tests::running::Running;
use sapwood_tests::runtime_api::{Function, environment, pairs};
use serde_json::json;

const BINARY: &str = env!("CARGO_BIN_EXE_stream-handler");

#[tokio::test]
async fn the_function_answers_one_event_after_another_whatever_they_are() {
    // Nobody answers at this endpoint.
    let variables = [("TABLE_NAME", "things"), ("AWS_ENDPOINT_URL_DYNAMODB", "http://127.0.0.1:9")];
    let mut function = Function::start(BINARY, variables).await;
    let node = r#"{"eventID":"1","eventName":"INSERT","dynamodb":{"Keys":{"PK":{"S":"D"},"SK":{"S":"NODE"}},"NewImage":
        {"PK":{"S":"D"},"SK":{"S":"NODE"},"name":{"S":"s3cret"}},"SequenceNumber":"111","SizeBytes":9,"StreamViewType":"NEW_AND_OLD_IMAGES"}}"#;
    let nothing_failed = Ok(json!({"batchItemFailures": []}));
    assert_eq!(function.invoke(r#"{"Records":[]}"#).await, nothing_failed);
    assert_eq!(function.invoke(r#"{"Records":[{"nonsense":true},17]}"#).await, nothing_failed);
    // No table answers, so this record has to be delivered again.
    let event = format!(r#"{{"Records":[{node}]}}"#);
    let answer = function.invoke_within(Duration::from_millis(1_500), &event).await;
    assert_eq!(answer, Ok(json!({"batchItemFailures": [{"itemIdentifier": "111"}]})));
    let error = function.invoke(r#"{"no":"stream event"}"#).await.unwrap_err();
    assert!(error["errorMessage"].as_str().unwrap().contains("isn't an event of DynamoDB Streams"), "{error}");
    assert_eq!(function.invoke(r#"{"Records":[]}"#).await, nothing_failed);

    let log = function.log();
    assert!(!log.contains("s3cret"), "{log}");
    let batch = log.lines().find(|line| line.contains("request-3") && line.contains(r#""message":"batch""#)).unwrap();
    let batch: serde_json::Value = serde_json::from_str(batch).unwrap();
    assert_eq!((&batch["level"], &batch["records"], &batch["failed"]), (&"INFO".into(), &1.into(), &1.into()));
    assert!(batch["timestamp"].is_string() && batch["requests"].as_u64().unwrap() > 0);
    let bad = log.lines().filter(|line| line.contains("bad record") && line.contains("request-2"));
    assert_eq!(bad.count(), 2, "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_with_the_deadline_of_cargo_lambda_is_handled() {
    let stack = Running::start(&[]).await;
    let mut function = Function::start(BINARY, pairs(&environment("StreamHandler", &stack.url()))).await;
    let event = include_str!("../../../../tests/events/insert.json");
    assert_eq!(function.invoke_as_cargo_lambda(event).await, Ok(json!({"batchItemFailures": []})));
    stack.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_function_trusts_an_endpoint_whose_root_the_system_trusts_and_no_other() {
    let stack = Running::start(&[]).await;
    let https = Https::start(stack.address()).await;
    let event = include_str!("../../../../tests/events/insert.json");
    let mut variables = environment("StreamHandler", &https.url());
    let mut stranger = Function::start(BINARY, pairs(&variables)).await;
    let answer = stranger.invoke_within(Duration::from_millis(1_500), event).await.unwrap();
    assert_ne!(answer["batchItemFailures"], json!([]));
    // The variable says where the system's roots are. Amazon's aren't among them.
    variables.insert("SSL_CERT_FILE".to_owned(), https.root().to_str().unwrap().to_owned());
    let mut function = Function::start(BINARY, pairs(&variables)).await;
    assert_eq!(function.invoke(event).await, Ok(json!({"batchItemFailures": []})));
    stack.stop().await;
}

#[tokio::test]
async fn with_a_missing_or_wrong_setting_the_function_ends_and_says_what_to_set() {
    let table = ("TABLE_NAME", "things");
    for (variables, said) in [
        (vec![], "TABLE_NAME isn't set; set it to the name of the table"),
        (vec![table, ("TENANTS", "yes")], "TENANTS is `yes`; set it to `on` or `off`"),
    ] {
        let mut function = Function::start(BINARY, variables).await;
        assert!(!function.ended().await.success());
        let log = function.log();
        assert!(!function.has_asked() && log.contains(said), "{log}");
        // The log is one line, which Lambda takes for an error.
        let line: serde_json::Value = serde_json::from_str(&log).unwrap();
        assert!(line["level"] == "ERROR" && line["timestamp"].is_string(), "{log}");
    }
}

/// Returns what the function writes about a batch of one record that can't be understood.
async fn log_of(variables: &[(&str, &str)]) -> String {
    let variables = [&[("TABLE_NAME", "things")], variables].concat();
    let mut function = Function::start(BINARY, variables).await;
    function.invoke(r#"{"Records":[17]}"#).await.unwrap();
    function.log()
}

#[tokio::test]
async fn with_a_namespace_the_function_writes_a_line_of_metrics_for_each_batch() {
    let log = log_of(&[("METRICS_NAMESPACE", "Trees")]).await;
    let lines: Vec<serde_json::Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let metrics: Vec<_> = lines.iter().filter(|line| line.get("_aws").is_some()).collect();
    let [line] = metrics[..] else { panic!("{log}") };
    assert_eq!(line["_aws"]["CloudWatchMetrics"][0]["Namespace"], "Trees");
    assert_eq!(line["FunctionName"], "function");
    assert_eq!((&line["Records"], &line["BadRecords"]), (&1.into(), &1.into()));
    assert!(line.get("level").is_none() && line.get("message").is_none());
}

#[tokio::test]
async fn without_a_namespace_the_function_writes_no_metrics() {
    for variables in [&[][..], &[("METRICS_NAMESPACE", "")]] {
        let log = log_of(variables).await;
        assert!(log.contains("\"batch\"") && !log.contains("_aws"), "{log}");
    }
}

#[tokio::test]
async fn the_function_goes_on_when_nobody_reads_what_it_writes() {
    let variables = [("TABLE_NAME", "things"), ("METRICS_NAMESPACE", "Trees")];
    let mut function = Function::start_unheard(BINARY, variables).await;
    for event in [r#"{"Records":[17]}"#, r#"{"Records":[]}"#] {
        assert_eq!(function.invoke(event).await, Ok(json!({"batchItemFailures": []})));
    }
}
