//! Records of any shape: none makes the handler panic, and none changes what becomes of its neighbours.

use std::collections::{BTreeMap, BTreeSet};
use std::net::TcpListener;
use std::time::Duration;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use sapwood_core::fanout::{Event, StreamRecord};
use sapwood_core::keys::{ItemKey, Schema};
use sapwood_core::model::{AttributeValue, is_touch};
use sapwood_dynamodb::DynamoTable;
use sapwood_engine::fanout::{Fanout, Report};
use sapwood_handlers::stream::{Handler, decode};
use serde_json::{Value, json};

/// Returns JSON that no [`Value`] can hold. A record holds its name instead, until the record is printed.
fn raw(name: &str) -> String {
    let nested = |open: &str, close: &str, depth: usize| format!("{}1{}", open.repeat(depth), close.repeat(depth));
    match name {
        "raw:half a surrogate pair" => r#""\ud800""#.to_owned(),
        "raw:halves the wrong way round" => r#""\udc00\ud800""#.to_owned(),
        "raw:text of half a pair" => r#"{"S":"a\ud800"}"#.to_owned(),
        "raw:too much for a float" => "1e400".to_owned(),
        "raw:too little for a float" => "-1e400".to_owned(),
        "raw:400 digits" => "9".repeat(400),
        "raw:lists in lists" => nested("[", "]", 20_000),
        "raw:objects in objects" => nested(r#"{"M":"#, "}", 20_000),
        "raw:an attribute too deep" => format!("{}{}{}", r#"{"L":["#.repeat(500), r#"{"S":"x"}"#, "]}".repeat(500)),
        "raw:a field twice" => r#"{"S":"a","S":"b"}"#.to_owned(),
        _ => panic!("{name}"),
    }
}

const RAW: [&str; 10] = [
    "raw:half a surrogate pair",
    "raw:halves the wrong way round",
    "raw:text of half a pair",
    "raw:too much for a float",
    "raw:too little for a float",
    "raw:400 digits",
    "raw:lists in lists",
    "raw:objects in objects",
    "raw:an attribute too deep",
    "raw:a field twice",
];

fn text_of(record: &Value) -> String {
    RAW.iter().fold(record.to_string(), |text, name| text.replace(&format!("\"{name}\""), &raw(name)))
}

/// Returns JSON that doesn't belong where it is put.
fn odd() -> impl Strategy<Value = Value> {
    let plain = select(vec![
        json!(null),
        json!(true),
        json!(0),
        json!(-1),
        json!(1.5),
        json!(u64::MAX),
        json!(i64::MIN),
        json!(1e308),
        json!(-1e308),
        json!(9.3e18),
        json!(""),
        json!("\u{0}"),
        json!("NODE"),
        json!("LINEAGE"),
        json!([]),
        json!({}),
        json!([[]]),
        json!({"S": null}),
        json!({"S": 5}),
        json!({"N": 5}),
        json!({"N": "five"}),
        json!({"N": "9".repeat(200)}),
        json!({"B": "no base64!"}),
        json!({"BOOL": "true"}),
        json!({"NULL": false}),
        json!({"SS": []}),
        json!({"SS": ["a", "a"]}),
        json!({"NS": [1]}),
        json!({"BS": ["?"]}),
        json!({"L": {}}),
        json!({"M": []}),
        json!({"X": "a type of next year"}),
        json!({"S": "a", "N": "1"}),
    ]);
    let leaf = prop_oneof![
        any::<f64>().prop_map(|n| json!(n)),
        any::<i64>().prop_map(|n| json!(n)),
        ".{0,3}".prop_map(|text| json!(text)),
    ];
    let any_json = leaf.prop_recursive(3, 12, 3, |inner| {
        let name = select(vec!["S", "N", "B", "L", "M", "BOOL", "NULL", "SS", "PK", "SK", "x", ""]);
        let field = (name, inner.clone()).prop_map(|(name, value)| (name.to_owned(), value));
        prop_oneof![
            vec(inner, 0..3).prop_map(|list| json!(list)),
            vec(field, 0..3).prop_map(|fields| fields.into_iter().collect()),
        ]
    });
    prop_oneof![4 => plain, 2 => select(RAW.to_vec()).prop_map(|name| json!(name)), 1 => any_json]
}

fn image(pk: &str, sk: &str, more: Value) -> Value {
    let mut image = json!({"PK": {"S": pk}, "SK": {"S": sk}});
    image.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    image
}

fn record(pk: &str, sk: &str, sequence: &str, name: &str, old: Option<Value>, new: Option<Value>) -> Value {
    let mut change = json!({
        "ApproximateCreationDateTime": 1_479_499_740.5,
        "Keys": {"PK": {"S": pk}, "SK": {"S": sk}},
        "SequenceNumber": sequence,
        "SizeBytes": 59,
        "StreamViewType": "NEW_AND_OLD_IMAGES",
    });
    for (name, image) in [("OldImage", old), ("NewImage", new)] {
        change.as_object_mut().unwrap().extend(image.map(|image| (name.to_owned(), image)));
    }
    json!({
        "eventID": "c4ca4238a0b923820dcc509a6f75849b",
        "eventName": name,
        "eventVersion": "1.1",
        "eventSource": "aws:dynamodb",
        "awsRegion": "eu-central-1",
        "dynamodb": change,
        "eventSourceARN": "arn:aws:dynamodb:eu-central-1:123456789012:table/t/stream/2024-06-10T19:26:16.525",
        "userIdentity": {"principalId": "dynamodb.amazonaws.com", "type": "Service"},
    })
}

/// Returns a record that asks for work, of any kind that passes the filter.
fn good(pk: &'static str) -> impl Strategy<Value = Value> {
    let node = |touched: Option<&str>, parent: &str| {
        let mut more = json!({
            "parent": {"S": parent}, "n": {"N": "12345678901234567890123456789012345678"}, "b": {"B": "AAEC"},
            "e": {"S": ""}, "m": {"M": {"l": {"L": [{"NULL": true}, {"BOOL": false}]}}}, "s": {"SS": ["b", "a"]},
        });
        more.as_object_mut().unwrap().extend(touched.map(|value| ("_touched".to_owned(), json!({"S": value}))));
        more
    };
    let lineage = json!({"format": {"N": "1"}, "ancestors": {"L": [{"S": "a"}]}, "path": {"L": [{"S": "x"}]}});
    let kinds = prop_oneof![
        Just(("NODE", "INSERT", None, Some(node(None, "a")))),
        Just(("NODE", "MODIFY", Some(node(None, "a")), Some(node(Some("1#a"), "a")))),
        Just(("NODE", "MODIFY", Some(node(Some("1#a"), "a")), Some(node(Some("1#a"), "b")))),
        Just(("NODE", "REMOVE", Some(node(None, "a")), None)),
        Just(("LINEAGE", "INSERT", None, Some(lineage))),
        Just(("CASCADE", "INSERT", None, Some(json!({"format": {"N": "1"}, "sequence": {"S": "1"}})))),
        select(vec!["v001_Audit", "v002_Audit", "va1000_Bill"]).prop_map(|sk| (
            sk,
            "INSERT",
            None,
            Some(json!({"total": {"N": "1"}}))
        )),
    ];
    (kinds, 0..3_u8, 1..u128::MAX).prop_map(move |((sk, name, old, new), id, sequence)| {
        let pk = format!("{pk}{id}");
        let [old, new] = [old, new].map(|more| more.map(|more| image(&pk, sk, more)));
        record(&pk, sk, &sequence.to_string(), name, old, new)
    })
}

/// Finds every place in a record, as JSON pointers.
fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    found.push(at.to_owned());
    let mut inside = |name: &str, value| places(value, &format!("{at}/{name}"), found);
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, value)| inside(name, value)),
        Value::Array(list) => list.iter().enumerate().for_each(|(n, value)| inside(&n.to_string(), value)),
        _ => {}
    }
}

