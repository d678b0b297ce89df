//! Reads attributes from JSON.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sapwood_core::model::AttributeValue;
use sapwood_keys::{Decimal, NumberFault};
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::numbers::{NUMBER, is_number};
use super::{Attributes, FromJson, JsonError, Place};

/// The most levels of lists and maps in an attribute. DynamoDB allows 32, and counts the item itself as one.
pub(super) const NESTED_MAX: usize = 31;

/// The longest name of an attribute, in bytes.
pub(super) const NAME_BYTES_MAX: usize = 65_535;

pub(super) const BINARY: &str = "$binary";
pub(super) const SET: &str = "$set";
pub(super) const MAP: &str = "$map";

/// The members of an object. No name comes twice.
pub(super) type Members<'a> = BTreeMap<String, &'a RawValue>;

impl FromJson for Attributes {
    const WANTED: &'static str = "an object of attributes";

    fn from_json(raw: &RawValue, at: &Place<'_>) -> Result<Self, JsonError> {
        each(members(raw, at, Self::WANTED)?, at, |raw, at| value(raw, at, NESTED_MAX)).map(Self)
    }
}

/// Reads attributes within something else, by serde_json alone. [`read`](super::read) returns errors with a kind.
impl<'de> Deserialize<'de> for Attributes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        Self::from_json(&raw, &Place::Body).map_err(|error| D::Error::custom(format_args!("{}: {error}", error.path())))
    }
}

/// Reads a value with at most `levels` levels of lists and maps, which bounds this recursion.
pub(super) fn value(raw: &RawValue, at: &Place<'_>, levels: usize) -> Result<AttributeValue, JsonError> {
    Ok(match raw.get().as_bytes().first() {
        Some(b'n') => AttributeValue::Null(true),
        Some(b't') => AttributeValue::Bool(true),
        Some(b'f') => AttributeValue::Bool(false),
        Some(b'"') => AttributeValue::S(text(raw, at)?),
        Some(b'[') => {
            let below = below(levels, at)?;
            let list = list(raw, at, "a list")?.into_iter().enumerate();
            let read = |(position, raw): (usize, &RawValue)| value(raw, &Place::Element(at, position), below);
            AttributeValue::L(list.map(read).collect::<Result<_, _>>()?)
        }
        Some(b'{') => match object(raw, at)? {
            Object::Value(value) => value,
            Object::Map(members) => {
                let below = below(levels, at)?;
                AttributeValue::M(each(members, at, |raw, at| value(raw, at, below))?)
            }
        },
        _ => AttributeValue::N(number_text(raw.get(), at)?),
    })
}

/// The meaning of a JSON object.
pub(super) enum Object<'a> {
    /// Binary, a set, or a number as text.
    Value(AttributeValue),
    Map(Members<'a>),
}

/// Returns the meaning of an object. An object stands for itself, unless its only name begins with `$`.
pub(super) fn object<'a>(raw: &'a RawValue, at: &Place<'_>) -> Result<Object<'a>, JsonError> {
    let members = members(raw, at, "an object")?;
    let (Some((name, inner)), 1) = (members.first_key_value(), members.len()) else { return Ok(Object::Map(members)) };
    let within = Place::Member(at, name);
    match name.as_str() {
        BINARY => Ok(Object::Value(AttributeValue::B(binary(inner, &within)?))),
        NUMBER => Ok(Object::Value(AttributeValue::N(number_text_of(inner, &within)?))),
        SET => Ok(Object::Value(set(inner, &within)?)),
        MAP => Ok(Object::Map(self::members(inner, &within, "an object")?)),
        name if name.starts_with('$') => Err(JsonError::Form { path: within.to_string() }),
        _ => Ok(Object::Map(members)),
    }
}

/// Returns the number of levels that are left below a list or a map.
pub(super) fn below(levels: usize, at: &Place<'_>) -> Result<usize, JsonError> {
    levels.checked_sub(1).ok_or_else(|| JsonError::Nested { path: at.to_string() })
}

/// Reads each member of an object. `read` reads its value.
pub(super) fn each<V, M: FromIterator<(String, V)>>(
    members: Members<'_>,
    at: &Place<'_>,
    read: impl Fn(&RawValue, &Place<'_>) -> Result<V, JsonError>,
) -> Result<M, JsonError> {
    let read = |(name, raw): (String, &RawValue)| {
        let at = Place::Member(at, &name);
        check_name(&name, &at)?;
        let value = read(raw, &at)?;
        Ok((name, value))
    };
    members.into_iter().map(read).collect()
}

fn check_name(name: &str, at: &Place<'_>) -> Result<(), JsonError> {
    match name.len() {
        0 => Err(JsonError::EmptyName { path: at.to_string() }),
        bytes if bytes > NAME_BYTES_MAX => Err(JsonError::LongName { path: at.to_string(), bytes }),
        _ => Ok(()),
    }
}

pub(super) fn members<'a>(raw: &'a RawValue, at: &Place<'_>, wanted: &'static str) -> Result<Members<'a>, JsonError> {
    if !raw.get().starts_with('{') {
        return Err(JsonError::Type { path: at.to_string(), wanted });
    }
    // The grammar was checked when the body was read, so all that can be wrong is a name with half a surrogate pair.
    let Pairs(pairs) = serde_json::from_str(raw.get()).map_err(|_| JsonError::NoText { path: at.to_string() })?;
    let mut members = Members::new();
    for (name, raw) in pairs {
        if members.contains_key(&name) {
            return Err(JsonError::Twice { path: Place::Member(at, &name).to_string() });
        }
        members.insert(name, raw);
    }
    Ok(members)
}

