//! `--under` of `export`, `verify` and `repair`, on tables that are damaged.

use std::collections::{BTreeMap, BTreeSet};

use aws_sdk_dynamodb::types::AttributeValue;
use sapwood_tests::client::{node, put, s};
use serde_json::Value;

use crate::running::{Sapwood, TABLE, printed, sapwood, words};
use crate::stack::size;

async fn delete(sapwood: &Sapwood, pk: &str, sk: &str) {
    let key = sapwood.client.delete_item().table_name(TABLE).key("PK", s(pk)).key("SK", s(sk));
    let deleted = key.return_values(aws_sdk_dynamodb::types::ReturnValue::AllOld).send().await.unwrap();
    assert!(deleted.attributes.is_some(), "{pk} | {sk} isn't there");
}

async fn revision(sapwood: &Sapwood, id: &str, sk: &str) {
    let mut revision = node(id, None, sk);
    revision.insert("SK".to_owned(), s(sk));
    put(&sapwood.client, TABLE, revision).await;
}

/// The ids of the nodes in an export, and its revisions as `node/topic/version`. None comes twice.
fn exported(url: &str, under: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for line in printed(url, &["export", "--under", under], 0).lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let name = match line["id"].as_str() {
            Some(id) => id.to_owned(),
            None => {
                format!("{}/{}/{}", line["node"].as_str().unwrap(), line["topic"].as_str().unwrap(), line["version"])
            }
        };
        assert!(found.insert(name.clone()), "{name} comes twice");
    }
    found
}

/// The kinds and keys of what a comparison confirmed.
fn confirmed(url: &str, arguments: &[&str], code: i32) -> Vec<String> {
    let said = printed(url, &[&["verify", "--json", "--confirmation-window", "1"][..], arguments].concat(), code);
    let lines = said.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let text = |line: &Value, name: &str| line[name].as_str().unwrap().to_owned();
    let words = |line: Value| format!("{} {} {}", text(&line, "kind"), text(&line, "pk"), text(&line, "sk"));
    lines.filter(|line| line["state"] == "confirmed").map(words).collect()
}

