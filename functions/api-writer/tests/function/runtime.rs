//! The binary itself, on a stand-in for Lambda's runtime API and the table of a running stack.

use std::path::Path;

use sapwood_tests::api::{Answered, Asked, answered_to, event};
use sapwood_tests::oracle::Oracle;
use sapwood_tests::running::Running;
use sapwood_tests::runtime_api::{Function, environment, pairs};
use serde_json::{Value, json};

const BINARY: &str = env!("CARGO_BIN_EXE_api-writer");

async fn ask(function: &mut Function, event: &Value) -> Answered {
    answered_to(&function.invoke(&event.to_string()).await.unwrap())
}

async fn send(function: &mut Function, asked: Asked) -> Answered {
    ask(function, &event(&asked, &Default::default()).unwrap()).await
}

/// An event as API Gateway made it, from tests/events/api.
fn recorded(name: &str) -> Value {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/events/api");
    serde_json::from_str(&std::fs::read_to_string(directory.join(format!("{name}.json"))).unwrap()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn it_does_what_api_gateways_events_ask_for() {
    let stack = Running::start(&[]).await;
    let mut function = Function::start(BINARY, pairs(&environment("ApiWriter", &stack.url()))).await;
    let shop = send(&mut function, Asked::new("PUT", "/nodes/shop").json(&json!({"parent": null}))).await;
    assert_eq!(shop.status, 201);
    let created = ask(&mut function, &recorded("create-node")).await;
    assert_eq!((created.status, created.header("location")), (201, Some("/nodes/ORDER~2398765")));
    assert_eq!(created.json()["created_by"], "arn:aws:sts::123456789012:assumed-role/Editors/ada");
    assert_eq!(created.json()["attributes"], json!({"total": 12.5}));
    assert_eq!(ask(&mut function, &recorded("create-node")).await.status, 409);
    // It waits for the node's rows, which the stack's own stream handler makes.
    let moved = ask(&mut function, &recorded("move-node")).await;
    assert_eq!((moved.status, moved.json()["parent"].as_str()), (200, Some("shop")));
    assert!(stack.contents().await.contains_key(&("shop".to_owned(), "NODE#0001#ORDER#98765".to_owned())));
    assert_eq!(ask(&mut function, &recorded("create-node-base64")).await.json()["id"], "b64");
    assert_eq!(ask(&mut function, &recorded("append-revision")).await.json()["version"], 1);

    let removal = ask(&mut function, &recorded("delete-subtree")).await;
    let operation = removal.header("location").unwrap().to_owned();
    assert!(removal.status == 202 && operation.starts_with("/operations/"), "{operation}");
    stack.settle().await;
    let id = operation.strip_prefix("/operations/").unwrap();
    assert!(stack.contents().await.contains_key(&("OPERATIONS".to_owned(), format!("OPERATION#{id}"))));
    stack.assert_right(&Oracle::default()).await;
    assert!(!stack.contents().await.contains_key(&("ORDER#98765".to_owned(), "NODE".to_owned())));
    stack.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_location_has_the_stage_or_base_path_that_the_request_came_with() {
    let stack = Running::start(&[]).await;
    let mut variables = environment("ApiWriter", &stack.url());
    variables.insert("BASE_PATH".to_owned(), "/trees".to_owned());
    let mut function = Function::start(BINARY, pairs(&variables)).await;
    // The stage is in the path where the API's own domain is called; a custom domain's mapping leaves its own there.
    for (stage, domain, prefix) in [
        ("$default", "abcdefghij.execute-api.eu-central-1.amazonaws.com", ""),
        ("prod", "abcdefghij.execute-api.eu-central-1.amazonaws.com", "/prod"),
        ("prod", "api.example.com", "/trees"),
        ("$default", "api.example.com", "/trees"),
    ] {
        let through = |mut event: Value| -> Value {
            let path = format!("{prefix}{}", event["rawPath"].as_str().unwrap());
            event["rawPath"] = path.as_str().into();
            event["requestContext"]["http"]["path"] = path.into();
            event["requestContext"]["stage"] = stage.into();
            event["requestContext"]["domainName"] = domain.into();
            event
        };
        let created = ask(&mut function, &through(recorded("create-node"))).await;
        assert_eq!(created.status, 201, "{prefix}");
        assert_eq!(created.header("location"), Some(format!("{prefix}/nodes/ORDER~2398765").as_str()));
        let removal = ask(&mut function, &through(recorded("delete-subtree"))).await;
        assert_eq!(removal.status, 202, "{prefix}");
        let location = removal.header("location").unwrap();
        assert!(location.strip_prefix(prefix).is_some_and(|path| path.starts_with("/operations/")), "{location}");
        stack.settle().await;
        // The results of a batch have theirs in the body.
        let batch = json!({"operations": [{"put": {"id": "of a batch", "parent": null}}, {"delete": {"id": "of a batch", "children": "detach"}}]});
        let batch = event(&Asked::new("POST", "/batch").json(&batch), &Default::default()).unwrap();
        let results = ask(&mut function, &through(batch)).await.json()["results"].clone();
        assert_eq!(results[0]["location"], format!("{prefix}/nodes/of~20a~20batch"));
        assert!(results[1]["location"].as_str().unwrap().starts_with(&format!("{prefix}/operations/")), "{results}");
        stack.settle().await;
    }
    stack.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_of_another_kind_is_an_error_that_says_so_and_the_process_goes_on() {
    let mut function = Function::start(BINARY, [("TABLE_NAME", "things")]).await;
    for other in [json!({"Records": []}), json!({"httpMethod": "POST", "path": "/nodes"}), json!(null)] {
        let error = function.invoke(&other.to_string()).await.expect_err(&other.to_string());
        assert!(error["errorMessage"].as_str().unwrap().contains("no request of an HTTP API"), "{other}: {error}");
        let broken = Asked::new("POST", "/nodes").header("content-type", "application/json").bytes("{");
        assert_eq!(send(&mut function, broken).await.status, 400);
    }
}

#[tokio::test]
async fn with_settings_that_are_missing_or_wrong_it_ends_and_says_what_to_set() {
    let table = ("TABLE_NAME", "things");
    for (variables, said) in [
        (vec![], "TABLE_NAME isn't set; set it to the name of the table"),
        (vec![table, ("REVISIONS_MUTABLE", "true")], "REVISIONS_MUTABLE is `true`; set it to `on` or `off`"),
        (vec![table, ("TENANT_CLAIM", "sub")], "TENANT_CLAIM is `sub`; set it to nothing, or TENANTS to `on`"),
    ] {
        let mut function = Function::start(BINARY, variables).await;
        assert!(!function.ended().await.success());
        assert!(!function.has_asked() && function.log().contains(said), "{}", function.log());
    }
}
