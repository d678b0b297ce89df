//! Decodes the records of a stream, one by one.

use std::time::Duration;

use aws_lambda_events::event::dynamodb::EventRecord;
use sapwood_core::fanout::{Event, StreamRecord};
use sapwood_core::keys::{ItemKey, Schema};
use sapwood_core::model::{Item, key_of, sort_sets};
use sapwood_core::plan::Problem;
use serde::Deserialize;
use serde_dynamo::AttributeValue;
use serde_json::value::RawValue;

/// A decoded record.
#[derive(Clone, Debug, PartialEq)]
pub struct Decoded {
    /// The record.
    pub record: StreamRecord,
    /// The time at which the item was written, in milliseconds since 1970. The stream gives whole seconds.
    pub written_at: Option<u64>,
}

/// A record's key and sequence number. They suffice, because the fan-out looks at the present state, not at the event.
#[derive(Deserialize)]
struct Least<'a> {
    // The name is raw, so that even a name that isn't text doesn't keep the item from being handled.
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
    // The time is raw for the same reason. Only a metric needs it.
    #[serde(default, borrow, rename = "ApproximateCreationDateTime")]
    written_at: Option<&'a RawValue>,
}

/// Decodes one record from its JSON.
///
/// # Errors
/// A [`Problem`] if the record doesn't name its item, or has no sequence number.
pub fn decode(json: &str, schema: &Schema) -> Result<Decoded, Problem> {
    if let Some(record) = serde_json::from_str(json).ok().and_then(|record| whole(record, schema)) {
        return Ok(record);
    }
    let least = serde_json::from_str::<Least<'_>>(json).ok().and_then(|Least { event_name, dynamodb }| {
        let record = StreamRecord {
            key: key_of(&dynamodb.keys, schema)?,
            // An empty sequence number, reported as failed, would fail the whole batch.
            sequence: Some(dynamodb.sequence_number).filter(|sequence| !sequence.is_empty())?,
            event: event(event_name.map_or("", |name| name.get().trim_matches('"'))),
            old: None,
            new: None,
        };
        Some(Decoded { record, written_at: dynamodb.written_at.and_then(milliseconds) })
    });
    least.ok_or_else(|| Problem {
        key: ItemKey::new("", ""),
        reason: "this record names no item: it has no `Keys` with the table's key attributes as text, or no `SequenceNumber`"
            .to_owned(),
        unreadable: true,
    })
}

fn whole(record: EventRecord, schema: &Schema) -> Option<Decoded> {
    let change = record.change;
    // `EventRecord` gives a record without a time the first moment of 1970.
    let written_at = u64::try_from(change.approximate_creation_date_time.timestamp_millis()).ok().filter(|at| *at > 0);
    let record = StreamRecord {
        key: key_of(&item(change.keys)?, schema)?,
        sequence: change.sequence_number.filter(|sequence| !sequence.is_empty())?,
        event: event(&record.event_name),
        old: item(change.old_image),
        new: item(change.new_image),
    };
    Some(Decoded { record, written_at })
}

fn milliseconds(seconds: &RawValue) -> Option<u64> {
    let seconds = seconds.get().parse::<f64>().ok().filter(|seconds| *seconds > 0.0)?;
    Duration::try_from_secs_f64(seconds).ok()?.as_millis().try_into().ok()
}

/// Returns an image with its sets sorted; `None` if the record has no such image, which looks like an empty one.
fn item(image: serde_dynamo::Item) -> Option<Item> {
    let mut item: Item = image.into_inner().into_iter().collect();
    item.values_mut().for_each(sort_sets);
    (!item.is_empty()).then_some(item)
}

/// An unknown name counts as `Modify`, because no work is left out for it.
fn event(name: &str) -> Event {
    match name {
        "INSERT" => Event::Insert,
        "REMOVE" => Event::Remove,
        _ => Event::Modify,
    }
}
