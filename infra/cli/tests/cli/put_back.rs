//! What was deleted is put back, and stays: the recipe of docs/recovery.md, by a client of DynamoDB that knows nothing of Sapwood.

use std::collections::BTreeMap;

use aws_sdk_dynamodb::types::AttributeValue;
use rand::seq::SliceRandom;
use sapwood_tests::client::{put, s};
use sapwood_tests::running::{Running, TABLE};

use crate::stack::{Attributes, assert_right, chance, ends_with};

/// A subtree of so many nodes, with so many below each.
const NODES: usize = 61;
const WIDTH: usize = 4;

/// The base records, by id.
type Records = BTreeMap<String, Attributes>;

async fn records(running: &Running) -> Records {
    // All of it fits a page.
    let page = running.client.scan().table_name(TABLE).consistent_read(true).send().await.unwrap();
    let items = page.items.unwrap_or_default();
    let nodes = items.into_iter().filter(|item| item["SK"] == s("NODE"));
    nodes.map(|item| (item["PK"].as_s().unwrap().clone(), item)).collect()
}

/// The records without what the handler writes into them.
fn without_ours(records: &Records) -> Records {
    let mut records = records.clone();
    for item in records.values_mut() {
        item.retain(|name, _| !["_touched", "_under", "_redriven"].contains(&name.as_str()));
    }
    records
}

/// Another client's UpdateItem.
async fn move_by_hand(running: &Running, id: &str, parent: &str) {
    let update = running.client.update_item().table_name(TABLE).key("PK", s(id)).key("SK", s("NODE"));
    let update = update.update_expression("SET parent = :p").expression_attribute_values(":p", s(parent));
    update.send().await.unwrap();
    running.settle().await;
}

fn delete(url: &str, id: &str, children: &str) {
    ends_with(0, url, &["rm", id, "--children", children, "--yes", "--wait"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subtree_put_back_from_copies_in_any_order_stays_whole() {
    let running = Running::start(&[]).await;
    let url = running.url();
    ends_with(0, &url, &["put", "top", "--set", "name=stays"]);
    for n in 0..NODES {
        let parent = n.checked_sub(1).map_or("top".to_owned(), |n| format!("n{}", n / WIDTH));
        ends_with(0, &url, &["put", &format!("n{n}"), "--parent", &parent, "--set", "name=a node"]);
    }
    assert_right(&running).await;
    let copies = records(&running).await;
    let depth = |id: &str| {
        let mut depth = 0;
        let mut at = id.to_owned();
        while let Some(parent) = copies[&at].get("parent").and_then(|parent| parent.as_s().ok()) {
            (at, depth) = (parent.clone(), depth + 1);
        }
        depth
    };
    let mut rng = chance();
    let below = || copies.keys().filter(|id| *id != "top").cloned().collect::<Vec<_>>();
    let (mut parents_first, mut children_first, mut random) = (below(), below(), below());
    parents_first.sort_by_key(|id| depth(id));
    children_first.sort_by_key(|id| std::cmp::Reverse(depth(id)));
    random.shuffle(&mut rng);
    for order in [parents_first, children_first, random] {
        delete(&url, "n0", "delete");
        running.settle().await;
        assert_eq!(records(&running).await.len(), 1);
        for (position, id) in order.iter().enumerate() {
            put(&running.client, TABLE, copies[id].clone()).await;
            if position % 20 == 10 {
                running.settle().await;
            }
        }
        assert_right(&running).await;
        assert_eq!(without_ours(&records(&running).await), without_ours(&copies));
        ends_with(0, &url, &["verify", "--settle", "1"]);
        // What is back is as it was: it is whole below its root, and the API moves it.
        ends_with(0, &url, &["move", "n1", "--to", "top", "--wait"]);
        ends_with(0, &url, &["move", "n1", "--to", "n0", "--wait"]);
    }
    // Or by way of an export and an import.
    let file = std::env::temp_dir().join(format!("sapwood-put-back-{}.jsonl", std::process::id()));
    let path = file.to_str().unwrap();
    ends_with(0, &url, &["export", "--under", "n0", "--output", path]);
    delete(&url, "n0", "delete");
    running.settle().await;
    ends_with(0, &url, &["import", path]);
    assert_right(&running).await;
    assert_eq!(records(&running).await.len(), NODES + 1);
    std::fs::remove_file(&file).unwrap();
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_some_of_a_subtree_may_be_put_back_and_wait_for_the_others() {
    let running = Running::start(&[]).await;
    let url = running.url();
    for (id, parent) in [("a", None), ("b", Some("a")), ("c", Some("b")), ("d", Some("c"))] {
        let parent = parent.map_or(vec![], |parent| vec!["--parent", parent]);
        ends_with(0, &url, &[&["put", id, "--set", "name=a node"][..], &parent[..]].concat());
    }
    assert_right(&running).await;
    let copies = records(&running).await;
    delete(&url, "a", "delete");
    running.settle().await;
    for id in ["d", "c"] {
        put(&running.client, TABLE, copies[id].clone()).await;
        assert_right(&running).await;
    }
    // They wait for `b`, and `verify` says so.
    let orphans = ends_with(0, &url, &["verify", "--settle", "1", "--json"]);
    assert!(orphans.contains("\"orphan\"") && orphans.contains("\"c\""), "{orphans}");
    for id in ["a", "b"] {
        put(&running.client, TABLE, copies[id].clone()).await;
        assert_right(&running).await;
    }
    assert_eq!(without_ours(&records(&running).await), without_ours(&copies));
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_another_client_moves_back_below_a_deleted_parent_stays() {
    let running = Running::start(&[]).await;
    let url = running.url();
    for children in ["delete", "adopt", "detach"] {
        let id = |name: &str| format!("{name} {children}");
        let (first, second, moved, below) = (id("p1"), id("p2"), id("c"), id("d"));
        for (id, parent) in [(&first, None), (&second, None), (&moved, Some(&first)), (&below, Some(&moved))] {
            let parent = parent.map_or(vec![], |parent: &String| vec!["--parent", parent]);
            ends_with(0, &url, &[&["put", id, "--set", "name=a node"][..], &parent[..]].concat());
        }
        running.settle().await;
        move_by_hand(&running, &moved, &second).await;
        delete(&url, &first, children);
        running.settle().await;
        move_by_hand(&running, &moved, &first).await;
        assert_right(&running).await;
        let left = records(&running).await;
        assert_eq!(left[&moved].get("parent"), Some(&AttributeValue::S(first.clone())), "{children}");
        assert_eq!(left[&below].get("parent"), Some(&AttributeValue::S(moved.clone())), "{children}");
        // It finds its place once the parent is there again.
        ends_with(0, &url, &["put", &first, "--set", "name=again"]);
        assert_right(&running).await;
    }
    ends_with(0, &url, &["verify", "--settle", "1"]);
    running.stop().await;
}
