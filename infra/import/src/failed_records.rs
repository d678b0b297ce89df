//! Reads the records that an event source gave up, and collects the keys of their items, for `sapwood redrive`.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, BufReader, Read};

use rusqlite::Connection;
use sapwood_core::keys::{ItemKey, Schema};
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error as _, MapAccess, Visitor};
use thiserror::Error;

use crate::work::WorkError;

/// The largest object that is read, in bytes. Lambda sends 6 MB of records at most, and their text takes twice as much.
pub const OBJECT_BYTES_MAX: usize = 64 * 1_024 * 1_024;

/// The memory of SQLite's cache, in bytes.
pub(crate) const CACHE_BYTES: i64 = 16 * 1_024 * 1_024;

/// Distinct keys, in a temporary file that SQLite deletes. Memory stays bounded, whatever the number of keys.
#[derive(Debug)]
pub struct LostKeys {
    connection: Connection,
}

impl LostKeys {
    /// Makes an empty collection.
    pub fn new() -> Result<Self, WorkError> {
        let connection = Connection::open("")?;
        connection.pragma_update(None, "cache_size", -CACHE_BYTES / 1_024)?;
        connection.pragma_update(None, "journal_mode", "OFF")?;
        connection.pragma_update(None, "synchronous", "OFF")?;
        connection.execute_batch("CREATE TABLE key (pk TEXT, sk TEXT, PRIMARY KEY (pk, sk)) WITHOUT ROWID; BEGIN")?;
        Ok(Self { connection })
    }

    /// Adds a key, unless it is there.
    pub fn add(&mut self, key: &ItemKey) -> Result<(), WorkError> {
        let mut statement = self.connection.prepare_cached("INSERT OR IGNORE INTO key VALUES (?, ?)")?;
        statement.execute([&key.pk, &key.sk])?;
        Ok(())
    }

    /// The number of keys.
    pub fn count(&self) -> Result<u64, WorkError> {
        Ok(self.connection.query_row("SELECT count(*) FROM key", [], |row| row.get(0))?)
    }

    /// Returns the next keys after this one, in their order.
    pub fn next(&self, after: Option<&ItemKey>, keys_max: usize) -> Result<Vec<ItemKey>, WorkError> {
        let (pk, sk) = after.map_or(("", ""), |key| (key.pk.as_str(), key.sk.as_str()));
        let sql = "SELECT pk, sk FROM key WHERE (pk, sk) > (?, ?) ORDER BY pk, sk LIMIT ?";
        let mut statement = self.connection.prepare_cached(sql)?;
        let limit = i64::try_from(keys_max).unwrap_or(i64::MAX);
        let rows = statement.query_map(rusqlite::params![pk, sk, limit], |row| {
            Ok(ItemKey::new(row.get::<_, String>(0)?, row.get::<_, String>(1)?))
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

/// Why a file isn't one of failed records.
#[derive(Debug, Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum LostError {
    /// The file can't be read from this line, or this object, on. Both are counted from 1.
    #[error("{at}: {reason}")]
    Unreadable { at: String, reason: String },
    /// The keys can't be kept.
    #[error(transparent)]
    Work(#[from] WorkError),
}

/// A record that doesn't name an item of the table.
#[derive(Debug, PartialEq, Eq, Error)]
#[error("a record's key has no texts {partition_key} and {sort_key}; name the table's key attributes")]
pub struct NoKey {
    partition_key: String,
    sort_key: String,
}

/// Returns the key of a record's item, or [`NoKey`] if the record lacks a text for one of the table's key attributes.
pub fn key_of(schema: &Schema, mut text: impl FnMut(&str) -> Option<String>) -> Result<ItemKey, NoKey> {
    let names = schema.names();
    match (text(&names.partition_key), text(&names.sort_key)) {
        (Some(pk), Some(sk)) => Ok(ItemKey::new(pk, sk)),
        _ => Err(NoKey { partition_key: names.partition_key.clone(), sort_key: names.sort_key.clone() }),
    }
}

/// Reads objects as Lambda puts them into the bucket of failed records: JSON with a `payload`, which is the event or
/// its text. Adds the keys of all items that the records name, up to the first object that can't be read.
pub fn read(input: impl Read, schema: &Schema, keys: &mut LostKeys) -> Result<(), LostError> {
    let read = Cell::new(0);
    let input = BufReader::new(Bounded { input, read: &read });
    for (number, object) in serde_json::Deserializer::from_reader(input).into_iter::<Object>().enumerate() {
        let object = object.map_err(|error| unreadable(&error))?;
        read.set(0);
        for record in object.payload.0.records {
            let mut attributes = record.dynamodb.keys;
            let key = key_of(schema, |name| attributes.remove(name).and_then(|attribute| attribute.text));
            let unreadable = |error: NoKey| LostError::Unreadable {
                at: format!("object {}", number + 1),
                reason: error.to_string(),
            };
            keys.add(&key.map_err(unreadable)?)?;
        }
    }
    Ok(())
}

fn unreadable(error: &serde_json::Error) -> LostError {
    let reason = format!("not an object of the bucket of failed records ({error})");
    LostError::Unreadable { at: format!("line {}", error.line().max(1)), reason }
}

/// A reader that refuses an object that is too large.
struct Bounded<'a, R> {
    input: R,
    read: &'a Cell<usize>,
}

impl<R: Read> Read for Bounded<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.input.read(buffer)?;
        self.read.set(self.read.get() + bytes);
        if self.read.get() > OBJECT_BYTES_MAX {
            return Err(io::Error::other(format!("an object has more than {OBJECT_BYTES_MAX} bytes")));
        }
        Ok(bytes)
    }
}

#[derive(Deserialize)]
struct Object {
    payload: Payload,
}

struct Payload(Event);

#[derive(Deserialize)]
struct Event {
    #[serde(rename = "Records")]
    records: Vec<Record>,
}

#[derive(Deserialize)]
struct Record {
    dynamodb: Change,
}

#[derive(Deserialize)]
struct Change {
    #[serde(rename = "Keys")]
    keys: BTreeMap<String, Attribute>,
}

#[derive(Deserialize)]
struct Attribute {
    #[serde(rename = "S")]
    text: Option<String>,
}

impl<'de> Deserialize<'de> for Payload {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(EventOrText).map(Payload)
    }
}

struct EventOrText;

impl<'de> Visitor<'de> for EventOrText {
    type Value = Event;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an event of a stream, or its text")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Event, E> {
        // In brackets: serde_json would take the place in the payload at the message's end for that in the file.
        serde_json::from_str(text).map_err(|error| E::custom(format!("in the payload ({error})")))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Event, A::Error> {
        Event::deserialize(MapAccessDeserializer::new(map)).map_err(A::Error::custom)
    }
}
