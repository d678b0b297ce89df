//! When it isn't the record that is wrong: an outage, a permission that is missing, a fault of ours. What passes only delays; what
//! stays ends beside the shard, alone, with all that is needed to have its item handled again.

use std::collections::BTreeSet;
use std::process::Command;

use aws_sdk_dynamodb::types::AttributeValue;
use sapwood_engine::fanout::Limits;
use sapwood_tests::client::{delete_all, item, node, put, put_all, s};
use sapwood_tests::faults::{Call, Fault};
use sapwood_tests::oracle::{Contents, Oracle};
use sapwood_tests::running::{Running, TABLE};
use serde_json::Value;

/// Children touched at a time: more of them take a cursor.
const SLICE: usize = 5;

fn limits() -> Limits {
    Limits { touch_slice_items_max: SLICE, ..Limits::default() }
}

fn denied() -> Fault {
    Fault::error(400, "com.amazon.coral.service#AccessDeniedException")
}

/// Whether a request names one of these as an id, a key or a value; rows of others in a key of their own don't count.
fn names(call: &Call, ids: &[&str]) -> bool {
    let body = call.body.to_string();
    ids.iter().any(|id| body.contains(&format!("\"{id}\"")))
}

/// The items of the records that were discarded, and their documents.
fn discarded(running: &Running) -> (BTreeSet<(String, String)>, Vec<Value>) {
    let documents = running.discarded();
    let records = documents.iter().flat_map(records);
    let key = |record: &Value, name: &str| record["dynamodb"]["Keys"][name]["S"].as_str().unwrap().to_owned();
    (records.map(|record| (key(&record, "PK"), key(&record, "SK"))).collect(), documents)
}

fn records(document: &Value) -> Vec<Value> {
    let event: Value = serde_json::from_str(document["payload"].as_str().unwrap()).unwrap();
    event["Records"].as_array().unwrap().clone()
}

