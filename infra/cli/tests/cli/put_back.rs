//! What was deleted is put back, and stays: the recipe of docs/operate/recovery.md, by a client of DynamoDB that knows
//! nothing of Sapwood.

use std::collections::BTreeMap;

use aws_sdk_dynamodb::types::AttributeValue;
use rand::seq::SliceRandom;
use sapwood_tests::client::{put, s};
use sapwood_tests::running::{Running, TABLE};

use crate::stack::{Attributes, assert_right, chance, ends_with, revision};

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

/// Imports nodes as roots. They get no name of a life.
fn import(url: &str, ids: &[String]) {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("nodes.jsonl");
    let lines = ids.iter().map(|id| format!("{{\"id\": \"{id}\", \"attributes\": {{\"name\": \"imported\"}}}}\n"));
    std::fs::write(&file, lines.collect::<String>()).unwrap();
    ends_with(0, url, &["import", file.to_str().unwrap()]);
}

/// Makes a node below another: put by the API, or imported and then moved by the API, once.
fn make_below(url: &str, id: &str, parent: &str, is_imported: bool) {
    if is_imported {
        ends_with(0, url, &["move", id, "--to", parent]);
    } else {
        ends_with(0, url, &["put", id, "--parent", parent, "--set", "name=a node"]);
    }
}

fn delete(url: &str, id: &str, children: &str) {
    ends_with(0, url, &["rm", id, "--children", children, "--yes", "--wait"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subtree_put_back_from_copies_in_any_order_stays_whole() {
    let running = Running::start(&[]).await;
    let url = running.url();
    ends_with(0, &url, &["put", "top", "--set", "name=stays"]);
    let is_imported = |n: usize| n % 2 == 1;
    import(&url, &(0..NODES).filter(|n| is_imported(*n)).map(|n| format!("n{n}")).collect::<Vec<_>>());
    for n in 0..NODES {
        let parent = n.checked_sub(1).map_or("top".to_owned(), |n| format!("n{}", n / WIDTH));
        make_below(&url, &format!("n{n}"), &parent, is_imported(n));
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
        ends_with(0, &url, &["verify", "--confirmation-window", "1"]);
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
    ends_with(0, &url, &["put", "a", "--set", "name=a node"]);
    import(&url, &["c".to_owned()]);
    for (id, parent) in [("b", "a"), ("c", "b"), ("d", "c")] {
        make_below(&url, id, parent, id == "c");
    }
    assert_right(&running).await;
    let copies = records(&running).await;
    assert!(copies["c"].contains_key("_under") && !copies["c"].contains_key("_born"), "{:?}", copies["c"]);
    delete(&url, "a", "delete");
    running.settle().await;
    for id in ["d", "c"] {
        put(&running.client, TABLE, copies[id].clone()).await;
        assert_right(&running).await;
    }
    // They wait for `b`, and `verify` says so.
    let orphans = ends_with(0, &url, &["verify", "--confirmation-window", "1", "--json"]);
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
    ends_with(0, &url, &["verify", "--confirmation-window", "1"]);
    running.stop().await;
}

/// All base records: nodes and revisions.
async fn all_records(running: &Running) -> Vec<Attributes> {
    let page = running.client.scan().table_name(TABLE).consistent_read(true).send().await.unwrap();
    let is_base = |item: &Attributes| {
        let sort_key = item["SK"].as_s().unwrap();
        sort_key == "NODE" || sort_key.starts_with('v') && !sort_key.starts_with("v0_")
    };
    page.items.unwrap_or_default().into_iter().filter(is_base).collect()
}

/// A leaf goes by itself (`restrict`), and then all that is left, with its revisions, by an operation.
#[tokio::test(flavor = "multi_thread")]
async fn revisions_and_what_went_by_itself_come_back_and_a_mark_is_left_out() {
    let running = Running::start(&[]).await;
    let url = running.url();
    ends_with(0, &url, &["put", "a", "--set", "name=a node"]);
    import(&url, &["b".to_owned(), "leaf 1".to_owned()]);
    for (id, parent) in [("b", "a"), ("c", "b"), ("leaf 1", "c"), ("leaf 2", "c")] {
        make_below(&url, id, parent, ["b", "leaf 1"].contains(&id));
    }
    for (id, sort_key) in [("b", "v001_Audit"), ("b", "v002_Audit"), ("c", "v001_Audit"), ("leaf 1", "v001_State")] {
        put(&running.client, TABLE, revision(id, sort_key)).await;
    }
    assert_right(&running).await;
    let mut copies = all_records(&running).await;
    assert_eq!(copies.len(), 9);
    let nodes = without_ours(&records(&running).await);
    let mut rng = chance();
    let delete_all = async || {
        for leaf in ["leaf 1", "leaf 2"] {
            ends_with(0, &url, &["rm", leaf, "--yes"]);
            running.settle().await;
        }
        ends_with(0, &url, &["rm", "a", "--children", "delete", "--revisions", "--yes", "--wait"]);
        running.settle().await;
    };
    delete_all().await;
    // The revision of a leaf that went by itself stays.
    assert_eq!(all_records(&running).await.len(), 1);
    copies.shuffle(&mut rng);
    for copy in &copies {
        put(&running.client, TABLE, copy.clone()).await;
    }
    assert_right(&running).await;
    assert_eq!(
        (without_ours(&records(&running).await), all_records(&running).await.len()),
        (nodes.clone(), copies.len())
    );
    ends_with(0, &url, &["verify", "--confirmation-window", "1"]);

    // Copies of the moment at which they were being deleted have a mark. With it they go again.
    delete_all().await;
    let map =
        [("mode", s("delete")), ("operation", s("that of the copy"))].map(|(name, value)| (name.to_owned(), value));
    let mark =
        AttributeValue::M(map.into_iter().chain([("revisions".to_owned(), AttributeValue::Bool(true))]).collect());
    let marked = |copy: &Attributes| {
        let mut copy = copy.clone();
        if copy["SK"] == s("NODE") {
            copy.insert("_deleting".to_owned(), mark.clone());
        }
        copy
    };
    for is_left_out in [false, true] {
        copies.shuffle(&mut rng);
        for copy in &copies {
            let copy = if is_left_out { copy.clone() } else { marked(copy) };
            put(&running.client, TABLE, copy).await;
            running.settle().await;
        }
        assert_right(&running).await;
        let left = records(&running).await;
        assert_eq!(without_ours(&left), if is_left_out { nodes.clone() } else { Records::new() });
    }
    running.stop().await;
}