/// Replaces what is at a place, or removes it.
fn spoil(record: &mut Value, place: &str, with: Option<Value>) {
    let Some((parent, name)) = place.rsplit_once('/') else {
        *record = with.unwrap_or_default();
        return;
    };
    match (record.pointer_mut(parent), with) {
        (Some(Value::Object(fields)), Some(odd)) => _ = fields.insert(name.to_owned(), odd),
        (Some(Value::Object(fields)), None) => _ = fields.remove(name),
        (Some(Value::Array(list)), with) => {
            let n: usize = name.parse().unwrap();
            list.splice(n..=n, with);
        }
        _ => {}
    }
}

/// Returns a record with some places spoilt, and those places.
fn spoilt(pk: &'static str) -> impl Strategy<Value = (Value, Vec<String>)> {
    (good(pk), vec((any::<Index>(), option::weighted(0.7, odd())), 1..4)).prop_map(|(mut record, faults)| {
        let mut spoilt = Vec::new();
        for (index, with) in faults {
            let mut all = Vec::new();
            places(&record, "", &mut all);
            let place = index.get(&all).clone();
            spoil(&mut record, &place, with);
            spoilt.push(place);
        }
        (record, spoilt)
    })
}

/// True if a record still has the key of its item and its sequence number.
fn names_its_item(spoilt: &[String]) -> bool {
    let needed = ["/dynamodb/Keys", "/dynamodb/SequenceNumber"];
    let apart = |place: &String, needed: &&str| !place.starts_with(needed) && !needed.starts_with(place.as_str());
    spoilt.iter().all(|place| needed.iter().all(|needed| apart(place, needed)))
}

