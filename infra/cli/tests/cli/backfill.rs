//! `sapwood backfill`, the real binary, on tables whose records no handler has seen.

use std::fs;
use std::path::Path;
use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use rand::seq::SliceRandom;
use sapwood_core::model::AttributeValue as Value;
use sapwood_tests::client::{self, node, put, put_all, s};
use sapwood_tests::oracle::{Contents, Item};
use sapwood_tests::running::{Running, TABLE, total};
use sapwood_tests::sim::wrong_totals;

use crate::stack::{
    Attributes, OURS, assert_right, chance, command, delete_derived, ends_with, lines, records, revision, sapwood,
    size, tree, words,
};

/// A stack with records that are older than its stream.
async fn older_than_the_stream(items: Vec<Attributes>) -> Running {
    let mut running = Running::start(&[]).await;
    running.pause().await;
    put_all(&running.client, TABLE, items).await;
    running.resume(&[]).await;
    running.take();
    running
}

/// A directory, and the name of a working file in it.
fn working_file() -> (tempfile::TempDir, String) {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("work").to_str().unwrap().to_owned();
    (directory, file)
}

/// The last object that a backfill prints.
fn ended(url: &str, work: &str, arguments: &[&str]) -> serde_json::Value {
    let printed = ends_with(0, url, &[&["backfill", "--json", "--work", work][..], arguments].concat());
    lines(&printed).pop().unwrap()
}

