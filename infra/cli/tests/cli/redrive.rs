//! `sapwood redrive`, the real binary, on records that the local event source mapping discarded or never saw.

use std::collections::{BTreeMap, BTreeSet};
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use axum::Router;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use sapwood_engine::fanout::Limits;
use sapwood_tests::client::{delete_all, item, node, put, put_all, s};
use sapwood_tests::faults::{Call, Fault};
use sapwood_tests::oracle::{Contents, Oracle};
use sapwood_tests::pace::is_within;
use sapwood_tests::running::{Running, TABLE};
use serde_json::{Value, json};

/// Children touched at a time: more of them take a cursor.
pub(crate) const SLICE: usize = 5;

fn command(url: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sapwood"));
    command.args(["redrive", "--table", TABLE, "--endpoint", url]).args(arguments).stdin(Stdio::null());
    command.env_remove("AWS_ENDPOINT_URL_S3");
    command
}

pub(crate) async fn redrive(url: &str, arguments: &[&str]) -> Output {
    let mut command = command(url, arguments);
    tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap()
}

fn words(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// The lines of JSON, the last one apart.
fn lines(output: &Output) -> (Vec<Value>, Value) {
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    let mut lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let last = lines.pop().unwrap();
    (lines, last)
}

/// What became of each item.
fn outcomes(output: &Output, verb: &str) -> BTreeSet<(String, String, String)> {
    let text = |line: &Value, name: &str| line[name].as_str().unwrap().to_owned();
    let all = lines(output).0;
    // A cascade that is delivered again, after its cursor was put, reads the cursor alone as well: whether it is lost
    // is a matter of chance.
    let is_by_chance =
        |line: &&Value| text(line, "sk") == "LINEAGE" && ["wide", "many"].contains(&line["pk"].as_str().unwrap());
    let all = all.iter().filter(|line| !is_by_chance(line));
    all.map(|line| (text(line, "pk"), text(line, "sk"), text(line, verb))).collect()
}

fn named(wanted: &[(&str, &str, &str)]) -> BTreeSet<(String, String, String)> {
    wanted.iter().map(|(pk, sk, done)| ((*pk).to_owned(), (*sk).to_owned(), (*done).to_owned())).collect()
}

fn denied() -> Fault {
    Fault::error(400, "com.amazon.coral.service#AccessDeniedException")
}

/// True if a request names one of these as an id, a key or a value; rows of others in a key of their own don't count.
fn names(call: &Call, ids: &[&str]) -> bool {
    let body = call.body.to_string();
    ids.iter().any(|id| body.contains(&format!("\"{id}\"")))
}

/// An object of the bucket of failed records, for these items.
pub(crate) fn object(keys: &[(&str, &str)]) -> String {
    let records: Vec<Value> = keys
        .iter()
        .map(|(pk, sk)| json!({"eventName": "REMOVE", "dynamodb": {"Keys": {"PK": {"S": pk}, "SK": {"S": sk}}}}))
        .collect();
    json!({"requestContext": {"condition": "RetryAttemptsExhausted"}, "payload": json!({"Records": records}).to_string()}).to_string()
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
pub(crate) async fn lose_a_record_of_every_kind(running: &Running) {
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
    // Only the record of a cursor has the cursor read alone, so its loss is no matter of chance. The lineage's record
    // may be delivered again, with another that failed, once the cursor is there.
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
}

/// What becomes of what `lose_a_record_of_every_kind` has lost.
const REDRIVEN: [(&str, &str, &str); 11] = [
    ("deleted # ü '\"", "NODE", "deleted-again"),
    ("eq", "v002_Audit", "copied"),
    ("eq", "va1000_Log", "copied"),
    ("inner", "LINEAGE", "cascaded"),
    ("many", "CASCADE", "redriven"),
    ("moved", "NODE", "redriven"),
    ("named", "NODE", "deleted-again"),
    ("renamed", "NODE", "redriven"),
    ("stuck", "NODE", "deletion-set-off"),
    ("sub", "LINEAGE", "cascaded"),
    ("wide", "CASCADE", "redriven"),
];

#[tokio::test(flavor = "multi_thread")]
async fn what_was_discarded_is_redriven_from_a_file_a_directory_and_a_bucket() {
    let limits = Limits { touch_slice_items_max: SLICE, action_slice_items_max: SLICE, ..Limits::default() };
    let running = Running::start_proxied(&[("MaximumRetryAttempts", "1")], limits).await;
    lose_a_record_of_every_kind(&running).await;
    let wrong = Oracle::default().differences(&running.contents().await);
    assert!(wrong.len() > 20, "{wrong:#?}");
    let file = running.failures_file();
    let file = file.to_str().unwrap();

    let before = running.contents().await;
    let planned = redrive(&running.url(), &[file, "--dry-run", "--json"]).await;
    assert_eq!(planned.status.code(), Some(0), "{}", words(&planned));
    assert_eq!(outcomes(&planned, "would"), named(&REDRIVEN));
    let lost = lines(&planned).0.len();
    assert_eq!(running.contents().await, before, "a dry run writes nothing");

    // Every third request is throttled, and comes again.
    let proxy = running.another_proxy().await;
    proxy.follow(|call| {
        let fault = || Fault::error(400, "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException");
        (call.nth % 3 == 0).then(fault)
    });
    let redriven = redrive(&proxy.url(), &[file, "--json"]).await;
    assert_eq!(redriven.status.code(), Some(0), "{}", words(&redriven));
    assert_eq!(outcomes(&redriven, "done"), named(&REDRIVEN));
    running.settle().await;
    running.assert_right(&Oracle::default()).await;
    assert_eq!(left_of_deletions(&running.contents().await), Vec::<&(String, String)>::new());

    // Once more, from a directory of directories and from a bucket, an object for each line: it finds nothing wrong,
    // and does no harm.
    let text = std::fs::read_to_string(file).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let mut objects = vec![("empty/".to_owned(), String::new())];
    for (number, line) in text.lines().enumerate() {
        let inner = directory.path().join(format!("aws/lambda {}", number % 3));
        std::fs::create_dir_all(&inner).unwrap();
        std::fs::write(inner.join(format!("{number}.json")), line).unwrap();
        objects.push((format!("aws/lambda {}/ü {number}.json", number % 3), line.to_owned()));
    }
    objects.push(("other/x".to_owned(), "not one of ours".to_owned()));
    let bucket = Bucket::serve(objects, None).await;
    for source in [&[directory.path().to_str().unwrap()][..], &["s3://failed/aws/", "--s3-endpoint", &bucket]] {
        let again = redrive(&running.url(), &[source, &["--json"]].concat()).await;
        assert_eq!(again.status.code(), Some(0), "{}", words(&again));
        assert_eq!(lines(&again).1["items"], lost);
        running.settle().await;
        running.assert_right(&Oracle::default()).await;
        assert_eq!(left_of_deletions(&running.contents().await), Vec::<&(String, String)>::new());
    }
    running.stop().await;
}

/// What is left of so many nodes whose deletions were lost: their lineages, and rows.
async fn lose_deletions(running: &Running, count: usize) -> Vec<String> {
    put(&running.client, TABLE, node("root", None, "root")).await;
    running.settle().await;
    let ids: Vec<String> = (0..count).map(|n| format!("g{n}")).collect();
    let list = |id: &str| AttributeValue::L(vec![s(id)]);
    let lineages = ids.iter().map(|id| {
        let format = AttributeValue::N("1".to_owned());
        let (root, born) = (AttributeValue::Bool(false), s(id));
        item([("PK", s(id)), ("SK", s("LINEAGE")), ("format", format), ("born", born), ("root", root)])
            .into_iter()
            .chain([("ancestors".to_owned(), list("root")), ("path".to_owned(), list(id))])
            .collect()
    });
    let rows = ids.iter().map(|id| {
        let depth = AttributeValue::N("1".to_owned());
        let sk = s(format!("NODE#0001#{id}"));
        item([("PK", s("root")), ("SK", sk), ("_id", s(id)), ("_depth", depth), ("_parent", s("root"))])
    });
    put_all(&running.client, TABLE, lineages.chain(rows).collect()).await;
    running.settle().await;
    ids
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redrive_that_is_killed_anywhere_is_run_again() {
    let running = Running::start(&[]).await;
    let ids = lose_deletions(&running, 600).await;
    let keys: Vec<(&str, &str)> = ids.iter().map(|id| (id.as_str(), "NODE")).collect();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("lost");
    std::fs::write(&file, object(&keys)).unwrap();
    let mut kills = 0;
    loop {
        let mut redrive = command(&running.url(), &[file.to_str().unwrap()]).stdout(Stdio::null()).spawn().unwrap();
        // Each lives longer than the one before by a fifth.
        tokio::time::sleep(Duration::from_millis(150).mul_f64(1.2_f64.powi(kills))).await;
        if let Some(status) = redrive.try_wait().unwrap() {
            assert_eq!(status.code(), Some(0));
            break;
        }
        redrive.kill().unwrap();
        redrive.wait().unwrap();
        kills += 1;
        assert!(kills < 40, "it never ends");
    }
    println!("killed {kills} times");
    assert!(kills > 0, "it was never killed");
    running.settle().await;
    running.assert_right(&Oracle::default()).await;
    let left: Vec<_> = running.contents().await.into_keys().filter(|(pk, _)| pk.starts_with('g')).collect();
    assert_eq!(left, Vec::<(String, String)>::new());
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_written_while_a_source_cant_be_read() {
    let running = Running::start(&[]).await;
    put(&running.client, TABLE, node("root", None, "root")).await;
    running.settle().await;
    let before = running.contents().await;
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let good = file("good", &object(&[("root", "NODE")]));
    let bad = file("bad", &format!("{}\n{{\"payload\": 1}}", object(&[("root", "NODE")])));
    let missing = directory.path().join("missing").to_str().unwrap().to_owned();
    let refused = redrive(&running.url(), &[&good, &bad, &missing]).await;
    assert_eq!(refused.status.code(), Some(1), "{}", words(&refused));
    for place in [format!("{bad}: line 2"), format!("{missing}: "), "nothing is written".to_owned()] {
        assert!(words(&refused).contains(&place), "{place}: {}", words(&refused));
    }

    let bucket =
        Bucket::serve(vec![("a".to_owned(), object(&[("root", "NODE")])), ("b".to_owned(), "{}".to_owned())], None)
            .await;
    let refused = redrive(&running.url(), &["s3://failed", "--s3-endpoint", &bucket]).await;
    assert_eq!(refused.status.code(), Some(1), "{}", words(&refused));
    assert!(words(&refused).contains("s3://failed/b: line 1"), "{}", words(&refused));

    let bucket = Bucket::serve(vec![("a".to_owned(), object(&[("root", "NODE")]))], Some("a")).await;
    let failed = redrive(&running.url(), &["s3://failed", "--s3-endpoint", &bucket]).await;
    assert_eq!(failed.status.code(), Some(4), "{}", words(&failed));
    assert!(words(&failed).contains("s3://failed/a can't be read: access is denied"), "{}", words(&failed));
    assert_eq!(running.contents().await, before);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cant_be_redriven_is_named_and_the_rest_is_redriven() {
    let running = Running::start(&[]).await;
    let mut large = node("large", None, "large");
    large.insert("text".to_owned(), s("x".repeat(400 * 1_024 - 40)));
    let mut newer = node("newer", None, "newer");
    let format = AttributeValue::N((sapwood_core::model::FORMAT_MAX + 1).to_string());
    newer.extend([("SK".to_owned(), s("LINEAGE")), ("format".to_owned(), format)]);
    for item in [large, newer, node("ours", None, "ours")] {
        put(&running.client, TABLE, item).await;
    }
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("lost");
    let keys = [
        ("large", "NODE"),
        ("newer", "NODE"),
        ("ours", "NODE"),
        ("theirs", "ORDER#7"),
        ("gone", "NODE"),
        ("gone", "CASCADE"),
    ];
    std::fs::write(&file, object(&keys)).unwrap();
    let redriven = redrive(&running.url(), &[file.to_str().unwrap(), "--json"]).await;
    assert_eq!(redriven.status.code(), Some(1), "{}", words(&redriven));
    let wanted = [
        ("gone", "CASCADE", "gone"),
        ("gone", "NODE", "gone"),
        ("large", "NODE", "refused"),
        ("newer", "NODE", "newer-format"),
        ("ours", "NODE", "redriven"),
        ("theirs", "ORDER#7", "not-ours"),
    ];
    assert_eq!(outcomes(&redriven, "done"), named(&wanted));
    let contents = running.contents().await;
    let has =
        |pk: &str| contents.get(&(pk.to_owned(), "NODE".to_owned())).is_some_and(|item| item.contains_key("_redriven"));
    assert!(has("ours") && !has("large"));
}

/// The items of what is read from a stream, and what would become of each.
fn items(outcomes: &BTreeSet<(String, String, String)>) -> BTreeSet<(&str, &str)> {
    outcomes.iter().map(|(pk, sk, _)| (pk.as_str(), sk.as_str())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_lost_is_redriven_from_the_stream() {
    let limits = Limits { touch_slice_items_max: SLICE, action_slice_items_max: SLICE, ..Limits::default() };
    let running = Running::start_proxied(&[("MaximumRetryAttempts", "1")], limits).await;
    lose_a_record_of_every_kind(&running).await;
    let wrong = Oracle::default().differences(&running.contents().await);
    assert!(wrong.len() > 20, "{wrong:#?}");

    let before = running.contents().await;
    let planned = redrive(&running.url(), &[running.stream_arn(), "--dry-run", "--json"]).await;
    assert_eq!(planned.status.code(), Some(0), "{}", words(&planned));
    let outcomes = outcomes(&planned, "would");
    assert!(outcomes.is_superset(&named(&REDRIVEN)), "{outcomes:#?}");
    assert!(outcomes.iter().all(|(_, _, would)| would != "not-ours"), "{outcomes:#?}");
    assert!(items(&outcomes).contains(&("w0", "NODE")), "what was handled is in the stream, too: {outcomes:#?}");
    assert!(words(&planned).contains("records of the stream are read, the oldest of 2"), "{}", words(&planned));
    assert!(!words(&planned).contains("no longer in the stream"), "{}", words(&planned));
    assert_eq!(running.contents().await, before, "a dry run writes nothing");

    // Every third request is throttled, those to the stream as well, and comes again.
    let proxy = running.another_proxy().await;
    proxy.follow(|call| {
        let table = "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException";
        let stream = "com.amazonaws.dynamodb.v20120810#LimitExceededException";
        let is_of_stream = ["DescribeStream", "GetShardIterator", "GetRecords"].contains(&call.operation.as_str());
        (call.nth % 3 == 0).then(|| Fault::error(400, if is_of_stream { stream } else { table }))
    });
    let redriven = redrive(&proxy.url(), &[running.stream_arn(), "--json"]).await;
    assert_eq!(redriven.status.code(), Some(0), "{}", words(&redriven));
    assert!(proxy.faults("GetRecords") > 0 && proxy.faults("DescribeStream") > 0);
    running.settle().await;
    running.assert_right(&Oracle::default()).await;
    assert_eq!(left_of_deletions(&running.contents().await), Vec::<&(String, String)>::new());
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_written_while_no_mapping_read_is_redriven_from_all_pages_of_the_stream() {
    let mut running = Running::start(&[]).await;
    running.pause().await;
    let ids: Vec<String> = (0..1_100).map(|n| format!("n{n}")).collect();
    put_all(&running.client, TABLE, ids.iter().map(|id| node(id, None, id)).collect()).await;
    running.resume(&[]).await;
    assert!(!Oracle::default().differences(&running.contents().await).is_empty());

    let proxy = running.another_proxy().await;
    proxy.follow(|_| None);
    let redriven = redrive(&proxy.url(), &[running.stream_arn(), "--json"]).await;
    assert_eq!(redriven.status.code(), Some(0), "{}", words(&redriven));
    assert_eq!(lines(&redriven).1["items"], ids.len());
    assert_eq!(proxy.count("GetRecords"), 2, "a page has 1,000 records");
    running.settle().await;
    running.assert_right(&Oracle::default()).await;
    running.stop().await;
}

/// The answers of a stream as AWS has it, which the embedded engine doesn't have: many shards, some closed, some that
/// lose their oldest records, and iterators that expire. A shard's name says what it does. `asked` counts the requests
/// with each iterator.
fn answer(call: &Call, asked: &Mutex<BTreeMap<String, usize>>) -> Option<Fault> {
    let text = |name: &str| call.body[name].as_str().unwrap_or_default().to_owned();
    let answer = |body: Value| Some(Fault::Answer(200, body.to_string()));
    let error = |name: &str| Some(Fault::error(400, &format!("com.amazonaws.dynamodb.v20120810#{name}Exception")));
    match call.operation.as_str() {
        "DescribeStream" => {
            let shard = |id: &str, parent: &str, ending: Option<&str>| {
                let mut range = json!({"StartingSequenceNumber": "100000000000000000001"});
                if let Some(ending) = ending {
                    range["EndingSequenceNumber"] = json!(ending);
                }
                json!({"ShardId": id, "ParentShardId": parent, "SequenceNumberRange": range})
            };
            let closed = Some("99900000000000000000001");
            let (shards, last) = match text("ExclusiveStartShardId").as_str() {
                "" => (vec![shard("sparse", "older", closed), shard("expiring", "sparse", closed)], Some("expiring")),
                "expiring" => (vec![shard("trimmed", "sparse", closed), shard("gone", "sparse", closed)], Some("gone")),
                "gone" => (vec![shard("written to", "gone", None), shard("quiet", "gone", None)], None),
                other => panic!("{other}"),
            };
            let mut description = json!({"StreamArn": text("StreamArn"), "Shards": shards});
            if let Some(last) = last {
                description["LastEvaluatedShardId"] = json!(last);
            }
            answer(json!({"StreamDescription": description}))
        }
        "GetShardIterator" => match (text("ShardId").as_str(), text("ShardIteratorType").as_str()) {
            ("gone", _) => error("ResourceNotFound"),
            (shard, "TRIM_HORIZON") => answer(json!({"ShardIterator": format!("{shard}/0")})),
            (shard, "AFTER_SEQUENCE_NUMBER") => {
                answer(json!({"ShardIterator": format!("{shard}/after {}", text("SequenceNumber"))}))
            }
            other => panic!("{other:?}"),
        },
        "GetRecords" => {
            let iterator = text("ShardIterator");
            let (shard, place) = iterator.split_once('/').unwrap();
            let nth = {
                let mut asked = asked.lock().unwrap();
                let count = asked.entry(iterator.clone()).or_default();
                *count += 1;
                *count
            };
            if nth > 30 {
                // It never ends, and the test should.
                return error("AccessDenied");
            }
            let record = |pk: &str, sk: &str, time: u64| {
                let keys = json!({"PK": {"S": pk}, "SK": {"S": sk}});
                json!({"eventName": "MODIFY", "dynamodb": {
                    "Keys": keys, "SequenceNumber": "200000000000000000001", "ApproximateCreationDateTime": time,
                }})
            };
            let page = |records: Vec<Value>, next: Option<String>| {
                let mut page = json!({"Records": records});
                if let Some(next) = next {
                    page["NextShardIterator"] = json!(format!("{shard}/{next}"));
                }
                answer(page)
            };
            let early = 1_795_251_900;
            let ours = |pk: &str| vec![record(pk, "NODE", early)];
            match (shard, place) {
                // More empty pages than those after which an open shard is left.
                ("sparse", "25") => page(ours("after empty pages"), None),
                ("sparse", n) => page(Vec::new(), Some((n.parse::<u32>().unwrap() + 1).to_string())),
                ("expiring", "0") => page(ours("before it expired"), Some("expired".to_owned())),
                ("expiring", "expired") => error("ExpiredIterator"),
                ("expiring", "after 200000000000000000001") => page(ours("after it expired"), None),
                ("trimmed", "0") if nth == 1 => error("TrimmedDataAccess"),
                ("trimmed", "0") => page(ours("left by the trimming"), None),
                ("written to", "0") => {
                    let kinds = ["NODE", "LINEAGE", "CASCADE", "v003_Audit", "NODE#0001#x", "v0_Audit", "ORDER#7"];
                    let all = kinds.map(|sk| record("of all kinds", sk, early));
                    page(all.to_vec(), Some("later".to_owned()))
                }
                // Without an end: the time of the records says that the command was there before them.
                ("written to", "later") => {
                    page(vec![record("written later", "NODE", 4_000_000_000)], Some("0".to_owned()))
                }
                ("quiet", _) => page(Vec::new(), Some("0".to_owned())),
                other => panic!("{other:?}"),
            }
        }
        _ => None,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_of_many_shards_is_read_as_far_as_it_goes() {
    let running = Running::start(&[]).await;
    let proxy = running.another_proxy().await;
    let asked = Arc::<Mutex<BTreeMap<String, usize>>>::default();
    let counted = Arc::clone(&asked);
    proxy.follow(move |call| answer(call, &counted));
    let arn = format!("arn:aws:dynamodb:eu-west-1:123456789012:table/{TABLE}/stream/2026-11-21T09:05:00.000");
    let planned = redrive(&proxy.url(), &[&arn, "--dry-run", "--json"]).await;
    let said = words(&planned);
    assert_eq!(planned.status.code(), Some(0), "{said}");
    let wanted = [
        ("after empty pages", "NODE"),
        ("after it expired", "NODE"),
        ("before it expired", "NODE"),
        ("left by the trimming", "NODE"),
        ("of all kinds", "CASCADE"),
        ("of all kinds", "LINEAGE"),
        ("of all kinds", "NODE"),
        ("of all kinds", "v003_Audit"),
        ("written later", "NODE"),
    ];
    assert_eq!(items(&outcomes(&planned, "would")), BTreeSet::from(wanted));
    assert!(said.contains("12 records of the stream are read, the oldest of 2026-11-21T09:05:00Z"), "{said}");
    assert!(said.contains("no longer in the stream: sapwood verify finds"), "{said}");
    let asked = asked.lock().unwrap().clone();
    assert_eq!(asked["quiet/0"], 20, "requests to the open shard to which nobody writes");
    assert_eq!((asked["trimmed/0"], asked["written to/0"]), (2, 1));
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_cant_be_read_is_named_with_what_to_do() {
    let running = Running::start(&[]).await;
    let before = running.contents().await;
    let proxy = running.another_proxy().await;
    for (operation, code, wanted) in [
        ("DescribeStream", "AccessDeniedException", "dynamodb:GetShardIterator"),
        ("GetRecords", "AccessDeniedException", "docs/policies/redrive.json"),
        ("DescribeStream", "ResourceNotFoundException", "TableStreamArn"),
        ("GetShardIterator", "ExpiredTokenException", "(ExpiredTokenException). Log in again"),
        ("GetRecords", "ExpiredIteratorException", "an iterator expires again and again"),
        ("GetRecords", "TrimmedDataAccessException", "goes before it is read again and again"),
        ("GetRecords", "SomethingNew", "DynamoDB says SomethingNew: "),
    ] {
        proxy.follow(move |call| {
            let fault =
                || Fault::Answer(400, json!({"__type": format!("com.amazonaws#{code}"), "message": "no"}).to_string());
            (call.operation == operation).then(fault)
        });
        let failed = redrive(&proxy.url(), &[running.stream_arn()]).await;
        let said = words(&failed);
        assert!(failed.status.code() == Some(4) && said.contains(wanted), "{code}: {said}");
        assert!(said.contains(&format!("{} can't be read: ", running.stream_arn())), "{said}");
        assert!(said.lines().count() == 1 && !said.contains('{') && !said.contains("Some("), "{said}");
    }
    assert_eq!(running.contents().await, before);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_arn_that_isnt_of_the_tables_stream_is_refused() {
    let arn = |resource: &str| format!("arn:aws:dynamodb:eu-west-1:123456789012:{resource}");
    for (source, wanted) in [
        (arn("table/others/stream/2026-11-21T09:05:00.000"), "the table others, and --table names sapwood"),
        (arn("table/sapwood"), "isn't the ARN of a table's stream"),
        (arn("table/sapwood/stream/"), "isn't the ARN of a table's stream"),
        (arn("table/sapwood/index/others"), "isn't the ARN of a table's stream"),
        ("arn:aws:kinesis:eu-west-1:123456789012:stream/sapwood".to_owned(), "TableStreamArn"),
        ("arn:".to_owned(), "TableStreamArn"),
    ] {
        // Before any request is made.
        let refused = redrive("http://127.0.0.1:9", &[&source]).await;
        let said = words(&refused);
        assert!(refused.status.code() == Some(4) && said.contains(wanted), "{source}: {said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_makes_no_sense_is_refused() {
    let none = redrive("http://127.0.0.1:9", &[]).await;
    assert_eq!(none.status.code(), Some(2), "{}", words(&none));
    let nowhere = redrive("http://127.0.0.1:9", &["s3:///x"]).await;
    assert!(nowhere.status.code() == Some(4) && words(&nowhere).contains("s3://BUCKET"), "{}", words(&nowhere));
}

/// An S3 that refuses everything with this status and code. Returns its URL, and the regions that requests were signed
/// for.
async fn refusing(status: u16, code: &str) -> (String, Arc<Mutex<BTreeSet<String>>>) {
    let regions = Arc::<Mutex<BTreeSet<String>>>::default();
    let seen = Arc::clone(&regions);
    let body = format!("<?xml version=\"1.0\"?><Error><Code>{code}</Code><Message>a secret</Message></Error>");
    let answer = move |headers: HeaderMap| {
        let scope = headers["authorization"].to_str().unwrap().split_once("Credential=").unwrap().1;
        seen.lock().unwrap().insert(scope.split('/').nth(2).unwrap().to_owned());
        let headers = [("content-type", "application/xml"), ("x-amz-bucket-region", "eu-north-1")];
        std::future::ready((StatusCode::from_u16(status).unwrap(), headers, body.clone()))
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, Router::new().fallback(answer)).await });
    (url, regions)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_s3_refuses_is_said_in_words_that_help() {
    let running = Running::start(&[]).await;
    let cases = [
        (403, "AccessDenied", "s3:ListBucket"),
        (404, "NoSuchBucket", "FailedRecordsBucket"),
        (301, "PermanentRedirect", "the bucket is in eu-north-1"),
        (400, "AuthorizationHeaderMalformed", "--region"),
        (403, "ExpiredToken", "(ExpiredToken). Log in again"),
        (403, "InvalidObjectState", "archived"),
        (404, "NoSuchKey", "gone since"),
        (400, "SomethingNew", "SomethingNew"),
    ];
    for (status, code, wanted) in cases {
        let (s3, _) = refusing(status, code).await;
        let failed = redrive(&running.url(), &["s3://failed/", "--s3-endpoint", &s3]).await;
        let said = words(&failed);
        assert!(failed.status.code() == Some(4) && said.contains(wanted), "{code}: {said}");
        assert_eq!((said.lines().count(), said.contains("s3://failed can't be read")), (1, true), "{said}");
        // No dump of the SDK's structures.
        assert!(!said.contains('{') && !said.contains("Some("), "{said}");
    }
    let nobody = redrive(&running.url(), &["s3://failed/", "--s3-endpoint", "http://127.0.0.1:9"]).await;
    assert!(nobody.status.code() == Some(4) && words(&nobody).contains("no whole answer came"), "{}", words(&nobody));
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endpoint_of_s3_is_asked_for_the_region_that_is_named() {
    let running = Running::start(&[]).await;
    let (s3, regions) = refusing(403, "AccessDenied").await;
    redrive(&running.url(), &["s3://failed/", "--s3-endpoint", &s3, "--region", "eu-west-3"]).await;
    assert_eq!(*regions.lock().unwrap(), BTreeSet::from(["eu-west-3".to_owned()]));
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_credentials_it_says_so() {
    let running = Running::start(&[]).await;
    let empty = tempfile::tempdir().unwrap();
    let without = |mut command: Command| {
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("AWS_")) {
            command.env_remove(name);
        }
        command.env("HOME", empty.path()).env("AWS_EC2_METADATA_DISABLED", "true");
        let output = tokio::task::block_in_place(|| command.output().unwrap());
        let said = words(&output);
        assert!(output.status.code() == Some(4) && said.contains("no credentials ("), "{said}");
        assert!(said.contains("log in") && said.lines().count() == 1, "{said}");
    };
    without(command(&running.url(), &["s3://failed/", "--region", "eu-west-3"]));
    // So does a command that reads the table only, and at once.
    let mut verify = Command::new(env!("CARGO_BIN_EXE_sapwood"));
    verify.args(["verify", "--table", TABLE, "--region", "eu-west-3"]);
    let begun = std::time::Instant::now();
    without(verify);
    assert!(is_within(begun, Duration::from_secs(20)), "it tries again and again");
    running.stop().await;
}

/// An S3 with one bucket, `failed`, that lists two objects at a time.
pub(crate) struct Bucket {
    objects: Vec<(String, String)>,
    /// An object that may not be read.
    denied: Option<&'static str>,
    asked: Asked,
}

/// The actions that IAM must allow, each with its resource, for what a bucket was asked.
pub(crate) type Asked = Arc<Mutex<BTreeSet<String>>>;

#[derive(serde::Deserialize)]
struct Listing {
    prefix: Option<String>,
    #[serde(rename = "continuation-token")]
    after: Option<String>,
}

impl Bucket {
    async fn serve(objects: Vec<(String, String)>, denied: Option<&'static str>) -> String {
        Self::serve_and_tell(objects, denied).await.0
    }

    pub(crate) async fn serve_and_tell(
        mut objects: Vec<(String, String)>,
        denied: Option<&'static str>,
    ) -> (String, Asked) {
        objects.sort();
        let asked = Asked::default();
        let router = Router::new()
            .route("/failed", get(Self::list))
            .route("/failed/", get(Self::list))
            .route("/failed/{*key}", get(Self::get))
            .with_state(Arc::new(Self { objects, denied, asked: Arc::clone(&asked) }));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, router).await });
        (url, asked)
    }

    async fn list(State(bucket): State<Arc<Self>>, Query(listing): Query<Listing>) -> Response {
        bucket.asked.lock().unwrap().insert("s3:ListBucket on arn:aws:s3:::BUCKET".to_owned());
        let prefix = listing.prefix.unwrap_or_default();
        let from: usize = listing.after.map_or(0, |token| token.parse().unwrap());
        let all: Vec<_> = bucket.objects.iter().filter(|(key, _)| key.starts_with(&prefix)).collect();
        let page = all.iter().skip(from).take(2);
        let contents: String = page
            .map(|(key, text)| format!("<Contents><Key>{key}</Key><Size>{}</Size></Contents>", text.len()))
            .collect();
        let is_cut = from + 2 < all.len();
        let next =
            if is_cut { format!("<NextContinuationToken>{}</NextContinuationToken>", from + 2) } else { String::new() };
        let body = format!(
            "<?xml version=\"1.0\"?><ListBucketResult><Name>failed</Name><IsTruncated>{is_cut}</IsTruncated>{next}{contents}</ListBucketResult>"
        );
        ([("content-type", "application/xml")], body).into_response()
    }

    async fn get(State(bucket): State<Arc<Self>>, Path(key): Path<String>) -> Response {
        bucket.asked.lock().unwrap().insert("s3:GetObject on arn:aws:s3:::BUCKET/*".to_owned());
        if bucket.denied == Some(&key) {
            let body = "<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code><Message>no</Message></Error>";
            return (StatusCode::FORBIDDEN, body).into_response();
        }
        match bucket.objects.iter().find(|(name, _)| *name == key) {
            Some((_, text)) => text.clone().into_response(),
            None => StatusCode::NOT_FOUND.into_response(),
        }
    }
}
