//! The binary on a stand-in for Lambda's runtime API, with the table of a running stack.

use std::path::Path;

use sapwood_tests::api::{Answered, Asked, answered_to, event};
use sapwood_tests::client::{node, put_all};
use sapwood_tests::running::{Running, TABLE};
use sapwood_tests::runtime_api::{Function, environment, pairs};
use serde_json::{Value, json};

const BINARY: &str = env!("CARGO_BIN_EXE_api-reader");

async fn ask(function: &mut Function, event: &Value) -> Answered {
    answered_to(&function.invoke(&event.to_string()).await.unwrap())
}

async fn get(function: &mut Function, target: &str) -> Answered {
    ask(function, &event(&Asked::new("GET", target), &Default::default()).unwrap()).await
}

/// Returns an event from tests/events/api, as API Gateway made it.
fn recorded(name: &str) -> Value {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/events/api");
    serde_json::from_str(&std::fs::read_to_string(directory.join(format!("{name}.json"))).unwrap()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn it_answers_api_gateways_events_from_the_table_one_after_the_other() {
    let stack = Running::start(&[]).await;
    let (order, strange) = ("ORDER#98765", " #/?%..🌳");
    let nodes = [node("shop", None, "Shop"), node(order, Some("shop"), "Order"), node("line", Some(order), "Line")];
    put_all(&stack.client, TABLE, nodes.into()).await;
    put_all(&stack.client, TABLE, vec![node(strange, Some("line"), "Strange")]).await;
    stack.settle().await;
    let mut function = Function::start(BINARY, pairs(&environment("ApiReader", &stack.url()))).await;
    let ids = |answered: Answered| -> Vec<String> {
        assert_eq!(answered.status, 200);
        let list = answered.json();
        list["items"].as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect()
    };

    let found = ask(&mut function, &recorded("get-node")).await;
    assert_eq!((found.status, found.json()["parent"].as_str()), (200, Some("shop")));
    assert_eq!(ask(&mut function, &recorded("get-node-of-every-kind-of-byte")).await.json()["id"], strange);
    assert_eq!(ids(ask(&mut function, &recorded("list-descendants")).await), [order, "line", strange]);
    assert_eq!(ids(ask(&mut function, &recorded("list-descendants-by-prefix")).await), [order]);
    for refused in ["decoded-number-sign", "decoded-question-mark", "decoded-space", "stray-percent"] {
        assert_eq!(ask(&mut function, &recorded(refused)).await.status, 400, "{refused}");
    }

    // Another process takes a cursor: the processes share only the secret.
    let page = get(&mut function, "/nodes/shop/descendants?limit=1").await.json();
    let cursor = page["cursor"].as_str().unwrap();
    let mut other = Function::start(BINARY, pairs(&environment("ApiReader", &stack.url()))).await;
    assert_eq!(ids(get(&mut other, &format!("/nodes/shop/descendants?cursor={cursor}")).await), ["line", strange]);

    let local = function.invoke_as_cargo_lambda(&recorded("get-node").to_string()).await.unwrap();
    assert_eq!(answered_to(&local).status, 200);
    let missing = get(&mut function, "/nodes/nobody").await;
    assert_eq!((missing.status, missing.header("content-type")), (404, Some("application/problem+json")));
    assert_eq!(get(&mut function, "/health").await.status, 200);
    let log = function.log();
    assert!(log.lines().any(|line| line.contains("request-1") && line.contains(r#""status":200"#)), "{log}");
    assert!(!log.contains("98765"), "{log}");
    stack.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_of_another_kind_is_an_error_that_says_so_and_the_process_goes_on() {
    let variables = [("TABLE_NAME", "things"), ("CURSOR_KEY", "a key for tests, of no secrecy")];
    let mut function = Function::start(BINARY, variables).await;
    let rest_api = json!({
        "version": "1.0", "resource": "/{proxy+}", "path": "/health", "httpMethod": "GET", "headers": {},
        "requestContext": {"accountId": "123456789012", "resourcePath": "/{proxy+}", "httpMethod": "GET", "stage": "prod"},
        "isBase64Encoded": false,
    });
    let balancer =
        json!({"requestContext": {"elb": {"targetGroupArn": "arn:…"}}, "httpMethod": "GET", "path": "/health"});
    for other in [json!({"Records": []}), json!({}), json!(["text"]), rest_api, balancer] {
        let error = function.invoke(&other.to_string()).await.expect_err(&other.to_string());
        let said = error["errorMessage"].as_str().unwrap();
        assert!(said.contains("no request of an HTTP API") && said.contains("2.0"), "{other}: {said}");
        assert_eq!(get(&mut function, "/health").await.status, 200);
    }
}

#[tokio::test]
async fn with_settings_that_are_missing_or_wrong_it_ends_and_says_what_to_set() {
    let (table, key) = (("TABLE_NAME", "things"), ("CURSOR_KEY", "a key for tests, of no secrecy"));
    for (variables, said) in [
        (vec![key], "TABLE_NAME isn't set; set it to the name of the table"),
        (vec![table], "CURSOR_KEY isn't set; set it to a secret of 16 bytes or more"),
        (vec![table, ("CURSOR_KEY", "hunter2")], "CURSOR_KEY is `too short`; set it to a secret of 16 bytes or more"),
        (vec![table, key, ("TENANTS", "on")], "TENANT_CLAIM isn't set; set it to the claim of the authorizer"),
        (vec![table, key, ("PATH_ROWS", "yes")], "PATH_ROWS is `yes`; set it to `on` or `off`"),
    ] {
        let mut function = Function::start(BINARY, variables).await;
        assert!(!function.ended().await.success());
        let log = function.log();
        assert!(!function.has_asked() && log.contains(said) && !log.contains("hunter2"), "{log}");
    }
}
