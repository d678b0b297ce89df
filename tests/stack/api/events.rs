//! Ids of every kind of byte, and API Gateway's events as they arrive.

use std::path::Path;

use sapwood_http::serve::Lambda;
use sapwood_tests::api::{Answered, Api, Asked, through_gateway};
use sapwood_tests::serving::Way;
use serde_json::{Value, json};

use super::support::{delete, expect, get, ids, post, read, start};

/// An id as it is written in a path.
fn in_path(id: &str) -> String {
    let is_dots = matches!(id, "." | "..");
    let written = id.bytes().map(|byte| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => char::from(byte).to_string(),
        b'.' if !is_dots => ".".to_owned(),
        byte => format!("~{byte:02X}"),
    });
    written.collect()
}

pub(crate) async fn ids_of_every_kind_of_byte_are_reached_as_they_are_written(way: Way) {
    let serving = start(way).await;
    expect(&serving, 201, &post("/nodes", &json!({"id": "top"}))).await;
    let strange = [
        "ORDER#98765",
        "a/b",
        "a/../b",
        "..",
        ".",
        "what?",
        "100%",
        "%23",
        "~23",
        "a b",
        "🌳",
        "a\u{0}b",
        "é",
        "a&b=c",
        "+",
        "\"",
        "\\",
    ];
    // What a path that is cut, decoded or tidied up would reach instead.
    for bait in ["ORDER", "a", "b", "what", "#", "100", "nodes"] {
        expect(&serving, 201, &post("/nodes", &json!({"id": bait}))).await;
    }
    for id in strange {
        let created = expect(&serving, 201, &post("/nodes", &json!({"id": id, "parent": "top"}))).await;
        let location = created.header("location").unwrap();
        assert_eq!(read(&serving, location).await["id"], id, "{location}");
        assert_eq!(read(&serving, &format!("/nodes/{}", in_path(id))).await["id"], id);
    }
    serving.running.settle().await;
    for id in strange {
        let prefix: String = id.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let found = read(&serving, &format!("/nodes/top/descendants?min_depth=1&max_depth=1&id_prefix={prefix}")).await;
        assert!(ids(&found).contains(&id), "{id}");
        expect(&serving, 204, &delete(&format!("/nodes/{}", in_path(id)))).await;
    }
    for bait in ["ORDER", "a", "b", "what", "~23", "100", "nodes"] {
        expect(&serving, 200, &get(&format!("/nodes/{bait}"))).await;
    }

    // Percent-encoding: a function never sees it, so nothing is guessed, and a local port refuses it, too.
    expect(&serving, 201, &post("/nodes", &json!({"id": "x#y"}))).await;
    let encoded = expect(&serving, 400, &get("/nodes/x%23y")).await.json();
    assert!(encoded["detail"].as_str().unwrap().contains("~23"), "{encoded}");
    if let Api::Gateway { reader, writer, .. } = &serving.api {
        events_as_they_arrive(reader, writer).await;
    }
}

async fn events_as_they_arrive(reader: &Lambda, writer: &Lambda) {
    let directory = &Path::new(env!("CARGO_MANIFEST_DIR")).join("events/api");
    let event = |name: &str| -> Value {
        serde_json::from_str(&std::fs::read_to_string(directory.join(format!("{name}.json"))).unwrap()).unwrap()
    };
    let send = async |name: &str| -> Answered {
        let event = event(name);
        let asked = Asked::new(event["requestContext"]["http"]["method"].as_str().unwrap(), "/");
        let function = if matches!(asked.method.as_str(), "GET" | "HEAD") { reader } else { writer };
        through_gateway(function, &event).await
    };
    let created = send("create-node").await;
    assert_eq!((created.status, created.json()["id"].as_str()), (201, Some("ORDER#98765")));
    assert_eq!(created.json()["created_by"], "arn:aws:sts::123456789012:assumed-role/Editors/ada");
    assert_eq!(send("create-node-base64").await.json()["id"], "b64");
    // The template's tenants are off here, so the claim has no meaning.
    assert_eq!(send("create-node-of-a-tenant").await.status, 409);
    assert_eq!(send("move-node").await.status, 422);
    assert_eq!(send("get-node").await.json()["id"], "ORDER#98765");
    assert_eq!(send("get-node-of-every-kind-of-byte").await.status, 404);
    assert_eq!(send("list-descendants-by-prefix").await.status, 404);
    assert_eq!(send("append-revision").await.json()["version"], 1);
    assert_eq!(send("append-revision").await.json()["version"], 1);
    for decoded in [
        "decoded-number-sign",
        "decoded-question-mark",
        "decoded-space",
        "decoded-tree",
        "decoded-dots",
        "stray-percent",
    ] {
        let answered = send(decoded).await;
        assert_eq!(answered.status, 400, "{decoded}");
        assert!(answered.json()["detail"].as_str().unwrap().contains('~'), "{decoded}");
    }
    // `a/b` is a path of its own, which no call has.
    assert!(matches!(send("decoded-slash").await.status, 404 | 405));
    for spared in ["ORDER", "a", "what", "ORDER~2398765"] {
        let asked = sapwood_tests::api::event(&get(&format!("/nodes/{spared}")), &Default::default()).unwrap();
        assert_eq!(through_gateway(reader, &asked).await.status, 200, "{spared}");
    }
    assert_eq!(send("delete-subtree").await.status, 202);
    let every: std::collections::BTreeSet<String> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    assert_eq!(every.len(), 17, "a new event has to be sent here as well: {every:?}");
    assert_eq!(send("list-descendants").await.status, 200);
}
