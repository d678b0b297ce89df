//! The metrics that CloudWatch is told, held against what was really done: the handler and the API's sessions on the
//! embedded engine, and what a foreign client sees of the table.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use aws_sdk_dynamodb::types::AttributeValue;
use sapwood_core::keys::{ItemKey, Schema};
use sapwood_core::model::text;
use sapwood_core::plan::{Task, TaskOutcome};
use sapwood_dynamodb::DynamoTable;
use sapwood_engine::fanout::Fanout;
use sapwood_handlers::stream::Handler;
use sapwood_store::{Action, Client, Condition, Deadline, Update};
use sapwood_telemetry::metrics::Metrics;
use sapwood_tests::client::{self, item, node, put, s};
use sapwood_tests::faults::{Call, Fault, Proxy};
use sapwood_tests::lines::Lines;
use sapwood_tests::oracle::{Contents, Oracle};
use sapwood_tests::running::{Running, TABLE};
use serde_json::{Value, json};

/// A stack whose handler's metrics go there.
async fn start(lines: &Lines) -> Running {
    Running::start_measured(Metrics::new("Sapwood", "stream-handler", now, lines.clone())).await
}

/// A proxy before its engine, and a handler that goes through it.
async fn through_a_proxy(running: &Running, metrics: Metrics) -> (Proxy, Handler) {
    let proxy = running.another_proxy().await;
    let table = DynamoTable::local(&proxy.url(), TABLE, Schema::default());
    let handler = Handler::new(Fanout::default(), table).measured(metrics);
    (proxy, handler)
}

fn now() -> u64 {
    u64::try_from(std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis()).unwrap()
}

/// The rows of a table: what the handler puts besides lineages.
fn rows(contents: &Contents) -> BTreeSet<(String, String)> {
    let is_row = |sk: &str| ["NODE#", "PATH#", "ROOT#", "ORPHAN#"].iter().any(|prefix| sk.starts_with(prefix));
    contents.keys().filter(|(_, sk)| is_row(sk)).cloned().collect()
}

/// The metrics since this was last asked, added up.
struct Written(Vec<Value>);

