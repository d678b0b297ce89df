//! Change records of a stream, and how they look in an event.
//!
//! Nothing of a record is made into JSON before it is asked for: most records are of rows, which the filter drops
//! by their keys.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use aws_sdk_dynamodbstreams::types::{self, AttributeValue, OperationType, StreamRecord, StreamViewType};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::Serialize;
use serde::ser::{SerializeMap as _, Serializer};
use serde_json::Value;

/// The attributes of an item, as the SDK has them.
pub(crate) type Attributes = HashMap<String, AttributeValue>;

/// A change record.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    stream: Arc<str>,
    record: types::Record,
    change: StreamRecord,
    /// The record's position in the shard.
    pub(crate) sequence_number: String,
    pub(crate) created: SystemTime,
}

impl Record {
    /// Takes a record of the stream with this ARN.
    pub(crate) fn new(stream: Arc<str>, mut record: types::Record) -> Self {
        let mut change = record.dynamodb.take().unwrap_or_else(|| StreamRecord::builder().build());
        let seconds = change.approximate_creation_date_time.and_then(|time| u64::try_from(time.secs()).ok());
        Record {
            stream,
            record,
            sequence_number: change.sequence_number.take().unwrap_or_default(),
            created: SystemTime::UNIX_EPOCH + Duration::from_secs(seconds.unwrap_or_default()),
            change,
        }
    }

    /// Returns the item's key attributes: `{"PK": {"S": "a"}, …}`. Their text is the same in all its records.
    pub(crate) fn keys(&self) -> Value {
        self.change.keys.as_ref().and_then(|keys| serde_json::to_value(Item(keys)).ok()).unwrap_or_default()
    }

    pub(crate) fn images(&self) -> [Option<&Attributes>; 2] {
        [self.change.old_image.as_ref(), self.change.new_image.as_ref()]
    }

    /// Returns the record as a function gets it from Lambda.
    pub(crate) fn event(&self) -> Event<'_> {
        #[cfg(test)]
        EVENTS.with(|events| events.set(events.get() + 1));
        Event(self)
    }

    /// Returns what happened to the item: `INSERT`, `MODIFY` or `REMOVE`.
    pub(crate) fn event_name(&self) -> &str {
        self.record.event_name.as_ref().map_or("", OperationType::as_str)
    }

    /// Returns true if the write changed nothing. Only dynoxide makes such a record.
    pub(crate) fn changes_nothing(&self) -> bool {
        match (&self.change.old_image, &self.change.new_image) {
            (Some(old), Some(new)) => same_item(old, new),
            _ => false,
        }
    }
}

#[cfg(test)]
thread_local! {
    /// The number of records of which this thread has made an event.
    pub(crate) static EVENTS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

pub(crate) struct Event<'a>(&'a Record);

impl Serialize for Event<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Record { stream, record, .. } = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("eventID", &record.event_id)?;
        map.serialize_entry("eventName", &record.event_name.as_ref().map(OperationType::as_str))?;
        map.serialize_entry("eventVersion", &record.event_version)?;
        map.serialize_entry("eventSource", &record.event_source)?;
        map.serialize_entry("awsRegion", &record.aws_region)?;
        map.serialize_entry("dynamodb", &Change(self.0))?;
        map.serialize_entry("eventSourceARN", &**stream)?;
        // DynamoDB names an identity only for deletions by TTL.
        if let Some(who) = &record.user_identity {
            let who = BTreeMap::from([
                ("type", who.r#type.as_deref().unwrap_or("Service")),
                ("principalId", who.principal_id.as_deref().unwrap_or("dynamodb.amazonaws.com")),
            ]);
            map.serialize_entry("userIdentity", &who)?;
        }
        map.end()
    }
}

struct Change<'a>(&'a Record);

impl Serialize for Change<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Record { change, sequence_number, .. } = self.0;
        let mut map = serializer.serialize_map(None)?;
        let created = change.approximate_creation_date_time;
        map.serialize_entry("ApproximateCreationDateTime", &created.map_or(0, |time| time.secs()))?;
        map.serialize_entry("Keys", &Item(change.keys.as_ref().unwrap_or(&HashMap::new())))?;
        for (name, image) in [("NewImage", &change.new_image), ("OldImage", &change.old_image)] {
            if let Some(image) = image {
                map.serialize_entry(name, &Item(image))?;
            }
        }
        map.serialize_entry("SequenceNumber", sequence_number)?;
        map.serialize_entry("SizeBytes", &change.size_bytes.unwrap_or_default())?;
        map.serialize_entry("StreamViewType", &change.stream_view_type.as_ref().map(StreamViewType::as_str))?;
        map.end()
    }
}

/// An item in DynamoDB's JSON.
struct Item<'a>(&'a Attributes);

impl Serialize for Item<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // By name, so that equal items have equal texts.
        let mut attributes: Vec<(&String, One)> = self.0.iter().map(|(name, value)| (name, One(value))).collect();
        attributes.sort_unstable_by_key(|(name, _)| *name);
        serializer.collect_map(attributes)
    }
}

/// An attribute value in DynamoDB's JSON.
struct One<'a>(&'a AttributeValue);

