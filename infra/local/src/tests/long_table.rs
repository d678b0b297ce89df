//! A benchmark, run by hand: `cargo test -p sapwood-local long_table -- --ignored --nocapture`.

use std::time::{Duration, Instant};

use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, WriteRequest};
use serde_json::json;

use super::fixture::Fixture;

const ITEMS: usize = 100_000;
const WATCHED: Duration = Duration::from_secs(30);

/// Puts items of the size of a row, 25 a request, from four tasks at once.
async fn fill(fixture: &Fixture) {
    let mut tasks = tokio::task::JoinSet::new();
    for part in 0..4 {
        let client = fixture.endpoint.client.clone();
        tasks.spawn(async move {
            let mine: Vec<usize> = (0..ITEMS).filter(|n| n % 4 == part).collect();
            for some in mine.chunks(25) {
                let puts = some.iter().map(|n| {
                    let item = json!({
                        "PK": format!("node-{:06}", n / 10), "SK": format!("base#{:04}", n % 10), "name": "Folder",
                        "_id": format!("node-{n:06}"), "_depth": n % 10, "text": "a text as long as those of most rows are",
                    });
                    let item = serde_dynamo::aws_sdk_dynamodb_1::to_item(item).unwrap();
                    let put = PutRequest::builder().set_item(Some(item)).build().unwrap();
                    WriteRequest::builder().put_request(put).build()
                });
                client.batch_write_item().request_items("things", puts.collect()).send().await.unwrap();
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
}

/// One client reads an item again and again. A sweep that holds the engine's thread shows as an answer that comes late.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "a benchmark"]
async fn the_longest_wait_for_an_answer_in_a_long_table() {
    let fixture = Fixture::new().await;
    fill(&fixture).await;
    let client = &fixture.endpoint.client;
    let mut waits = Vec::new();
    let begun = Instant::now();
    while begun.elapsed() < WATCHED {
        let asked = Instant::now();
        let get = client.get_item().table_name("things");
        let get = get.key("PK", AttributeValue::S("node-000001".to_owned()));
        get.key("SK", AttributeValue::S("base#0001".to_owned())).send().await.unwrap();
        waits.push(asked.elapsed());
    }
    waits.sort();
    // Beside other work on the machine some answers come late, too: this adds up what is far beyond the usual.
    let median = waits[waits.len() / 2];
    let stalls: Duration = waits.iter().filter(|wait| **wait > 20 * median).sum();
    let at = |share: usize| waits[(waits.len() - 1) * share / 10_000];
    println!(
        "{ITEMS} items, {WATCHED:?}: {} answers, median {median:?}, 99 % {:?}, 99.9 % {:?}, longest {:?}, stalls {stalls:?}",
        waits.len(),
        at(9_900),
        at(9_990),
        waits[waits.len() - 1]
    );
}
