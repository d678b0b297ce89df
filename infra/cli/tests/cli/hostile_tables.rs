//! Tables that nobody should have: what the tools say of them is true, and what is somebody's stays.

use std::collections::{BTreeMap, HashMap};

use aws_sdk_dynamodb::types::AttributeValue::{Bool, L, M, N};
use sapwood_tests::client::{item, node, put, put_all, s};
use sapwood_tests::oracle::Contents;
use sapwood_tests::running::{Running, TABLE};
use serde_json::Value;

use crate::running::Sapwood;
use crate::stack::{Attributes, assert_right, ends_with, lines, revision, sapwood, tree, words};

/// The handler's parameters of these tables: all kinds of rows.
const KINDS: [(&str, &str); 2] = [("OrderAttribute", "name"), ("LinkAttributes", "tags")];

/// A table of D with V with d, whose stream nobody reads.
async fn at_rest(parameters: &[(&str, &str)], more: Vec<Attributes>) -> Running {
    let mut running = Running::start(parameters).await;
    let nodes = [("D", None), ("V", Some("D")), ("d", Some("V"))].map(|(id, parent)| node(id, parent, id));
    put_all(&running.client, TABLE, nodes.into_iter().chain(more).collect()).await;
    running.pause().await;
    running.announce().await;
    running
}

async fn get(running: &Running, pk: &str, sk: &str) -> Attributes {
    let get = running.client.get_item().table_name(TABLE).consistent_read(true);
    get.key("PK", s(pk)).key("SK", s(sk)).send().await.unwrap().item.unwrap()
}

async fn change(running: &Running, pk: &str, sk: &str, name: &str, value: aws_sdk_dynamodb::types::AttributeValue) {
    let mut item = get(running, pk, sk).await;
    item.insert(name.to_owned(), value);
    put(&running.client, TABLE, item).await;
}

fn number(digits: &str) -> aws_sdk_dynamodb::types::AttributeValue {
    N(digits.to_owned())
}

/// The kinds and keys of what `verify` finds, if it ends with this code, and its last line.
fn verified(running: &Running, code: i32, arguments: &[&str]) -> (Vec<String>, Value) {
    let said =
        ends_with(code, &running.url(), &[&["verify", "--json", "--confirmation-window", "1"], arguments].concat());
    let mut lines = lines(&said);
    let last = lines.pop().unwrap();
    let named = |line: &Value| {
        let [kind, pk, sk] = ["kind", "pk", "sk"].map(|name| line[name].as_str().unwrap().to_owned());
        format!("{kind} {pk} {sk}")
    };
    (lines.iter().map(named).collect(), last)
}

/// The same for people.
fn said(running: &Running, code: i32) -> String {
    ends_with(code, &running.url(), &["verify", "--confirmation-window", "1"])
}

