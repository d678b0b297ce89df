//! tests/events/*.json: events as a stream hands them to the handler, one story in this order. Before each, the base
//! records are brought to where its records say they are; after it the table has to be right.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use sapwood_core::audit::{Subject, Trail};
use sapwood_core::keys::Schema;
use sapwood_core::model::Settings;
use sapwood_dynamodb::DynamoTable;
use sapwood_engine::fanout::Fanout;
use sapwood_handlers::stream::Handler;
use sapwood_local::endpoint::Endpoint;
use sapwood_local::engine::{Data, Engine};
use sapwood_local::filter::Filter;
use sapwood_local::template::Template;
use sapwood_tests::client::{client, contents, delete_all, put};
use sapwood_tests::oracle::{Contents, Oracle};
use sapwood_tests::running::{TABLE, TEMPLATE};
use serde_json::{Value, json};

/// The story, and whether the table is right after each: a move is passed on by the records that the handler itself
/// sets off.
const STORY: [(&str, bool); 10] = [
    ("insert", true),
    ("rename", true),
    ("move", false),
    ("cascade", false),
    ("touched", true),
    ("revisions", true),
    ("mixed", true),
    ("bad-record", true),
    ("remove", true),
    ("expire", true),
];

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("events")
}

fn event(name: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(directory().join(format!("{name}.json"))).unwrap()).unwrap()
}

fn records(event: &Value) -> &[Value] {
    event["Records"].as_array().unwrap()
}

/// The text of a record's key, or of an attribute of an image.
fn text<'a>(attributes: &'a Value, name: &str) -> &'a str {
    attributes[name]["S"].as_str().unwrap_or_default()
}

/// A table whose stream nobody reads, and a handler.
struct Table {
    engine: Engine,
    client: Client,
    handler: Handler,
}

impl Table {
    async fn start() -> Self {
        let engine = Engine::start("127.0.0.1:0".parse().unwrap(), &Data::Memory).unwrap();
        let template = Template::parse(TEMPLATE).unwrap();
        Endpoint::new(engine.url()).ensure_table(TABLE, &template.table).await.unwrap();
        let handler = handler(&engine.url());
        Self { client: client(&engine.url()), handler, engine }
    }

    /// Writes what these records say was written: base records only.
    async fn write(&self, event: &Value) {
        for change in records(event).iter().map(|record| &record["dynamodb"]) {
            let [pk, sk] = ["PK", "SK"].map(|name| text(&change["Keys"], name));
            if pk.is_empty() || ["LINEAGE", "CASCADE"].contains(&sk) {
                continue;
            }
            match change.get("NewImage") {
                Some(image) => put(&self.client, TABLE, item(image)).await,
                None => delete_all(&self.client, TABLE, vec![(pk.to_owned(), sk.to_owned())]).await,
            }
        }
    }

    async fn contents(&self) -> Contents {
        contents(&self.client, TABLE, ["PK", "SK"]).await
    }
}

fn handler(url: &str) -> Handler {
    let settings = Settings::default();
    let table = DynamoTable::local(url, TABLE, settings.schema.clone());
    Handler::new(Fanout { settings, ..Fanout::default() }, table)
}

async fn handle(handler: &Handler, event: &Value, left: Duration) -> Value {
    serde_json::to_value(handler.handle(&event.to_string(), "test", left).await.unwrap()).unwrap()
}

