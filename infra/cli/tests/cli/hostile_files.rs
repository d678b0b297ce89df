//! `sapwood import` and `sapwood export` where trusting them would cost the most: beside deletions, with working files
//! of other tables, through pipes, and with tables that hold what no file of a person's would.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use aws_sdk_dynamodb::types::{
    AttributeDefinition, AttributeValue, BillingMode, KeySchemaElement, KeyType, ScalarAttributeType,
};
use sapwood_core::fanout::Limits;
use sapwood_tests::client::{node, put, put_all, s};
use sapwood_tests::faults::Fault;
use sapwood_tests::running::{Running, TABLE};

use crate::running::Sapwood;
use crate::stack::{Attributes, assert_right, command, ends_with, lines, records, revision, sapwood, tree, words};

/// A directory, and the paths of files in it.
struct Files(tempfile::TempDir);

impl Files {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    fn write(&self, name: &str, content: &str) -> String {
        fs::write(self.path(name), content).unwrap();
        self.path(name)
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(&self.0).unwrap().map(|file| file.unwrap().file_name().to_str().unwrap().to_owned()).collect();
        names.sort();
        names
    }
}

/// The lines of nodes, each `id` or `id<parent`.
fn nodes(nodes: &[&str]) -> String {
    let line = |node: &&str| match node.split_once('<') {
        Some((id, parent)) => format!("{{\"id\":\"{id}\",\"parent\":\"{parent}\"}}\n"),
        None => format!("{{\"id\":\"{node}\"}}\n"),
    };
    nodes.iter().map(line).collect()
}

