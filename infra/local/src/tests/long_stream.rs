//! A benchmark, run by hand: `cargo test --release -p sapwood-local long_stream -- --ignored --nocapture`.

use std::time::{Duration, Instant};

use super::fixture::{Fixture, Log, settle};
use crate::engine::Data;
use crate::mapping::{Mapping, Settings};

const PUTS: u64 = 20_000;
const PART: u64 = 2_000;

/// Puts items one at a time, and prints the rates at the beginning and at the end.
async fn put_all(fixture: &Fixture, title: &str) {
    let mut rates = Vec::new();
    let mut began = Instant::now();
    for n in 1..=PUTS {
        fixture.put(&format!("item-{n}"), "base", n).await;
        if n.is_multiple_of(PART) {
            rates.push(f64::from(u32::try_from(PART).unwrap()) / began.elapsed().as_secs_f64());
            began = Instant::now();
        }
    }
    let (first, last) = (rates[0], rates[rates.len() - 1]);
    println!("{title}: {first:.0} puts/s for the first {PART}, {last:.0} for the last {PART} of {PUTS}");
}

#[tokio::test]
#[ignore = "a benchmark"]
async fn puts_a_second_as_the_stream_grows() {
    for indexed in [true, false] {
        let directory = tempfile::tempdir().unwrap();
        let fixture = Fixture::on(&Data::Directory(directory.path().to_owned())).await;
        if !indexed {
            let database = rusqlite::Connection::open(directory.path().join("dynamodb.sqlite")).unwrap();
            database.execute_batch("DROP INDEX stream_records_in_order").unwrap();
        }
        put_all(&fixture, if indexed { "with the index" } else { "without" }).await;
        fixture.engine.stop().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "a benchmark"]
async fn records_a_second_and_the_cost_of_waiting() {
    let fixture = Fixture::new().await;
    put_all(&fixture, "before").await;
    let log = Log::default();
    let mut source = fixture.settings().source;
    source.parallelization_factor = 4;
    source.batch_size_max = 100;
    let began = Instant::now();
    let mapping = Mapping::start(Settings { source, ..fixture.settings() }, log.function()).unwrap();
    settle(&mapping).await;
    let rate = f64::from(u32::try_from(PUTS).unwrap()) / began.elapsed().as_secs_f64();
    println!("{rate:.0} records/s in {} batches", log.batches().len());

    let mut waits = Vec::new();
    for n in 0..50 {
        let began = Instant::now();
        fixture.put("late", "base", PUTS + 1 + n).await;
        while log.numbers().last() != Some(&(PUTS + 1 + n)) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        waits.push(began.elapsed());
    }
    waits.sort();
    println!("from a put to its invocation: median {:?}, worst {:?}", waits[25], waits[49]);

    let before = cpu_ticks();
    tokio::time::sleep(Duration::from_secs(10)).await;
    println!("idle: {} CPU ticks (of 1/100 s) in 10 s", cpu_ticks() - before);
}

/// Returns the user and system time of this process, as Linux counts it.
fn cpu_ticks() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    fields.get(11..13).map_or(0, |times| times.iter().filter_map(|time| time.parse::<u64>().ok()).sum())
}