fn text(record: &Value, pointer: &str) -> String {
    record.pointer(pointer).and_then(Value::as_str).unwrap().to_owned()
}

fn key(record: &Value) -> ItemKey {
    ItemKey::new(text(record, "/dynamodb/Keys/PK/S"), text(record, "/dynamodb/Keys/SK/S"))
}

fn sequence(record: &Value) -> String {
    text(record, "/dynamodb/SequenceNumber")
}

fn decoded(record: &Value) -> Option<StreamRecord> {
    decode(&text_of(record), &Schema::default()).ok().map(|decoded| decoded.record)
}

/// Returns a handler whose table nobody serves, so that every record that asks for work fails.
fn handler() -> Handler {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    Handler::new(Fanout::default(), DynamoTable::local(&format!("http://{closed}"), "table", Schema::default()))
}

/// Has the handler handle these records, without time to wait for anything.
fn run(stage: &Stage, records: &[String]) -> Report {
    stage.run(&format!(r#"{{"Records":[{}]}}"#, records.join(","))).expect("an event")
}

struct Stage {
    runtime: tokio::runtime::Runtime,
    handler: Handler,
}

impl Stage {
    fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        Self { runtime, handler: handler() }
    }

    fn run(&self, event: &str) -> Option<Report> {
        self.runtime.block_on(self.handler.run(event, "request", Duration::ZERO)).ok()
    }
}

/// Returns the sequence number of each item's first record.
fn firsts<'a>(records: impl IntoIterator<Item = &'a StreamRecord>) -> BTreeSet<String> {
    let mut firsts = BTreeMap::new();
    for record in records {
        firsts.entry(&record.key).or_insert(&record.sequence);
    }
    firsts.into_values().cloned().collect()
}