impl Written {
    fn take(lines: &Lines) -> Self {
        let taken = lines.take();
        Self(taken.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
    }

    fn sum(&self, name: &str) -> f64 {
        self.0.iter().map(|line| line[name].as_f64().unwrap_or_else(|| panic!("{name} of {line}"))).sum()
    }

    fn sums<const N: usize>(&self, names: [&str; N]) -> [f64; N] {
        names.map(|name| self.sum(name))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_counted_is_what_was_done() {
    let lines = Lines::default();
    let running = start(&lines).await;
    let names = ["RowsPut", "RowsDeleted", "Touches", "BadRecords", "Failures"];

    // Parents first, each at rest before the next: then every row is put once.
    for (id, parent) in [("a", None), ("b", Some("a")), ("c", Some("b")), ("d", Some("b")), ("x", None)] {
        put(&running.client, TABLE, node(id, parent, "a name")).await;
        running.settle().await;
    }
    let made = rows(&running.contents().await);
    assert_eq!(Written::take(&lines).sums(names), [made.len() as f64, 0.0, 0.0, 0.0, 0.0]);

    // A leaf is moved: its own rows are put, those of before are deleted, and nothing is handed down.
    put(&running.client, TABLE, node("d", Some("x"), "a name")).await;
    running.settle().await;
    let moved = rows(&running.contents().await);
    let gone = made.difference(&moved).count() as f64;
    let new = moved.difference(&made).count() as f64;
    assert!(gone > 0.0 && new > 0.0);
    assert_eq!(Written::take(&lines).sums(names), [new, gone, 0.0, 0.0, 0.0]);

    // A node with two children: they are touched.
    put(&running.client, TABLE, node("d", Some("b"), "a name")).await;
    running.settle().await;
    Written::take(&lines);
    put(&running.client, TABLE, node("b", Some("x"), "a name")).await;
    running.settle().await;
    assert_eq!(Written::take(&lines).sum("Touches"), 2.0);

    // A node is deleted.
    let before = rows(&running.contents().await);
    client::delete_all(&running.client, TABLE, vec![("d".to_owned(), "NODE".to_owned())]).await;
    running.settle().await;
    let after = rows(&running.contents().await);
    assert!(after.is_subset(&before) && after != before);
    let deleted = (before.len() - after.len()) as f64;
    assert_eq!(Written::take(&lines).sums(names), [0.0, deleted, 0.0, 0.0, 0.0]);

    // A base record that can't be read.
    let odd = item([("PK", s("odd")), ("SK", s("NODE")), ("parent", AttributeValue::N("7".to_owned()))]);
    put(&running.client, TABLE, odd).await;
    running.settle().await;
    assert_eq!(Written::take(&lines).sums(names), [0.0, 0.0, 0.0, 1.0, 0.0]);
    running.assert_right(&Oracle::default()).await;
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn dashboard_and_alarms_look_at_metrics_that_there_are() {
    let lines = Lines::default();
    let running = start(&lines).await;
    put(&running.client, TABLE, node("n", None, "a name")).await;
    running.settle().await;
    let metrics = Written::take(&lines);
    let dashboard = include_str!("../../infra/dashboard.yaml").lines();
    let own = dashboard.filter(|line| line.contains(r#"["Sapwood""#) && line.contains("${StreamHandler}"));
    let shown: Vec<&str> = own.map(|line| line.split('"').nth(3).unwrap()).collect();
    let alarms = include_str!("../../infra/alarms.yaml").split("Namespace: Sapwood\n").skip(1);
    let alarms = alarms.map(|rest| rest.trim_start().lines().next().unwrap());
    // The auditor's and the API's are held against their own metrics (functions/auditor/tests,
    // shared/http/src/serve/tests/metrics.rs).
    let elsewhere = ["MetricName: Audit", "MetricName: ServerErrors"];
    let alarms: Vec<&str> = alarms.filter(|line| !elsewhere.iter().any(|name| line.starts_with(name))).collect();
    assert!(shown.len() > 10 && alarms.len() > 1, "{shown:?} {alarms:?}");
    for name in shown.into_iter().chain(alarms.iter().map(|line| line.strip_prefix("MetricName: ").unwrap())) {
        assert!(metrics.0.iter().all(|line| line.get(name).is_some()), "{name} is none of the handler's metrics");
    }
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_batch_is_a_line_with_its_records_units_and_lag() {
    let lines = Lines::default();
    let running = start(&lines).await;
    for n in 0..12 {
        put(&running.client, TABLE, node(&format!("n{n}"), None, "a name")).await;
    }
    running.settle().await;
    let (events, reports) = running.take();
    let metrics = Written::take(&lines);
    assert_eq!(metrics.0.len(), events.len());
    // Batches run side by side, so their order says nothing.
    let mut said: Vec<String> = metrics
        .0
        .iter()
        .map(|line| {
            let ended = line["_aws"]["Timestamp"].as_u64().unwrap();
            let lags = line["Lag"].as_array().unwrap().iter().map(|lag| lag.as_u64().unwrap());
            // DynamoDB Local cuts the time of a record to the minute. A time in a wrong unit would be decades away.
            let written: Vec<u64> =
                lags.inspect(|lag| assert!(*lag < 3_600_000, "{lag}")).map(|lag| ended - lag).collect();
            let named = ["Records", "Rounds", "Retries", "Conflicts", "ReadUnits", "WriteUnits", "Failures"];
            json!([written, named.map(|name| line[name].clone())]).to_string()
        })
        .collect();
    let mut done: Vec<String> = events
        .iter()
        .zip(&reports)
        .map(|(event, report)| {
            let event: Value = serde_json::from_str(event).unwrap();
            let records = event["Records"].as_array().unwrap();
            let seconds =
                records.iter().map(|record| record["dynamodb"]["ApproximateCreationDateTime"].as_u64().unwrap());
            let written: Vec<u64> = seconds.map(|seconds| seconds * 1_000).collect();
            let counts = &report.counts;
            json!([
                written,
                [
                    json!(records.len()),
                    json!(counts.tally.rounds),
                    json!(counts.usage.retries),
                    json!(counts.usage.conflicts),
                    json!(counts.usage.read_units),
                    json!(counts.usage.write_units),
                    json!(report.failed.len()),
                ]
            ])
            .to_string()
        })
        .collect();
    said.sort();
    done.sort();
    assert_eq!(said, done);
    assert!(metrics.sum("WriteUnits") > 0.0 && metrics.sum("ReadUnits") > 0.0);
    running.stop().await;
}

const CONFLICT: &str = "com.amazonaws.dynamodb.v20120810#TransactionConflictException";

fn cancelled(reasons: &[&str]) -> Fault {
    let reasons: Vec<Value> = reasons.iter().map(|code| json!({"Code": code, "Message": "on purpose"})).collect();
    let name = "com.amazonaws.dynamodb.v20120810#TransactionCanceledException";
    Fault::Answer(400, json!({"__type": name, "message": "cancelled", "CancellationReasons": reasons}).to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_that_could_not_be_written_is_not_counted_and_its_record_is_a_failure() {
    let lines = Lines::default();
    let running = start(&lines).await;
    let event = json!({"Records": [{
        "eventID": "1", "eventName": "INSERT",
        "dynamodb": {"Keys": {"PK": {"S": "n"}, "SK": {"S": "NODE"}}, "SequenceNumber": "1",
            "ApproximateCreationDateTime": 1_700_000_000, "SizeBytes": 1}
    }]});
    put(&running.client, TABLE, node("n", None, "a name")).await;
    running.settle().await;
    running.take();
    Written::take(&lines);
    let metrics = Metrics::new("Sapwood", "f", || 1_700_000_001_500, lines.clone());
    let (proxy, handler) = through_a_proxy(&running, metrics).await;
    // The lineage goes through, the rows never do.
    proxy.follow(|call: &Call| {
        let is_row = call.operation == "BatchWriteItem" && call.body.to_string().contains("ROOT#n");
        is_row.then(|| Fault::error(500, "com.amazonaws.dynamodb.v20120810#InternalServerError"))
    });
    handler.run(&event.to_string(), "test", Duration::from_secs(3)).await.unwrap();
    let metrics = Written::take(&lines);
    assert_eq!(metrics.sums(["Records", "RowsPut", "Failures"]), [1.0, 0.0, 1.0]);
    assert!(metrics.sum("Retries") > 0.0);
    assert_eq!(metrics.0[0]["Lag"], json!([1_500]));
    running.stop().await;
}

/// Has the handler touch these children, with faults. Returns the sums of some metrics: conflicts, retries, touches,
/// failures.
async fn touching(children: &[&str], faults: impl Fn(&Call) -> Option<Fault> + Send + Sync + 'static) -> [f64; 4] {
    let lines = Lines::default();
    let running = start(&lines).await;
    put(&running.client, TABLE, node("p", None, "a name")).await;
    put(&running.client, TABLE, node("q", None, "a name")).await;
    put(&running.client, TABLE, node("n", Some("p"), "a name")).await;
    for child in children {
        put(&running.client, TABLE, node(child, Some("n"), "a name")).await;
    }
    running.settle().await;
    running.take();
    put(&running.client, TABLE, node("n", Some("q"), "a name")).await;
    running.settle().await;
    // The event that set off the touches, once more.
    let (events, _) = running.take();
    let touching = events.iter().find(|event| event.contains("LINEAGE")).unwrap();
    let (proxy, handler) = through_a_proxy(&running, Metrics::new("Sapwood", "f", now, lines.clone())).await;
    proxy.follow(faults);
    Written::take(&lines);
    handler.run(touching, "test", Duration::from_secs(20)).await.unwrap();
    let metrics = Written::take(&lines);
    running.stop().await;
    metrics.sums(["Conflicts", "Retries", "Touches", "Failures"])
}

#[tokio::test(flavor = "multi_thread")]
async fn transaction_conflicts_are_counted_by_the_handler_and_tried_again() {
    // A foreign transaction holds the child twice.
    let held = |call: &Call| (call.operation == "UpdateItem" && call.nth < 2).then(|| Fault::error(400, CONFLICT));
    assert_eq!(touching(&["c"], held).await, [2.0, 2.0, 1.0, 0.0]);
    // It holds two of three children. The third is touched, and only those two are tried again.
    let held = |call: &Call| {
        let conflict = json!({"Error": {"Code": "TransactionConflict", "Message": "on purpose"}});
        let answer = json!({"Responses": [conflict, {"TableName": TABLE}, conflict]}).to_string();
        match (call.operation.as_str(), call.nth) {
            ("BatchExecuteStatement", 0) => Some(Fault::Answer(200, answer)),
            ("BatchExecuteStatement", 1) => {
                assert_eq!(call.batch_len(), 2);
                None
            }
            _ => None,
        }
    };
    assert_eq!(touching(&["c", "d", "e"], held).await, [2.0, 1.0, 3.0, 0.0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_counts_conflicts_and_takes_nothing_else_for_one() {
    let running = Running::start(&[]).await;
    put(&running.client, TABLE, node("n", None, "a name")).await;
    let proxy = running.another_proxy().await;
    let (schema, deadline) = (Schema::default(), Deadline::at(tokio::time::Instant::now() + Duration::from_secs(20)));
    let table = DynamoTable::local(&proxy.url(), TABLE, schema.clone());
    let key = ItemKey::new("n", "NODE");
    let update = Update::set("name", text("another"));
    let action = Action::Update { key, update, condition: Condition::Exists };
    let transaction = Task::Transact(vec![action.clone()]);
    for (fault, conflicts) in [
        (Fault::error(400, CONFLICT), 1),
        (cancelled(&["TransactionConflict"]), 1),
        (cancelled(&["None", "ThrottlingError", "TransactionConflict"]), 1),
        (cancelled(&["ThrottlingError"]), 0),
        (Fault::error(400, "com.amazonaws.dynamodb.v20120810#ThrottlingException"), 0),
        (Fault::error(500, "com.amazonaws.dynamodb.v20120810#InternalServerError"), 0),
        (Fault::CutBefore, 0),
    ] {
        let said = format!("{fault:?}");
        proxy.follow(move |call: &Call| (call.nth == 0).then(|| fault.clone()));
        let session = Client::new(&table, &deadline, &schema);
        assert_eq!(session.carry_out(&transaction).await.outcome, Ok(TaskOutcome::Held));
        let usage = session.usage();
        assert_eq!((usage.requests, usage.retries, usage.conflicts), (2, 1, conflicts), "{said}");
    }
    proxy.follow(|call: &Call| (call.nth == 0).then(|| Fault::error(400, CONFLICT)));
    let session = Client::new(&table, &deadline, &schema);
    assert_eq!(session.carry_out(&Task::Write(action)).await.outcome, Ok(TaskOutcome::Held));
    assert_eq!((session.usage().retries, session.usage().conflicts), (1, 1));
    running.stop().await;
}

/// By hand: `cargo test -p sapwood-tests --release --test metrics -- --ignored --nocapture`.
#[test]
#[ignore = "a measurement"]
fn how_long_a_line_takes() {
    use sapwood_telemetry::metrics::Metric;
    let metrics = Metrics::new("Sapwood", "stream-handler", now, std::io::sink());
    let names =
        ["Records", "Rounds", "RowsPut", "RowsDeleted", "Touches", "Retries", "Conflicts", "BadRecords", "Failures"];
    for records in [1_u64, 100, 10_000] {
        let began = Instant::now();
        for _ in 0..10_000 {
            metrics.write(|_| {
                let mut metrics: Vec<Metric> = names.iter().map(|name| Metric::count(name, 7)).collect();
                metrics.push(Metric::times("Lag", (0..records).collect()));
                metrics.push(Metric::amount("ReadUnits", 12.5));
                metrics.push(Metric::amount("WriteUnits", 12.5));
                metrics
            });
        }
        println!("{records} records: {:?} a line", began.elapsed() / 10_000);
    }
}