fn begin(url: &str, arguments: &[&str]) -> Child {
    command(url, arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn end(child: Child) -> Output {
    tokio::task::block_in_place(|| child.wait_with_output().unwrap())
}

/// Longer than an import needs that doesn't wait.
async fn a_while() {
    tokio::time::sleep(Duration::from_millis(1_500)).await;
}

/// A stack whose handler can be kept from its table.
async fn start() -> Running {
    Running::start_proxied(&[], Limits::default()).await
}

/// From now on the handler gets no answer. It tries again and again.
fn hold(running: &Running) {
    running.proxy().unwrap().follow(|_| Some(Fault::CutBefore));
}

fn let_go(running: &Running) {
    running.proxy().unwrap().follow(|_| None);
}

async fn ids(running: &Running) -> Vec<String> {
    running.contents().await.into_keys().filter(|(_, sk)| sk == "NODE").map(|(pk, _)| pk).collect()
}

/// Waits until these nodes are there, and sees that they stay for a while.
async fn comes_to(running: &Running, wanted: &[&str], what: &str) {
    for _ in 0..2_400 {
        if ids(running).await == wanted {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    a_while().await;
    assert_eq!(ids(running).await, wanted, "{what}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_over_a_deletion_that_is_under_way_ends_with_all_that_it_says() {
    const NODES: usize = 31;
    let running = start().await;
    let mut items = tree(NODES, 3);
    items.extend([revision("n0", "v001_Audit"), revision("n17", "v001_Audit")]);
    put_all(&running.client, TABLE, items).await;
    running.settle().await;
    let files = Files::new();
    let file = files.path("all.jsonl");
    ends_with(0, &running.url(), &["export", "--output", &file]);
    hold(&running);
    ends_with(0, &running.url(), &["rm", "n0", "--children", "delete", "--revisions", "--yes"]);
    let import = begin(&running.url(), &["import", &file]);
    a_while().await;
    let_go(&running);
    let output = end(import);
    assert_eq!(output.status.code(), Some(0), "{}", words(&output));
    assert!(words(&output).contains("33 records are written, 0 refused"), "{}", words(&output));
    assert_right(&running).await;
    let mut at_rest = records(&running.contents().await, &[]);
    at_rest.retain(|(pk, _), _| pk != "OPERATIONS");
    assert_eq!(at_rest.len(), NODES + 2);
    // How late the import is decides which children the handler has touched. All other such names are the API's.
    let of_the_api = |name: &String| name.starts_with('_') && name != "_touched";
    let others: Vec<_> = at_rest.iter().filter(|(_, item)| item.keys().any(of_the_api)).collect();
    assert!(others.is_empty(), "all are the import's, but {others:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_written_below_a_parent_that_is_being_deleted_and_the_next_run_tries_again() {
    let running = start().await;
    put_all(&running.client, TABLE, vec![node("p", None, "p"), node("c", Some("p"), "c")]).await;
    running.settle().await;
    hold(&running);
    ends_with(0, &running.url(), &["rm", "p", "--children", "delete", "--yes"]);
    let files = Files::new();
    let file = files.write("below.jsonl", &nodes(&["x<p", "y<x", "z"]));
    let import = begin(&running.url(), &["import", &file, "--no-wait"]);
    comes_to(&running, &["c", "p", "z"], "the deletion is waited for").await;
    let_go(&running);
    let output = end(import);
    assert_eq!(output.status.code(), Some(1), "{}", words(&output));
    assert!(words(&output).contains("1 record is written, 2 refused"), "{}", words(&output));
    assert!(words(&output).contains("below.jsonl:1: its parent isn't in the table"), "{}", words(&output));
    running.settle().await;
    assert_eq!(ids(&running).await, ["z"]);
    assert_eq!(files.names(), ["below.jsonl", "below.jsonl.import", "below.jsonl.refused.jsonl"]);
    // The parent is back.
    put(&running.client, TABLE, node("p", None, "p")).await;
    ends_with(0, &running.url(), &["import", &file]);
    assert_right(&running).await;
    assert_eq!(ids(&running).await, ["p", "x", "y", "z"]);
    assert_eq!(files.names(), ["below.jsonl", "below.jsonl.refused.jsonl"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tombstone_places_nobody_and_what_a_repair_has_put_back_is_no_record() {
    let running = start().await;
    put_all(&running.client, TABLE, vec![node("p", None, "p"), node("c", Some("p"), "c")]).await;
    running.settle().await;
    ends_with(0, &running.url(), &["rm", "p", "--children", "delete", "--yes"]);
    running.settle().await;
    assert!(running.contents().await.contains_key(&("p".to_owned(), "LINEAGE".to_owned())), "the tombstone");
    hold(&running);
    let back: Attributes =
        [("PK", s("back")), ("SK", s("NODE")), ("_put_back", s("a repair"))].map(|(n, v)| (n.to_owned(), v)).into();
    put(&running.client, TABLE, back).await;
    let files = Files::new();
    let file = files.write("again.jsonl", &nodes(&["p", "c<p", "back"]));
    let import = begin(&running.url(), &["import", &file]);
    comes_to(&running, &["back", "p"], "the child waits until its parent is placed").await;
    let_go(&running);
    let output = end(import);
    assert_eq!(output.status.code(), Some(0), "{}", words(&output));
    assert_right(&running).await;
    let at_rest = running.contents().await;
    assert!(!at_rest[&("back".to_owned(), "NODE".to_owned())].contains_key("_put_back"));
    assert_eq!(ids(&running).await, ["back", "c", "p"]);
}

/// A working file of which one record is written, and one refused.
async fn half_done(running: &Sapwood, files: &Files) -> (String, String) {
    let (file, work) = (files.write("two.jsonl", &nodes(&["a", "taken"])), files.path("work"));
    put(&running.client, TABLE, node("taken", None, "somebody else's")).await;
    let output = sapwood(&running.url, &["import", &file, "--work", &work]);
    assert_eq!(output.status.code(), Some(1), "{}", words(&output));
    assert!(Path::new(&work).exists());
    (file, work)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_working_file_of_another_table_says_nothing_about_this_one() {
    let (one, other) = (Sapwood::start(&["--no-handler"]), Sapwood::start(&["--no-handler"]));
    let files = Files::new();
    let (file, work) = half_done(&one, &files).await;
    let refused = |url: &str| {
        let output = sapwood(url, &["import", &file, "--work", &work]);
        assert_eq!(output.status.code(), Some(4), "{}", words(&output));
        for said in ["another table", "1 records were written", "--work"] {
            assert!(words(&output).contains(said), "{said}: {}", words(&output));
        }
    };
    refused(&other.url);
    assert!(crate::running::records(&other).await.is_empty());
    // The same endpoint and the same name, and another table all the same.
    one.client.delete_table().table_name(TABLE).send().await.unwrap();
    let attribute = |name: &str| {
        let definition = AttributeDefinition::builder().attribute_name(name);
        definition.attribute_type(ScalarAttributeType::S).build().unwrap()
    };
    let key = |name: &str, kind| KeySchemaElement::builder().attribute_name(name).key_type(kind).build().unwrap();
    let table = one.client.create_table().table_name(TABLE).billing_mode(BillingMode::PayPerRequest);
    let table = table.attribute_definitions(attribute("PK")).attribute_definitions(attribute("SK"));
    table.key_schema(key("PK", KeyType::Hash)).key_schema(key("SK", KeyType::Range)).send().await.unwrap();
    refused(&one.url);
    assert!(crate::running::records(&one).await.is_empty());
    fs::remove_file(&work).unwrap();
    for running in [&one, &other] {
        let output = sapwood(&running.url, &["import", &file]);
        assert_eq!(output.status.code(), Some(0), "{}", words(&output));
        assert_eq!(crate::running::records(running).await.len(), 2);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_is_tried_again() {
    let running = Sapwood::start(&["--no-handler"]);
    let files = Files::new();
    let (file, work) = half_done(&running, &files).await;
    let again = sapwood(&running.url, &["import", &file, "--work", &work]);
    assert_eq!(again.status.code(), Some(1), "{}", words(&again));
    assert!(words(&again).contains("1 record is written, 1 refused"), "{}", words(&again));
    let key = [("PK".to_owned(), s("taken")), ("SK".to_owned(), s("NODE"))].into();
    running.client.delete_item().table_name(TABLE).set_key(Some(key)).send().await.unwrap();
    let again = sapwood(&running.url, &["import", &file, "--work", &work]);
    assert_eq!(again.status.code(), Some(0), "{}", words(&again));
    assert_eq!(crate::running::records(&running).await.len(), 2);
    assert!(!Path::new(&work).exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_stays_of_a_plan_or_of_a_file_with_faults() {
    let running = Sapwood::start(&["--no-handler"]);
    let files = Files::new();
    let good = files.write("good.jsonl", &nodes(&["a", "b<a"]));
    ends_with(0, &running.url, &["import", &good, "--dry-run"]);
    let open: String =
        (0..200).map(|n| if n == 9 { "n9,,\"5 inch\n".to_owned() } else { format!("n{n},,x\n") }).collect();
    let bad = [
        files.write("bad.jsonl", "not json\n"),
        files.write("orphan.jsonl", &nodes(&["x<nowhere"])),
        files.write("cycle.jsonl", &nodes(&["x<y", "y<x"])),
        files.write("twice.jsonl", &nodes(&["x", "x"])),
        files.write("open.csv", &format!("id,parent,name\n{open}")),
    ];
    for file in &bad {
        let output = sapwood(&running.url, &["import", file]);
        assert_eq!(output.status.code(), Some(1), "{file}: {}", words(&output));
        assert!(words(&output).contains("nothing is written"), "{}", words(&output));
        let unreachable = sapwood("http://127.0.0.1:9", &["import", file]);
        assert_ne!(unreachable.status.code(), Some(0), "{}", words(&unreachable));
    }
    let output = sapwood(&running.url, &["import", &bad[4]]);
    assert!(words(&output).contains("open.csv:11: ") && words(&output).contains("1 fault:"), "{}", words(&output));
    assert_eq!(files.names(), ["bad.jsonl", "cycle.jsonl", "good.jsonl", "open.csv", "orphan.jsonl", "twice.jsonl"]);
    assert!(crate::running::records(&running).await.is_empty());
}

/// What a table can hold and no person would import: orphans, cycles, a chain of 120, a segment that equals the id, and
/// large records.
fn whatever() -> Vec<Attributes> {
    let mut items = tree(20, 3);
    items.extend((0..120).map(|n| node(&format!("d{n}"), (n > 0).then(|| format!("d{}", n - 1)).as_deref(), "deep")));
    items.extend([node("orphan", Some("nowhere"), "x"), node("below", Some("orphan"), "x")]);
    items.extend([node("a", Some("b"), "x"), node("b", Some("a"), "x"), node("under", Some("a"), "x")]);
    items.push(node("own", Some("own"), "x"));
    let mut named = node("named", Some("n0"), "x");
    named.insert("segment".to_owned(), s("named"));
    let mut large = node("large", Some("n1"), "x");
    large.insert("text".to_owned(), s("x".repeat(399 * 1_024)));
    let mut many = node("many", None, "x");
    // As JSON it has ten times its bytes.
    many.insert("list".to_owned(), AttributeValue::L(vec![AttributeValue::B(Vec::new().into()); 50_000]));
    items.extend([named, large, many, revision("n0", "v001_Audit"), revision("nobody", "v003_Audit")]);
    items
}

/// The findings of a verify, without the table's own.
fn findings(running: &Running) -> Vec<(String, String, String)> {
    let output = sapwood(&running.url(), &["verify", "--json", "--confirmation-window", "2"]);
    let printed = String::from_utf8(output.stdout).unwrap();
    let mut findings: Vec<_> = lines(&printed)
        .into_iter()
        .filter(|line| line.get("kind").is_some())
        .map(|line| {
            let text = |name: &str| line[name].as_str().unwrap_or_default().to_owned();
            (text("kind"), text("pk"), text("sk"))
        })
        .collect();
    findings.sort();
    findings
}

#[tokio::test(flavor = "multi_thread")]
async fn an_export_is_a_copy_and_goes_through_a_pipe() {
    let from = Running::start(&[]).await;
    put_all(&from.client, TABLE, whatever()).await;
    from.settle().await;
    let files = Files::new();
    let file = files.path("all.jsonl");
    ends_with(0, &from.url(), &["export", "--output", &file]);
    let wanted = records(&from.contents().await, &["_touched"]);
    assert_eq!(fs::read_to_string(&file).unwrap().lines().count(), wanted.len());
    // Into itself: nothing is refused, and nothing changes.
    let own = ends_with(0, &from.url(), &["import", &file, "--as-is", "--json"]);
    assert_eq!(lines(&own)[0]["refused"], 0);
    from.settle().await;
    assert_eq!(records(&from.contents().await, &["_touched"]), wanted);
    let as_people_write = sapwood(&from.url(), &["import", &file]);
    assert_eq!(as_people_write.status.code(), Some(1), "{}", words(&as_people_write));

    let to = Running::start(&[]).await;
    let binary = env!("CARGO_BIN_EXE_sapwood");
    let (source, target) = (from.url(), to.url());
    let pipe = format!(
        "'{binary}' export --table {TABLE} --endpoint {source} | '{binary}' import - --as-is --table {TABLE} --endpoint {target}"
    );
    let piped =
        tokio::task::block_in_place(|| Command::new("sh").args(["-c", &pipe]).current_dir(&files.0).output().unwrap());
    assert_eq!(piped.status.code(), Some(0), "{}", words(&piped));
    to.settle().await;
    assert_eq!(records(&to.contents().await, &["_touched"]), wanted);
    assert_eq!(findings(&to), findings(&from));
    assert_eq!(files.names(), ["all.jsonl"], "nothing stays of the pipe");
}

/// Imports what a process reads from its standard input.
fn piped(url: &str, arguments: &[&str], content: &str) -> Output {
    let mut child =
        command(url, arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(content.as_bytes()).unwrap();
    end(child)
}

#[tokio::test(flavor = "multi_thread")]
async fn pipes_are_read_once_and_imported_as_files_are() {
    let running = Sapwood::start(&["--no-handler"]);
    let files = Files::new();
    for (n, name) in ["-", "/dev/stdin"].into_iter().enumerate() {
        let output = piped(&running.url, &["import", name], &nodes(&[&format!("p{n}")]));
        assert_eq!(output.status.code(), Some(0), "{}", words(&output));
    }
    let output = piped(&running.url, &["import", "-", "--format", "csv"], "id,parent\nc,\n");
    assert_eq!(output.status.code(), Some(0), "{}", words(&output));
    let fifo = files.path("fifo.csv");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let import = begin(&running.url, &["import", &fifo]);
    tokio::task::block_in_place(|| fs::write(&fifo, "id,parent\nf,\n").unwrap());
    let output = end(import);
    assert_eq!(output.status.code(), Some(0), "{}", words(&output));
    assert_eq!(crate::running::records(&running).await.len(), 4);
    assert_eq!(files.names(), ["fifo.csv"]);
    // Faults and refusals have a place, and a working file by its name goes on with the same bytes.
    let output = piped(&running.url, &["import", "-"], "{\"id\":\"x\"}\nnot json\n");
    assert_eq!(output.status.code(), Some(1), "{}", words(&output));
    assert!(words(&output).contains("standard-input:2: "), "{}", words(&output));
    put(&running.client, TABLE, node("taken", None, "somebody else's")).await;
    let work = files.path("work");
    for _ in 0..2 {
        let output = piped(&running.url, &["import", "-", "--work", &work], &nodes(&["w", "taken"]));
        assert_eq!(output.status.code(), Some(1), "{}", words(&output));
        assert!(words(&output).contains("1 record is written, 1 refused"), "{}", words(&output));
    }
    assert_eq!(files.names(), ["fifo.csv", "work", "work.refused.jsonl"]);
    let output = piped(&running.url, &["import", "-", "--work", &work], &nodes(&["w", "other"]));
    assert_eq!(output.status.code(), Some(4), "{}", words(&output));
    assert!(words(&output).contains("another file"), "{}", words(&output));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_export_that_fails_leaves_the_file_that_is_there() {
    let running = Sapwood::start(&["--no-handler"]);
    put(&running.client, TABLE, node("a", None, "a")).await;
    let files = Files::new();
    let file = files.write("there.jsonl", "an older export\n");
    let nobody = sapwood(&running.url, &["export", "--under", "nobody", "--output", &file]);
    assert_eq!(nobody.status.code(), Some(1), "{}", words(&nobody));
    let unreachable = sapwood("http://127.0.0.1:9", &["export", "--output", &file, "--parameter", "PathRows=on"]);
    assert_eq!(unreachable.status.code(), Some(4), "{}", words(&unreachable));
    assert_eq!(fs::read_to_string(&file).unwrap(), "an older export\n");
    assert_eq!(files.names(), ["there.jsonl"]);
    let done = sapwood(&running.url, &["export", "--output", &file]);
    assert!(words(&done).contains("1 node and 0 revisions are read"), "{}", words(&done));
    assert_eq!(fs::read_to_string(&file).unwrap(), "{\"id\":\"a\",\"attributes\":{\"name\":\"a\"}}\n");
    ends_with(0, &running.url, &["export", "--output", "/dev/null"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pass_keeps_to_its_own_files_and_to_its_own_table() {
    let running = start().await;
    put_all(&running.client, TABLE, tree(5, 2)).await;
    running.settle().await;
    let files = Files::new();
    let (work, theirs) = (files.path("pass.work"), files.write("pass.new", "somebody else's"));
    ends_with(0, &running.url(), &["verify", "--confirmation-window", "1", "--work", &work]);
    assert_eq!(fs::read_to_string(&theirs).unwrap(), "somebody else's");
    assert_eq!(files.names(), ["pass.new"]);
    // A pass that is killed while it looks again leaves its file.
    hold(&running);
    put(&running.client, TABLE, node("new", Some("n0"), "not placed")).await;
    let mut pass = begin(&running.url(), &["verify", "--confirmation-window", "60", "--work", &work]);
    while !Path::new(&work).exists() {
        assert!(pass.try_wait().unwrap().is_none());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    pass.kill().unwrap();
    pass.wait().unwrap();
    let other = Running::start(&[]).await;
    let output = sapwood(&other.url(), &["verify", "--confirmation-window", "1", "--work", &work]);
    assert_eq!(output.status.code(), Some(4), "{}", words(&output));
    assert!(words(&output).contains("another pass"), "{}", words(&output));
    let_go(&running);
    running.settle().await;
    let output = sapwood(&running.url(), &["verify", "--confirmation-window", "1", "--work", &work]);
    assert_eq!(output.status.code(), Some(0), "{}", words(&output));
    assert!(words(&output).contains("going on with the pass"), "{}", words(&output));
}

#[test]
fn an_endpoint_without_its_scheme_is_refused_at_once() {
    for endpoint in ["127.0.0.1:8000", "localhost", "http://", "http:///x", "ftp://127.0.0.1", ""] {
        let output = command(endpoint, &["import", "nothing.jsonl"]).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{endpoint}: {}", words(&output));
        assert!(words(&output).contains("http://127.0.0.1:8000"), "{endpoint}: {}", words(&output));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_first_import_into_a_new_dev_hears_nothing_of_missing_handlers() {
    let running = Sapwood::start(&[]);
    let files = Files::new();
    let file = files.write("one.jsonl", &nodes(&["a"]));
    let output = sapwood(&running.url, &["import", &file]);
    assert_eq!(output.status.code(), Some(0), "{}", words(&output));
    assert!(!words(&output).contains("no stream handler"), "{}", words(&output));
    assert!(words(&output).contains("1 record is written, 0 refused"), "{}", words(&output));
}
