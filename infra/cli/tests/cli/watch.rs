//! `sapwood watch`, the real binary, on the table of a running `sapwood dev`, and of a stack whose handler dies.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, UNIX_EPOCH};

use rand::RngExt;
use sapwood_engine::fanout::Limits;
use sapwood_tests::client::{node, put, put_all};
use sapwood_tests::faults::{Call, Fault, WRITES};
use sapwood_tests::running::Running;
use serde_json::{Value, json};

use crate::doctor::{Alarms, Services};
use crate::running::{Sapwood, TABLE, command, printed, sapwood, words};
use crate::stack::chance;

/// The longest time until a change is printed.
const PRINTED_WITHIN: Duration = Duration::from_secs(60);

/// `sapwood watch`, running.
pub(crate) struct Watching {
    process: Child,
    lines: Receiver<String>,
}

impl Watching {
    /// Begins to watch. What is written from now on is printed.
    pub(crate) fn start(url: &str, arguments: &[&str]) -> Self {
        let arguments = [&["watch"], arguments].concat();
        let mut process = command(url, &arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut said = String::new();
        BufReader::new(process.stderr.take().unwrap()).read_line(&mut said).unwrap();
        assert!(said.starts_with("watching, as one more reader of arn:"), "{said}");
        let (to, lines) = channel();
        let out = BufReader::new(process.stdout.take().unwrap());
        std::thread::spawn(move || out.lines().map_while(Result::ok).try_for_each(|line| to.send(line)));
        Self { process, lines }
    }

    fn line(&self) -> String {
        tokio::task::block_in_place(|| self.lines.recv_timeout(PRINTED_WITHIN)).expect("a change is printed")
    }

    /// The next line, without its time.
    fn change(&self) -> String {
        let line = self.line();
        let (time, change) = line.split_once("  ").unwrap();
        assert!(time.starts_with("20") && time.ends_with('Z'), "{line}");
        change.to_owned()
    }

    /// The next change, without its time.
    fn json(&self) -> Value {
        let mut change: Value = serde_json::from_str(&self.line()).unwrap();
        if change["kind"] == "position" {
            return self.json();
        }
        assert!(change.as_object_mut().unwrap().remove("time").is_some_and(|time| time.is_string()));
        change
    }

    /// The next position.
    fn position(&self) -> String {
        let line = self.line();
        if line.starts_with("{\"kind\":\"position\"") { line } else { self.position() }
    }
}

/// What docs/guides/watch.md makes of the lines: the rows of each node.
#[derive(Default)]
struct Mirror {
    rows: BTreeMap<String, BTreeSet<u64>>,
    position: String,
    /// The nodes that were said to have gone.
    gone: Vec<String>,
}

impl Mirror {
    /// Reads the rows of V, after the watch has said where it is.
    async fn snapshot(running: &Running, watching: &Watching) -> Self {
        let position = watching.position();
        Self { rows: rows_of_v(running).await, position, gone: Vec::new() }
    }

    /// Takes the lines until there are none for this time.
    fn follow(&mut self, watching: &Watching, quiet: Duration) {
        loop {
            let line = match tokio::task::block_in_place(|| watching.lines.recv_timeout(quiet)) {
                Ok(line) => line,
                Err(RecvTimeoutError::Timeout) => return,
                Err(RecvTimeoutError::Disconnected) => panic!("the watch has ended"),
            };
            self.take(&line);
        }
    }