impl Serialize for One<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            AttributeValue::S(text) => serializer.collect_map([("S", text)]),
            AttributeValue::N(number) => serializer.collect_map([("N", number)]),
            AttributeValue::Bool(is) => serializer.collect_map([("BOOL", is)]),
            AttributeValue::Null(is) => serializer.collect_map([("NULL", is)]),
            AttributeValue::M(map) => serializer.collect_map([("M", Item(map))]),
            AttributeValue::L(list) => serializer.collect_map([("L", list.iter().map(One).collect::<Vec<_>>())]),
            AttributeValue::Ss(texts) => serializer.collect_map([("SS", texts)]),
            AttributeValue::Ns(numbers) => serializer.collect_map([("NS", numbers)]),
            AttributeValue::B(bytes) => serializer.collect_map([("B", BASE64.encode(bytes.as_ref()))]),
            AttributeValue::Bs(all) => {
                let all: Vec<String> = all.iter().map(|bytes| BASE64.encode(bytes.as_ref())).collect();
                serializer.collect_map([("BS", all)])
            }
            // Any type that a newer DynamoDB may have.
            _ => serializer.collect_map([("NULL", true)]),
        }
    }
}

fn same_item(a: &Attributes, b: &Attributes) -> bool {
    a.len() == b.len() && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| same_value(a, b)))
}

/// Returns true if two values are equal. Sets have no order.
fn same_value(a: &AttributeValue, b: &AttributeValue) -> bool {
    match (a, b) {
        (AttributeValue::M(a), AttributeValue::M(b)) => same_item(a, b),
        (AttributeValue::L(a), AttributeValue::L(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_value(a, b))
        }
        (AttributeValue::Ss(a), AttributeValue::Ss(b)) | (AttributeValue::Ns(a), AttributeValue::Ns(b)) => {
            same_set(a, b)
        }
        (AttributeValue::Bs(a), AttributeValue::Bs(b)) => same_set(a, b),
        _ => a == b,
    }
}

fn same_set<T: PartialEq>(a: &[T], b: &[T]) -> bool {
    a.len() == b.len() && a.iter().all(|one| b.contains(one))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;

    fn attributes<const N: usize>(attributes: [(&str, AttributeValue); N]) -> Option<Attributes> {
        Some(attributes.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }

    fn s(text: &str) -> AttributeValue {
        AttributeValue::S(text.to_owned())
    }

    fn changes_nothing(old: Option<Attributes>, new: Option<Attributes>) -> bool {
        let change = StreamRecord::builder().set_old_image(old).set_new_image(new).build();
        Record::new("arn".into(), types::Record::builder().dynamodb(change).build()).changes_nothing()
    }

    #[test]
    fn images_that_differ_in_the_order_of_a_set_are_equal() {
        let image = |tags: [&str; 2]| {
            let tags = AttributeValue::Ss(tags.map(str::to_owned).to_vec());
            attributes([("map", AttributeValue::M(attributes([("tags", tags)]).unwrap())), ("n", s("1"))])
        };
        assert!(changes_nothing(image(["a", "b"]), image(["b", "a"])));
        assert!(!changes_nothing(image(["a", "b"]), image(["b", "c"])));
        assert!(!changes_nothing(image(["a", "b"]), attributes([("n", s("1"))])));
        assert!(!changes_nothing(None, image(["a", "b"])));
    }

    #[test]
    fn the_order_of_a_list_counts() {
        let image = |items: [&str; 2]| attributes([("list", AttributeValue::L(items.map(s).to_vec()))]);
        assert!(changes_nothing(image(["a", "b"]), image(["a", "b"])));
        assert!(!changes_nothing(image(["a", "b"]), image(["b", "a"])));
    }

    #[test]
    fn every_type_of_value_looks_in_an_event_as_in_lambdas() {
        let bytes = |text: &str| aws_sdk_dynamodbstreams::primitives::Blob::new(text);
        let image = attributes([
            ("s", s("text")),
            ("n", AttributeValue::N("1.5".to_owned())),
            ("bool", AttributeValue::Bool(true)),
            ("null", AttributeValue::Null(true)),
            ("map", AttributeValue::M(attributes([("S", s(""))]).unwrap())),
            ("list", AttributeValue::L(vec![s("a"), AttributeValue::L(Vec::new())])),
            ("texts", AttributeValue::Ss(vec!["a".to_owned()])),
            ("numbers", AttributeValue::Ns(vec!["1".to_owned()])),
            ("bytes", AttributeValue::B(bytes("bytes"))),
            ("many", AttributeValue::Bs(vec![bytes("bytes")])),
        ]);
        let change = StreamRecord::builder().set_old_image(image).build();
        let who = types::Identity::builder().r#type("Service").principal_id("dynamodb.amazonaws.com").build();
        let record = types::Record::builder().dynamodb(change).event_name(OperationType::Remove).user_identity(who);
        let event = serde_json::to_value(Record::new("arn".into(), record.build()).event()).unwrap();
        let expected = json!({
            "s": {"S": "text"}, "n": {"N": "1.5"}, "bool": {"BOOL": true}, "null": {"NULL": true},
            "map": {"M": {"S": {"S": ""}}}, "list": {"L": [{"S": "a"}, {"L": []}]}, "texts": {"SS": ["a"]},
            "numbers": {"NS": ["1"]}, "bytes": {"B": "Ynl0ZXM="}, "many": {"BS": ["Ynl0ZXM="]},
        });
        assert_eq!(event["dynamodb"]["OldImage"], expected);
        assert_eq!(event["dynamodb"].get("NewImage"), None);
        assert_eq!(event["eventName"], "REMOVE");
        assert_eq!(event["userIdentity"], json!({"type": "Service", "principalId": "dynamodb.amazonaws.com"}));
    }
}