fn item(image: &Value) -> HashMap<String, AttributeValue> {
    let item: BTreeMap<String, serde_dynamo::AttributeValue> =
        serde_json::from_value::<serde_dynamo::Item>(image.clone()).unwrap().into_inner().into_iter().collect();
    item.into_iter().map(|(name, value)| (name, value.into())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_event_brings_the_table_to_what_its_base_records_call_for() {
    let table = Table::start().await;
    for (name, is_right_after) in STORY {
        let event = event(name);
        table.write(&event).await;
        if name == "touched" {
            let before = table.contents().await;
            assert!(before.contains_key(&("D".to_owned(), "PATH#V#d".to_owned())), "the child is where it was");
        }
        let answer = handle(&table.handler, &event, Duration::from_secs(20)).await;
        assert_eq!(answer, json!({"batchItemFailures": []}), "{name}");
        let differences = Oracle::default().differences(&table.contents().await);
        assert_eq!(differences.is_empty(), is_right_after, "{name}: {differences:#?}");
    }
    let end = table.contents().await;
    let version = &end[&("eq".to_owned(), "v0_Audit".to_owned())]["_version"];
    assert_eq!(*version, serde_dynamo::AttributeValue::N("2".to_owned()), "the newest audit has expired");
    table.engine.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handler_leaves_one_trail_for_the_auditor_however_many_batches_it_handles() {
    let table = Table::start().await;
    let handler = table.handler.clone().announcing();
    let event = event("insert");
    table.write(&event).await;
    for _ in 0..3 {
        handle(&handler, &event, Duration::from_secs(20)).await;
    }
    let contents = table.contents().await;
    let is_trail = |(pk, sk): &(String, String)| pk == "SAPWOOD" && sk.starts_with("TRAIL#");
    let trails: Vec<_> = contents.iter().filter(|(key, _)| is_trail(key)).map(|(_, item)| item).collect();
    let [trail] = trails[..] else { panic!("{trails:?}") };
    let (at, subjects) = Trail::read(trail, &Schema::default()).unwrap();
    assert!(at > 0 && !subjects.is_empty());
    assert!(subjects.iter().all(|subject| matches!(subject, Subject::Node(_))), "{subjects:?}");
    assert_eq!(Oracle::default().differences(&contents), [""; 0], "a trail isn't derived from anything");
    table.engine.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_records_that_the_handler_sets_off_are_those_that_it_writes() {
    let table = Table::start().await;
    let stored = async |record: &Value| {
        let key = ["PK", "SK"].map(|name| text(&record["dynamodb"]["Keys"], name).to_owned());
        let mut found = table.contents().await;
        let found = found.remove(&key.into()).expect("it is there");
        let image: serde_dynamo::Item = serde_json::from_value(record["dynamodb"]["NewImage"].clone()).unwrap();
        assert_eq!(found, image.into_inner().into_iter().collect());
    };
    for (name, next) in [("insert", None), ("rename", None), ("move", Some("cascade")), ("cascade", Some("touched"))] {
        table.write(&event(name)).await;
        handle(&table.handler, &event(name), Duration::from_secs(20)).await;
        if let Some(next) = next {
            stored(records(&event(next)).last().unwrap()).await;
        }
    }
    table.engine.stop().await.unwrap();
}

#[tokio::test]
async fn where_the_table_does_not_answer_the_first_record_of_each_item_is_to_be_delivered_again() {
    // Nobody answers there.
    let handler = handler("http://127.0.0.1:9");
    let mixed = event("mixed");
    let answer = handle(&handler, &mixed, Duration::from_millis(1_500)).await;
    let failed: BTreeSet<&str> = answer["batchItemFailures"]
        .as_array()
        .unwrap()
        .iter()
        .map(|failure| failure["itemIdentifier"].as_str().unwrap())
        .collect();
    let mut items = BTreeSet::new();
    let firsts = records(&mixed)
        .iter()
        .map(|record| &record["dynamodb"])
        .filter(|change| items.insert(change["Keys"].to_string()));
    let firsts: BTreeSet<&str> = firsts.map(|change| change["SequenceNumber"].as_str().unwrap()).collect();
    assert_eq!(failed, firsts);
    assert!(failed.len() < records(&mixed).len(), "an item has several records in it");
}

/// What is wrong with a record, as AWS documents their shape ([AWS: a record][record]); none where it is whole.
///
/// [record]: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_streams_Record.html
fn misshapen(record: &Value) -> Option<&'static str> {
    let change = &record["dynamodb"];
    let has = |image: &str| change.get(image).is_some();
    let images = match record["eventName"].as_str()? {
        "INSERT" => has("NewImage") && !has("OldImage"),
        "MODIFY" => has("NewImage") && has("OldImage") && change["NewImage"] != change["OldImage"],
        "REMOVE" => !has("NewImage") && has("OldImage"),
        _ => false,
    };
    let with_keys =
        |image: &str| ["PK", "SK"].iter().all(|key| !has(image) || change[image][key] == change["Keys"][key]);
    let is = |name: &str, text: &str| record[name].as_str() == Some(text);
    [
        (images, "its images aren't those of such a change"),
        (with_keys("NewImage") && with_keys("OldImage"), "an image is of another item"),
        (record["eventID"].as_str().is_some_and(|id| id.len() == 32), "eventID"),
        (
            is("eventVersion", "1.1") && is("eventSource", "aws:dynamodb") && is("awsRegion", "eu-central-1"),
            "eventSource",
        ),
        (record["eventSourceARN"].as_str().is_some_and(|arn| arn.contains(":table/sapwood/stream/")), "eventSourceARN"),
        (change["ApproximateCreationDateTime"].as_u64().is_some_and(|at| at > 1_700_000_000), "its time"),
        (change["SequenceNumber"].as_str().is_some_and(|s| s.len() >= 21), "SequenceNumber"),
        (change["SizeBytes"].as_u64().is_some_and(|size| size > 0), "SizeBytes"),
        (change["StreamViewType"] == "NEW_AND_OLD_IMAGES", "StreamViewType"),
    ]
    .into_iter()
    .find_map(|(holds, what)| (!holds).then_some(what))
}

#[test]
fn the_events_are_shaped_as_a_streams_are_and_pass_the_filter() {
    let filter = Filter::new(&Template::parse(TEMPLATE).unwrap().event_source.filter_patterns).unwrap();
    let (mut sequences, mut expired) = (Vec::new(), 0);
    for (name, _) in STORY {
        for record in records(&event(name)) {
            // One is bad on purpose, as none of AWS's can be: it doesn't say what it is about.
            if name == "bad-record" && record["dynamodb"].get("Keys").is_none() {
                continue;
            }
            assert_eq!(misshapen(record), None, "{name}: {record}");
            assert!(filter.passes(record), "{name}: {record}");
            sequences.push(record["dynamodb"]["SequenceNumber"].as_str().unwrap().to_owned());
            let service = json!({"type": "Service", "principalId": "dynamodb.amazonaws.com"});
            expired += usize::from(record.get("userIdentity").is_some_and(|identity| *identity == service));
        }
    }
    assert!(sequences.is_sorted() && expired == 2);
    let told: BTreeSet<String> = STORY.iter().map(|(name, _)| format!("{name}.json")).collect();
    let files = std::fs::read_dir(directory()).unwrap().map(|entry| entry.unwrap().path());
    let files = files.filter(|path| path.extension().is_some_and(|extension| extension == "json"));
    let files: BTreeSet<String> = files.map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()).collect();
    assert_eq!(files, told, "a new event has its place in the story");
}