    fn take(&mut self, line: &str) {
        let change: Value = serde_json::from_str(line).unwrap();
        let Some(id) = change["id"].as_str() else { return self.position = line.to_owned() };
        let (depth, rows) = (change["depth"].as_u64().unwrap(), self.rows.entry(id.to_owned()).or_default());
        if change["kind"] != "went" {
            rows.insert(depth);
        } else if rows.remove(&depth) && rows.is_empty() {
            self.rows.remove(id);
            self.gone.push(id.to_owned());
        }
    }
}

/// The depths of the rows of each node in V's partition. V's own record has the depth 0.
async fn rows_of_v(running: &Running) -> BTreeMap<String, BTreeSet<u64>> {
    let mut rows: BTreeMap<String, BTreeSet<u64>> = BTreeMap::new();
    for (pk, sk) in running.contents().await.into_keys().filter(|(pk, _)| pk == "V") {
        match sk.strip_prefix("NODE#").and_then(|row| row.split_once('#')) {
            Some((depth, id)) => _ = rows.entry(id.to_owned()).or_default().insert(depth.parse().unwrap()),
            None if sk == "NODE" => _ = rows.entry(pk).or_default().insert(0),
            None => {}
        }
    }
    rows
}

/// Whether a request deletes this row.
fn deletes(call: &Call, sort_key: &str) -> bool {
    let asked = call.body.to_string();
    WRITES.contains(&&*call.operation)
        && asked.contains(sort_key)
        && (asked.contains("DELETE FROM") || asked.contains("DeleteRequest") || call.operation == "DeleteItem")
}

impl Drop for Watching {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_comes_changes_and_goes_below_a_node_is_printed() {
    let running = Sapwood::start(&[]);
    let url = &running.url;
    for (id, parent) in [("D", None), ("V", Some("D")), ("W", Some("D")), ("d", Some("V")), ("e", Some("V"))] {
        put(&running.client, TABLE, node(id, parent, "old")).await;
    }
    running.becomes_right().await;
    let watching = Watching::start(url, &["V"]);
    // What is elsewhere, and what changes nothing that rows show, is nobody's news.
    printed(url, &["put", "W", "--set", "name=other"], 0);
    printed(url, &["put", "i", "--parent", "d", "--set", "name=x"], 0);
    assert_eq!(watching.change(), "came     i  2 below, under d  name=\"x\"");
    printed(url, &["put", "i", "--set", "name=y", "--unset", "other"], 0);
    assert_eq!(watching.change(), "changed  i  2 below, under d  name: \"x\" → \"y\"");
    printed(url, &["move", "i", "--to", "e"], 0);
    assert_eq!(watching.change(), "changed  i  2 below, under e (was under d)");
    // One level up: a row comes before the other goes, so that nobody misses the node.
    printed(url, &["move", "i", "--to", "V"], 0);
    assert_eq!(watching.change(), "came     i  1 below, under V  name=\"y\"");
    assert_eq!(watching.change(), "went     i  2 below, under e  name=\"y\"");
    printed(url, &["move", "i", "--to", "W"], 0);
    assert_eq!(watching.change(), "went     i  1 below, under V  name=\"y\"");
    printed(url, &["rm", "d", "--yes"], 0);
    assert_eq!(watching.change(), "went     d  1 below, under V  name=\"old\"");
}

#[tokio::test(flavor = "multi_thread")]
async fn depth_and_topics_are_watched_on_their_own() {
    let running = Sapwood::start(&[]);
    let url = &running.url;
    put(&running.client, TABLE, node("V", None, "v")).await;
    running.becomes_right().await;
    let children = Watching::start(url, &["V", "--depth", "1", "--json"]);
    let topics = Watching::start(url, &["V", "--revisions", "--json"]);
    for (id, parent) in [("d", "V"), ("i", "d"), ("e", "V")] {
        printed(url, &["put", id, "--parent", parent], 0);
    }
    // Nodes are handled side by side, so either may come first.
    let mut came = [children.json(), children.json()];
    came.sort_by_key(|change| change["id"].to_string());
    let after = json!({"parent": "V", "attributes": {}});
    assert_eq!(came, ["d", "e"].map(|id| json!({"kind": "came", "id": id, "depth": 1, "after": after})));
    for version in [1, 2] {
        let of = format!("of={version}");
        printed(url, &["put", "V", "--topic", "Audit", "--set", &of], 0);
        let change = topics.json();
        assert_eq!((&change["id"], &change["topic"]), (&json!("V"), &json!("Audit")));
        assert_eq!(change["after"]["version"], json!(version), "{change}");
        assert_eq!(change["kind"], json!(if version == 1 { "came" } else { "changed" }));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_no_third_reader_unless_it_is_told_to_be() {
    let running = Sapwood::start(&[]);
    let url = &running.url;
    // The handler, and another consumer.
    let services = Services::new(true, Alarms::There).serve().await;
    let arguments = ["V", "--services-endpoint", &services];
    let refused = sapwood(url, &[&["watch"], &arguments[..]].concat());
    assert_eq!(refused.status.code(), Some(1), "{}", words(&refused));
    assert!(words(&refused).contains("2 functions read the stream already"), "{}", words(&refused));
    drop(Watching::start(url, &[&arguments[..], &["--third-reader"]].concat()));
    // Where the handler's mapping is switched off, there is room.
    let services = Services::new(false, Alarms::There).serve().await;
    drop(Watching::start(url, &["V", "--services-endpoint", &services]));
    let unknown = sapwood(url, &["watch", "V", "--services-endpoint", "http://127.0.0.1:1"]);
    assert_eq!(unknown.status.code(), Some(4), "{}", words(&unknown));
    assert!(words(&unknown).contains("--third-reader"), "{}", words(&unknown));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_node_itself_is_watched_as_well() {
    let running = Sapwood::start(&[]);
    let url = &running.url;
    put(&running.client, TABLE, node("D", None, "root")).await;
    put(&running.client, TABLE, node("V", Some("D"), "old")).await;
    running.becomes_right().await;
    let watching = Watching::start(url, &["V"]);
    printed(url, &["put", "V", "--set", "name=new", "--segment", "volume"], 0);
    assert_eq!(
        watching.change(),
        "changed  V  0 below, under D  segment: nothing → \"volume\"  name: \"old\" → \"new\""
    );
    printed(url, &["rm", "V", "--yes"], 0);
    assert_eq!(watching.change(), "went     V  0 below, under D  segment=\"volume\"  name=\"new\"");
}

#[tokio::test(flavor = "multi_thread")]
async fn it_goes_on_where_it_was() {
    let running = Sapwood::start(&[]);
    let url = &running.url;
    put(&running.client, TABLE, node("V", None, "v")).await;
    running.becomes_right().await;
    let watching = Watching::start(url, &["V", "--json"]);
    let first = watching.position();
    printed(url, &["put", "i", "--parent", "V", "--wait"], 0);
    let said = |change: &Value| format!("{} {}", change["kind"].as_str().unwrap(), change["id"].as_str().unwrap());
    assert_eq!(said(&watching.json()), "came i");
    let second = watching.position();
    drop(watching);
    printed(url, &["put", "j", "--parent", "i", "--wait"], 0);
    printed(url, &["rm", "j", "--yes", "--wait"], 0);
    let watching = Watching::start(url, &["V", "--json", "--after", &second]);
    assert_eq!([watching.json(), watching.json()].map(|change| said(&change)), ["came j", "went j"]);
    // Where nothing had been read of the stream yet, all since the beginning comes again.
    let watching = Watching::start(url, &["V", "--json", "--after", &first]);
    let again: Vec<String> = (0..4).map(|_| said(&watching.json())).collect();
    assert_eq!(again, ["came V", "came i", "came j", "went j"]);
    printed(url, &["put", "k", "--parent", "i", "--wait"], 0);
    assert_eq!(said(&watching.json()), "came k");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_position_that_the_stream_has_no_more_is_refused() {
    let running = Sapwood::start(&[]);
    let url = &running.url;
    put(&running.client, TABLE, node("V", None, "v")).await;
    running.becomes_right().await;
    let position: Value = serde_json::from_str(&Watching::start(url, &["V", "--json"]).position()).unwrap();
    let now = UNIX_EPOCH.elapsed().unwrap().as_secs();
    let with = |name: &str, value: Value| {
        let mut other = position.clone();
        other[name] = value;
        other.to_string()
    };
    for (after, code, said) in [
        (with("at", json!(now - 24 * 3_600)), 1, "keeps its records for 24 hours"),
        (with("after", json!({"shardId-00000000000000000000-00000000": "100000000000000000001"})), 1, "for 24 hours"),
        (with("stream", json!("arn:aws:dynamodb:eu-central-1:1:table/other/stream/1")), 1, "is another one now"),
        ("{}".to_owned(), 2, "no position"),
        ("a position".to_owned(), 2, "no position"),
    ] {
        ends(url, &after, code, said);
    }
}

/// Asserts that a watch that goes on from this position ends with this code, and says this.
fn ends(url: &str, after: &str, code: i32, said: &str) {
    let mut watch = command(url, &["watch", "V", "--json", "--after", after]);
    let mut watch = watch.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let began = Instant::now();
    while watch.try_wait().unwrap().is_none() && began.elapsed() < PRINTED_WITHIN {
        std::thread::sleep(Duration::from_millis(20));
    }
    watch.kill().unwrap();
    let ended = watch.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(code), "{after}: {}", words(&ended));
    assert!(words(&ended).contains(said), "{after}: {}", words(&ended));
}

/// A stream of shards, as DynamoDB answers for it.
#[derive(Default)]
struct Shards {
    /// Each shard's id, its parent, and whether it takes no more records.
    shards: Vec<(&'static str, Option<&'static str>, bool)>,
    /// The records of a shard: the id of a node that came, and how many seconds ago.
    records: BTreeMap<&'static str, Vec<(&'static str, u64)>>,
    /// The iterators that were asked for.
    asked: Vec<String>,
    /// True if what is asked for is over 24 hours old.
    is_trimmed: bool,
}

impl Shards {
    fn answer(&mut self, call: &Call) -> Option<Fault> {
        let text = |name: &str| call.body[name].as_str().unwrap_or_default().to_owned();
        let answer = match &*call.operation {
            "DescribeStream" => {
                let shards = self.shards.iter().map(|(id, parent, _)| match parent {
                    Some(parent) => json!({"ShardId": id, "ParentShardId": parent}),
                    None => json!({"ShardId": id}),
                });
                json!({"StreamDescription": {"Shards": shards.collect::<Vec<_>>()}})
            }
            "GetShardIterator" if self.is_trimmed => {
                return Some(Fault::error(400, "com.amazonaws.dynamodb.v20120810#TrimmedDataAccessException"));
            }
            "GetShardIterator" => {
                let (shard, kind, number) = (text("ShardId"), text("ShardIteratorType"), text("SequenceNumber"));
                let next = match &*kind {
                    "LATEST" => self.records.get(&*shard).map_or(0, Vec::len),
                    "AFTER_SEQUENCE_NUMBER" => number.parse::<usize>().unwrap() + 1,
                    _ => 0,
                };
                self.asked.push([&*shard, " ", &*kind, " ", &*number].concat().trim_end().to_owned());
                json!({"ShardIterator": format!("{shard} {next}")})
            }
            "GetRecords" => {
                let iterator = text("ShardIterator");
                let (shard, from) = iterator.split_once(' ').unwrap();
                let (records, from) = (self.records.get(shard).map_or(&[][..], Vec::as_slice), from.parse().unwrap());
                let now = UNIX_EPOCH.elapsed().unwrap().as_secs();
                let record = |(at, (id, age)): (usize, &(&str, u64))| {
                    json!({"eventName": "INSERT", "dynamodb": {
                        "ApproximateCreationDateTime": now - age, "SequenceNumber": at.to_string(),
                        "Keys": {"PK": {"S": "V"}, "SK": {"S": format!("NODE#0001#{id}")}}, "NewImage": {"_id": {"S": id}},
                    }})
                };
                let found: Vec<Value> = records.iter().enumerate().skip(from).map(record).collect();
                let is_closed = self.shards.iter().any(|(id, _, is_closed)| *id == shard && *is_closed);
                let next = (!is_closed).then(|| format!("{shard} {}", records.len()));
                json!({"Records": found, "NextShardIterator": next})
            }
            _ => return None,
        };
        Some(Fault::Answer(200, answer.to_string()))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_position_goes_on_through_shards_that_end_and_split() {
    let running = Running::start(&[]).await;
    let proxy = running.another_proxy().await;
    let stream = Arc::new(Mutex::new(Shards::default()));
    let shared = Arc::clone(&stream);
    proxy.follow(move |call| shared.lock().unwrap().answer(call));
    let url = proxy.url();
    let set = |shards: &[(&'static str, Option<&'static str>, bool)],
               records: &[(&'static str, &[(&'static str, u64)])]| {
        let mut stream = stream.lock().unwrap();
        stream.asked.clear();
        stream.shards = shards.to_vec();
        stream.records = records.iter().map(|(shard, records)| (*shard, records.to_vec())).collect();
    };
    let read = |after: Option<&str>, count: usize| {
        let after: Vec<&str> = after.iter().flat_map(|position| ["--after", position]).collect();
        let watching = Watching::start(&url, &[&["V", "--json"], &*after].concat());
        let mut ids: Vec<String> = (0..count).map(|_| watching.json()["id"].as_str().unwrap().to_owned()).collect();
        ids.sort_unstable();
        let position = watching.position();
        let mut asked = std::mem::take(&mut stream.lock().unwrap().asked);
        asked.sort_unstable();
        asked.dedup();
        (ids.join(" "), position, asked.join(", "))
    };
    let old: (&str, u64) = ("old", 3_600);
    set(&[("a", None, false)], &[("a", &[old])]);
    let (_, first, asked) = read(None, 0);
    assert_eq!(asked, "a LATEST");
    // Nothing had been read of the shard: what is older than the first watch isn't printed.
    set(&[("a", None, false)], &[("a", &[old, ("i", 0)])]);
    let (ids, second, asked) = read(Some(&first), 1);
    assert_eq!((&*ids, &*asked), ("i", "a TRIM_HORIZON"));
    // The shard ends, and its records go on in two others, one of which ends as well.
    let split = [("a", None, true), ("b", Some("a"), true), ("c", Some("a"), false), ("d", Some("b"), false)];
    let records: [(&str, &[(&str, u64)]); 3] =
        [("a", &[old, ("i", 0), ("j", 0)]), ("b", &[("k", 0)]), ("c", &[("l", 0)])];
    set(&split, &records);
    let (ids, third, asked) = read(Some(&second), 3);
    assert_eq!(ids, "j k l");
    assert!(asked.starts_with("a AFTER_SEQUENCE_NUMBER 1, b TRIM_HORIZON, c TRIM_HORIZON"), "{asked}");
    // What was read to its end isn't read again, and the last of the shards has had no record.
    let more: (&str, &[(&str, u64)]) = ("d", &[("m", 0)]);
    set(&split, &[&records[..], &[more]].concat());
    let (ids, _, asked) = read(Some(&third), 1);
    assert_eq!((&*ids, &*asked), ("m", "c AFTER_SEQUENCE_NUMBER 0, d TRIM_HORIZON"));
    // What the stream has no more ends the watch.
    let ends = |after: &str| ends(&url, after, 1, "keeps its records for 24 hours");
    set(&split[3..], &[more]);
    ends(&third);
    set(&split, &records);
    stream.lock().unwrap().is_trimmed = true;
    ends(&third);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mirror_keeps_a_node_whose_handler_died_between_two_rows() {
    let running = Running::start_proxied(&[], Limits::default()).await;
    let tree = [("V", None), ("d", Some("V")), ("n", Some("d"))];
    put_all(&running.client, TABLE, tree.map(|(id, parent)| node(id, parent, id)).into()).await;
    running.settle().await;
    let watching = Watching::start(&running.url(), &["V", "--json"]);
    let mut mirror = Mirror::snapshot(&running, &watching).await;
    // The handler puts the row at the depth 1, and ends before it deletes the one at the depth 2.
    let ends = || Fault::error(400, "com.amazon.coral.service#AccessDeniedException");
    running.proxy().unwrap().follow(move |call| deletes(call, "NODE#0002#n").then(ends));
    put(&running.client, TABLE, node("n", Some("V"), "n")).await;
    let came = watching.json();
    assert_eq!((&came["kind"], &came["id"], &came["depth"]), (&json!("came"), &json!("n"), &json!(1)));
    mirror.take(&came.to_string());
    put(&running.client, TABLE, node("n", Some("d"), "n")).await;
    let went = watching.json();
    // The row of the newest depth goes, and the other says nothing: it never changed.
    assert_eq!((&went["kind"], &went["id"], &went["depth"]), (&json!("went"), &json!("n"), &json!(1)));
    mirror.take(&went.to_string());
    running.settle().await;
    mirror.follow(&watching, Duration::from_secs(2));
    assert_eq!((mirror.rows, mirror.gone), (rows_of_v(&running).await, Vec::new()));
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mirror_is_right_after_moves_deletions_dying_handlers_and_restarts_of_the_watch() {
    const NODES: usize = 12;
    let mut chance = chance();
    let running = Running::start_proxied(&[], Limits::default()).await;
    let parents = |n: usize| if n == 0 { "V".to_owned() } else { format!("n{}", n - 1) };
    put_all(&running.client, TABLE, vec![node("V", None, "V"), node("W", None, "W")]).await;
    let all = (0..NODES).map(|n| node(&format!("n{n}"), Some(&parents(n / 2)), "n"));
    put_all(&running.client, TABLE, all.collect()).await;
    running.settle().await;
    let mut watching = Watching::start(&running.url(), &["V", "--json"]);
    let mut mirror = Mirror::snapshot(&running, &watching).await;
    for step in 0..60 {
        // Every fourth write of the handler's is cut off, before or after it is carried out.
        let fault = [Fault::CutBefore, Fault::CutAfter][chance.random_range(0..2)].clone();
        let at = chance.random_range(0..4);
        running.proxy().unwrap().follow(move |call| {
            (WRITES.contains(&&*call.operation) && call.nth % 4 == at && call.nth < 8).then(|| fault.clone())
        });
        let n = chance.random_range(0..NODES);
        // A node goes below one of a smaller number, so there is no cycle.
        let to = if chance.random_ratio(1, 5) { "W".to_owned() } else { parents(chance.random_range(0..=n)) };
        put(&running.client, TABLE, node(&format!("n{n}"), Some(&to), &step.to_string())).await;
        if step % 10 == 9 {
            mirror.follow(&watching, Duration::from_millis(chance.random_range(0..600)));
            drop(watching);
            tokio::time::sleep(Duration::from_millis(chance.random_range(0..600))).await;
            watching = Watching::start(&running.url(), &["V", "--json", "--after", &mirror.position]);
        }
    }
    running.proxy().unwrap().follow(|_| None);
    running.settle().await;
    let (expected, began) = (rows_of_v(&running).await, Instant::now());
    while mirror.rows != expected && began.elapsed() < PRINTED_WITHIN {
        mirror.follow(&watching, Duration::from_millis(500));
    }
    assert_eq!(mirror.rows, expected);
    running.stop().await;
}
