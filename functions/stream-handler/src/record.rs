//! Decoding one record of a stream.

use std::time::Duration;

use aws_lambda_events::event::dynamodb::EventRecord;
use sapwood_core::keys::{ItemKey, Schema};
use sapwood_core::model::{Item, key_of, sort_sets};
use sapwood_core::plan::{Event, Problem, StreamRecord};
use serde::Deserialize;
use serde_dynamo::AttributeValue;
use serde_json::value::RawValue;

/// One record, decoded.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// What it says.
    pub change: StreamRecord,
    /// When the item was written, in milliseconds since 1970; the stream knows it to the second.
    pub written_at: Option<u64>,
}

/// The least that a record must say: which item, and where in the stream. A record whose images can't be decoded is
/// handled by that alone, since the fan-out looks at the present state anyway.
#[derive(Deserialize)]
struct Least<'a> {
    // Raw: not even a name that is no text keeps the item from being handled.
    #[serde(default, borrow, rename = "eventName")]
    event_name: Option<&'a RawValue>,
    #[serde(borrow)]
    dynamodb: LeastChange<'a>,
}

#[derive(Deserialize)]
struct LeastChange<'a> {
    #[serde(rename = "Keys")]
    keys: std::collections::BTreeMap<String, AttributeValue>,
    #[serde(rename = "SequenceNumber")]
    sequence_number: String,
    // Raw, too: it is wanted for a figure, and nothing that stands there keeps the item from being handled.
    #[serde(default, borrow, rename = "ApproximateCreationDateTime")]
    written_at: Option<&'a RawValue>,
}

/// Decodes one record from its JSON.
///
/// # Errors
/// A [`Problem`] where it doesn't even say which item it is about.
pub fn decode(json: &str, schema: &Schema) -> Result<Record, Problem> {
    if let Some(record) = serde_json::from_str(json).ok().and_then(|record| whole(record, schema)) {
        return Ok(record);
    }
    let least = serde_json::from_str::<Least<'_>>(json).ok().and_then(|Least { event_name, dynamodb }| {
        let change = StreamRecord {
            key: key_of(&dynamodb.keys, schema)?,
            // Reported as failed, an empty one would fail the whole batch.
            sequence: Some(dynamodb.sequence_number).filter(|sequence| !sequence.is_empty())?,
            event: event(event_name.map_or("", |name| name.get().trim_matches('"'))),
            old: None,
            new: None,
        };
        Some(Record { change, written_at: dynamodb.written_at.and_then(milliseconds) })
    });
    least.ok_or_else(|| Problem {
        key: ItemKey::new("", ""),
        reason: "this record names no item: it has no `Keys` with the table's key attributes as text, or no `SequenceNumber`"
            .to_owned(),
        unreadable: true,
    })
}

fn whole(record: EventRecord, schema: &Schema) -> Option<Record> {
    let change = record.change;
    // A record without a time has that of 1970.
    let written_at = u64::try_from(change.approximate_creation_date_time.timestamp_millis()).ok().filter(|at| *at > 0);
    let change = StreamRecord {
        key: key_of(&item(change.keys)?, schema)?,
        sequence: change.sequence_number.filter(|sequence| !sequence.is_empty())?,
        event: event(&record.event_name),
        old: item(change.old_image),
        new: item(change.new_image),
    };
    Some(Record { change, written_at })
}

/// Of a number of seconds, if it is one.
fn milliseconds(seconds: &RawValue) -> Option<u64> {
    let seconds = seconds.get().parse::<f64>().ok().filter(|seconds| *seconds > 0.0)?;
    Duration::try_from_secs_f64(seconds).ok()?.as_millis().try_into().ok()
}

/// An image; none where it is missing, which can't be told from an empty one.
fn item(image: serde_dynamo::Item) -> Option<Item> {
    let mut item: Item = image.into_inner().into_iter().collect();
    item.values_mut().for_each(sort_sets);
    (!item.is_empty()).then_some(item)
}

/// A name that isn't known counts as a change: that asks for the most.
fn event(name: &str) -> Event {
    match name {
        "INSERT" => Event::Insert,
        "REMOVE" => Event::Remove,
        _ => Event::Modify,
    }
}
