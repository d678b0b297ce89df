//! `sapwood watch`, the real binary, on the table of a running `sapwood dev`.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use sapwood_tests::client::{node, put};
use serde_json::{Value, json};

use crate::doctor::{Alarms, Services};
use crate::running::{Sapwood, TABLE, command, printed, sapwood, words};

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

    fn json(&self) -> Value {
        let mut change: Value = serde_json::from_str(&self.line()).unwrap();
        assert!(change.as_object_mut().unwrap().remove("time").is_some_and(|time| time.is_string()));
        change
    }
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
