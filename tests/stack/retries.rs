//! What DynamoDB and the network do to requests: the real handler behind a proxy that makes faults of them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use sapwood_core::keys::{ItemKey, Schema};
use sapwood_core::model::Item;
use sapwood_dynamodb::DynamoTable;
use sapwood_engine::fanout::{Fanout, Limits, Report};
use sapwood_handlers::stream::{Config, Handler};
use sapwood_local::endpoint::Endpoint;
use sapwood_local::engine::{Data, Engine};
use sapwood_local::template::Template;
use sapwood_store::{Condition, ErrorKind, Table};
use sapwood_tests::client::{self, delete_all, item, node, put, put_all, s};
use sapwood_tests::faults::{Call, Fault, OPERATIONS, Proxy, READS, WRITES};
use sapwood_tests::oracle::{Contents, Oracle};
use sapwood_tests::pace::slowness;
use sapwood_tests::running::{Running, TABLE, TEMPLATE, total};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::OnceCell;

/// What the handler keeps back of the time that is left.
const RESERVED: Duration = Duration::from_millis(500);
/// From the start of a request until the proxy has it, on a busy machine.
const ON_ITS_WAY_MAX: Duration = Duration::from_millis(100);
/// Time enough.
const PLENTY: Duration = Duration::from_secs(30);

#[allow(clippy::disallowed_methods, reason = "how long a run takes is what is tested")]
fn now() -> Instant {
    Instant::now()
}

fn throttled() -> Fault {
    Fault::error(400, "com.amazonaws.dynamodb.v20120810#ThrottlingException")
}

fn refused() -> Fault {
    Fault::error(400, "com.amazon.coral.validate#ValidationException")
}

// Faults that pass: they only delay.

/// Children touched at a time.
const SLICE: usize = 10;

async fn start_through(policy: impl Fn(&Call) -> Option<Fault> + Send + Sync + 'static) -> Running {
    Running::start_through(
        &[],
        Limits { touch_slice_items_max: SLICE, action_slice_items_max: SLICE, ..Limits::default() },
        policy,
    )
    .await
}

/// A life that calls for every operation: growth, an orphan, revisions, a wide node's move, deletions.
async fn live(running: &Running) {
    let client = &running.client;
    let mut nodes = vec![node("root", None, "root"), node("a", Some("root"), "a"), node("b", Some("root"), "b")];
    nodes.push(node("wide", Some("a"), "wide"));
    // Two slices and one more: its children are touched by way of a cursor.
    nodes.extend((0..=2 * SLICE).map(|n| node(&format!("w{n:02}"), Some("wide"), "w")));
    nodes.push(node("early", Some("late"), "an orphan"));
    put_all(client, TABLE, nodes).await;
    for (pk, sk) in [("root", "v001_Audit"), ("root", "v002_Audit"), ("a", "v001_Plan")] {
        put(client, TABLE, item([("PK", s(pk)), ("SK", s(sk)), ("text", s(sk))])).await;
    }
    running.settle().await;
    put_all(client, TABLE, vec![node("late", Some("b"), "late"), node("wide", Some("b"), "moved")]).await;
    let gone = [("root", "v002_Audit"), ("a", "v001_Plan"), ("w00", "NODE")];
    delete_all(client, TABLE, gone.iter().map(|(pk, sk)| ((*pk).to_owned(), (*sk).to_owned())).collect()).await;
    running.settle().await;
}

