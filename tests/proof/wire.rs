//! Items whose size on the wire isn't their size in the table: none of them keeps back another node's rows.

use std::sync::Mutex;

use rand::RngExt;
use rand::rngs::SmallRng;
use sapwood_core::fanout::StreamRecord;
use sapwood_core::keys::{DEPTH_MAX, Id, ItemKey, Schema};
use sapwood_core::model::{
    AttributeValue, ITEM_BYTES_MAX, Item, Settings, answered_bytes, item_bytes, sent_bytes, shortest, text,
};
use sapwood_core::plan::{Writes, WritesKind};
use sapwood_engine::fanout::{Fanout, Report, Run};
use sapwood_engine::write::{
    Command, Content, Idempotency, Outcome, Refusal, Request as Asked, Stamp, Tiebreak, WriteError, Writer,
};
use sapwood_simulation::fixture::at_once;
use sapwood_simulation::intercept::{Intercept, Observer, Request};
use sapwood_simulation::memory::{MemoryTable, Wire, Wired};
use sapwood_simulation::oracle::Oracle;
use sapwood_simulation::seeds::{chance, number};
use sapwood_simulation::shapes::SHAPES;
use sapwood_store::{
    BATCH_WRITE_BYTES_MAX, Client, ErrorKind, NoRetries, Query, ReadOptions, RetryPolicy, Table, TableError, Write,
};

/// As many retries as an invocation has time for, if each takes as long as a request that gets no answer.
struct Retries(Mutex<usize>);

impl Retries {
    fn new() -> Self {
        Self(Mutex::new(6))
    }
}

impl RetryPolicy for Retries {
    async fn wait(&self, _attempt: u32) -> bool {
        let mut left = self.0.lock().unwrap();
        *left = left.saturating_sub(1);
        *left > 0
    }
}

fn node(id: &str, parent: Option<&str>, bulk: AttributeValue) -> (ItemKey, Item) {
    let key = ItemKey::new(id, "NODE");
    let mut item = Item::from([("PK".to_owned(), text(id)), ("SK".to_owned(), text("NODE"))]);
    item.extend(parent.map(|parent| ("parent".to_owned(), text(parent))));
    item.insert("bulk".to_owned(), bulk);
    (key, item)
}

/// The bytes of all rows of a node, as DynamoDB counts them: those of the largest node at a depth of 25. More take long
/// in memory.
const ROWS_BYTES_MAX: usize = 25 * ITEM_BYTES_MAX;

/// A value of a random shape, of a node so deep. The node with it is at most as large as items are.
fn bulk(rng: &mut SmallRng, depth: usize) -> (&'static str, AttributeValue) {
    let (name, shape) = SHAPES[rng.random_range(0..SHAPES.len())];
    let room = (ITEM_BYTES_MAX - 4_096).min(ROWS_BYTES_MAX / depth);
    (name, shape(if rng.random_bool(0.5) { room } else { rng.random_range(1..room) }))
}

/// A table with a chain of nodes that are placed.
fn chain(depth: usize) -> MemoryTable {
    let table = MemoryTable(std::sync::Arc::default(), Schema::default());
    for level in 0..depth {
        let parent = level.checked_sub(1).map(|above| format!("chain{above}"));
        put(&table, node(&format!("chain{level}"), parent.as_deref(), text("x")));
    }
    let records = taken(&table);
    assert_eq!(handled(&table, &records).failed, Vec::<String>::new());
    taken(&table);
    table
}

fn put(table: &MemoryTable, (key, item): (ItemKey, Item)) {
    table.0.lock().unwrap().write(&key, Some(item));
}

/// The records of nodes that nobody has taken.
fn taken(table: &MemoryTable) -> Vec<StreamRecord> {
    let records = std::mem::take(&mut table.0.lock().unwrap().stream);
    records.into_iter().filter(|record| record.key.sk == "NODE").collect()
}

/// One invocation of the handler.
fn handled<T: Table>(table: &T, records: &[StreamRecord]) -> Report {
    at_once(Fanout::default().run(table, &Retries::new(), Run { name: "run", now: 0 }, records))
}

