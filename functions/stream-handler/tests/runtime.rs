//! The binary itself, on a stand-in for Lambda's runtime API.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods)]

use std::time::Duration;

use sapwood_tests::runtime_api::Function;
use serde_json::json;

const BINARY: &str = env!("CARGO_BIN_EXE_stream-handler");

#[tokio::test]
async fn it_answers_events_one_after_the_other_and_lives_on() {
    // Nobody answers there.
    let variables = [("TABLE_NAME", "things"), ("AWS_ENDPOINT_URL_DYNAMODB", "http://127.0.0.1:9")];
    let mut function = Function::start(BINARY, variables).await;
    let node = r#"{"eventID":"1","eventName":"INSERT","dynamodb":{"Keys":{"PK":{"S":"D"},"SK":{"S":"NODE"}},"NewImage":
        {"PK":{"S":"D"},"SK":{"S":"NODE"},"name":{"S":"s3cret"}},"SequenceNumber":"111","SizeBytes":9,"StreamViewType":"NEW_AND_OLD_IMAGES"}}"#;
    let nothing_failed = Ok(json!({"batchItemFailures": []}));
    assert_eq!(function.invoke(r#"{"Records":[]}"#).await, nothing_failed);
    assert_eq!(function.invoke(r#"{"Records":[{"nonsense":true},17]}"#).await, nothing_failed);
    // No table answers, so this one is to be delivered again.
    let event = format!(r#"{{"Records":[{node}]}}"#);
    let answer = function.invoke_within(Duration::from_millis(1_500), &event).await;
    assert_eq!(answer, Ok(json!({"batchItemFailures": [{"itemIdentifier": "111"}]})));
    let error = function.invoke(r#"{"no":"stream event"}"#).await.unwrap_err();
    assert!(error["errorMessage"].as_str().unwrap().contains("no event of DynamoDB Streams"), "{error}");
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

#[tokio::test]
async fn with_settings_that_are_missing_or_wrong_it_ends_and_says_what_to_set() {
    let table = ("TABLE_NAME", "things");
    for (variables, said) in [
        (vec![], "TABLE_NAME isn't set; set it to the name of the table"),
        (vec![table, ("TENANTS", "yes")], "TENANTS is `yes`; set it to `on` or `off`"),
    ] {
        let mut function = Function::start(BINARY, variables).await;
        assert!(!function.ended().await.success());
        assert!(!function.has_asked() && function.log().contains(said), "{}", function.log());
    }
}
