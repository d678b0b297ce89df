//! Writes attributes as JSON.

use std::collections::{BTreeMap, HashMap};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sapwood_core::model::{AttributeValue, PLAIN_NUMBER_BYTES_MAX};
use serde::ser::{Error, SerializeMap};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use super::read::{BINARY, MAP, SET};
use super::{Attributes, numbers};

impl Serialize for Attributes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, Value(value))))
    }
}

/// Writes the value of one attribute. Fails as the serializer does, and for a number that is none.
pub fn write_value<S: Serializer>(value: &AttributeValue, serializer: S) -> Result<S::Ok, S::Error> {
    Value(value).serialize(serializer)
}

/// A value of an attribute. A value from a table has at most 32 levels, so this recursion is bounded.
struct Value<'a>(&'a AttributeValue);

impl Serialize for Value<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            AttributeValue::S(text) => serializer.serialize_str(text),
            AttributeValue::N(digits) => Number(digits).serialize(serializer),
            AttributeValue::Bool(value) => serializer.serialize_bool(*value),
            AttributeValue::Null(_) => serializer.serialize_unit(),
            AttributeValue::B(bytes) => Binary(bytes).serialize(serializer),
            AttributeValue::L(list) => serializer.collect_seq(list.iter().map(Value)),
            AttributeValue::M(map) if needs_escape(map) => form(serializer, MAP, &Map(map)),
            AttributeValue::M(map) => Map(map).serialize(serializer),
            AttributeValue::Ss(set) => form(serializer, SET, set),
            AttributeValue::Ns(set) => form(serializer, SET, &set.iter().map(|n| Number(n)).collect::<Vec<_>>()),
            AttributeValue::Bs(set) => form(serializer, SET, &set.iter().map(|b| Binary(b)).collect::<Vec<_>>()),
        }
    }
}

/// Returns true if the map would be read as one of the `$` forms.
fn needs_escape(map: &HashMap<String, AttributeValue>) -> bool {
    map.len() == 1 && map.keys().all(|name| name.starts_with('$'))
}

fn form<S: Serializer>(serializer: S, name: &str, value: &impl Serialize) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(1))?;
    map.serialize_entry(name, value)?;
    map.end()
}

/// A map, written in the order of its names, so that equal maps have equal text and equal hashes.
struct Map<'a>(&'a HashMap<String, AttributeValue>);

impl Serialize for Map<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let sorted: BTreeMap<_, _> = self.0.iter().collect();
        serializer.collect_map(sorted.into_iter().map(|(name, value)| (name, Value(value))))
    }
}

struct Binary<'a>(&'a [u8]);

impl Serialize for Binary<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        form(serializer, BINARY, &STANDARD.encode(self.0))
    }
}

/// A number, as it is if that is JSON and short, else in the shorter of two spellings (`.5`, `+1`, 126 digits).
struct Number<'a>(&'a str);

impl Serialize for Number<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let is_short = self.0.len() <= PLAIN_NUMBER_BYTES_MAX && numbers::is_number(self.0);
        if let (true, Ok(raw)) = (is_short, serde_json::from_str::<&RawValue>(self.0)) {
            return raw.serialize(serializer);
        }
        let spelt = numbers::written(self.0).map_err(|_| S::Error::custom("a number attribute is no number"))?;
        RawValue::from_string(spelt).map_err(S::Error::custom)?.serialize(serializer)
    }
}