/// Reads the elements of a list. `wanted` says what the JSON must be. Fails if it is no list.
pub fn list<'a>(raw: &'a RawValue, at: &Place<'_>, wanted: &'static str) -> Result<Vec<&'a RawValue>, JsonError> {
    serde_json::from_str(raw.get()).map_err(|_| JsonError::Type { path: at.to_string(), wanted })
}

/// Reads a text. Fails for any other value.
pub fn text(raw: &RawValue, at: &Place<'_>) -> Result<String, JsonError> {
    if !raw.get().starts_with('"') {
        return Err(JsonError::Type { path: at.to_string(), wanted: "a string" });
    }
    serde_json::from_str(raw.get()).map_err(|_| JsonError::NoText { path: at.to_string() })
}

fn number_text_of(raw: &RawValue, at: &Place<'_>) -> Result<String, JsonError> {
    number_text(&text(raw, at)?, at)
}

/// Returns a number in the one spelling that DynamoDB gives back: plain digits, without an exponent. Fails if the text
/// isn't a number, or not one that DynamoDB keeps.
pub fn number_text(text: &str, at: &Place<'_>) -> Result<String, JsonError> {
    let path = || at.to_string();
    Decimal::read(text).map(|number| number.plain()).map_err(|fault| match fault {
        NumberFault::Digits(digits) => JsonError::Digits { path: path(), digits },
        NumberFault::Range => JsonError::Range { path: path() },
        NumberFault::NoNumber => JsonError::Type { path: path(), wanted: "a number" },
    })
}

fn binary(raw: &RawValue, at: &Place<'_>) -> Result<Vec<u8>, JsonError> {
    STANDARD.decode(text(raw, at)?).map_err(|_| JsonError::Base64 { path: at.to_string() })
}

fn set(raw: &RawValue, at: &Place<'_>) -> Result<AttributeValue, JsonError> {
    let list = list(raw, at, "a list")?;
    let Some(first) = list.first() else { return Err(JsonError::EmptySet { path: at.to_string() }) };
    if first.get().starts_with('"') {
        let read = |raw: &RawValue, at: &Place<'_>| {
            if raw.get().starts_with('"') { text(raw, at).map(Some) } else { Ok(None) }
        };
        return distinct(&list, at, read).map(AttributeValue::Ss);
    }
    if is_number(first.get()) || form(first, at, NUMBER)?.is_some() {
        let read = |raw: &RawValue, at: &Place<'_>| match form(raw, at, NUMBER)? {
            Some(text) => number_text_of(text, &Place::Member(at, NUMBER)).map(Some),
            None if is_number(raw.get()) => number_text(raw.get(), at).map(Some),
            None => Ok(None),
        };
        return distinct(&list, at, read).map(AttributeValue::Ns);
    }
    let read = |raw: &RawValue, at: &Place<'_>| match form(raw, at, BINARY)? {
        Some(text) => binary(text, &Place::Member(at, BINARY)).map(Some),
        None => Ok(None),
    };
    distinct(&list, at, read).map(AttributeValue::Bs)
}

/// Returns what an object has under its only name; `None` if the value is no object, or has another name.
fn form<'a>(raw: &'a RawValue, at: &Place<'_>, name: &str) -> Result<Option<&'a RawValue>, JsonError> {
    if !raw.get().starts_with('{') {
        return Ok(None);
    }
    let members = members(raw, at, "an object")?;
    Ok(members.get(name).copied().filter(|_| members.len() == 1))
}

/// Reads the values of a set and sorts them. `read` returns `None` for a value of another kind.
fn distinct<T: Ord>(
    list: &[&RawValue],
    at: &Place<'_>,
    read: impl Fn(&RawValue, &Place<'_>) -> Result<Option<T>, JsonError>,
) -> Result<Vec<T>, JsonError> {
    let mut set = BTreeSet::new();
    for (position, raw) in list.iter().enumerate() {
        let at = Place::Element(at, position);
        let value = read(raw, &at)?.ok_or_else(|| JsonError::MixedSet { path: at.to_string() })?;
        if !set.insert(value) {
            return Err(JsonError::SetTwice { path: at.to_string() });
        }
    }
    Ok(set.into_iter().collect())
}

/// The members of an object, in their order in the text.
struct Pairs<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Pairs<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(PairsVisitor).map(Pairs)
    }
}

struct PairsVisitor;

impl<'de> Visitor<'de> for PairsVisitor {
    type Value = Vec<(String, &'de RawValue)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut pairs = Vec::new();
        while let Some(pair) = map.next_entry()? {
            pairs.push(pair);
        }
        Ok(pairs)
    }
}
