//! The event source mapping, with functions that fail on purpose.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::fixture::{Does, Fixture, Log, failures, put, put_item, records, settle, start_observed};
use crate::engine::Data;
use crate::mapping::{DiscardReason, Mapping, MappingError, Observation, Outcome, Seen, Settings, Stopped, Watcher};
use aws_sdk_dynamodbstreams::types::AttributeValue;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

#[tokio::test(flavor = "multi_thread")]
async fn an_event_is_shaped_as_lambdas() {
    let fixture = Fixture::new().await;
    let item = json!({"PK": "a", "SK": "base", "s": "text", "n": 1.5, "list": [true, null], "map": {"x": ""}});
    put_item(&fixture.endpoint, item).await;
    let events = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&events);
    let function = Does(move |event: String| {
        sink.lock().unwrap().push(event);
        std::future::ready(Ok(json!({"batchItemFailures": []})))
    });
    let mapping = Mapping::start(fixture.settings(), function).unwrap();
    settle(&mapping).await;

    let events = events.lock().unwrap();
    assert_eq!(events.len(), 1);
    let event: Value = serde_json::from_str(&events[0]).unwrap();
    let record = &event["Records"][0];
    let names: BTreeSet<&str> = record.as_object().unwrap().keys().map(String::as_str).collect();
    let expected = ["awsRegion", "dynamodb", "eventID", "eventName", "eventSource", "eventSourceARN", "eventVersion"];
    assert_eq!(names, BTreeSet::from(expected));
    assert_eq!(record["eventName"], "INSERT");
    assert_eq!(record["eventSource"], "aws:dynamodb");
    assert_eq!(record["eventSourceARN"], fixture.stream.arn);
    let change = &record["dynamodb"];
    assert_eq!(change["Keys"], json!({"PK": {"S": "a"}, "SK": {"S": "base"}}));
    let image = json!({
        "PK": {"S": "a"}, "SK": {"S": "base"}, "s": {"S": "text"}, "n": {"N": "1.5"},
        "list": {"L": [{"BOOL": true}, {"NULL": true}]}, "map": {"M": {"x": {"S": ""}}},
    });
    assert_eq!(change["NewImage"], image);
    assert_eq!(change["StreamViewType"], "NEW_AND_OLD_IMAGES");
    assert!(change.get("OldImage").is_none());
    assert!(change["SizeBytes"].as_u64().unwrap() > 0);
    assert!(change["ApproximateCreationDateTime"].as_u64().unwrap() > 1_700_000_000);
    assert!(change["SequenceNumber"].as_str().unwrap().len() >= 21);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_filter_keeps_other_rows_out() {
    let fixture = Fixture::new().await;
    for n in 0..5 {
        fixture.put("a", "base", n).await;
        fixture.put("a", "derived", 100 + n).await;
    }
    let log = Log::default();
    let mapping = Mapping::start(fixture.settings(), log.function()).unwrap();
    settle(&mapping).await;
    assert_eq!(log.numbers(), [0, 1, 2, 3, 4]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watcher_sees_every_change_and_which_the_function_gets() {
    let fixture = Fixture::new().await;
    fixture.put("a", "base", 1).await;
    fixture.put("a", "derived", 2).await;
    // This changes nothing.
    fixture.put("a", "derived", 2).await;
    fixture.put("a", "base", 3).await;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&seen);
    let watcher: Watcher = Arc::new(move |records| {
        let told = records.map(|Seen { event, keys, old, new, is_wanted }| {
            let n = |image: Option<&HashMap<String, AttributeValue>>| image?.get("n")?.as_n().ok().cloned();
            format!("{event} {} {:?} {:?} {is_wanted}", keys["SK"]["S"], n(old), n(new))
        });
        sink.lock().unwrap().extend(told);
    });
    let mapping =
        Mapping::start(Settings { watcher: Some(watcher), ..fixture.settings() }, Log::default().function()).unwrap();
    settle(&mapping).await;
    let seen = seen.lock().unwrap();
    let expected = [
        r#"INSERT "base" None Some("1") true"#,
        r#"INSERT "derived" None Some("2") false"#,
        r#"MODIFY "base" Some("1") Some("3") true"#,
    ];
    assert_eq!(*seen, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_that_changes_nothing_invokes_nothing() {
    let fixture = Fixture::new().await;
    fixture.put("a", "base", 1).await;
    fixture.put("a", "base", 1).await;
    fixture.put("a", "base", 2).await;
    let log = Log::default();
    let mapping = Mapping::start(fixture.settings(), log.function()).unwrap();
    settle(&mapping).await;
    assert_eq!(log.numbers(), [1, 2]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn each_item_keeps_its_order_while_ten_batches_run_at_once() {
    const ITEMS: u64 = 40;
    const ROUNDS: u64 = 15;
    let fixture = Fixture::new().await;
    let mut settings = fixture.settings();
    settings.source.parallelization_factor = 10;
    settings.source.batch_size_max = 7;

    let log = Log::default();
    let running = Arc::new(AtomicUsize::new(0));
    let most = Arc::new(AtomicUsize::new(0));
    let busy: Arc<Mutex<BTreeSet<String>>> = Arc::default();
    let function = {
        let (log, running, most, busy) = (log.clone(), running.clone(), most.clone(), busy.clone());
        let calls = AtomicU64::new(0);
        Does(move |event: String| {
            let (log, running, most, busy) = (log.clone(), running.clone(), most.clone(), busy.clone());
            let call = calls.fetch_add(1, Ordering::Relaxed);
            async move {
                let batch = records(&event);
                most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                let items: BTreeSet<String> = batch.iter().map(|seen| seen.pk.clone()).collect();
                for item in &items {
                    assert!(busy.lock().unwrap().insert(item.clone()), "{item} is in two batches at once");
                }
                tokio::time::sleep(Duration::from_millis(1 + call * 7 % 5)).await;
                for item in &items {
                    busy.lock().unwrap().remove(item);
                }
                running.fetch_sub(1, Ordering::SeqCst);
                // Every fifth call fails from its middle on, so that the test covers redelivery.
                let failed = if call.is_multiple_of(5) { batch.len() / 2 } else { batch.len() };
                let answer = failures(&batch.iter().skip(failed).collect::<Vec<_>>());
                log.add(batch.into_iter().take(failed).collect());
                Ok(answer)
            }
        })
    };
    // Calls fail, not records, so no record may run out of retries.
    settings.source.retries_max = None;
    let mapping = Mapping::start(settings, function).unwrap();
    for n in 1..=ROUNDS {
        for item in 0..ITEMS {
            fixture.put(&format!("item-{item}"), "base", n).await;
        }
    }
    settle(&mapping).await;

    let mut by_item: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for seen in log.batches().into_iter().flatten() {
        by_item.entry(seen.pk).or_default().push(seen.n);
    }
    assert_eq!(by_item.len(), usize::try_from(ITEMS).unwrap());
    let in_order: Vec<u64> = (1..=ROUNDS).collect();
    for (item, numbers) in by_item {
        assert_eq!(numbers, in_order, "{item}");
    }
    assert!(most.load(Ordering::SeqCst) > 3, "at most {} batches at once", most.load(Ordering::SeqCst));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_partial_failure_redelivers_from_its_checkpoint_on() {
    let fixture = Fixture::new().await;
    for n in 0..6 {
        fixture.put(&format!("item-{n}"), "base", n).await;
    }
    let log = Log::default();
    let function = {
        let log = log.clone();
        Does(move |event: String| {
            let batch = records(&event);
            let is_first = log.batches().is_empty();
            log.add(batch.clone());
            // Two failures, of which the lower one comes last.
            let answer = if is_first { failures(&[&batch[4], &batch[2]]) } else { json!({}) };
            std::future::ready(Ok(answer))
        })
    };
    let (mapping, observed) = start_observed(fixture.settings(), function);
    settle(&mapping).await;
    let numbers: Vec<Vec<u64>> = log.batches().iter().map(|batch| batch.iter().map(|seen| seen.n).collect()).collect();
    assert_eq!(numbers, [vec![0, 1, 2, 3, 4, 5], vec![2, 3, 4, 5]]);
    let outcomes: Vec<Outcome> = observed
        .lock()
        .unwrap()
        .iter()
        .filter_map(|o| if let Observation::Invoked { outcome, .. } = o { Some(outcome.clone()) } else { None })
        .collect();
    assert_eq!(outcomes, [Outcome::Partly { again: 4 }, Outcome::Handled]);
}

/// A function that handles every record but number 13, which fails its whole batch in the given way.
async fn one_poisonous_record(fail: fn() -> Result<Value, String>) {
    let fixture = Fixture::new().await;
    for n in 10..20 {
        fixture.put(&format!("item-{n}"), "base", n).await;
    }
    let log = Log::default();
    let function = {
        let log = log.clone();
        Does(move |event: String| {
            let log = log.clone();
            async move {
                let batch = records(&event);
                if batch.iter().any(|seen| seen.n == 13) {
                    return fail();
                }
                log.add(batch);
                Ok(Value::Null)
            }
        })
    };
    let (mapping, observed) = start_observed(fixture.settings(), function);
    settle(&mapping).await;

    let mut handled = log.numbers();
    handled.sort_unstable();
    assert_eq!(handled, [10, 11, 12, 14, 15, 16, 17, 18, 19]);
    let kept = fixture.failures();
    assert_eq!(kept.len(), 1);
    assert_eq!(kept[0]["requestContext"]["condition"], "RetryAttemptsExhausted");
    // One attempt and two retries.
    assert_eq!(kept[0]["requestContext"]["approximateInvokeCount"], 3);
    assert_eq!(kept[0]["DDBStreamBatchInfo"]["batchSize"], 1);
    assert_eq!(kept[0]["DDBStreamBatchInfo"]["streamArn"], fixture.stream.arn);
    let payload = records(kept[0]["payload"].as_str().unwrap());
    assert_eq!(payload.iter().map(|seen| seen.n).collect::<Vec<_>>(), [13]);
    assert_eq!(kept[0]["DDBStreamBatchInfo"]["startSequenceNumber"], payload[0].sequence_number);
    let discarded: Vec<Observation> =
        observed.lock().unwrap().iter().filter(|o| matches!(o, Observation::Discarded { .. })).cloned().collect();
    assert!(matches!(&discarded[..], [Observation::Discarded { reason: DiscardReason::RetriesExhausted, keys, .. }]
        if keys.contains("item-13")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_poisonous_record_alone_is_discarded() {
    one_poisonous_record(|| Err("no".to_owned())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_is_a_failure_like_any_other() {
    one_poisonous_record(|| panic!("on purpose")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_identifier_of_no_record_fails_the_whole_batch() {
    one_poisonous_record(|| Ok(json!({"batchItemFailures": [{"itemIdentifier": ""}]}))).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_function_that_runs_late_is_cut_off() {
    let fixture = Fixture::new().await;
    fixture.put("a", "base", 1).await;
    let settings = Settings { timeout: Duration::from_millis(30), ..fixture.settings() };
    let (mapping, observed) = start_observed(settings, Does(|_| std::future::pending()));
    settle(&mapping).await;
    assert!(
        observed
            .lock()
            .unwrap()
            .iter()
            .any(|o| matches!(o, Observation::Invoked { outcome: Outcome::Failed { reason }, .. }
        if reason.contains("timed out")))
    );
    assert_eq!(fixture.failures().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_gets_too_old_is_discarded() {
    let fixture = Fixture::new().await;
    fixture.put("a", "base", 1).await;
    let mut settings = fixture.settings();
    settings.source.retries_max = None;
    settings.source.record_age_max = Some(Duration::from_millis(300));
    let (mapping, observed) = start_observed(settings, Does(|_| std::future::ready(Err("not yet".to_owned()))));
    settle(&mapping).await;
    let kept = fixture.failures();
    assert_eq!(kept[0]["requestContext"]["condition"], "RecordAgeExceeded");
    let tried = observed.lock().unwrap().iter().filter(|o| matches!(o, Observation::Invoked { .. })).count();
    assert!(tried > 2, "tried {tried} times");
}

#[tokio::test(flavor = "multi_thread")]
async fn settled_waits_for_what_handling_causes() {
    let fixture = Fixture::new().await;
    let endpoint = fixture.endpoint.clone();
    let log = Log::default();
    let function = {
        let log = log.clone();
        Does(move |event: String| {
            let (endpoint, log) = (endpoint.clone(), log.clone());
            async move {
                let batch = records(&event);
                for seen in &batch {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                    if seen.n > 0 {
                        put(&endpoint, &seen.pk, "base", seen.n - 1).await;
                    }
                }
                log.add(batch);
                Ok(Value::Null)
            }
        })
    };
    let mapping = Mapping::start(fixture.settings(), function).unwrap();
    settle(&mapping).await;
    fixture.put("a", "base", 20).await;
    settle(&mapping).await;
    assert_eq!(log.numbers(), (0..=20).rev().collect::<Vec<_>>());
    assert_eq!(mapping.progress.outstanding(), 0);
    assert!(mapping.progress.is_caught_up());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batching_window_makes_fewer_batches() {
    let fixture = Fixture::new().await;
    let mut settings = fixture.settings();
    settings.source.batching_window = Duration::from_secs(2);
    let log = Log::default();
    let mapping = Mapping::start(settings, log.function()).unwrap();
    for n in 0..8 {
        fixture.put("a", "base", n).await;
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    settle(&mapping).await;
    assert_eq!(log.numbers(), (0..8).collect::<Vec<_>>());
    assert_eq!(log.batches().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_goes_on_where_it_was() {
    let directory = tempfile::tempdir().unwrap();
    let data = Data::Directory(directory.path().to_owned());
    let fixture = Fixture::on(&data).await;
    let first = Log::default();
    let mapping = Mapping::start(fixture.settings(), first.function()).unwrap();
    fixture.put("a", "base", 1).await;
    fixture.put("a", "derived", 2).await;
    settle(&mapping).await;
    let status = Arc::clone(&mapping.progress);
    mapping.stop().await.unwrap();
    assert_eq!(status.settled().await, Err(Stopped));
    fixture.put("a", "base", 3).await;
    fixture.engine.stop().await.unwrap();

    let fixture = Fixture::on(&data).await;
    let second = Log::default();
    let mapping = Mapping::start(fixture.settings(), second.function()).unwrap();
    settle(&mapping).await;
    assert_eq!(first.numbers(), [1]);
    assert_eq!(second.numbers(), [3]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_process_has_skipped_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let fixture = Fixture::on(&Data::Directory(directory.path().to_owned())).await;
    for n in 0..40 {
        fixture.put(&format!("item-{n}"), "base", n).await;
    }
    let mut settings = fixture.settings();
    settings.source.parallelization_factor = 4;
    settings.source.batch_size_max = 1;
    settings.pace.save_every = Duration::from_millis(1);
    // The other workers go on while one is stuck with record 7.
    let gate = Arc::new(Semaphore::new(0));
    let log = Log::default();
    let function = {
        let (gate, log) = (gate.clone(), log.clone());
        Does(move |event: String| {
            let (gate, log) = (gate.clone(), log.clone());
            async move {
                let batch = records(&event);
                if batch.iter().any(|seen| seen.n == 7) {
                    let _ = gate.acquire().await;
                }
                log.add(batch);
                Ok(Value::Null)
            }
        })
    };
    let mapping = Mapping::start(settings.clone(), function).unwrap();
    while log.numbers().len() < 25 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    tokio::time::sleep(Duration::from_millis(100)).await;
    // A killed process leaves this file behind.
    let left_behind = directory.path().join("left-behind.json");
    std::fs::copy(settings.position_file.as_ref().unwrap(), &left_behind).unwrap();
    let handled: BTreeSet<u64> = log.numbers().into_iter().collect();
    assert!(!handled.contains(&7));

    let again = Log::default();
    let resumed = Settings { position_file: Some(left_behind), ..settings };
    let restarted = Mapping::start(resumed, again.function()).unwrap();
    settle(&restarted).await;
    let numbers: BTreeSet<u64> = again.numbers().into_iter().collect();
    assert_eq!(numbers, (7..40).collect());
    drop(mapping);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_position_in_another_tables_stream_is_no_position() {
    let fixture = Fixture::new().await;
    fixture.put("a", "base", 1).await;
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("position.json");
    std::fs::write(&file, r#"{"stream": "another", "shards": {"x": "ended"}}"#).unwrap();
    let log = Log::default();
    let settings = Settings { position_file: Some(file), ..fixture.settings() };
    let mapping = Mapping::start(settings, log.function()).unwrap();
    settle(&mapping).await;
    assert_eq!(log.numbers(), [1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_position_that_cannot_be_read_is_named() {
    let fixture = Fixture::new().await;
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("position.json");
    std::fs::write(&file, "{").unwrap();
    let settings = Settings { position_file: Some(file.clone()), ..fixture.settings() };
    match Mapping::start(settings, Log::default().function()) {
        Err(MappingError::Position { path, .. }) => assert_eq!(path, file),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endpoint_that_goes_away_is_trouble_and_no_end() {
    let directory = tempfile::tempdir().unwrap();
    let data = Data::Directory(directory.path().to_owned());
    let fixture = Fixture::on(&data).await;
    let address = fixture.engine.address;
    let log = Log::default();
    let (mapping, observed) = start_observed(fixture.settings(), log.function());
    settle(&mapping).await;
    fixture.engine.stop().await.unwrap();
    while !observed.lock().unwrap().iter().any(|o| matches!(o, Observation::Trouble { .. })) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let engine = crate::engine::Engine::start(address, &data).unwrap();
    put(&fixture.endpoint, "a", "base", 1).await;
    settle(&mapping).await;
    assert_eq!(log.numbers(), [1]);
    mapping.stop().await.unwrap();
    engine.stop().await.unwrap();
}
