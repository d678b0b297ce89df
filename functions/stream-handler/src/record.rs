//! Decoding one record of a stream.

use aws_lambda_events::event::dynamodb::EventRecord;
use sapwood::keys::{ItemKey, Schema};
use sapwood::model::{Item, key_of, sort_sets};
use sapwood::plan::{Change, Event, Problem};
use serde::Deserialize;
use serde_dynamo::AttributeValue;
use serde_json::value::RawValue;

/// The least that a record must say: which item, and where in the stream. A record whose images can't be decoded is
/// handled by that alone, since the fan-out looks at the present state anyway.
#[derive(Deserialize)]
struct Least<'a> {
    // Raw: not even a name that is no text keeps the item from being handled.
    #[serde(default, borrow, rename = "eventName")]
    event_name: Option<&'a RawValue>,
    dynamodb: LeastChange,
}

#[derive(Deserialize)]
struct LeastChange {
    #[serde(rename = "Keys")]
    keys: std::collections::BTreeMap<String, AttributeValue>,
    #[serde(rename = "SequenceNumber")]
    sequence_number: String,
}

/// Decodes one record from its JSON.
///
/// # Errors
/// A [`Problem`] where it doesn't even say which item it is about.
pub fn decode(json: &str, schema: &Schema) -> Result<Change, Problem> {
    if let Some(change) = serde_json::from_str(json).ok().and_then(|record| whole(record, schema)) {
        return Ok(change);
    }
    let least = serde_json::from_str::<Least<'_>>(json).ok().and_then(|Least { event_name, dynamodb }| {
        Some(Change {
            key: key_of(&dynamodb.keys, schema)?,
            // Reported as failed, an empty one would fail the whole batch.
            sequence: Some(dynamodb.sequence_number).filter(|sequence| !sequence.is_empty())?,
            event: event(event_name.map_or("", |name| name.get().trim_matches('"'))),
            old: None,
            new: None,
        })
    });
    least.ok_or_else(|| Problem {
        key: ItemKey::new("", ""),
        reason: "this record names no item: it has no `Keys` with the table's key attributes as text, or no `SequenceNumber`"
            .to_owned(),
    })
}

fn whole(record: EventRecord, schema: &Schema) -> Option<Change> {
    let change = record.change;
    Some(Change {
        key: key_of(&item(change.keys)?, schema)?,
        sequence: change.sequence_number.filter(|sequence| !sequence.is_empty())?,
        event: event(&record.event_name),
        old: item(change.old_image),
        new: item(change.new_image),
    })
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
