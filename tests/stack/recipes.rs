//! The ranges that docs/guides/history.md tells a reader to query, queried.

use std::collections::HashMap;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use sapwood_tests::client::{node, put_all, s};
use sapwood_tests::running::{Running, TABLE};

fn page(name: &str) -> String {
    std::fs::read_to_string(format!("{}/../{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

fn revision(sort_key: &str) -> HashMap<String, AttributeValue> {
    let mut revision = node("eq", None, sort_key);
    revision.insert("SK".to_owned(), s(sort_key));
    revision
}

/// The sort keys between two, without the copies or with them.
async fn between(client: &Client, from: &str, to: &str, filters: bool) -> Vec<String> {
    let mut query = client
        .query()
        .table_name(TABLE)
        .key_condition_expression("PK = :pk AND SK BETWEEN :from AND :to")
        .expression_attribute_values(":pk", s("eq"))
        .expression_attribute_values(":from", s(from))
        .expression_attribute_values(":to", s(to));
    if filters {
        query = query.filter_expression("attribute_not_exists(#copy)").expression_attribute_names("#copy", "_version");
    }
    let items = query.send().await.unwrap().items.unwrap();
    items.iter().map(|item| item["SK"].as_s().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_revisions_of_an_id_come_without_the_copies() {
    let running = Running::start(&[]).await;
    let revisions = [
        "v001_A",
        "v001_B",
        "v002_A",
        "v099_A",
        "v100_A",
        "v101_A",
        "v999_A",
        "va1000_A",
        "va9999_A",
        "vb10000_A",
        "vb99999_A",
        "vc100000_A",
        "vc999999_A",
        "vc999999_~",
    ];
    let mut items: Vec<_> = revisions.iter().map(|sort_key| revision(sort_key)).collect();
    items.push(node("eq", None, "eq"));
    put_all(&running.client, TABLE, items).await;
    running.settle().await;
    let client = &running.client;
    assert_eq!(between(client, "v0_", "v0_~", false).await, ["v0_A", "v0_B", "v0_~"]);

    // What everybody asks for first has the copies among them.
    assert!(between(client, "v001_", "v999_z", false).await.contains(&"v0_A".to_owned()));
    let guide = page("docs/guides/history.md");
    for (from, to) in [("v00", "v09z"), ("v1", "vcz")] {
        assert!(guide.contains(&format!("query turbine-7 {from} {to} ")), "{from} to {to}");
    }
    let mut found = between(client, "v00", "v09z", false).await;
    found.extend(between(client, "v1", "vcz", false).await);
    assert_eq!(found, revisions);
    for words in ["`BETWEEN v00 AND vcz`", "`attribute_not_exists(#copy)`", "`#copy` is `_version`"] {
        assert!(guide.split_whitespace().collect::<Vec<_>>().join(" ").contains(words), "{words}");
    }
    assert_eq!(between(client, "v00", "vcz", true).await, revisions);
    running.stop().await;
}