/// Runs that life with a fault made of the first call of every operation in `operations` and of every third of its
/// first so many. Returns what was reported.
async fn live_with(operations: &[&'static str], fault: &Fault, first: usize) -> Vec<Report> {
    let faulted = operations.to_vec();
    let making = fault.clone();
    let policy = move |call: &Call| {
        let is_due = call.nth.is_multiple_of(3) && call.nth < first;
        (faulted.contains(&call.operation.as_str()) && is_due).then(|| making.clone())
    };
    let running = start_through(policy).await;
    live(&running).await;
    running.assert_right(&Oracle::default()).await;
    let (_, reports) = running.take();
    for report in &reports {
        assert_eq!(report.problems, Vec::new(), "{fault:?}");
    }
    let proxy = running.proxy().unwrap();
    for operation in operations {
        assert!(proxy.faults(operation) > 0, "{operation} wasn't used");
    }
    // Every fault took one request more, and nothing else was tried again.
    let counts = total(&reports);
    let faults: usize = operations.iter().map(|operation| proxy.faults(operation)).sum();
    println!("{fault:?}: {faults} faults, {counts:?}");
    assert_eq!(counts.usage.retries, faults as u64, "{fault:?}");
    running.stop().await;
    reports
}

/// A fault that says that nothing was done costs one request more, and no record is delivered again.
async fn assert_only_delayed(operations: &[&'static str], fault: Fault) {
    for report in live_with(operations, &fault, usize::MAX).await {
        assert_eq!(report.failed, Vec::<String>::new(), "{fault:?}");
    }
}

/// A write without an answer may be carried out later, so its record is delivered again. A read without one only
/// delays.
async fn assert_delivered_again(fault: Fault) {
    assert_only_delayed(&READS, fault.clone()).await;
    let reports = live_with(&WRITES, &fault, 30).await;
    assert!(reports.iter().any(|report| !report.failed.is_empty()), "{fault:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn throttling_only_delays() {
    assert_only_delayed(&OPERATIONS, throttled()).await;
    assert_only_delayed(&OPERATIONS, Fault::error(400, "com.amazon.coral.availability#ThrottlingException")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_exceeded_throughput_only_delays() {
    let name = "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException";
    assert_only_delayed(&OPERATIONS, Fault::error(400, name)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_that_holds_the_item_only_delays() {
    let name = "com.amazonaws.dynamodb.v20120810#TransactionConflictException";
    assert_only_delayed(&OPERATIONS, Fault::error(400, name)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_of_the_server_is_delivered_again() {
    let name = "com.amazonaws.dynamodb.v20120810#InternalServerError";
    assert_delivered_again(Fault::error(500, name)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_of_the_server_that_is_no_json_is_delivered_again() {
    let page = "<html><body>503 Service Unavailable</body></html>";
    assert_delivered_again(Fault::Answer(503, page.to_owned())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_cut_before_a_request_is_applied_is_delivered_again() {
    assert_delivered_again(Fault::CutBefore).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_cut_after_a_request_was_applied_is_delivered_again() {
    assert_delivered_again(Fault::CutAfter).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_breaks_off_is_delivered_again() {
    assert_delivered_again(Fault::CutWithin).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn batches_left_unprocessed_only_delay() {
    assert_only_delayed(&["BatchGetItem", "BatchWriteItem", "BatchExecuteStatement"], Fault::Unprocessed).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn batches_done_by_halves_come_to_their_end() {
    let running = start_through(|call| (call.batch_len() > 1).then_some(Fault::Half)).await;
    live(&running).await;
    running.assert_right(&Oracle::default()).await;
    let (_, reports) = running.take();
    for report in &reports {
        assert_eq!((&report.failed, &report.problems), (&Vec::new(), &Vec::new()));
    }
    let proxy = running.proxy().unwrap();
    let faults = ["BatchGetItem", "BatchWriteItem", "BatchExecuteStatement"].map(|operation| proxy.faults(operation));
    assert!(faults.iter().all(|faults| *faults > 0), "{faults:?}");
    assert_eq!(total(&reports).usage.retries, faults.iter().sum::<usize>() as u64);
    running.stop().await;
}

// One delivery at a time.

/// A table that is yet to be brought up to date, the event that calls for it, and a handler behind a proxy.
struct Bench {
    engine: Engine,
    client: Client,
    proxy: Proxy,
    handler: Handler,
    event: Event,
}

/// What happened to the table, in one event: records of nodes, lineages and revisions as a running stack heard them.
#[derive(Clone)]
struct Event {
    text: String,
    /// Each item's first record.
    first: BTreeMap<ItemKey, String>,
}

/// Children of the node that moves: one more than are touched by one request.
const MOVED: usize = 26;

async fn begin(client: &Client) {
    let mut nodes = vec![node("root", None, "root"), node("a", Some("root"), "a"), node("b", Some("root"), "b")];
    nodes.push(node("top", Some("a"), "top"));
    nodes.extend((0..MOVED).map(|n| node(&format!("t{n:02}"), Some("top"), "t")));
    put_all(client, TABLE, nodes).await;
    for (pk, sk) in [("root", "v001_Audit"), ("a", "v001_Plan")] {
        put(client, TABLE, item([("PK", s(pk)), ("SK", s(sk)), ("text", s(sk))])).await;
    }
}

async fn go_on(client: &Client) {
    put_all(client, TABLE, (0..30).map(|n| node(&format!("n{n:02}"), Some("b"), "n")).collect()).await;
    put(client, TABLE, node("n00", Some("b"), "a second record")).await;
    put(client, TABLE, node("top", Some("b"), "moved")).await;
    put(client, TABLE, item([("PK", s("root")), ("SK", s("v002_Audit")), ("text", s("second"))])).await;
    delete_all(client, TABLE, vec![("a".to_owned(), "v001_Plan".to_owned())]).await;
}

/// The table before the event, and the event: the same for all tests.
static HAPPENED: OnceCell<(Contents, Event)> = OnceCell::const_new();

async fn happened() -> (Contents, Event) {
    let running = Running::start(&[]).await;
    begin(&running.client).await;
    running.settle().await;
    running.take();
    let before = running.contents().await;
    go_on(&running.client).await;
    running.settle().await;
    let (events, _) = running.take();
    running.stop().await;

    // Batches of one item ran in order, those of different items as they came.
    let mut records = BTreeMap::new();
    for event in events {
        let mut event: Value = serde_json::from_str(&event).unwrap();
        for record in event["Records"].as_array_mut().unwrap() {
            let sequence = record["dynamodb"]["SequenceNumber"].as_str().unwrap().to_owned();
            records.insert((sequence.len(), sequence), record.take());
        }
    }
    let mut first = BTreeMap::new();
    for ((_, sequence), record) in &records {
        let keys = &record["dynamodb"]["Keys"];
        let key = |name: &str| keys[name]["S"].as_str().unwrap().to_owned();
        first.entry(ItemKey::new(key("PK"), key("SK"))).or_insert_with(|| sequence.clone());
    }
    assert!(first.len() < records.len(), "no item has two records");
    let records: Vec<Value> = records.into_values().collect();
    (before, Event { text: json!({ "Records": records }).to_string(), first })
}

impl Bench {
    async fn start() -> Self {
        Self::start_with(Limits::default()).await
    }

    async fn start_with(limits: Limits) -> Self {
        let (before, event) = HAPPENED.get_or_init(happened).await.clone();
        let engine = Engine::start("127.0.0.1:0".parse().unwrap(), &Data::Memory).unwrap();
        let template = Template::parse_with(TEMPLATE, &BTreeMap::new()).unwrap();
        Endpoint::new(engine.url()).ensure_table(TABLE, &template.table).await.unwrap();
        let client = client::client(&engine.url());
        let items =
            before.into_values().map(|item| item.into_iter().map(|(name, value)| (name, value.into())).collect());
        let items: Vec<HashMap<String, AttributeValue>> = items.collect();
        put_all(&client, TABLE, items).await;
        go_on(&client).await;
        let proxy = Proxy::start(engine.address).await;
        let variables = template.environment(TABLE).unwrap();
        let settings = Config::read(|name| variables.get(name).cloned()).unwrap().settings;
        let table = DynamoTable::local(&proxy.url(), TABLE, settings.schema.clone());
        let handler = Handler::new(Fanout { settings, limits, ..Fanout::default() }, table);
        Self { engine, client, proxy, handler, event }
    }

    /// Delivers the event. What came of it, and how long it took.
    async fn deliver(&self, left: Duration) -> (Report, Duration) {
        let began = now();
        let report = self.handler.run(&self.event.text, "test", left).await.unwrap();
        (report, began.elapsed())
    }

    /// The items whose first record is reported as failed. Panics where another record is, or one of them twice.
    fn failed(&self, report: &Report) -> BTreeSet<ItemKey> {
        let first: BTreeMap<&String, &ItemKey> = self.event.first.iter().map(|(key, first)| (first, key)).collect();
        let failed = report.failed.iter().map(|sequence| (*first.get(sequence).unwrap()).clone());
        let items: BTreeSet<ItemKey> = failed.collect();
        assert_eq!(items.len(), report.failed.len());
        items
    }

    /// The items of the event of which this holds.
    fn items(&self, which: impl Fn(&ItemKey) -> bool) -> BTreeSet<ItemKey> {
        self.event.first.keys().filter(|key| which(key)).cloned().collect()
    }

    fn all(&self) -> BTreeSet<ItemKey> {
        self.items(|_| true)
    }

    async fn differences(&self) -> Vec<String> {
        Oracle::default().differences(&client::contents(&self.client, TABLE, ["PK", "SK"]).await)
    }

    /// Delivers the event again, with the faults gone: all is well.
    async fn assert_mended(&self) {
        self.proxy.follow(|_| None);
        let (report, _) = self.deliver(PLENTY).await;
        assert_eq!((report.failed, report.problems), (Vec::new(), Vec::new()));
        // A cursor that remembers how far some touches came has a record of its own.
        for key in self.cursors().await {
            let event = self.record_of(&key);
            let report = self.handler.run(&event, "test", PLENTY).await.unwrap();
            assert_eq!((report.failed, report.problems), (Vec::new(), Vec::new()));
        }
        assert_eq!(self.differences().await, Vec::<String>::new());
    }

    async fn cursors(&self) -> Vec<ItemKey> {
        let contents = client::contents(&self.client, TABLE, ["PK", "SK"]).await;
        let cursors = contents.into_keys().filter(|(_, sk)| sk == "CASCADE");
        cursors.map(|(pk, sk)| ItemKey::new(pk, sk)).collect()
    }

    /// An event with a record of this item, like those of the event.
    fn record_of(&self, key: &ItemKey) -> String {
        let mut event: Value = serde_json::from_str(&self.event.text).unwrap();
        let mut record = event["Records"].as_array_mut().unwrap().pop().unwrap();
        record["eventName"] = json!("INSERT");
        record["dynamodb"]["Keys"] = json!({"PK": {"S": key.pk}, "SK": {"S": key.sk}});
        // The handler looks at the present state, and needs no images.
        let images = record["dynamodb"].as_object_mut().unwrap();
        images.retain(|name, _| !name.ends_with("Image"));
        json!({ "Records": [record] }).to_string()
    }

    async fn stop(self) {
        self.engine.stop().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_delivery_uses_every_operation_and_is_enough() {
    let bench = Bench::start().await;
    assert!(bench.differences().await.len() > 50);
    bench.assert_mended().await;
    for operation in OPERATIONS {
        assert!(bench.proxy.count(operation) > 0, "{operation} isn't used");
    }
    bench.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_that_always_throttles_fails_every_item_in_time() {
    let bench = Bench::start().await;
    bench.proxy.follow(|_| Some(throttled()));
    let left = Duration::from_millis(1500);
    let began = now();
    let (report, took) = bench.deliver(left).await;
    assert!(took < left, "{took:?}");
    assert_eq!(bench.failed(&report), bench.all());
    assert!(report.counts.usage.retries > 0);
    assert_eq!(report.problems, Vec::new());
    tokio::time::sleep(2 * ON_ITS_WAY_MAX).await;
    let last = bench.proxy.seen().iter().map(|seen| seen.at.duration_since(began)).max().unwrap();
    assert!(last < left - RESERVED + ON_ITS_WAY_MAX, "a request came {last:?} after the start");
    bench.assert_mended().await;
    bench.stop().await;
}

/// The items that can't do without this operation.
fn depends_on(operation: &str, key: &ItemKey) -> bool {
    match (operation, key.sk.as_str()) {
        ("BatchGetItem", sk) => sk != "LINEAGE",
        ("BatchWriteItem", sk) => sk == "NODE",
        ("PutItem", sk) => sk == "v002_Audit",
        ("DeleteItem", sk) => sk == "v001_Plan",
        ("BatchExecuteStatement", sk) => sk == "LINEAGE" && key.pk == "top",
        // The touch that has no request to share. A cursor remembers those before it, and fails in its place.
        ("UpdateItem", _) => false,
        ("Query", sk) => sk == "LINEAGE" || sk == "v001_Plan",
        _ => panic!("{operation} isn't used"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_operation_that_is_always_throttled_fails_what_depends_on_it_in_time() {
    for operation in OPERATIONS {
        let bench = Bench::start().await;
        bench.proxy.follow(move |call| (call.operation == operation).then(throttled));
        let left = Duration::from_millis(1500);
        let began = now();
        let (report, took) = bench.deliver(left).await;
        assert!(took < left, "{operation}: {took:?}");
        let failed = bench.failed(&report);
        let needed = bench.items(|key| depends_on(operation, key));
        assert!(failed.is_superset(&needed), "{operation}: {failed:?}");
        tokio::time::sleep(2 * ON_ITS_WAY_MAX).await;
        let last = bench.proxy.seen().iter().map(|seen| seen.at.duration_since(began)).max().unwrap();
        assert!(last < left - RESERVED + ON_ITS_WAY_MAX, "{operation}: a request came {last:?} after the start");
        bench.assert_mended().await;
        bench.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_permission_that_is_missing_fails_what_needs_it_at_once_and_says_so() {
    for operation in OPERATIONS {
        let bench = Bench::start().await;
        let denied = "com.amazon.coral.service#AccessDeniedException";
        bench.proxy.follow(move |call| (call.operation == operation).then(|| Fault::error(400, denied)));
        let (report, took) = bench.deliver(PLENTY).await;
        assert!(took < Duration::from_secs(5).mul_f64(slowness()), "{operation}: {took:?}");
        assert_eq!(report.counts.usage.retries, 0, "{operation}");
        // Who may not touch or delete by PartiQL does so by UpdateItem and DeleteItem.
        let has_a_way_out = operation == "BatchExecuteStatement";
        let needed = bench.items(|key| !has_a_way_out && depends_on(operation, key));
        assert_eq!(bench.failed(&report), needed, "{operation}");
        let reasons: Vec<&String> = report.problems.iter().map(|problem| &problem.reason).collect();
        assert_eq!(reasons.is_empty(), has_a_way_out, "{operation}");
        assert!(
            reasons.iter().all(|reason| reason.contains("AccessDeniedException: a fault, on purpose")),
            "{reasons:?}"
        );
        bench.assert_mended().await;
        bench.stop().await;
    }
}

// What the table refuses.

fn names(call: &Call, pk: &str, sk: &str) -> bool {
    let writes = call.body["RequestItems"][TABLE].as_array().into_iter().flatten();
    let keys = writes.map(|write| &write["PutRequest"]["Item"]);
    let is_named = |key: &Value| key["PK"]["S"] == pk && key["SK"]["S"] == sk;
    // The key is the end of a statement.
    let mut statements = call.body["Statements"].as_array().into_iter().flatten();
    let ends_so = |statement: &Value| {
        let values = statement["Parameters"].as_array().into_iter().flatten();
        values.rev().map(|value| &value["S"]).take(2).eq([sk, pk])
    };
    keys.chain([&call.body["Item"], &call.body["Key"]]).any(is_named) || statements.any(ends_so)
}

#[tokio::test(flavor = "multi_thread")]
async fn one_item_of_a_batch_of_25_that_is_refused_is_left_out_alone() {
    let bench = Bench::start().await;
    let largest = Arc::new(AtomicUsize::new(0));
    let noted = Arc::clone(&largest);
    bench.proxy.follow(move |call| {
        let refuse = call.operation == "BatchWriteItem" && names(call, "root", "NODE#0002#n07");
        refuse.then(|| {
            noted.fetch_max(call.batch_len(), Ordering::SeqCst);
            refused()
        })
    });
    let (report, _) = bench.deliver(PLENTY).await;
    assert_eq!(largest.load(Ordering::SeqCst), 25);
    assert_eq!(report.failed, Vec::<String>::new());
    assert_eq!(report.counts.usage.retries, 0);
    let [problem] = report.problems.as_slice() else { panic!("{:?}", report.problems) };
    assert_eq!(problem.key, ItemKey::new("root", "NODE#0002#n07"));
    assert!(problem.reason.contains("ValidationException"), "{}", problem.reason);
    // Its message can quote the item.
    assert!(!problem.reason.contains("on purpose"), "{}", problem.reason);
    assert_eq!(bench.differences().await, ["missing root | NODE#0002#n07"]);
    bench.assert_mended().await;
    bench.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lineage_that_is_refused_is_a_problem_and_holds_nothing_up() {
    let bench = Bench::start().await;
    bench.proxy.follow(|call| (call.operation == "BatchWriteItem" && names(call, "n07", "LINEAGE")).then(refused));
    let (report, _) = bench.deliver(PLENTY).await;
    let keys: Vec<&ItemKey> = report.problems.iter().map(|problem| &problem.key).collect();
    assert_eq!(keys, [&ItemKey::new("n07", "LINEAGE")]);
    assert!(bench.differences().await.iter().all(|line| line.contains("n07")), "others are held up");
    assert_eq!(bench.failed(&report), BTreeSet::new(), "what no retry can mend fails a batch");
    bench.assert_mended().await;
    bench.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_and_a_touch_that_are_refused_are_problems_and_hold_nothing_up() {
    let bench = Bench::start().await;
    let refuse = [("root", "v0_Audit"), ("a", "v0_Plan"), ("t03", "NODE")];
    bench.proxy.follow(move |call| refuse.iter().any(|(pk, sk)| names(call, pk, sk)).then(refused));
    let (report, _) = bench.deliver(PLENTY).await;
    let keys: BTreeSet<&ItemKey> = report.problems.iter().map(|problem| &problem.key).collect();
    let expected: Vec<ItemKey> = refuse.iter().map(|(pk, sk)| ItemKey::new(*pk, *sk)).collect();
    assert_eq!(keys, expected.iter().collect());
    assert_eq!(report.failed, Vec::<String>::new());
    assert_eq!(report.counts.usage.retries, 0);
    bench.assert_mended().await;
    bench.stop().await;
}

// Slow answers.

#[tokio::test(flavor = "multi_thread")]
async fn a_table_that_never_answers_is_given_up_in_time() {
    let bench = Bench::start().await;
    bench.proxy.follow(|_| Some(Fault::Stall(PLENTY)));
    let left = Duration::from_millis(1500);
    let (report, took) = bench.deliver(left).await;
    assert!(took < left, "{took:?}");
    assert_eq!(bench.failed(&report), bench.all());
    bench.assert_mended().await;
    bench.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_without_an_answer_is_tried_again_after_a_while() {
    let bench = Bench::start().await;
    bench.proxy.follow(|call| (call.operation == "BatchWriteItem" && call.nth == 0).then_some(Fault::Stall(PLENTY)));
    let (report, took) = bench.deliver(PLENTY).await;
    assert!(took > Duration::from_secs(5), "{took:?}");
    assert_eq!((report.counts.usage.retries, &report.problems), (1, &Vec::new()));
    // The first attempt may be carried out yet, so the nodes of that request are placed once more.
    let failed = bench.failed(&report);
    assert!(!failed.is_empty() && failed.iter().all(|key| key.sk == "NODE"), "{failed:?}");
    bench.assert_mended().await;
    bench.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_started_once_the_deadline_is_over() {
    let bench = Bench::start_with(Limits { requests_in_flight_max: 1, ..Limits::default() }).await;
    // The touches under way last until the deadline, so any further one is started after it. There is time for the rows
    // before them, on a busy machine, too.
    let touches = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&touches);
    bench.proxy.follow(move |call| {
        let is_touch = call.actions().iter().any(|action| action == "PartiQLUpdate");
        is_touch.then(|| {
            seen.fetch_add(1, Ordering::SeqCst);
            Fault::Stall(PLENTY)
        })
    });
    let (report, _) = bench.deliver(Duration::from_secs(4)).await;
    assert_eq!(bench.failed(&report), BTreeSet::from([ItemKey::new("top", "LINEAGE")]));
    tokio::time::sleep(2 * ON_ITS_WAY_MAX).await;
    assert_eq!((touches.load(Ordering::SeqCst), bench.proxy.count("UpdateItem")), (1, 0));
    bench.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invocation_without_time_starts_nothing_and_fails_every_item() {
    let bench = Bench::start().await;
    // There are open connections: nothing but the deadline keeps a request back.
    bench.proxy.follow(|_| None);
    bench.deliver(PLENTY).await;
    bench.proxy.follow(|_| None);
    let (report, took) = bench.deliver(RESERVED).await;
    assert!(took < RESERVED, "{took:?}");
    assert_eq!(bench.failed(&report), bench.all());
    tokio::time::sleep(2 * ON_ITS_WAY_MAX).await;
    let seen = bench.proxy.seen();
    assert!(seen.is_empty(), "{} requests, the first: {:?}", seen.len(), seen[0]);
    bench.stop().await;
}

#[tokio::test]
async fn a_write_on_a_connection_that_is_refused_was_not_sent() {
    let listening = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let table = DynamoTable::local(&format!("http://{}", listening.local_addr().unwrap()), TABLE, Schema::default());
    let write = || async { table.put(&Item::new(), &Condition::Absent).await.map(|_| ()).unwrap_err() };
    let hangs_up = async { drop(listening.accept().await.unwrap()) };
    let (hung_up, ()) = tokio::join!(write(), hangs_up);
    assert!(hung_up.is_unanswered(), "{hung_up:?}");
    drop(listening);
    let refused = write().await;
    assert!(refused.kind == ErrorKind::Retry && !refused.is_unanswered(), "{refused:?}");
}
