//! How much memory the handler takes for a batch. It runs in a process of its own, because an allocator counts for all
//! of a process: the engine is in another.

use std::ffi::OsStr;
use std::io::{BufRead, Read, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use sapwood_dynamodb::DynamoTable;
use sapwood_engine::fanout::Fanout;
use sapwood_handlers::stream::Handler;
use sapwood_tests::client::{item, put_all, s};
use sapwood_tests::faults::{Call, Fault};
use sapwood_tests::running::{Running, TABLE, deployed};
use serde_json::{Value, json};

/// The handler's process. Its input is the engine's URL, the length of the event, and the event.
#[test]
#[ignore = "runs in a process of its own, which the other tests start"]
fn handler() {
    let mut input = std::io::stdin().lock();
    let mut line = || {
        let mut line = String::new();
        input.read_line(&mut line).unwrap();
        line.trim().to_owned()
    };
    let (url, length) = (line(), line().parse().unwrap());
    let (_, config) = deployed(&[]);
    let table = DynamoTable::local(&url, TABLE, config.settings.schema.clone());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(table.connect());
    let handler = Handler::new(Fanout { settings: config.settings, ..Fanout::default() }, table);
    let before = crate::ALLOCATOR.allocated();
    let mut event = vec![0; length];
    input.read_exact(&mut event).unwrap();
    let event = String::from_utf8(event).unwrap();
    let report = runtime.block_on(handler.run(event, "test", Duration::from_secs(600))).unwrap();
    assert!(report.failed.is_empty() && report.problems.is_empty(), "{report:?}");
    let peak = crate::ALLOCATOR.max_allocated() - before;
    println!("peak {peak} bytes, rows {} all", report.counts.tally.rows_put);
}

/// The bytes of an event, the most that the handler had allocated at a time, and the rows that it put.
#[derive(Debug)]
struct Measured {
    event: usize,
    peak: usize,
    rows: usize,
}

/// Handles nodes of about `bytes` bytes, written at once below the last of a chain of `depth` nodes. `HANDLER_UNDER`
/// may name a program that runs the handler's process, such as `valgrind --tool=dhat`.
async fn measured(nodes: usize, bytes: usize, depth: usize) -> Measured {
    let running = Running::start(&[]).await;
    let chain =
        |n: usize| item([("PK", s(format!("chain{n}"))), ("SK", s("NODE")), ("parent", s(format!("chain{}", n - 1)))]);
    put_all(&running.client, TABLE, vec![item([("PK", s("chain0")), ("SK", s("NODE"))])]).await;
    put_all(&running.client, TABLE, (1..depth).map(chain).collect()).await;
    running.settle().await;
    let mut running = running;
    running.pause().await;
    let (bulk, parent) = ("x".repeat(bytes), format!("chain{}", depth - 1));
    let node =
        |n: usize| item([("PK", s(format!("n{n}"))), ("SK", s("NODE")), ("parent", s(&parent)), ("bulk", s(&bulk))]);
    put_all(&running.client, TABLE, (0..nodes).map(node).collect()).await;
    let record = |n: usize| -> Value {
        let keys = json!({"PK": {"S": format!("n{n}")}, "SK": {"S": "NODE"}});
        let mut image = keys.clone();
        image["parent"] = json!({"S": parent});
        image["bulk"] = json!({"S": bulk});
        let change = json!({"Keys": keys, "NewImage": image, "SequenceNumber": (n + 1).to_string()});
        json!({"eventName": "INSERT", "dynamodb": change})
    };
    let event = json!({"Records": (0..nodes).map(record).collect::<Vec<_>>()}).to_string();
    let measured = handled(running, event).await;
    println!("{nodes} nodes of {bytes} bytes at depth {depth}: {measured:?}");
    measured
}

/// Has a process handle an event.
async fn handled(running: Running, event: String) -> Measured {
    // The engine needn't keep the rows, nor touch children, which takes it long where they are large.
    let proxy = running.another_proxy().await;
    proxy.follow(|call: &Call| match call.operation.as_str() {
        "BatchWriteItem" if call.body.to_string().contains("bulk") => Some(Fault::Answer(200, "{}".to_owned())),
        "BatchExecuteStatement" => {
            let answers = call.body["Statements"].as_array().unwrap().iter().map(|_| json!({})).collect::<Vec<_>>();
            Some(Fault::Answer(200, json!({"Responses": answers}).to_string()))
        }
        _ => None,
    });
    let input = format!("{}\n{}\n{event}", proxy.url(), event.len());
    let output = tokio::task::spawn_blocking(move || {
        let under = std::env::var("HANDLER_UNDER").unwrap_or_default();
        let executable = std::env::current_exe().unwrap();
        let mut words = under.split_whitespace().map(OsStr::new).chain([executable.as_os_str()]);
        let mut command = Command::new(words.next().unwrap());
        command.args(words).args(["memory::handler", "--exact", "--ignored", "--nocapture"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    });
    let output = output.await.unwrap();
    running.stop().await;
    let text = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}{errors}");
    println!("{errors}");
    let number = |before: &str, after: &str| -> usize {
        text.split_once(before).unwrap().1.split_once(after).unwrap().0.parse().unwrap()
    };
    Measured { event: event.len(), peak: number("peak ", " bytes"), rows: number("rows ", " all") }
}

/// The largest event that Lambda delivers has 6 MB.
#[tokio::test(flavor = "multi_thread")]
async fn a_batch_of_large_records_takes_three_times_its_event_at_most() {
    let Measured { event, peak, rows } = measured(60, 90_000, 30).await;
    assert_eq!(rows, 60 * 31, "a row for each ancestor, and one by path");
    assert!(peak <= 3 * event, "{peak} bytes for {event}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_of_many_rows_takes_little_memory() {
    let Measured { peak, rows, .. } = measured(100, 200, 98).await;
    assert_eq!(rows, 100 * 99, "a row for each ancestor, and one by path");
    assert!(peak <= 32_000_000, "{peak} bytes");
}

/// A lineage of a newer format that was put and deleted has the children touched.
#[tokio::test(flavor = "multi_thread")]
async fn children_to_touch_are_read_a_few_at_a_time() {
    let mut running = Running::start(&[]).await;
    put_all(&running.client, TABLE, vec![item([("PK", s("n")), ("SK", s("NODE"))])]).await;
    let child = |n: usize| item([("PK", s(format!("c{n}"))), ("SK", s("NODE")), ("parent", s("n"))]);
    put_all(&running.client, TABLE, (0..30).map(child).collect()).await;
    running.settle().await;
    running.pause().await;
    // Each has 25 KB in the table, and 1 MB in an answer and in memory.
    let numbers = AttributeValue::L(vec![AttributeValue::N(format!("1{}", "0".repeat(125))); 7_500]);
    for n in 0..30 {
        let mut large = child(n);
        large.insert("_bulk".to_owned(), numbers.clone());
        put_all(&running.client, TABLE, vec![large]).await;
    }
    let keys = json!({"PK": {"S": "n"}, "SK": {"S": "LINEAGE"}});
    let image = json!({"PK": {"S": "n"}, "SK": {"S": "LINEAGE"}, "format": {"N": "5"}});
    let change = json!({"Keys": keys, "NewImage": image, "SequenceNumber": "1"});
    let event = json!({"Records": [{"eventName": "INSERT", "dynamodb": change}]}).to_string();
    let measured = handled(running, event).await;
    println!("{measured:?}");
    assert!(measured.peak <= 25_000_000, "{measured:?}");
}

/// Prints what a program says of the handler's process, for one node and for 101. From the difference follow the
/// allocations of a row.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "a measurement: HANDLER_UNDER='valgrind --tool=dhat --dhat-out-file=/dev/null'"]
async fn allocations() {
    for nodes in [1, 101] {
        measured(nodes, 200, 10).await;
    }
}