/// Nodes of all shapes among small ones, deep in a tree, in one batch. Returns the report of the invocation.
fn batch<'a, T: Table>(
    rng: &mut SmallRng,
    depth: usize,
    nodes: usize,
    table: &'a MemoryTable,
    at: impl FnOnce(&'a MemoryTable) -> T,
) -> (Report, Vec<&'static str>) {
    let mut shapes = Vec::new();
    for number in 0..nodes {
        let level = if number == 0 { depth } else { rng.random_range(0..=depth) };
        let parent = level.checked_sub(1).map(|above| format!("chain{above}"));
        put(table, node(&format!("before{number}"), parent.as_deref(), text("x")));
        let (shape, bulk) = bulk(rng, depth);
        shapes.push(shape);
        put(table, node(&format!("heavy{number}"), parent.as_deref(), bulk));
        let below = Some(format!("heavy{number}")).filter(|_| level < DEPTH_MAX).or(parent);
        put(table, node(&format!("after{number}"), below.as_deref(), text("x")));
    }
    let records = taken(table);
    (handled(&at(table), &records), shapes)
}

#[test]
fn a_batch_with_items_of_any_shape_is_done_by_one_invocation() {
    let mut rng = chance("WIRE_SEED");
    for run in 0..number("WIRE_RUNS").unwrap_or(2) {
        // The last is as deep as trees are.
        let depths = [1, 8, 14, 25, 50, DEPTH_MAX];
        let depth = if run == 0 { DEPTH_MAX } else { depths[rng.random_range(0..depths.len())] };
        let table = chain(depth);
        let (report, shapes) = batch(&mut rng, depth, 2, &table, |table| Wired(table, Wire::DYNAMODB));
        assert_eq!((report.failed, report.problems), (vec![], vec![]), "depth {depth}, {shapes:?}");
        let differences = Oracle::default().differences(&table.0.lock().unwrap().contents());
        assert_eq!(differences, Vec::<String>::new(), "depth {depth}, {shapes:?}");
    }
}

/// What answers 413 as a client knew it before: as an error that somebody has to mend.
struct Unknown;

