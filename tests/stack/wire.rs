//! Items of every shape on the wire, at every depth, on a real engine: they keep back nobody's rows.

use std::time::{Duration, Instant};

use rand::RngExt;
use rand::seq::SliceRandom;
use sapwood_core::keys::Schema;
use sapwood_core::model::{AttributeValue, ITEM_BYTES_MAX, Item, answered_bytes, text};
use sapwood_dynamodb::DynamoTable;
use sapwood_store::{Condition, Table};
use sapwood_tests::client::{item, node, put, put_all, s};
use sapwood_tests::pace::slowness;
use sapwood_tests::running::{LOCAL_CALL_TIME_MAX, Running, TABLE};
use sapwood_tests::seeds::{chance, number};
use sapwood_tests::shapes::SHAPES;

/// The depths at which items of 256 KB, 180 KB and 33 KB kept back a table for ever.
const DEPTHS: [usize; 4] = [1, 8, 14, 25];

/// The bytes of all rows of a node, as DynamoDB counts them. `WIRE_BYTES=4000000` are what a partition of a table takes
/// in some seconds; an engine without optimisation on a busy machine takes a tenth of them.
const ROWS_BYTES: usize = 300_000;

/// The bytes of all rows of a node as JSON: as much as both engines read in some seconds on a slow machine. DynamoDB
/// Local takes a tenth of a millisecond for a number, and 4 MB of rows can have 800,000, with 100 MB of JSON. The
/// embedded engine takes more than a request has room for (16 MB) in these seconds: `WIRE_JSON_BYTES=24000000`.
const JSON_BYTES_MAX: usize = 8_000_000;

/// The longest that a neighbour's row may take, on DynamoDB Local beyond what that engine itself takes for the rows. A
/// test machine runs several engines at a time.
const NEIGHBOUR_TIME_MAX: Duration = Duration::from_secs(15);

/// Waits for a row, and returns how long it took.
async fn row(running: &Running, pk: &str, sk: &str) -> Duration {
    let since = Instant::now();
    loop {
        let key = item([("PK", s(pk)), ("SK", s(sk))]);
        let found = running.client.get_item().table_name(TABLE).set_key(Some(key)).send().await.unwrap();
        if found.item.is_some() {
            return since.elapsed();
        }
        assert!(since.elapsed() < Duration::from_secs(120), "{pk} {sk} doesn't come");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

fn in_chain(level: usize) -> String {
    format!("chain{level}")
}

/// A stack with a chain of nodes, as long as the deepest node needs.
async fn with_chain() -> Running {
    let running = Running::start(&[]).await;
    let deepest = DEPTHS[DEPTHS.len() - 1];
    let chain = (0..deepest).map(|level| node(&in_chain(level), level.checked_sub(1).map(in_chain).as_deref(), "x"));
    put_all(&running.client, TABLE, chain.collect()).await;
    running.settle().await;
    running
}

/// Puts a node with this value so many levels down, and a small one right after it, and waits for the small one's row.
/// The handler may take as long as the engine `takes` for this many puts of the value, besides.
async fn puts_beside(running: &Running, what: &str, run: usize, depth: usize, bulk: AttributeValue, takes: usize) {
    // DynamoDB Local takes a minute for 14 MB of zeros after a one, so they are written as any client would that thinks
    // of them.
    let table = DynamoTable::local(&running.url(), TABLE, Schema::default()).waiting(LOCAL_CALL_TIME_MAX);
    let mut heavy = Item::from([("PK".to_owned(), text(format!("heavy{run}"))), ("SK".to_owned(), text("NODE"))]);
    heavy.extend(depth.checked_sub(1).map(|above| ("parent".to_owned(), text(in_chain(above)))));
    heavy.insert("bulk".to_owned(), bulk);
    let before = slowness();
    let since = Instant::now();
    table.put(&heavy, &Condition::Always).await.unwrap();
    let own = since.elapsed() * u32::try_from(takes).unwrap();
    put(&running.client, TABLE, node(&format!("small{run}"), Some("chain0"), "small")).await;
    let took = row(running, "chain0", &format!("NODE#0001#small{run}")).await;
    println!("{took:?} until the neighbour's row was there, and {own:?} more are allowed");
    running.settle().await;
    let most = (NEIGHBOUR_TIME_MAX + own).mul_f64(before.max(slowness()));
    assert!(took < most, "{what}, depth {depth}: {took:?}");
    let (_, reports) = running.take();
    let failed: Vec<_> = reports.iter().flat_map(|report| &report.failed).collect();
    let problems: Vec<_> = reports.iter().flat_map(|report| &report.problems).collect();
    assert!(failed.is_empty() && problems.is_empty(), "{what}, depth {depth}: {failed:?}, {problems:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_of_every_shape_at_every_depth_keep_back_no_other_nodes_rows() {
    let mut rng = chance("WIRE_SEED");
    let running = with_chain().await;
    let mut shapes = SHAPES;
    shapes.shuffle(&mut rng);
    let runs = number("WIRE_RUNS").map_or(3, |runs| runs as usize);
    let rows_bytes = number("WIRE_BYTES").map_or(ROWS_BYTES, |bytes| bytes as usize);
    let json_bytes_max = number("WIRE_JSON_BYTES").map_or(JSON_BYTES_MAX, |bytes| bytes as usize);
    for (run, (shape, value)) in shapes.into_iter().take(runs).enumerate() {
        let depth = DEPTHS[rng.random_range(0..DEPTHS.len())];
        // The embedded engine parses a nested value once more for each of its levels.
        let is_slow = shape == "deep maps" && running.is_embedded();
        let rows_bytes = if is_slow { rows_bytes.min(ROWS_BYTES) } else { rows_bytes };
        let mut bytes = (ITEM_BYTES_MAX - 4_096).min(rows_bytes / depth);
        let json_bytes = depth * answered_bytes(&Item::from([("bulk".to_owned(), value(bytes))]));
        if json_bytes > json_bytes_max {
            bytes = bytes * json_bytes_max / json_bytes;
        }
        println!("{shape}, depth {depth}, {} bytes of rows", bytes * depth);
        // DynamoDB Local takes two seconds for a set of 6,000 numbers, and the node has a row at each level.
        let takes = if running.is_embedded() { 0 } else { depth };
        puts_beside(&running, shape, run, depth, value(bytes), takes).await;
    }
    running.assert_right(&running.oracle()).await;
    running.stop().await;
}

/// Their rows have up to 19 MB as JSON, more than DynamoDB takes in one request. Both engines take some seconds for
/// that, too.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes: .ci/full wire"]
async fn the_four_nodes_that_kept_back_a_table_keep_back_no_other_nodes_rows() {
    let running = with_chain().await;
    let list = |count: usize, value: AttributeValue| AttributeValue::L(vec![value; count]);
    let number = |digits: &str| AttributeValue::N(digits.to_owned());
    let four = [
        ("128,000 zeros", 14, list(128_000, number("0"))),
        ("5,500 numbers of 126 digits", 25, list(5_500, number("1e125"))),
        ("190,000 booleans", 8, list(190_000, AttributeValue::Bool(true))),
        ("67,000 numbers of 126 digits", 0, list(67_000, number("1e125"))),
    ];
    for (run, (what, depth, bulk)) in four.into_iter().enumerate() {
        println!("{what}, depth {depth}");
        puts_beside(&running, what, run, depth, bulk, depth).await;
    }
    running.stop().await;
}