fn cases(cases: u32) -> ProptestConfig {
    // A case that once failed has a test with a name of its own, so proptest needn't keep it.
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

fn set(failed: &[String]) -> BTreeSet<String> {
    failed.iter().cloned().collect()
}

proptest! {
    #![proptest_config(cases(3_000))]

    #[test]
    fn any_text_is_a_record_or_a_problem(text in any::<String>()) {
        prop_assert!(decode(&text, &Schema::default()).is_err());
    }

    #[test]
    fn any_json_is_a_record_or_a_problem(value in odd()) {
        prop_assert_eq!(decoded(&value), None);
    }

    #[test]
    fn a_good_record_is_decoded_as_it_is(record in good("good-")) {
        let read = decoded(&record).unwrap();
        prop_assert_eq!(read.key, key(&record));
        prop_assert_eq!(read.sequence, sequence(&record));
        for (image, name) in [(read.old, "OldImage"), (read.new, "NewImage")] {
            let raw = record["dynamodb"].get(name);
            prop_assert_eq!(image.is_some(), raw.is_some());
            prop_assert!(image.is_none_or(|image| image.len() == raw.unwrap().as_object().unwrap().len()));
        }
    }

    #[test]
    fn a_record_that_names_its_item_is_handled_whatever_else_is_wrong_with_it((record, spoilt) in spoilt("odd-")) {
        let read = decoded(&record);
        if names_its_item(&spoilt) {
            let read = read.ok_or_else(|| TestCaseError::fail(format!("not handled: {spoilt:?}")))?;
            prop_assert_eq!(&read.key, &key(&record), "{:?}", spoilt);
            prop_assert_eq!(&read.sequence, &sequence(&record));
        }
    }

    #[test]
    fn an_image_is_decoded_whole_or_not_at_all((record, spoilt) in spoilt("odd-")) {
        // A record with one image that can't be decoded loses both, so that no attribute is silently lost.
        if let Some(read) = decoded(&record) {
            for (image, name) in [(&read.old, "OldImage"), (&read.new, "NewImage")] {
                if let Some(image) = image {
                    let raw = record["dynamodb"][name].as_object().expect("an image");
                    prop_assert_eq!(image.len(), raw.len(), "{:?}", spoilt);
                }
            }
        }
    }
}

#[test]
fn odd_records_change_nothing_for_their_neighbours() {
    let stage = Stage::new();
    let records = vec(good("good-"), 1..6);
    let odd = vec((any::<Index>(), spoilt("odd-")), 1..4);
    proptest!(cases(300), |(records in records, odd in odd)| {
        let alone: Vec<String> = records.iter().map(text_of).collect();
        let good: Vec<StreamRecord> = records.iter().map(|record| decoded(record).unwrap()).collect();
        prop_assert_eq!(set(&run(&stage, &alone).failed), firsts(&good));

        let mut together = records;
        for (position, (record, _)) in odd {
            together.insert(position.index(together.len() + 1), record);
        }
        let report = run(&stage, &together.iter().map(text_of).collect::<Vec<_>>());
        let read: Vec<Option<StreamRecord>> = together.iter().map(decoded).collect();
        let unreadable = read.iter().filter(|record| record.is_none()).count();
        prop_assert!(report.problems.len() >= unreadable);
        let failed = set(&report.failed);
        prop_assert!(failed.is_superset(&firsts(&good)), "{:?} lacks one of {:?}", failed, firsts(&good));
        // An odd record that fails is reported by the first record of its item, too.
        prop_assert!(failed.is_subset(&firsts(read.iter().flatten())), "{:?}", failed);
        // Lambda takes an empty identifier for a failure of the whole batch.
        prop_assert!(!failed.contains(""));
    });
}

#[test]
fn any_event_is_a_batch_or_an_error() {
    let stage = Stage::new();
    let event = prop_oneof![
        any::<String>(),
        odd().prop_map(|value| text_of(&value)),
        odd().prop_map(|value| text_of(&json!({"Records": value}))),
        vec(odd(), 0..4).prop_map(|records| text_of(&json!({"Records": records}))),
    ];
    proptest!(cases(2_000), |(event in event)| {
        prop_assert!(stage.run(&event).is_none_or(|report| report.failed.is_empty()));
    });
    assert!(stage.run("{}").is_none());
    assert!(stage.run(r#"{"Records": null}"#).is_none());
    assert_eq!(stage.run(r#"{"Records": []}"#), Some(Report::default()));
}

/// Returns a touch of a node, which leaves the node's rows as they are.
fn touch() -> Value {
    let touched = |value: &str| image("a", "NODE", json!({"_touched": {"S": value}, "m": {"M": {"x": {"N": "1"}}}}));
    record("a", "NODE", "7", "MODIFY", Some(touched("1#p")), Some(touched("2#p")))
}

#[test]
fn a_record_whose_image_cannot_be_decoded_is_handled_and_is_no_touch() {
    let read = decoded(&touch()).unwrap();
    assert!(is_touch(read.old.as_ref(), read.new.as_ref()));

    let stage = Stage::new();
    for (place, with) in [
        ("/dynamodb/SizeBytes", None),
        ("/dynamodb/SizeBytes", Some(json!("59"))),
        ("/dynamodb/ApproximateCreationDateTime", Some(json!(1e300))),
        ("/dynamodb/ApproximateCreationDateTime", Some(json!("raw:too much for a float"))),
        ("/dynamodb/StreamViewType", Some(json!("A_VIEW_OF_NEXT_YEAR"))),
        ("/dynamodb/OldImage", Some(json!(5))),
        ("/dynamodb/OldImage/m", Some(json!({"X": "a type of next year"}))),
        ("/dynamodb/NewImage/m/M/x", Some(json!("raw:an attribute too deep"))),
        ("/dynamodb/NewImage/m/M/x", Some(json!("raw:text of half a pair"))),
        ("/dynamodb/NewImage", Some(json!("raw:lists in lists"))),
        ("/dynamodb/NewImage", None),
        ("/dynamodb/OldImage", None),
        ("/dynamodb/OldImage", Some(json!({}))),
        ("/eventID", None),
        ("/awsRegion", Some(json!(5))),
        ("/userIdentity", Some(json!(5))),
    ] {
        let mut record = touch();
        spoil(&mut record, place, with.clone());
        let read = decoded(&record).unwrap_or_else(|| panic!("{place} {with:?}"));
        assert_eq!((read.key, read.sequence), (ItemKey::new("a", "NODE"), "7".to_owned()), "{place} {with:?}");
        assert_eq!(read.event, Event::Modify);
        assert!(!is_touch(read.old.as_ref(), read.new.as_ref()), "{place} {with:?}");
        assert_eq!(run(&stage, &[text_of(&record)]).failed, ["7"], "{place} {with:?}");
    }
}

#[test]
fn an_unknown_event_name_counts_as_a_change() {
    for name in [Some(json!("RESTORE")), Some(json!("")), Some(json!(null)), Some(json!(5)), None] {
        let mut record = touch();
        spoil(&mut record, "/eventName", name.clone());
        let read = decoded(&record).unwrap_or_else(|| panic!("{name:?}"));
        assert_eq!(read.event, Event::Modify, "{name:?}");
    }
}

#[test]
fn a_record_that_names_no_item_is_a_problem_and_fails_nothing() {
    let stage = Stage::new();
    for (place, with) in [
        ("", Some(json!(null))),
        ("/dynamodb", None),
        ("/dynamodb/Keys", None),
        ("/dynamodb/Keys", Some(json!(null))),
        ("/dynamodb/Keys/PK", None),
        ("/dynamodb/Keys/SK", Some(json!({"N": "1"}))),
        ("/dynamodb/Keys/SK", Some(json!("raw:text of half a pair"))),
        ("/dynamodb/SequenceNumber", None),
        ("/dynamodb/SequenceNumber", Some(json!(7))),
        // An empty sequence number, reported as failed, would fail the whole batch.
        ("/dynamodb/SequenceNumber", Some(json!(""))),
    ] {
        let mut record = touch();
        spoil(&mut record, place, with.clone());
        assert_eq!(decoded(&record), None, "{place} {with:?}");
        let report = run(&stage, &[text_of(&record)]);
        assert_eq!((report.failed.len(), report.problems.len()), (0, 1), "{place} {with:?}");
    }
}

#[test]
fn every_type_of_attribute_is_decoded_and_sets_are_sorted() {
    let attributes = json!({
        "s": {"S": "é\u{0}\u{10FFFF}"}, "empty": {"S": ""}, "b": {"B": "AAH/"}, "no bytes": {"B": ""},
        "t": {"BOOL": true}, "z": {"NULL": true},
        "n": {"N": "-12345678901234567890123456789012345678"}, "tiny": {"N": "1E-130"},
        "l": {"L": [{"L": []}, {"M": {}}]},
        "ss": {"SS": ["b", "a"]}, "ns": {"NS": ["2", "10"]}, "bs": {"BS": ["Ag==", "AQ=="]},
    });
    let record = record("a", "NODE", "7", "INSERT", None, Some(image("a", "NODE", attributes)));
    let new = decoded(&record).unwrap().new.unwrap();
    assert_eq!(new["s"], AttributeValue::S("é\u{0}\u{10FFFF}".into()));
    assert_eq!(new["empty"], AttributeValue::S(String::new()));
    assert_eq!(new["b"], AttributeValue::B(vec![0, 1, 255]));
    assert_eq!(new["no bytes"], AttributeValue::B(vec![]));
    assert_eq!(new["t"], AttributeValue::Bool(true));
    assert_eq!(new["z"], AttributeValue::Null(true));
    assert_eq!(new["n"], AttributeValue::N("-12345678901234567890123456789012345678".into()));
    assert_eq!(new["tiny"], AttributeValue::N("1E-130".into()));
    assert_eq!(new["l"], AttributeValue::L(vec![AttributeValue::L(vec![]), AttributeValue::M([].into())]));
    assert_eq!(new["ss"], AttributeValue::Ss(vec!["a".into(), "b".into()]));
    assert_eq!(new["ns"], AttributeValue::Ns(vec!["10".into(), "2".into()]));
    assert_eq!(new["bs"], AttributeValue::Bs(vec![vec![1], vec![2]]));
}