impl Observer for Unknown {
    async fn before(&self, _request: &Request<'_>) {}

    fn refuses(&self, request: &Request<'_>) -> Option<TableError> {
        let Request::BatchWrite(writes) = request else { return None };
        NARROW.check_writes(writes, &Schema::default()).err()?;
        Some(TableError::new(ErrorKind::GiveUp, "an error without a code"))
    }
}

/// A table that takes less at a time than the client takes it to.
const NARROW: Wire = Wire { request_bytes_max: 20_000, ..Wire::DYNAMODB };

#[test]
fn a_request_that_is_too_large_after_all_is_halved() {
    let table = chain(14);
    put(&table, node("heavy", Some("chain13"), text("x".repeat(3_000))));
    put(&table, node("small", Some("chain13"), text("x")));
    let records = taken(&table);
    let stuck = handled(&Intercept { table: table.clone(), observer: Unknown }, &records);
    assert_eq!(stuck.failed.len(), 2, "without halves the neighbour is kept back, too: {stuck:?}");
    let report = handled(&Wired(&table, NARROW), &records);
    assert_eq!((report.failed, report.problems), (vec![], vec![]));
    assert_eq!(Oracle::default().differences(&table.0.lock().unwrap().contents()), Vec::<String>::new());
}

/// A wire on which a request of more than so many bytes fails with this error.
struct Lossy(usize, fn(&'static str) -> TableError);

impl Observer for Lossy {
    async fn before(&self, _request: &Request<'_>) {}

    fn refuses(&self, request: &Request<'_>) -> Option<TableError> {
        let Request::BatchWrite(writes) = request else { return None };
        let wire = Wire { request_bytes_max: self.0, ..Wire::DYNAMODB };
        wire.check_writes(writes, &Schema::default()).err().map(|_| self.1("no answer"))
    }
}

/// A table with nodes that have 4 MB of rows together, and their records.
fn heavy_nodes() -> (MemoryTable, Vec<StreamRecord>) {
    let table = chain(25);
    for number in 0..4 {
        put(&table, node(&format!("heavy{number}"), Some("chain24"), text("x".repeat(40_000))));
    }
    let records = taken(&table);
    (table, records)
}

#[test]
fn rows_that_get_no_answer_in_time_go_in_smaller_parts_from_then_on() {
    let (table, records) = heavy_nodes();
    let slow = Intercept { table: table.clone(), observer: Lossy(300_000, TableError::late) };
    let fanout = Fanout::default();
    let handle = |fanout: &Fanout| at_once(fanout.run(&slow, &Retries::new(), Run { name: "run", now: 0 }, &records));
    // What got no answer may be carried out later, so its records are delivered again.
    assert_ne!(handle(&fanout).failed, Vec::<String>::new());
    assert_ne!(handle(&Fanout::default()).failed, Vec::<String>::new(), "a process that knows nothing begins anew");
    assert_eq!(handle(&fanout).failed, Vec::<String>::new());
    assert_eq!(Oracle::default().differences(&table.0.lock().unwrap().contents()), Vec::<String>::new());
}

#[test]
fn rows_that_get_an_error_at_once_are_as_many_in_the_next_request() {
    let (table, records) = heavy_nodes();
    let fanout = Fanout::default();
    let lossy = Intercept { table: table.clone(), observer: Lossy(300_000, TableError::unanswered) };
    for _ in 0..3 {
        let report = at_once(fanout.run(&lossy, &Retries::new(), Run { name: "run", now: 0 }, &records));
        assert_eq!(report.failed.len(), 4);
    }
    let counted = Intercept { table, observer: Bodies::default() };
    let report = at_once(fanout.run(&counted, &Retries::new(), Run { name: "run", now: 0 }, &records));
    assert_eq!(report.failed, Vec::<String>::new());
    // 100 rows of 40 KB: 25 have room in a request.
    let bodies = counted.observer.0.into_inner().unwrap();
    assert!(bodies.iter().filter(|(_, bytes)| *bytes > 900_000).count() >= 4, "{bodies:?}");
}

#[test]
fn an_item_that_can_not_go_at_all_is_refused_for_itself_and_not_tried_again() {
    let table = chain(3);
    put(&table, node("small", Some("chain2"), text("x")));
    put(&table, node("heavy", Some("chain2"), text("x".repeat(30_000))));
    put(&table, node("below", Some("heavy"), text("x")));
    let records = taken(&table);
    let Report { failed, problems, .. } = handled(&Wired(&table, NARROW), &records);
    assert_eq!(failed, Vec::<String>::new());
    let reasons: Vec<String> =
        problems.iter().map(|problem| format!("{}: {}", problem.key.sk, problem.reason)).collect();
    assert!(
        !reasons.is_empty() && reasons.iter().all(|reason| reason.contains("#heavy: the table refuses this write")),
        "{reasons:?}"
    );
    // The rows of the others are there, and only those of the one aren't.
    let differences = Oracle::default().differences(&table.0.lock().unwrap().contents());
    assert!(!differences.is_empty() && differences.iter().all(|what| what.contains("heavy")), "{differences:?}");
}

/// Notes the number and the bytes of the writes of each BatchWriteItem.
#[derive(Default)]
struct Bodies(Mutex<Vec<(usize, usize)>>);

impl Observer for Bodies {
    async fn before(&self, request: &Request<'_>) {
        if let Request::BatchWrite(writes) = request {
            let bytes = |write: &Write| sent_bytes(&write.item(&Schema::default()).unwrap());
            self.0.lock().unwrap().push((writes.len(), writes.iter().map(bytes).sum()));
        }
    }
}

#[test]
fn writes_that_share_a_request_have_4_mb_of_it_and_are_25_at_most() {
    let put = |(number, bulk)| {
        let (key, item) = node(&format!("n{number}"), None, bulk);
        Write::Put { key, item }
    };
    let bulks = (0..60).map(|number| if number < 30 { text("x") } else { text("\0".repeat(100_000)) });
    let writes: Vec<Write> = bulks.enumerate().map(put).collect();
    let (table, schema) = (Intercept { table: MemoryTable::default(), observer: Bodies::default() }, Schema::default());
    let client = Client::new(&table, &NoRetries, &schema);
    let written = at_once(client.write_many(Writes { writes: writes.into(), kind: WritesKind::Lineages }));
    assert!(written.failed.is_empty());
    let bodies = table.observer.0.into_inner().unwrap();
    // Each of the large ones has 600 KB in a request, and 100 KB in the table.
    assert_eq!(bodies.iter().map(|(count, _)| *count).collect::<Vec<_>>(), [25, 11, 6, 6, 6, 6]);
    assert!(bodies.iter().all(|(_, bytes)| *bytes <= BATCH_WRITE_BYTES_MAX), "{bodies:?}");
}

#[test]
fn what_gets_no_answer_in_time_is_read_in_smaller_parts() {
    let table = MemoryTable::default();
    for number in 0..60 {
        let bulk = AttributeValue::L(vec![AttributeValue::N(format!("1{}", "0".repeat(125))); 5_000]);
        let (mut key, mut item) = node("n", None, bulk);
        key.sk = format!("v{number:03}_Audit");
        item.insert("SK".to_owned(), text(&key.sk));
        put(&table, (key, item));
    }
    let wired = Wired(&table, Wire { answer_bytes_max: 5_000_000, ..Wire::DYNAMODB });
    let (retries, schema) = (Retries::new(), Schema::default());
    let client = Client::new(&wired, &retries, &schema);
    let keys = (0..60).map(|number| ItemKey::new("n", format!("v{number:03}_Audit"))).collect();
    let read = at_once(client.get_many(keys, &ReadOptions::default()));
    assert_eq!((read.items.len(), read.failed.len()), (60, 0));
    let retries = Retries::new();
    let client = Client::new(&wired, &retries, &schema);
    let query = Query {
        pk: "n".to_owned(),
        range: schema.revision_range(),
        after: None,
        limit: 60,
        descending: false,
        reading: ReadOptions::default(),
    };
    let page = at_once(client.query(&query)).unwrap();
    assert_eq!((page.items.len(), page.next.as_deref()), (6, Some("v005_Audit")));
}

#[test]
fn an_item_has_at_most_some_4_mb_in_a_request_whatever_it_holds() {
    for (name, shape) in SHAPES {
        let (_, item) = node("n", None, shape(ITEM_BYTES_MAX - 100));
        let (table, sent, answered) = (item_bytes(&item), sent_bytes(&item), answered_bytes(&item));
        println!("{name}: {table} bytes in the table, {sent} in a request, {answered} in an answer");
        assert!(sent <= 4_200_000 && answered >= sent, "{name}");
        // At most a comma too many for each list and map.
        let written = serde_json::to_vec(&item).unwrap().len();
        assert!((written..=written * 11 / 10).contains(&answered), "{name}: {written}");
    }
    assert_eq!(shortest(&format!("1{}", "0".repeat(125))), "1e125");
}

/// Puts a node by the API, with an idempotency key.
fn put_by_api<T: Table>(table: &T, bulk: AttributeValue) -> Result<Outcome, WriteError> {
    let (settings, retries) = (Settings::default(), Retries::new());
    let client = Client::new(table, &retries, &settings.schema);
    let content = Content { attributes: Item::from([("bulk".to_owned(), bulk)]), ..Content::default() };
    let command = Command::Replace { node: Id::new("n").unwrap().into(), content };
    let stamp = Stamp {
        at: "2026-01-01T00:00:00.000Z".to_owned(),
        seconds: 1_000_000,
        by: "anna".to_owned(),
        token: "token".to_owned(),
        tiebreak: Tiebreak::new(1, "write"),
    };
    let key = Idempotency { tenant: None, hash: "hash".to_owned(), fingerprint: "fingerprint".to_owned() };
    let request = Asked { idempotency: Some(key), ..Asked::new(stamp) };
    at_once(Writer::new(&client, &settings).write(&command, &request))
}

#[test]
fn a_write_with_an_idempotency_key_is_kept_or_refused_for_its_size_whatever_it_holds() {
    let mut refused = Vec::new();
    for (name, shape) in SHAPES {
        for bytes in [80_000, ITEM_BYTES_MAX - 4_096] {
            let table = MemoryTable::default();
            let wired = Wired(&table, Wire::DYNAMODB);
            match put_by_api(&wired, shape(bytes)) {
                Ok(first) => assert_eq!(put_by_api(&wired, shape(bytes)), Ok(first), "{name}, {bytes} bytes"),
                Err(WriteError::Refused(Refusal::TooLongAsJson { .. })) => refused.push((name, bytes)),
                Err(error) => panic!("{name}, {bytes} bytes: {error}"),
            }
        }
    }
    // Only numbers with long tails of zeros, and empty values many times, are longer as JSON than any other item.
    let long = ["large numbers", "small numbers", "empty texts", "empty binaries", "a set of numbers"];
    assert!(!refused.is_empty() && refused.iter().all(|(name, _)| long.contains(name)), "{refused:?}");
}