fn names(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// A with B and E, B with C, C with D; X apart.
async fn planted() -> Sapwood {
    let running = Sapwood::start(&[]);
    for (id, parent) in
        [("A", None), ("B", Some("A")), ("E", Some("A")), ("C", Some("B")), ("D", Some("C")), ("X", None)]
    {
        put(&running.client, TABLE, node(id, parent, id)).await;
    }
    for (id, sk) in [("C", "v001_Audit"), ("C", "v002_Audit"), ("X", "v001_Audit"), ("nobody", "v001_Audit")] {
        revision(&running, id, sk).await;
    }
    running.becomes_right().await;
    running
}

#[tokio::test(flavor = "multi_thread")]
async fn only_what_is_below_is_exported_compared_and_mended() {
    let running = planted().await;
    let url = &running.url;
    put(&running.client, TABLE, node("Y", Some("X"), "Y")).await;
    running.becomes_right().await;
    assert_eq!(confirmed(url, &["--under", "A"], 0), [""; 0]);
    delete(&running, "C", "NODE#0001#D").await;
    delete(&running, "A", "NODE#0002#C").await;
    delete(&running, "C", "v0_Audit").await;
    delete(&running, "X", "NODE#0001#Y").await;
    delete(&running, "A", "PATH#E").await;

    assert_eq!(exported(url, "A"), names(&["A", "B", "C", "C/Audit/1", "C/Audit/2", "D", "E"]));
    assert_eq!(exported(url, "C"), names(&["C", "C/Audit/1", "C/Audit/2", "D"]));
    let wrong =
        ["row-missing A NODE#0002#C", "row-missing A PATH#E", "row-missing C NODE#0001#D", "copy-missing C v0_Audit"];
    assert_eq!(confirmed(url, &["--under", "A"], 1), wrong);
    // Of a part, only the part is told.
    assert_eq!(confirmed(url, &["--under", "E"], 1), ["row-missing A PATH#E"]);
    assert_eq!(confirmed(url, &[], 1).len(), wrong.len() + 1);
    printed(url, &["repair", "--under", "A", "--yes", "--confirmation-window", "1"], 0);
    assert_eq!(confirmed(url, &["--under", "A"], 0), [""; 0]);
    assert_eq!(confirmed(url, &[], 1), ["row-missing X NODE#0001#Y"]);
    printed(url, &["repair", "--under", "X", "--yes", "--confirmation-window", "1"], 0);
    running.becomes_right().await;

    for command in [&["verify", "--confirmation-window", "1"][..], &["repair", "--yes"], &["export"]] {
        let output = sapwood(url, &[command, &["--under", "nowhere"]].concat());
        assert!(output.status.code() == Some(1) && words(&output).contains("`nowhere`"), "{}", words(&output));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_left_of_deleted_nodes_is_found_by_its_rows() {
    let running = planted().await;
    // What a lost deletion leaves: the lineage and the rows.
    let row = running.client.get_item().table_name(TABLE).key("PK", s("B")).key("SK", s("NODE#0001#C")).send().await;
    let row = row.unwrap().item.unwrap();
    put(&running.client, TABLE, {
        let mut row = row.clone();
        row.extend([("_id", "ghost"), ("SK", "NODE#0001#ghost")].map(|(name, value)| (name.to_owned(), s(value))));
        row
    })
    .await;
    let wrong = ["row-surplus B NODE#0001#ghost"];
    assert_eq!(confirmed(&running.url, &["--under", "A"], 1), wrong);
    assert_eq!(confirmed(&running.url, &["--under", "B"], 1), wrong);
    assert_eq!(confirmed(&running.url, &["--under", "C"], 0), [""; 0]);
    printed(&running.url, &["repair", "--under", "A", "--yes", "--confirmation-window", "1"], 0);
    running.becomes_right().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_no_row_tells_a_pass_over_the_whole_table_sees() {
    let running = planted().await;
    let url = &running.url;
    // Neither the parent nor the node at the top has a row of D, and then D has no path row either.
    delete(&running, "C", "NODE#0001#D").await;
    delete(&running, "A", "NODE#0003#D").await;
    for top in ["A", "C"] {
        assert!(exported(url, top).contains("D"), "{top}");
    }
    delete(&running, "A", "PATH#B#C#D").await;
    assert_eq!(confirmed(url, &["--under", "A"], 0), [""; 0]);
    assert!(!exported(url, "A").contains("D"));
    // From B on it is found: B has a row of it.
    assert!(exported(url, "B").contains("D"));
    let whole = ["row-missing A NODE#0003#D", "row-missing A PATH#B#C#D", "row-missing C NODE#0001#D"];
    assert_eq!(confirmed(url, &["--under", "B"], 1), whole);
    assert_eq!(confirmed(url, &[], 1), whole);
    printed(url, &["repair", "--yes", "--confirmation-window", "1"], 0);
    running.becomes_right().await;
    assert!(exported(url, "A").contains("D"));
    // A node that no row leads to is found if one leads to what is below it.
    for (pk, sk) in [("B", "NODE#0001#C"), ("A", "NODE#0002#C"), ("A", "PATH#B#C"), ("A", "PATH#B#C#D")] {
        delete(&running, pk, sk).await;
    }
    assert_eq!(exported(url, "A"), names(&["A", "B", "C", "C/Audit/1", "C/Audit/2", "D", "E"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn records_decide_where_rows_are_behind() {
    let directory = tempfile::tempdir().unwrap();
    let running = Sapwood::start_on(directory.path(), &[]);
    for (id, parent) in [("A", None), ("B", Some("A")), ("E", Some("A")), ("C", Some("B")), ("D", Some("C"))] {
        put(&running.client, TABLE, node(id, parent, id)).await;
    }
    running.becomes_right().await;
    assert_eq!(running.interrupt(), 0);
    let running = Sapwood::start_on(directory.path(), &["--no-handler"]);
    let url = &running.url;
    // Nobody writes their rows: C goes from B to E, with D; E becomes a root.
    put(&running.client, TABLE, node("C", Some("E"), "C")).await;
    assert_eq!(exported(url, "B"), names(&["B"]));
    assert_eq!(exported(url, "A"), names(&["A", "B", "C", "D", "E"]));
    put(&running.client, TABLE, node("E", None, "E")).await;
    assert_eq!(exported(url, "A"), names(&["A", "B"]));
    // A circle has no end, and is left.
    put(&running.client, TABLE, node("A", Some("B"), "A")).await;
    assert_eq!(exported(url, "A"), names(&["A", "B"]));
    let root = printed(url, &["export", "--under", "B", "--as-root"], 0);
    assert!(root.starts_with("{\"id\":\"B\",\"attributes\""), "{root}");
    let record = printed(url, &["export", "--under", "B"], 0);
    assert!(record.starts_with("{\"id\":\"B\",\"parent\":\"A\""), "{record}");
}

/// A tree of random shape, with more children than a page has, from which rows are lost at random: of each node all but
/// one of those that lead to it: the row of its parent, that of the node at the top, and its path row.
#[tokio::test(flavor = "multi_thread")]
async fn each_node_is_found_once_if_one_row_leads_to_it() {
    let seed = std::env::var("SAPWOOD_SEED").map_or_else(|_| fastrand::u64(..), |seed| seed.parse().unwrap());
    println!("SAPWOOD_SEED={seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let nodes = size("UNDER_NODES", 150);
    let running = Sapwood::start(&[]);
    let mut parents: BTreeMap<String, String> = BTreeMap::new();
    let mut depths = vec![0_usize];
    put(&running.client, TABLE, node("n0", None, "top")).await;
    for n in 1..nodes {
        // Half of them are children of two nodes, the others are anywhere.
        let parent = if random.bool() { random.usize(0..n.min(2)) } else { random.usize(0..n) };
        depths.push(depths[parent] + 1);
        parents.insert(format!("n{n}"), format!("n{parent}"));
        put(&running.client, TABLE, node(&format!("n{n}"), Some(&format!("n{parent}")), "n")).await;
    }
    running.becomes_right().await;
    let mut lost = Vec::new();
    for (n, depth) in depths.iter().enumerate().skip(1) {
        let (mut path, mut at) = (Vec::new(), n);
        while at > 0 {
            path.push(format!("n{at}"));
            at = parents[&path[path.len() - 1]][1..].parse().unwrap();
        }
        path.reverse();
        let id = format!("n{n}");
        let parents_row = (parents[&id].clone(), format!("NODE#0001#{id}"));
        let tops_row = ("n0".to_owned(), format!("NODE#{depth:04}#{id}"));
        // The row of a child of the top is both.
        let mut rows: BTreeSet<(String, String)> =
            [parents_row, tops_row, ("n0".to_owned(), format!("PATH#{}", path.join("#")))].into();
        let kept = rows.iter().nth(random.usize(..rows.len())).cloned().unwrap();
        rows.remove(&kept);
        lost.extend(rows.into_iter().filter(|_| random.u8(..4) > 0));
    }
    for (pk, sk) in &lost {
        delete(&running, pk, sk).await;
    }
    let all: BTreeSet<String> = (0..nodes).map(|n| format!("n{n}")).collect();
    assert_eq!(exported(&running.url, "n0"), all, "{lost:?}");
    let wanted: BTreeSet<String> = lost.iter().map(|(pk, sk)| format!("row-missing {pk} {sk}")).collect();
    let found: BTreeSet<String> = confirmed(&running.url, &["--under", "n0"], 1).into_iter().collect();
    assert_eq!(found, wanted);
}

#[tokio::test(flavor = "multi_thread")]
async fn tenants_are_kept_apart() {
    let tenants = ["--parameter", "TenantClaim=tenant"];
    let running = Sapwood::start(&tenants);
    let url = &running.url;
    for (tenant, id, parent) in [("a", "D", None), ("a", "V", Some("D")), ("b", "D", None), ("b", "W", Some("D"))] {
        let mut item = node(id, parent, tenant);
        item.insert("PK".to_owned(), AttributeValue::S(format!("TENANT#{tenant}#{id}")));
        put(&running.client, TABLE, item).await;
    }
    let call = |arguments: &[&str], code| printed(url, &[arguments, &tenants].concat(), code);
    let whole = call(&["export", "--tenant", "b"], 0);
    let mut parts = (0..200).map(|_| call(&["export", "--under", "D", "--tenant", "b"], 0));
    let part = parts.find(|part| part.lines().count() == 2).unwrap();
    assert_eq!(part.lines().collect::<BTreeSet<_>>(), whole.lines().collect());
    assert!(part.contains("\"W\"") && !part.contains("\"V\""), "{part}");
    let csv = call(&["export", "--format", "csv", "--tenant", "a"], 0);
    assert_eq!(csv.lines().collect::<BTreeSet<_>>(), ["id,parent,segment,name", "D,,,a", "V,D,,a"].into());
    call(&["export", "--format", "csv"], 2);
    call(&["export", "--under", "D"], 2);
    call(&["verify", "--confirmation-window", "1", "--under", "D", "--tenant", "a"], 0);
    call(&["verify", "--under", "D"], 2);
}
