//! Attributes of every kind.

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue as Sdk;
use sapwood_tests::api::Asked;
use sapwood_tests::client::{self, s};
use sapwood_tests::running::TABLE;
use sapwood_tests::serving::Way;
use serde_json::{Value, json};

use super::support::{expect, get, json as body_of, patch, post, read, refused, start};

pub(crate) async fn any_json_comes_back_as_it_was_sent(way: Way) {
    let serving = start(way).await;
    let attributes = json!({
        "null": null, "true": true, "false": false, "empty": "", "text": "🌳 \u{0} \" \\ \n </script>", "zero": 0,
        "list": [], "map": {}, "nested": {"a": [1, "b", {"c": [null, [true]]}], "": "an empty name"}, "name with.dots#and/more": 1,
        "id": "not the node's", "depth": 7, "version": 1, "attributes": {}, "children": [],
        "set": {"$set": ["a", "b"]}, "numbers": {"$set": [1, 2.5]}, "binary": {"$binary": "aGVsbG8="},
        "escaped": {"$map": {"$set": ["no set"]}},
    });
    let mut attributes = attributes;
    // DynamoDB takes no empty names.
    attributes["nested"].as_object_mut().unwrap().remove("");
    let created = body_of(&serving, 201, &post("/nodes", &json!({"id": "n", "attributes": attributes}))).await;
    assert_eq!(created["attributes"], attributes);
    assert_eq!(read(&serving, "/nodes/n").await, created);
    let revision = post("/nodes/n/revisions/t", &json!({"attributes": attributes}));
    assert_eq!(body_of(&serving, 201, &revision).await["attributes"], attributes);
    serving.running.settle().await;
    assert_eq!(read(&serving, "/roots").await["items"][0]["attributes"], attributes);
    assert_eq!(read(&serving, "/nodes/n/latest/t").await["attributes"], attributes);
}

pub(crate) async fn what_foreign_clients_wrote_is_shown_and_kept(way: Way) {
    let serving = start(way).await;
    let mut item = client::node("n", None, "by another");
    let number = |text: &str| Sdk::N(text.to_owned());
    item.extend([
        ("texts".to_owned(), Sdk::Ss(vec!["b".into(), "a".into()])),
        ("numbers".to_owned(), Sdk::Ns(vec!["1".into(), "2.5".into()])),
        ("bytes".to_owned(), Sdk::B(Blob::new([0, 255]))),
        ("several".to_owned(), Sdk::Bs(vec![Blob::new([1])])),
        ("large".to_owned(), number("12345678901234567890123456789012345678")),
        ("map".to_owned(), Sdk::M([("$set".to_owned(), s("no set"))].into())),
    ]);
    client::put(&serving.running.client, TABLE, item.clone()).await;
    let node = read(&serving, "/nodes/n").await;
    assert_eq!(node["attributes"]["texts"], json!({"$set": ["a", "b"]}));
    assert_eq!(node["attributes"]["bytes"], json!({"$binary": "AP8="}));
    assert_eq!(node["attributes"]["several"], json!({"$set": [{"$binary": "AQ=="}]}));
    assert_eq!(node["attributes"]["map"], json!({"$map": {"$set": "no set"}}));
    assert!(node.get("created_at").is_none());
    // A patch keeps their types, and what is read can be written.
    let patched = body_of(&serving, 200, &patch("/nodes/n", &json!({"attributes": {"name": "by us"}}))).await;
    let kept = serving.running.client.get_item().table_name(TABLE).key("PK", s("n")).key("SK", s("NODE"));
    let kept = kept.send().await.unwrap().item.unwrap();
    for name in ["bytes", "several", "large", "map"] {
        assert_eq!(kept[name], item[name], "{name}");
    }
    let text = String::from_utf8(expect(&serving, 200, &get("/nodes/n")).await.body).unwrap();
    assert!(text.contains("12345678901234567890123456789012345678"), "{text}");
    let again = Asked::new("POST", "/nodes").header("content-type", "application/json").bytes(
        text.replace("\"id\":\"n\"", "\"id\":\"copy\"")
            .split(",\"created_")
            .next()
            .unwrap()
            .split(",\"updated_")
            .next()
            .unwrap()
            .to_owned()
            + "}",
    );
    let copy = body_of(&serving, 201, &again).await;
    assert_eq!(copy["attributes"], patched["attributes"]);
}

pub(crate) async fn numbers_keep_their_digits(way: Way) {
    let serving = start(way).await;
    let create = |number: &str| {
        Asked::new("POST", "/nodes")
            .header("content-type", "application/json")
            .bytes(format!(r#"{{"attributes":{{"deep":{{"n":[{number}]}}}}}}"#))
    };
    for (sent, shown) in [
        ("12345678901234567890123456789012345678", "12345678901234567890123456789012345678"),
        ("-0.00000000000000000000000000000000000001", "-1e-38"),
        ("1.50", "1.5"),
        ("1e3", "1000"),
        ("-0", "0"),
        ("1E-130", "1e-130"),
        ("9.9999999999999999999999999999999999999E+125", ""),
    ] {
        let answered = expect(&serving, 201, &create(sent)).await;
        let body = String::from_utf8(answered.body.clone()).unwrap();
        assert!(body.contains(&format!("\"n\":[{shown}")), "{sent}: {body}");
        let _: Value = answered.json();
    }
    for bad in
        ["123456789012345678901234567890123456789", "1e126", "1E-131", "0.123456789012345678901234567890123456789"]
    {
        let (_, field) = refused(&serving, 422, &create(bad)).await;
        assert!(field.unwrap().starts_with("attributes.deep"), "{bad}");
    }
}