/// The units that placing all nodes takes at least, their records included.
fn least(contents: &sapwood_tests::oracle::Contents) -> f64 {
    let derived = contents.keys().filter(|(_, sk)| sk != "NODE").count();
    (derived + contents.keys().filter(|(_, sk)| sk == "NODE").count()) as f64
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_that_no_handler_has_seen_are_placed_once_each_parents_first() {
    let nodes = size("BACKFILLED_NODES", 200);
    let mut items = tree(nodes, 4);
    items.shuffle(&mut chance());
    let running = older_than_the_stream(items).await;
    let before = running.contents().await;
    assert_eq!(before.len(), nodes);
    let (directory, work) = working_file();

    let planned = ended(&running.url(), &work, &["--dry-run"]);
    assert_eq!(planned["nodes"], nodes);
    assert_eq!(running.contents().await, before, "a dry run writes nothing");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0, "and leaves nothing");

    let done = ended(&running.url(), &work, &["--yes"]);
    assert_right(&running).await;
    let after = running.contents().await;
    let counts = total(&running.take().1);
    let (used, least) = (counts.usage.write_units + done["redriven"].as_f64().unwrap(), least(&after));
    println!("{nodes} nodes: {used} write units, at least {least}: {:.3}", used / least);
    assert_eq!((done["redriven"].as_u64(), done["refused"].as_u64()), (Some(nodes as u64), Some(0)));
    assert_eq!(counts.tally.touches, 0, "no node is touched");
    assert_eq!(used, least, "each node is placed once");
    assert_eq!(planned["write_units"].as_f64(), Some(least), "as the dry run said");
    assert_eq!(records(&after, &["_redriven"]), before, "nothing of the records changes");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0, "the working file is gone");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_right_costs_nothing_but_reads_unless_all_is_asked_for() {
    let mut items = tree(60, 3);
    items.extend([revision("eq", "v001_Audit"), revision("eq", "v002_Audit"), node("x", Some("missing"), "x")]);
    // A cycle, and a record that can't be understood.
    items.extend([node("a", Some("b"), "a"), node("b", Some("a"), "b"), node("own", Some("own"), "own")]);
    let mut unreadable = node("unreadable", None, "unreadable");
    unreadable.insert("parent".to_owned(), aws_sdk_dynamodb::types::AttributeValue::Bool(true));
    items.push(unreadable);
    let running = older_than_the_stream(items).await;
    let (_directory, work) = working_file();
    let done = ended(&running.url(), &work, &["--yes"]);
    assert_eq!((done["redriven"].as_u64(), done["others"].as_u64()), (Some(64), Some(1)), "{done}");
    assert_right(&running).await;

    let before = running.contents().await;
    running.take();
    let done = ended(&running.url(), &work, &["--yes"]);
    assert_eq!((done["redriven"].as_u64(), done["others"].as_u64()), (Some(0), Some(0)), "{done}");
    running.settle().await;
    assert!(running.take().0.is_empty() && running.contents().await == before, "nothing is written");

    let done = ended(&running.url(), &work, &["--yes", "--all", "--segments", "3"]);
    assert_eq!(done["redriven"], 64);
    assert_right(&running).await;
    assert_eq!(records(&running.contents().await, &["_redriven"]), records(&before, &["_redriven"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_switch_of_path_rows_only_what_changes_is_written() {
    let running = &mut Running::start(&[("PathRows", "off")]).await;
    let mut items = tree(300, 4);
    items.extend((0..50).map(|n| node(&format!("root{n}"), None, "a root")));
    put_all(&running.client, TABLE, items).await;
    for (switch, rows) in [("on", 299), ("off", 0)] {
        running.pause().await;
        running.resume(&[("PathRows", switch)]).await;
        running.take();
        let (_directory, work) = working_file();
        let parameter = format!("PathRows={switch}");
        let done = ended(&running.url(), &work, &["--yes", "--parameter", &parameter]);
        assert_right(running).await;
        let contents = running.contents().await;
        assert_eq!(contents.keys().filter(|(_, sk)| sk.starts_with("PATH#")).count(), rows);
        let is_redriven = |id: &str| contents[&(id.to_owned(), "NODE".to_owned())].contains_key("_redriven");
        assert!(!is_redriven("n0") && !(0..50).any(|n| is_redriven(&format!("root{n}"))), "a root stays as it is");
        let counts = total(&running.take().1);
        println!("PathRows={switch}: {done}, {:?}", counts);
        // A node whose lineage changes hands that down, so its children needn't be written by us.
        let written = done["redriven"].as_u64().unwrap() + counts.tally.touches;
        assert!((299..=315).contains(&written), "{written} records are written for 299 nodes");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_and_links_are_switched_on_for_a_table_in_use_and_off_again() {
    let running = &mut Running::start(&[]).await;
    let linked = |mut item: Attributes, n: usize| {
        let targets = [format!("n{}", n / 2), "a tag".to_owned()].map(AttributeValue::S).to_vec();
        item.insert("tags".to_owned(), AttributeValue::L(targets));
        item
    };
    put_all(&running.client, TABLE, tree(200, 4).into_iter().enumerate().map(|(n, item)| linked(item, n)).collect())
        .await;
    running.settle().await;
    let before = running.contents().await;
    let kinds = |contents: &Contents| {
        ["CHILD#", "ORDERED#", "LINK#"].map(|prefix| contents.keys().filter(|(_, sk)| sk.starts_with(prefix)).count())
    };
    for (switch, of_kinds) in [(["name", "tags"], [199, 1, 400]), (["", ""], [0, 0, 0])] {
        let parameters = [("OrderAttribute", switch[0]), ("LinkAttributes", switch[1])];
        running.pause().await;
        running.resume(&parameters).await;
        let (_directory, work) = working_file();
        let given = parameters.map(|(name, value)| format!("{name}={value}"));
        let done = ended(&running.url(), &work, &["--yes", "--parameter", &given[0], "--parameter", &given[1]]);
        assert_eq!(done["redriven"], 200);
        assert_right(running).await;
        assert_eq!(kinds(&running.contents().await), of_kinds, "{switch:?}");
    }
    // Nothing is left of it, and an older handler can read all that is there.
    let without = |contents: &Contents| {
        let plain = contents.iter().filter(|((pk, _), _)| pk != OURS);
        plain
            .map(|(key, item)| {
                (key.clone(), item.clone().into_iter().filter(|(name, _)| name != "_redriven").collect())
            })
            .collect::<Contents>()
    };
    assert_eq!(without(&running.contents().await), without(&before));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backfill_that_is_killed_goes_on() {
    let running = older_than_the_stream(tree(600, 5)).await;
    let proxy = running.another_proxy().await;
    let (directory, work) = working_file();
    let mut kills = 0;
    for written in [0, 30, 150, 280, 400] {
        let before = proxy.count("UpdateItem");
        let mut backfill = command(&proxy.url(), &["backfill", "--yes", "--json", "--work", &work]).spawn().unwrap();
        // The first is killed while it reads.
        while proxy.count("UpdateItem") <= before.max(written) && proxy.count("Scan") == 0 || written > 0 {
            tokio::time::sleep(Duration::from_millis(3)).await;
            if proxy.count("UpdateItem") > written || backfill.try_wait().unwrap().is_some() {
                break;
            }
        }
        kills += usize::from(backfill.try_wait().unwrap().is_none());
        backfill.kill().unwrap();
        backfill.wait().unwrap();
    }
    assert_eq!(kills, 5, "it ended before it was killed");
    let done = ended(&proxy.url(), &work, &["--yes"]);
    println!("killed {kills} times; the last: {done}; {} records written", proxy.count("UpdateItem"));
    assert_right(&running).await;
    // What was under way at a kill may be written once more.
    assert!((600..=600 + kills * 100).contains(&proxy.count("UpdateItem")));
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn cursors_begin_anew_and_nothing_else_is_written() {
    let mut running = Running::start(&[]).await;
    put_all(&running.client, TABLE, tree(40, 3)).await;
    running.pause().await;
    // As a failover leaves it: the cursor is of another stream, whose numbers are higher, and half of the children have
    // gone by.
    let key = |sk: &str| ("n0".to_owned(), sk.to_owned());
    let sequence = "9".repeat(40);
    let cursor = [("PK", s("n0")), ("SK", s("CASCADE")), ("sequence", s(&sequence)), ("after", s("NODE#0001#n2"))];
    let mut cursor: Attributes = cursor.map(|(name, value)| (name.to_owned(), value)).into();
    cursor.insert("format".to_owned(), aws_sdk_dynamodb::types::AttributeValue::N("1".to_owned()));
    put(&running.client, TABLE, cursor).await;
    running.resume(&[]).await;
    running.take();
    let (_directory, work) = working_file();
    let before = running.contents().await;
    let done = ended(&running.url(), &work, &["--cursors", "--yes"]);
    assert_eq!((done["redriven"].as_u64(), done["others"].as_u64()), (Some(0), Some(1)), "{done}");
    assert_right(&running).await;
    let after = running.contents().await;
    assert!(!after.contains_key(&key("CASCADE")), "the handler has come to its end");
    let is_touched = |(key, item): &(&(String, String), &Item)| item.get("_touched") != before[*key].get("_touched");
    let nodes = after.iter().filter(|((_, sk), _)| sk == "NODE");
    let touched: Vec<&str> = nodes.filter(is_touched).map(|((pk, _), _)| pk.as_str()).collect();
    assert_eq!(touched, ["n1", "n2", "n3"], "all children, from the first on");
    assert_eq!(records(&after, &["_touched"]), records(&before, &["_touched"]));
    // A cursor that a newer handler has written is left alone, and named.
    running.pause().await;
    let mut newer: Attributes = [("PK", s("n0")), ("SK", s("CASCADE"))].map(|(n, v)| (n.to_owned(), v)).into();
    let format = (sapwood_core::model::FORMAT_MAX + 1).to_string();
    newer.insert("format".to_owned(), aws_sdk_dynamodb::types::AttributeValue::N(format.clone()));
    put(&running.client, TABLE, newer).await;
    let refused = sapwood(&running.url(), &["backfill", "--cursors", "--yes", "--work", &work]);
    assert_eq!(refused.status.code(), Some(1), "{}", words(&refused));
    assert_eq!(running.contents().await[&key("CASCADE")]["format"], Value::N(format));
}

#[tokio::test(flavor = "multi_thread")]
async fn names_are_claimed_and_claims_that_are_left_are_deleted() {
    const OURS: &str = "UniqueNames=caseless";
    let running = Running::start(&[("UniqueNames", "caseless")]).await;
    let named = |id: &str, name: &str| {
        let mut item = node(id, Some("p"), "of another client");
        item.insert("segment".to_owned(), s(name));
        item
    };
    let left = [("PK", s("p")), ("SK", s("NAME#gone")), ("_node", s("c")), ("_write", s("w"))];
    let left: Attributes = left.map(|(name, value)| (name.to_owned(), value)).into();
    let nodes = vec![node("p", None, "p"), named("a", "Same"), named("b", "same"), named("c", "Other"), left];
    put_all(&running.client, TABLE, nodes).await;
    running.settle().await;
    let (_directory, work) = working_file();
    let before = running.contents().await;
    let planned = ended(&running.url(), &work, &["--names", "--dry-run", "--parameter", OURS]);
    assert_eq!((planned["nodes"].as_u64(), planned["others"].as_u64()), (Some(0), Some(5)), "{planned}");
    assert_eq!(running.contents().await, before);
    let done = ended(&running.url(), &work, &["--names", "--yes", "--parameter", OURS]);
    assert_eq!((done["redriven"].as_u64(), done["others"].as_u64()), (Some(0), Some(5)), "{done}");
    let after = running.contents().await;
    let nodes = |contents: &Contents| -> Contents {
        contents.iter().filter(|((_, sk), _)| sk == "NODE").map(|(key, item)| (key.clone(), item.clone())).collect()
    };
    assert_eq!(nodes(&after), nodes(&before), "no record of anybody's is written");
    let claimed = |pk: &str, sk: &str| after.get(&(pk.to_owned(), sk.to_owned())).map(|claim| claim["_node"].clone());
    let by = |id: &str| Some(Value::S(id.to_owned()));
    assert_eq!((claimed("ROOTS", "ROOTNAME#p"), claimed("p", "NAME#other")), (by("p"), by("c")));
    assert!([by("a"), by("b")].contains(&claimed("p", "NAME#same")) && claimed("p", "NAME#gone").is_none());
    // The other one is named, and nothing is wrong.
    let verified = ends_with(0, &running.url(), &["verify", "--json", "--parameter", OURS]);
    assert!(verified.contains("name-clash") && !verified.contains("name-unclaimed"), "{verified}");
    assert!(ended(&running.url(), &work, &["--names", "--yes", "--parameter", OURS])["others"] == 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_comes_while_the_table_is_read_is_counted_in_the_new_epoch() {
    const OURS: &str = "Totals=count,size";
    let running = Running::start(&[("Totals", "count,size")]).await;
    put_all(&running.client, TABLE, tree(300, 3)).await;
    running.settle().await;
    let (_directory, work) = working_file();
    let arguments = ["backfill", "--totals", "--yes", "--json", "--work", &*work, "--parameter", OURS];
    let slowly = [&arguments[..], &["--read-rate", "500"]].concat();
    let mut backfill = command(&running.url(), &slowly).spawn().unwrap();
    while !Path::new(&work).exists() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    // Some of them come behind the page that is read.
    tokio::time::sleep(Duration::from_millis(700)).await;
    let late = (0..40).map(|number| node(&format!("{number}-late"), Some("n0"), "late"));
    put_all(&running.client, TABLE, late.collect()).await;
    running.settle().await;
    let begun = running.contents().await.contains_key(&("SAPWOOD".to_owned(), "EPOCH".to_owned()));
    assert!(!begun, "the epoch has begun before they came: the table is read too fast");
    assert!(backfill.wait().unwrap().success());
    running.settle().await;
    assert_eq!(wrong_totals(&running.contents().await), Vec::<String>::new());
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn totals_are_begun_anew_and_each_node_is_counted_once() {
    const OURS: &str = "Totals=count,size";
    let running = Running::start(&[("Totals", "count,size")]).await;
    let mut nodes = tree(60, 3);
    for (number, item) in nodes.iter_mut().enumerate() {
        item.insert("size".to_owned(), AttributeValue::N(number.to_string()));
    }
    put_all(&running.client, TABLE, nodes).await;
    running.settle().await;
    assert_eq!(wrong_totals(&running.contents().await), Vec::<String>::new());
    // As a restored table can be: something was counted, and the totals are of before, or the other way round.
    let keys = |is_one: &dyn Fn(&str, &str) -> bool, contents: &Contents| -> Vec<(String, String)> {
        contents.keys().filter(|(pk, sk)| is_one(pk, sk)).cloned().collect()
    };
    let contents = running.contents().await;
    let mut lost = keys(&|_, sk| sk == "COUNTED", &contents).into_iter().step_by(3).collect::<Vec<_>>();
    lost.extend(keys(&|_, sk| sk.starts_with("TOTALS#"), &contents).into_iter().step_by(2));
    client::delete_all(&running.client, TABLE, lost).await;
    running.settle().await;
    assert!(!wrong_totals(&running.contents().await).is_empty());
    running.take();
    let (_directory, work) = working_file();
    let planned = ended(&running.url(), &work, &["--totals", "--dry-run", "--parameter", OURS]);
    assert_eq!(planned["nodes"].as_u64(), Some(60), "{planned}");
    // One is killed when it has begun. Until another has ended, doctor says so.
    let begun =
        [&["backfill", "--yes", "--json", "--work", &*work][..], &["--totals", "--rate", "40", "--parameter", OURS]];
    let mut killed = command(&running.url(), &begun.concat()).spawn().unwrap();
    let epoch = |contents: &Contents| contents.get(&("SAPWOOD".to_owned(), "EPOCH".to_owned())).cloned();
    let counted = |contents: &Contents| {
        let is_counted = |item: &Item| item.get("epoch") == Some(&Value::N("1".to_owned()));
        contents.iter().filter(|((_, sk), item)| sk == "COUNTED" && is_counted(item)).count()
    };
    let begun = loop {
        let contents = running.contents().await;
        if counted(&contents) >= 5 {
            break epoch(&contents).unwrap();
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    };
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert!(begun.contains_key("unfinished"));
    let doctor = || {
        let looked = sapwood(&running.url(), &["doctor", "--json", "--parameter", OURS]);
        let found = lines(&String::from_utf8(looked.stdout).unwrap());
        found.into_iter().find(|line| line["check"] == "totals").unwrap()["verdict"].clone()
    };
    assert_eq!(doctor(), "fail");
    let done = ended(&running.url(), &work, &["--totals", "--yes", "--parameter", OURS]);
    assert!(done["redriven"].as_u64().is_some_and(|nodes| nodes > 0), "{done}");
    running.settle().await;
    let (contents, counts) = (running.contents().await, total(&running.take().1));
    assert_eq!(wrong_totals(&contents), Vec::<String>::new());
    assert_eq!(counts.tally.rows_put, 0, "{counts:?}");
    assert!(!epoch(&contents).unwrap().contains_key("unfinished"));
    assert_eq!(doctor(), "ok");
    assert_eq!(keys(&|_, sk| sk.starts_with("TOTALS#0000"), &contents), []);
    let all = ends_with(0, &running.url(), &["totals", "n0", "--parameter", OURS]);
    assert_eq!(all, "count  59\nchildren  3\nsum of size  1770\n");
    let body = lines(&ends_with(0, &running.url(), &["totals", "n1", "--json", "--parameter", OURS])).remove(0);
    assert_eq!(body["children"].as_u64(), Some(3), "{body}");
    ends_with(1, &running.url(), &["totals", "nobody", "--parameter", OURS]);
    let none = sapwood(&running.url(), &["totals", "n0", "--parameter", "PathRows=on"]);
    assert!(none.status.code() == Some(2) && words(&none).contains("Totals=count"), "{}", words(&none));
    let verified = ends_with(0, &running.url(), &["verify", "--json", "--parameter", OURS]);
    assert!(
        !verified.contains("total-wrong") && !verified.contains("count-") && !verified.contains("totals-left"),
        "{verified}"
    );
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn totals_of_a_copy_with_parts_of_transactions_are_mended_in_place() {
    const OURS: &str = "Totals=count,size";
    let running = Running::start(&[("Totals", "count,size")]).await;
    put_all(&running.client, TABLE, tree(60, 3)).await;
    running.settle().await;
    running.announce().await;
    let contents = running.contents().await;
    let of = |begin: &str, step: usize| -> Vec<(String, String)> {
        contents.keys().filter(|(_, sk)| sk.starts_with(begin)).step_by(step).cloned().collect()
    };
    client::delete_all(&running.client, TABLE, [of("COUNTED", 7), of("TOTALS#", 4)].concat()).await;
    running.settle().await;
    assert!(!wrong_totals(&running.contents().await).is_empty());
    let settled = ["--confirmation-window", "1", "--json", "--parameter", OURS];
    let found = ends_with(1, &running.url(), &[&["verify"][..], &settled].concat());
    assert!(found.contains("total-wrong") && found.contains("count-wrong"), "{found}");
    let repaired = ends_with(0, &running.url(), &[&["repair", "--yes"][..], &settled].concat());
    assert!(repaired.contains("recounted"), "{repaired}");
    running.settle().await;
    let contents = running.contents().await;
    assert_eq!(wrong_totals(&contents), Vec::<String>::new());
    assert!(!contents.contains_key(&("SAPWOOD".to_owned(), "EPOCH".to_owned())), "no epoch has begun");
    let drawn = ends_with(0, &running.url(), &["tree", "n0", "--depth", "1", "--totals", "--parameter", OURS]);
    assert!(drawn.starts_with("n0  (59 below, size 0)\n├── n1  ("), "{drawn}");
    let body =
        lines(&ends_with(0, &running.url(), &["tree", "n0", "--totals", "--json", "--parameter", OURS])).remove(0);
    assert_eq!((&body["totals"]["count"], &body["totals"]["children"]), (&59.into(), &3.into()), "{body}");
    // Somebody deletes a folder and what is in it: nothing is wrong, and a repair leaves nothing of its totals.
    let nodes = |id: &str| (id.to_owned(), "NODE".to_owned());
    let below: Vec<_> = (1..60).filter(|n| (n - 1) / 3 == 19).map(|n| nodes(&format!("n{n}"))).collect();
    client::delete_all(&running.client, TABLE, [below, vec![nodes("n19")]].concat()).await;
    running.settle().await;
    let left =
        |contents: &Contents| contents.keys().filter(|(pk, sk)| pk == "n19" && sk.starts_with("TOTALS#")).count();
    assert!(left(&running.contents().await) > 0);
    let found = ends_with(0, &running.url(), &[&["verify"][..], &settled].concat());
    assert!(found.contains("totals-empty"), "{found}");
    ends_with(0, &running.url(), &[&["repair", "--yes"][..], &settled].concat());
    assert_eq!(left(&running.contents().await), 0);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_the_table_refuses_is_named_and_its_children_are_placed() {
    let mut large = node("large", None, "large");
    // There is no room for the attribute.
    let rest = 400 * 1024 - "PKlargeSKNODEnamelargetext".len();
    large.insert("text".to_owned(), s("x".repeat(rest)));
    let running = older_than_the_stream(vec![large, node("child", Some("large"), "child")]).await;
    let (_directory, work) = working_file();
    let refused = sapwood(&running.url(), &["backfill", "--yes", "--work", &work]);
    assert_eq!(refused.status.code(), Some(1), "{}", words(&refused));
    assert!(words(&refused).contains("refused: large"), "{}", words(&refused));
    running.settle().await;
    assert!(running.contents().await.contains_key(&("child".to_owned(), "LINEAGE".to_owned())));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_with_a_backfill_is_said() {
    let running = older_than_the_stream(tree(5, 2)).await;
    let (_directory, work) = working_file();
    let url = running.url();
    let fails = |code: i32, arguments: &[&str], said: &str| {
        let output = sapwood(&url, &[&["backfill", "--work", &work][..], arguments].concat());
        assert!(output.status.code() == Some(code) && words(&output).contains(said), "{}", words(&output));
    };
    fails(4, &[], "--yes");
    fails(2, &["--all", "--cursors"], "cannot be used with");
    fails(2, &["--names", "--cursors"], "cannot be used with");
    fails(4, &["--names", "--yes"], "UniqueNames is off");
    fails(2, &["--totals", "--names"], "cannot be used with");
    fails(4, &["--totals", "--yes"], "Totals is empty");
    assert_eq!(records(&running.contents().await, &[]).len(), running.contents().await.len(), "nothing is written");
    // A working file of another table, of which something is written already, isn't taken for this one's.
    let killed = Path::new(&work);
    fs::write(killed, "not ours").unwrap();
    fails(4, &["--yes"], "isn't a working file");
    fs::remove_file(killed).unwrap();
    fails(0, &["--yes"], "5 nodes");
    assert_right(&running).await;
    delete_derived(&running).await;
    running.stop().await;
}