#[tokio::test(flavor = "multi_thread")]
async fn where_nothing_is_recognised_nothing_is_right() {
    let running = Sapwood::start(&["--parameter", "PartitionKey=pk", "--parameter", "SortKey=sk"]);
    let record = |id: &str| HashMap::from([("pk".to_owned(), s(id)), ("sk".to_owned(), s("NODE"))]);
    for id in ["a", "b"] {
        put(&running.client, TABLE, record(id)).await;
    }
    let settings = || HashMap::from([("pk".to_owned(), s("SAPWOOD")), ("sk".to_owned(), s("SETTINGS"))]);
    for _ in 0..100 {
        let there = running.client.get_item().table_name(TABLE).set_key(Some(settings())).send().await.unwrap().item;
        if there.is_some() {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    running.client.delete_item().table_name(TABLE).set_key(Some(settings())).send().await.unwrap();
    let directory = tempfile::tempdir().unwrap();
    let work = directory.path().join("work");
    let commands: [&[&str]; 5] = [
        &["verify", "--confirmation-window", "1"],
        &["verify", "--confirmation-window", "1", "--under", "a"],
        &["repair", "--confirmation-window", "1", "--yes"],
        &["export"],
        &["backfill", "--dry-run", "--work", work.to_str().unwrap()],
    ];
    let sentence = "the table's keys are pk and sk, and the settings name PK (S) and SK (S): the parameters PartitionKey and SortKey must be";
    for command in commands {
        for parameters in [&[][..], &["--parameter", "PathRows=off"]] {
            let output = sapwood(&running.url, &[command, parameters].concat());
            assert_eq!(output.status.code(), Some(4), "{command:?}: {}", words(&output));
            assert!(words(&output).contains(sentence), "{command:?}: {}", words(&output));
            assert!(!words(&output).contains("nothing is wrong"), "{command:?}: {}", words(&output));
        }
    }

    // The keys have the right names, and no item has one of ours. An empty table is right.
    let running = Sapwood::start(&[]);
    let commands: [&[&str]; 3] = [
        &["verify", "--confirmation-window", "1"],
        &["export"],
        &["backfill", "--dry-run", "--work", work.to_str().unwrap()],
    ];
    for command in commands {
        ends_with(0, &running.url, command);
    }
    let theirs = item([("PK", s("CUSTOMER#1")), ("SK", s("ORDER#1"))]);
    put(&running.client, TABLE, theirs).await;
    let is_unrecognised = |command: &[&str], parameter: &str| {
        let output = sapwood(&running.url, &[command, &["--parameter", parameter]].concat());
        assert_eq!(output.status.code(), Some(4), "{command:?}: {}", words(&output));
        assert!(
            words(&output).contains("with these settings no node and no row is among its items"),
            "{}",
            words(&output)
        );
    };
    for command in commands {
        is_unrecognised(command, "PathRows=on");
        // The handler's own settings are the table's: there are no nodes.
        ends_with(0, &running.url, command);
    }

    // What the handler remembers about itself is there with any settings.
    put_all(&running.client, TABLE, vec![node("D", None, "D"), node("V", Some("D"), "V")]).await;
    running.becomes_right().await;
    is_unrecognised(&["verify", "--confirmation-window", "1"], "TenantClaim=org");
    is_unrecognised(&["export"], "TenantClaim=org");
    is_unrecognised(&["export"], "NodeSortKey=ITEM");
    ends_with(1, &running.url, &["verify", "--confirmation-window", "1", "--parameter", "NodeSortKey=ITEM"]);
    ends_with(0, &running.url, &["verify", "--confirmation-window", "1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_newer_handler_has_written_is_not_called_right() {
    let mut running = at_rest(&[], Vec::new()).await;
    let (named, last) = verified(&running, 0, &[]);
    assert_eq!((named.len(), &last["not_compared"]), (0, &0.into()));
    // Three records with a lineage each; D, V, d have 1, 2 and 3 rows.
    let counts = ["nodes", "lineages", "rows", "copies", "foreign", "own", "items"].map(|name| last[name].as_u64());
    assert_eq!(counts, [3, 3, 6, 0, 0, 1, 13].map(Some), "{last}");
    assert!(said(&running, 0).contains("3 nodes, 6 rows and 0 copies: nothing is wrong"));

    let before = get(&running, "V", "LINEAGE").await;
    change(&running, "V", "LINEAGE", "format", number("99")).await;
    let newer =
        ["not-compared D NODE#0001#V", "not-compared D PATH#V", "newer-format V LINEAGE", "not-compared d LINEAGE"];
    let (named, last) = verified(&running, 4, &[]);
    assert_eq!(
        (named, &last["not_compared"], &last["differences"]),
        (newer.map(String::from).to_vec(), &4.into(), &0.into())
    );
    let words = said(&running, 4);
    assert!(
        words.contains("nothing is wrong in what could be compared; 4 items weren't compared, because a newer"),
        "{words}"
    );
    // Who looks at a part is told what it depends on.
    assert_eq!(verified(&running, 4, &["--under", "d"]).0, ["not-compared d LINEAGE"]);
    // A repair of the rest leaves it as it is.
    let broken = get(&running, "ROOTS", "ROOT#D").await;
    let key = |name: &str| broken[name].clone();
    let delete = running.client.delete_item().table_name(TABLE).key("PK", key("PK")).key("SK", key("SK"));
    delete.send().await.unwrap();
    running.resume(&[]).await;
    ends_with(4, &running.url(), &["repair", "--confirmation-window", "1", "--yes"]);
    assert_eq!(get(&running, "ROOTS", "ROOT#D").await, broken);
    assert_eq!(get(&running, "V", "LINEAGE").await["format"], number("99"));
    running.pause().await;
    put(&running.client, TABLE, before).await;
    verified(&running, 0, &[]);

    for (pk, sk) in [("V", "CASCADE"), ("SAPWOOD", "AUDIT"), ("gone", "LINEAGE")] {
        put(&running.client, TABLE, item([("PK", s(pk)), ("SK", s(sk)), ("format", number("99"))])).await;
        assert_eq!(verified(&running, 4, &[]).0, [format!("newer-format {pk} {sk}")]);
        running.client.delete_item().table_name(TABLE).key("PK", s(pk)).key("SK", s(sk)).send().await.unwrap();
    }
    change(&running, "SAPWOOD", "SETTINGS", "format", number("99")).await;
    ends_with(4, &running.url(), &["verify", "--confirmation-window", "1"]);
    assert_eq!(verified(&running, 4, &["--parameter", "PathRows=on"]).0, ["newer-format SAPWOOD SETTINGS"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lineage_of_another_format_than_its_rows_need_is_named_and_written_anew() {
    for (parameters, format) in [(&KINDS[..], "1"), (&[][..], "2")] {
        let mut running = at_rest(parameters, Vec::new()).await;
        let before = running.contents().await;
        change(&running, "V", "LINEAGE", "format", number(format)).await;
        change(&running, "d", "LINEAGE", "restarted", s("7")).await;
        change(&running, "D", "LINEAGE", "theirs", s("x")).await;
        let wanted = ["D", "V", "d"].map(|id| format!("lineage-rows {id} LINEAGE"));
        assert_eq!(verified(&running, 1, &[]).0, wanted, "{format}");
        running.resume(parameters).await;
        ends_with(0, &running.url(), &["repair", "--confirmation-window", "1", "--yes"]);
        assert_right(&running).await;
        let lineages =
            |contents: Contents| -> Contents { contents.into_iter().filter(|((_, sk), _)| sk == "LINEAGE").collect() };
        assert_eq!(lineages(running.contents().await), lineages(before), "{format}");
    }
}

/// A forged row, as no handler writes it, and what it says of itself.
fn forged(pk: &str, sk: &str, id: &str, more: &[(&str, aws_sdk_dynamodb::types::AttributeValue)]) -> Attributes {
    let mut row = item([("PK", s(pk)), ("SK", s(sk)), ("_id", s(id))]);
    row.extend(more.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
    row
}

#[tokio::test(flavor = "multi_thread")]
async fn forged_rows_go_and_what_is_somebodys_stays() {
    let mut running = at_rest(&KINDS, vec![node("my~docs", Some("D"), "my~docs"), revision("d", "v001_Audit")]).await;
    let rows = [
        forged("V", "NODE#0001#ghost", "ghost", &[("_depth", number("2"))]),
        forged("D", "PATH#my%7edocs", "my~docs", &[("_depth", number("1")), ("_parent", s("D"))]),
        forged("V", "ROOT#d", "d", &[]),
        forged("ORPHANS#z", "ORPHAN#d", "d", &[("_parent", s("V"))]),
        forged("ORPHANS#0", "ORPHAN#V", "V", &[("_parent", Bool(true))]),
        forged("d", "LINK#tags#V", "V", &[("_ancestors", s("none"))]),
        forged("D", "CHILD#~#d", "d", &[]),
    ];
    let theirs = [
        item([("PK", s("V")), ("SK", s("NODE#0001#17")), ("mine", s("yes"))]),
        item([("PK", s("V")), ("SK", s("PATH#17")), ("_id", s("64af00")), ("mine", s("yes"))]),
        item([("PK", s("V")), ("SK", s("ROOT#17")), ("_depth", number("1"))]),
        item([("PK", s("d")), ("SK", s("v0_notes")), ("mine", s("yes"))]),
        item([("PK", s("free")), ("SK", s("CASCADE")), ("mine", s("yes"))]),
        item([("PK", s("d")), ("SK", s("ORDER#1"))]),
    ];
    let before = running.contents().await;
    put_all(&running.client, TABLE, rows.iter().chain(&theirs).cloned().collect()).await;
    let text = |item: &Attributes, name: &str| item[name].as_s().unwrap().clone();
    let key = |item: &Attributes| (text(item, "PK"), text(item, "SK"));
    let (named, last) = verified(&running, 1, &[]);
    let surplus: Vec<&String> = named.iter().filter(|line| line.starts_with("row-surplus ")).collect();
    assert_eq!(surplus.len(), rows.len(), "{named:?}");
    for (pk, sk) in rows.iter().map(key) {
        assert!(named.contains(&format!("row-surplus {pk} {sk}")), "{pk} {sk}: {named:?}");
    }
    for (pk, sk) in theirs.iter().map(key).filter(|(_, sk)| sk != "ORDER#1" && sk != "ROOT#17") {
        assert!(named.contains(&format!("reserved-key {pk} {sk}")), "{pk} {sk}: {named:?}");
    }
    assert_eq!((&last["differences"], &last["foreign"]), (&rows.len().into(), &4.into()), "{last}");

    running.resume(&KINDS).await;
    let repaired = ends_with(0, &running.url(), &["repair", "--confirmation-window", "1", "--yes"]);
    assert!(repaired.contains("deletes 7 rows that no lineage names"), "{repaired}");
    running.settle().await;
    let mut after = running.contents().await;
    for item in &theirs {
        let wanted: BTreeMap<_, _> = item.iter().map(|(name, value)| (name.clone(), value.clone().into())).collect();
        assert_eq!(after.remove(&key(item)), Some(wanted));
    }
    assert_eq!(after, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn leftovers_are_named_as_what_they_are() {
    let mut running = at_rest(&[], Vec::new()).await;
    let cursor = |pk: &str, more: &[(&str, aws_sdk_dynamodb::types::AttributeValue)]| {
        let mut cursor = item([("PK", s(pk)), ("SK", s("CASCADE"))]);
        cursor.extend(more.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
        cursor
    };
    let (format, sequence) = (("format", number("1")), ("sequence", s(format!("{:0>40}", 7))));
    let blocked = [format.clone(), sequence.clone(), ("blocked", Bool(true)), ("children", s("an old mark"))];
    put(&running.client, TABLE, cursor("V", &blocked)).await;
    put(&running.client, TABLE, cursor("D", &[format, ("sequence", Bool(true))])).await;
    change(&running, "d", "NODE", "_deleting", M(HashMap::from([("mode".to_owned(), s("delete"))]))).await;
    let before = running.contents().await;
    let wanted = ["cursor-unreadable D CASCADE", "cursor-stuck V CASCADE", "mark-unreadable d NODE"];
    assert_eq!(verified(&running, 1, &[]).0, wanted);
    running.resume(&[]).await;
    let repaired = ends_with(0, &running.url(), &["repair", "--confirmation-window", "1", "--yes"]);
    assert!(repaired.contains("deletes 1 cursor that no handler has written"), "{repaired}");
    running.settle().await;
    running.pause().await;
    assert_eq!(verified(&running, 0, &[]).0, ["mark-unreadable d NODE"]);
    assert!(
        said(&running, 0).contains("nothing is wrong; 1 finding about what isn't ours to mend (1 mark-unreadable)")
    );
    let mut after = running.contents().await;
    let records = |contents: &Contents| crate::stack::records(contents, &["_redriven", "_touched"]);
    assert_eq!(records(&after), records(&before));
    after.retain(|(_, sk), _| sk == "CASCADE");
    assert_eq!(after.len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lineage_that_names_what_is_others_harms_none_of_it() {
    let mut running = at_rest(&KINDS, vec![revision("d", "v001_Audit")]).await;
    let before = running.contents().await;
    let keys =
        [("D", "NODE#0002#d"), ("d", "NODE"), ("d", "v001_Audit"), ("d", "LINEAGE"), ("D", "CHILD#sV#V"), ("D", "x")];
    let named = keys.map(|(pk, sk)| M(item([("PK", s(pk)), ("SK", s(sk))])));
    change(&running, "D", "LINEAGE", "stale_rows", L(named.to_vec())).await;
    let wanted = ["foreign-rows D LINEAGE", "lineage-rows D LINEAGE"].map(String::from);
    let mut found = verified(&running, 1, &[]).0;
    found.sort();
    assert_eq!(found, wanted);
    running.resume(&KINDS).await;
    let repaired = ends_with(0, &running.url(), &["repair", "--confirmation-window", "1", "--yes", "--json"]);
    // The last look is at the owners of what it named, too: d and V, and their rows.
    let last = lines(&repaired).pop().unwrap();
    assert!(last["nodes"].as_u64() >= Some(3) && last["rows"].as_u64() >= Some(4), "{last}");
    assert_right(&running).await;
    let records = |contents: &Contents| crate::stack::records(contents, &["_redriven", "_touched"]);
    assert_eq!(records(&running.contents().await), records(&before));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repair_says_how_many_nodes_it_deletes() {
    let mut all = tree(40, 3);
    all.push(revision("n7", "v001_Audit"));
    let mut running = at_rest(&[], all).await;
    let mark = [("mode", s("delete")), ("operation", s("lost")), ("revisions", Bool(true))];
    let mark = M(mark.map(|(name, value)| (name.to_owned(), value)).into());
    change(&running, "n0", "NODE", "_deleting", mark.clone()).await;
    change(&running, "n0", "LINEAGE", "deleting", mark).await;
    let before = running.contents().await;
    let asked = sapwood(&running.url(), &["repair", "--confirmation-window", "1"]);
    let told = words(&asked);
    assert_eq!(asked.status.code(), Some(4), "{told}");
    assert!(told.contains("1 write, and the handler"), "{told}");
    assert!(told.contains("deletes 40 nodes, with their revisions: deletions that were asked for"), "{told}");
    assert_eq!(running.contents().await, before);
    running.resume(&[]).await;
    let repaired = ends_with(0, &running.url(), &["repair", "--confirmation-window", "4", "--yes", "--json"]);
    let plan = lines(&repaired).into_iter().find(|line| line["writes"] == 1).unwrap();
    assert_eq!((&plan["nodes_deleted"], &plan["revisions_deleted"]), (&40.into(), &true.into()), "{plan}");
    running.settle().await;
    let left = running.contents().await;
    assert!(!left.keys().any(|(pk, sk)| pk.starts_with('n') && sk != "LINEAGE"), "{left:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_written_outside_of_the_subtree_is_told() {
    let tagged = |id: &str| {
        let mut item = node(id, Some("D"), id);
        item.insert("tags".to_owned(), L(vec![s("V")]));
        item
    };
    let mut running = at_rest(&KINDS, vec![tagged("x"), tagged("y")]).await;
    // V has rows of nodes that link to it. A row of x is surplus, and x has to be mended first.
    change(&running, "x", "LINEAGE", "rows_pending", Bool(true)).await;
    put(&running.client, TABLE, forged("V", "NODE#0001#x", "x", &[])).await;
    running.resume(&KINDS).await;
    let mended = ends_with(0, &running.url(), &["repair", "--confirmation-window", "1", "--yes", "--under", "V"]);
    assert!(mended.contains("1 of these records isn't below `V`: what is wrong there depends on"), "{mended}");
    assert!(mended.contains("deletes 1 row that no lineage names"), "{mended}");
    assert_right(&running).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_with_one_tenant_is_mended_and_the_namesakes_of_another_stay() {
    let parameters = [KINDS[0], KINDS[1], ("TenantClaim", "org")];
    let tree = |tenant: &'static str| {
        [("D", None), ("V", Some("D")), ("d", Some("V"))].map(|(id, parent)| {
            let mut record = node(id, parent, id);
            record.insert("PK".to_owned(), s(format!("TENANT#{tenant}#{id}")));
            record.insert("tags".to_owned(), L(vec![s("D")]));
            record
        })
    };
    let mut running = Running::start(&parameters).await;
    put_all(&running.client, TABLE, ["x", "y"].into_iter().flat_map(tree).collect()).await;
    running.pause().await;
    running.announce().await;
    assert_eq!(verified(&running, 0, &[]).0, [""; 0]);
    let before = running.contents().await;

    let others = [("TENANT#y#D", "NODE#0001#V"), ("TENANT#y#D", "LINK#tags#V"), ("TENANT#y#V", "LINEAGE")];
    let others = others.map(|(pk, sk)| M(item([("PK", s(pk)), ("SK", s(sk))])));
    change(&running, "TENANT#x#V", "LINEAGE", "stale_rows", L(others.to_vec())).await;
    put(&running.client, TABLE, forged("TENANT#x#V", "NODE#0001#ghost", "ghost", &[("_depth", number("2"))])).await;
    let row = running.client.delete_item().table_name(TABLE).key("PK", s("TENANT#x#D"));
    row.key("SK", s("NODE#0002#d")).send().await.unwrap();
    let named = verified(&running, 1, &[]).0;
    for wanted in
        ["foreign-rows TENANT#x#V LINEAGE", "row-surplus TENANT#x#V NODE#0001#ghost", "row-missing TENANT#x#D"]
    {
        assert!(named.iter().any(|line| line.starts_with(wanted)), "{wanted}: {named:?}");
    }
    assert!(named.iter().all(|line| line.contains(" TENANT#x#")), "{named:?}");
    assert_eq!(verified(&running, 0, &["--under", "D", "--tenant", "y"]).0, [""; 0]);

    running.resume(&parameters).await;
    ends_with(0, &running.url(), &["repair", "--confirmation-window", "1", "--yes", "--under", "D", "--tenant", "y"]);
    verified(&running, 1, &["--under", "D", "--tenant", "x"]);
    ends_with(0, &running.url(), &["repair", "--confirmation-window", "1", "--yes", "--under", "D", "--tenant", "x"]);
    assert_right(&running).await;
    let after = running.contents().await;
    let of_y = |contents: &Contents| -> Contents {
        contents
            .iter()
            .filter(|((pk, _), _)| pk.contains("#y#"))
            .map(|(key, item)| (key.clone(), item.clone()))
            .collect()
    };
    assert_eq!(of_y(&after), of_y(&before));
    let records = |contents: &Contents| crate::stack::records(contents, &["_redriven", "_touched"]);
    assert_eq!(records(&after), records(&before));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_does_not_steer_the_terminal() {
    let running = at_rest(&[], vec![node("e\u{1b}[31m\u{202e}\u{9b}x", Some("nobody"), "e")]).await;
    let words = said(&running, 0);
    assert!(words.contains("e\\u{1b}[31m\\u{202e}\\u{9b}x"), "{words}");
    assert!(!words.contains(['\u{1b}', '\u{202e}', '\u{9b}']), "{words:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_isnt_ours_to_mend_isnt_waited_for() {
    // Nobody mends an orphan, nor a circle, but whoever wrote the records.
    let parents = [("orphan", "nowhere"), ("round", "about"), ("about", "round")];
    let more = parents.map(|(id, parent)| node(id, Some(parent), id));
    let running = at_rest(&[], more.into()).await;
    let said = ends_with(0, &running.url(), &["verify", "--json", "--confirmation-window", "600"]);
    let mut lines = lines(&said);
    let last = lines.pop().unwrap();
    let mut kinds: Vec<&str> = lines.iter().map(|line| line["kind"].as_str().unwrap()).collect();
    kinds.sort_unstable();
    assert_eq!(kinds, ["cycle", "cycle", "orphan"], "{last}");
    // Who waits does so for the settling time, at least.
    assert!(last["seconds"].as_f64().unwrap() < 300.0, "{last}");
}