fn items(keys: &[(&str, &str)]) -> BTreeSet<(String, String)> {
    keys.iter().map(|(pk, sk)| ((*pk).to_owned(), (*sk).to_owned())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_outage_only_delays_however_often_the_handler_fails_in_it() {
    let running = Running::start_proxied(&[], limits()).await;
    // Each of an operation's first calls: batches fail as a whole, many times over, in every part of their work.
    running.proxy().unwrap().follow(|call| (call.nth < 6).then(denied));
    let mut nodes =
        vec![node("root", None, "root"), node("wide", Some("root"), "wide"), node("to", Some("root"), "to")];
    nodes.extend((0..=2 * SLICE).map(|n| node(&format!("w{n}"), Some("wide"), "w")));
    put_all(&running.client, TABLE, nodes).await;
    running.settle().await;
    put(&running.client, TABLE, node("wide", Some("to"), "moved")).await;
    put(&running.client, TABLE, item([("PK", s("root")), ("SK", s("v001_Audit"))])).await;
    delete_all(&running.client, TABLE, vec![("w0".to_owned(), "NODE".to_owned())]).await;
    running.settle().await;
    running.assert_right(&Oracle::default()).await;
    let failed = running.take().1.iter().filter(|report| !report.failed.is_empty()).count();
    assert!(failed > 6, "{failed} batches failed");
    assert_eq!(running.discarded(), Vec::<Value>::new());
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_always_fails_is_discarded_alone_and_touching_its_item_redrives_it() {
    let running = Running::start_proxied(&[("MaximumRetryAttempts", "2")], limits()).await;
    let client = &running.client;
    put_all(
        client,
        TABLE,
        vec![node("root", None, "root"), node("to", None, "to"), node("poison", Some("root"), "old")],
    )
    .await;
    running.settle().await;
    running.proxy().unwrap().follow(|call| names(call, &["poison"]).then(denied));

    // A move and a rename; neighbours in the same batches, and others after them in the same shard.
    let neighbours = |from: usize| (from..from + 40).map(|n| node(&format!("n{n}"), Some("root"), "n"));
    let mut nodes: Vec<_> = neighbours(0).collect();
    nodes.insert(20, node("poison", Some("to"), "new"));
    put_all(client, TABLE, nodes).await;
    running.settle().await;
    put_all(client, TABLE, neighbours(40).collect()).await;
    running.settle().await;

    let (keys, documents) = discarded(&running);
    assert_eq!(keys, items(&[("poison", "NODE")]));
    let [document] = &documents[..] else { panic!("{documents:#?}") };
    assert_eq!(document["requestContext"]["condition"], "RetryAttemptsExhausted");
    assert_eq!(document["DDBStreamBatchInfo"]["batchSize"], 1);
    let [record] = &records(document)[..] else { panic!("{document:#?}") };
    let images = ["OldImage", "NewImage"].map(|image| &record["dynamodb"][image]);
    assert_eq!(images.map(|image| &image["name"]["S"]), ["old", "new"]);
    assert_eq!(images.map(|image| &image["parent"]["S"]), ["root", "to"]);
    let contents = running.contents().await;
    let wrong = Oracle::default().differences(&contents);
    assert!(!wrong.is_empty() && wrong.iter().all(|line| line.contains("poison")), "{wrong:#?}");
    assert!((0..80).all(|n| contents.contains_key(&("root".to_owned(), format!("NODE#0001#n{n}")))));

    // Mended, and touched: with an attribute of any name that rows don't carry.
    running.proxy().unwrap().follow(|_| None);
    for (pk, sk) in keys {
        let update = client.update_item().table_name(TABLE).key("PK", s(pk)).key("SK", s(sk));
        let update =
            update.update_expression("SET #redriven = :now").expression_attribute_names("#redriven", "_redriven");
        update.expression_attribute_values(":now", AttributeValue::N("1".to_owned())).send().await.unwrap();
    }
    running.settle().await;
    running.assert_right(&Oracle::default()).await;
    running.stop().await;
}

/// The nodes that are being deleted with what is below them.
const DELETED: [&str; 3] = ["many", "outer", "leaving"];

/// What is left of a deletion: a record below such a node, a mark, or a cursor.
fn left_of_deletions(contents: &Contents) -> Vec<&(String, String)> {
    let is_below = |pk: &str| {
        DELETED.contains(&pk) || ["inner", "below inner", "stuck", "below stuck"].contains(&pk) || pk.starts_with('m')
    };
    let left = contents.iter().filter(|((pk, sk), item)| {
        let is_record = sk == "NODE" && is_below(pk) && pk != "moved";
        is_record || sk == "CASCADE" || (sk == "NODE" && item.contains_key("_deleting"))
    });
    left.map(|(key, _)| key).collect()
}

/// Everything whose record can be lost, and the items of those records.
async fn lose_a_record_of_every_kind(running: &Running) -> BTreeSet<(String, String)> {
    let client = &running.client;
    let mut nodes = vec![node("root", None, "root"), node("to", None, "to")];
    for id in ["renamed", "moved", "deleted # ü '\"", "sub", "wide"] {
        nodes.push(node(id, Some("root"), "old"));
    }
    let mut named = node("named", Some("root"), "old");
    named.insert("segment".to_owned(), s("a name"));
    nodes.push(named);
    nodes.push(node("below", Some("sub"), "below"));
    nodes.extend((0..=2 * SLICE).map(|n| node(&format!("w{n}"), Some("wide"), "w")));
    // Subtrees that will be deleted.
    nodes.extend(["many", "outer", "leaving"].map(|id| node(id, Some("root"), "old")));
    nodes.extend((0..=2 * SLICE).map(|n| node(&format!("m{n}"), Some("many"), "m")));
    nodes.extend(
        [("inner", "outer"), ("below inner", "inner"), ("stuck", "leaving"), ("below stuck", "stuck")]
            .map(|(id, parent)| node(id, Some(parent), "old")),
    );
    put_all(client, TABLE, nodes).await;
    for (pk, sk) in [("eq", "v001_Audit"), ("eq", "v002_Audit"), ("eq", "v001_Log"), ("eq", "va1000_Log")] {
        put(client, TABLE, item([("PK", s(pk)), ("SK", s(sk)), ("text", s(sk))])).await;
    }
    running.settle().await;
    running.assert_right(&Oracle::default()).await;

    let poison = ["renamed", "moved", "deleted # ü '\\\"", "named", "eq"];
    // Only the record of a cursor has the cursor read alone, so its loss is no matter of chance. The lineage's record may be
    // delivered again, with another that failed, once the cursor is there.
    running.proxy().unwrap().follow(move |call| {
        let looks_below = call.operation == "Query" && names(call, &["sub", "inner"]);
        let places_marked = call.operation == "BatchWriteItem" && names(call, &["stuck"]);
        let reads_cursor = call.operation == "BatchGetItem" && names(call, &["CASCADE"]) && !names(call, &["LINEAGE"]);
        (names(call, &poison) || looks_below || places_marked || reads_cursor).then(denied)
    });
    put(client, TABLE, node("renamed", Some("root"), "new")).await;
    for id in ["moved", "sub", "wide"] {
        put(client, TABLE, node(id, Some("to"), "new")).await;
    }
    for id in DELETED {
        let mut marked = node(id, Some("root"), "old");
        let mark = [("mode", s("delete")), ("operation", s(id)), ("revisions", AttributeValue::Bool(false))];
        marked.insert(
            "_deleting".to_owned(),
            AttributeValue::M(mark.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()),
        );
        put(client, TABLE, marked).await;
    }
    let gone = [("deleted # ü '\"", "NODE"), ("named", "NODE"), ("eq", "v002_Audit")];
    delete_all(client, TABLE, gone.iter().map(|(pk, sk)| ((*pk).to_owned(), (*sk).to_owned())).collect()).await;
    put(client, TABLE, item([("PK", s("eq")), ("SK", s("va1000_Log")), ("text", s("amended"))])).await;
    running.settle().await;
    running.proxy().unwrap().follow(|_| None);
    discarded(running).0
}

/// The runbook's script.
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/runbooks/redrive.sh");

/// A program of the search path, as the shell finds it.
fn is_there(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(program).is_file())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs jq and the AWS CLI: .ci/redrive installs them and runs this"]
async fn the_runbooks_script_redrives_what_was_discarded() {
    for program in ["bash", "jq", "aws"] {
        assert!(is_there(program), "{program} is needed");
    }
    let running = Running::start_proxied(&[("MaximumRetryAttempts", "1")], limits()).await;
    let lost = lose_a_record_of_every_kind(&running).await;
    println!("discarded: {lost:#?}");
    let expected = items(&[
        ("deleted # ü '\"", "NODE"),
        ("eq", "v002_Audit"),
        ("eq", "va1000_Log"),
        ("inner", "LINEAGE"),
        ("many", "CASCADE"),
        ("moved", "NODE"),
        ("named", "NODE"),
        ("renamed", "NODE"),
        ("stuck", "NODE"),
        ("sub", "LINEAGE"),
        ("wide", "CASCADE"),
    ]);
    assert_eq!(lost, expected);
    let wrong = Oracle::default().differences(&running.contents().await);
    assert!(wrong.len() > 20, "{wrong:#?}");

    // Twice: the second finds nothing wrong, and does no harm.
    for _ in 0..2 {
        let keys =
            [("AWS_ACCESS_KEY_ID", "local"), ("AWS_SECRET_ACCESS_KEY", "local"), ("AWS_DEFAULT_REGION", "us-east-1")];
        let output = Command::new("bash")
            .arg(SCRIPT)
            .arg(TABLE)
            .arg(running.failures_file())
            .env("AWS_ENDPOINT_URL", running.url())
            .envs(keys)
            .output()
            .unwrap();
        print!("{}", String::from_utf8_lossy(&output.stdout));
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let keys: BTreeSet<&str> = said.lines().map(|line| line.split_at(14).1).collect();
        assert_eq!(keys.len(), expected.len());
        running.settle().await;
        running.assert_right(&Oracle::default()).await;
        assert_eq!(left_of_deletions(&running.contents().await), Vec::<&(String, String)>::new());
    }
    running.stop().await;
}

/// Runs the runbook's script on the record of a node, with a program in the place of the AWS CLI. Returns whether it succeeded, what it
/// said, and the inputs of the writes that it made.
fn redrive_with(aws: &str) -> (bool, String, String) {
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str| directory.path().join(name);
    std::fs::write(file("aws"), format!("#!/usr/bin/env bash\n{aws}\n")).unwrap();
    std::fs::set_permissions(file("aws"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let record = serde_json::json!({"dynamodb": {"Keys": {"PK": {"S": "n"}, "SK": {"S": "NODE"}}}});
    std::fs::write(file("lost"), serde_json::json!({"payload": {"Records": [record]}}).to_string()).unwrap();
    let path = format!("{}:{}", directory.path().display(), std::env::var("PATH").unwrap());
    let output = Command::new("bash").arg(SCRIPT).arg(TABLE).arg(file("lost")).env("PATH", path).output().unwrap();
    let written = std::fs::read_to_string(file("written")).unwrap_or_default();
    (output.status.success(), String::from_utf8(output.stdout).unwrap(), written)
}

#[test]
#[ignore = "needs jq: .ci/redrive installs it and runs this"]
fn the_runbooks_script_puts_a_node_back_as_its_lineage_says_and_deletes_it_again() {
    let lineage = r#"{"Item": {"PK": {"S": "n"}, "SK": {"S": "LINEAGE"}, "born": {"S": "1"}, "path": {"L": [{"S": "seg"}]},
        "ancestors": {"L": [{"S": "above"}]}, "deleting": {"M": {"mode": {"S": "adopt"}, "operation": {"S": "o"},
        "heir": {"S": "h"}, "heir_born": {"S": "2"}}}}}"#;
    let aws = format!(
        r#"case $2 in
          get-item) echo '{lineage}' ;;
          update-item) echo ConditionalCheckFailedException >&2; exit 254 ;;
          *) echo "$2 $4" >>"$(dirname "$0")/written" ;;
        esac"#
    );
    let (is_done, said, written) = redrive_with(&aws);
    assert!(is_done && said.starts_with("deleted again"), "{said}");
    let [put, deletion] = &written.lines().collect::<Vec<_>>()[..] else { panic!("{written}") };
    let mut put: Value = serde_json::from_str(put.strip_prefix("put-item ").unwrap()).unwrap();
    put["Item"].as_object_mut().unwrap().remove("_redriven").unwrap();
    let wanted = serde_json::json!({
        "PK": {"S": "n"}, "SK": {"S": "NODE"}, "_born": {"S": "1"}, "parent": {"S": "h"}, "segment": {"S": "seg"},
        "_under": {"M": {"parent": {"S": "h"}, "born": {"S": "2"}}},
        "_deleting": {"M": {"mode": {"S": "adopt"}, "operation": {"S": "o"}}},
    });
    assert_eq!(put["Item"], wanted);
    assert!(deletion.starts_with("delete-item "), "{deletion}");
}

#[test]
#[ignore = "needs jq: .ci/redrive installs it and runs this"]
fn the_runbooks_script_fails_where_it_cant_read() {
    let aws = r#"[ "$2" = get-item ] && { echo AccessDeniedException >&2; exit 254; }; exit 0"#;
    let (is_done, said, _) = redrive_with(aws);
    assert!(!is_done, "{said}");
}
