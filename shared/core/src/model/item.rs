//! Items and attribute values.

use std::collections::BTreeMap;
use std::str::FromStr;

pub use serde_dynamo::AttributeValue;

use crate::keys::{Id, ItemKey, Schema, SortKey};

/// An item: its attributes by name. A reader of a table sorts its sets ([`sort_sets`]), so that equal items compare
/// equal.
pub type Item = BTreeMap<String, AttributeValue>;

/// Largest item, in bytes as DynamoDB counts them: 400 KB ([AWS: constraints][aws]).
///
/// [aws]: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html
pub const ITEM_BYTES_MAX: usize = 400 * 1_024;

/// Returns a text as an attribute value.
pub fn text(value: impl Into<String>) -> AttributeValue {
    AttributeValue::S(value.into())
}

/// Returns a whole number as an attribute value.
pub fn number(value: usize) -> AttributeValue {
    AttributeValue::N(value.to_string())
}

/// Returns the key of an item, if both key attributes exist and are text.
#[must_use]
pub fn key_of(item: &Item, schema: &Schema) -> Option<ItemKey> {
    let names = schema.names();
    Some(ItemKey {
        pk: text_of(item, &names.partition_key)?.to_owned(),
        sk: text_of(item, &names.sort_key)?.to_owned(),
    })
}

/// The depth and the node that an ancestor row shows; `None` for any other item.
pub(crate) fn ancestor_in(row: &Item, schema: &Schema) -> Option<(usize, Id)> {
    match schema.parse_sort_key(&key_of(row, schema)?.sk)? {
        SortKey::Ancestor { depth, id } => Some((depth, id)),
        _ => None,
    }
}

/// Returns an item that has only its key attributes.
#[must_use]
pub fn with_key(key: &ItemKey, schema: &Schema) -> Item {
    let names = schema.names();
    Item::from([(names.partition_key.clone(), text(&key.pk)), (names.sort_key.clone(), text(&key.sk))])
}

/// Returns the value of a text attribute, or `None` if it is missing or of another type.
#[must_use]
pub fn text_of<'a>(item: &'a Item, name: &str) -> Option<&'a str> {
    match item.get(name) {
        Some(AttributeValue::S(value)) => Some(value),
        _ => None,
    }
}

/// Returns the value of an attribute with a whole number, or `None` if it is missing or something else.
#[must_use]
pub fn whole_of<N: FromStr>(item: &Item, name: &str) -> Option<N> {
    match item.get(name) {
        Some(AttributeValue::N(digits)) => digits.parse().ok(),
        _ => None,
    }
}

/// The attributes of a map.
pub(super) fn map_of(value: &AttributeValue) -> Option<Item> {
    let AttributeValue::M(map) = value else { return None };
    Some(map.clone().into_iter().collect())
}

/// Reads a text that may be missing; `None` if it is there, and not as `read` reads it.
pub(super) fn optional<'i>(
    item: &'i Item,
    name: &str,
    read: fn(&'i Item, &str) -> Option<&'i str>,
) -> Option<Option<&'i str>> {
    if item.contains_key(name) { read(item, name).map(Some) } else { Some(None) }
}

pub(super) fn texts(values: impl IntoIterator<Item = impl Into<String>>) -> AttributeValue {
    AttributeValue::L(values.into_iter().map(text).collect())
}

/// Returns the texts of a list, each as `read` reads it. `None` if the attribute is missing or no such list.
pub(super) fn texts_of<T>(item: &Item, name: &str, read: impl Fn(&str) -> Option<T>) -> Option<Vec<T>> {
    match item.get(name) {
        Some(AttributeValue::L(list)) => {
            list.iter().map(|value| if let AttributeValue::S(text) = value { read(text) } else { None }).collect()
        }
        _ => None,
    }
}

/// Returns a flag; false if it is missing, and `None` if it is of another type.
pub(super) fn flag_of(item: &Item, name: &str) -> Option<bool> {
    match item.get(name) {
        None => Some(false),
        Some(AttributeValue::Bool(value)) => Some(*value),
        Some(_) => None,
    }
}

/// Returns the size of an item in bytes, as DynamoDB counts it against its limit of 400 KB and in capacity units: names
/// and values in UTF-8, numbers at about half a byte a digit, 3 bytes for each list or map and 1 for each of its values
/// ([AWS: item sizes][aws]). Numbers are rounded up, so the result is never less than DynamoDB's.
///
/// [aws]: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html
#[must_use]
pub fn item_bytes(item: &Item) -> usize {
    item.iter().map(|(name, value)| attribute_bytes(name, value)).sum()
}

pub(super) fn attribute_bytes(name: &str, value: &AttributeValue) -> usize {
    name.len() + value_bytes(value)
}

fn value_bytes(value: &AttributeValue) -> usize {
    match value {
        AttributeValue::S(text) => text.len(),
        AttributeValue::N(digits) => number_bytes(digits),
        AttributeValue::B(bytes) => bytes.len(),
        AttributeValue::Bool(_) | AttributeValue::Null(_) => 1,
        AttributeValue::Ss(set) => set.iter().map(String::len).sum(),
        AttributeValue::Ns(set) => set.iter().map(|n| number_bytes(n)).sum(),
        AttributeValue::Bs(set) => set.iter().map(Vec::len).sum(),
        AttributeValue::L(list) => 3 + list.iter().map(|v| 1 + value_bytes(v)).sum::<usize>(),
        AttributeValue::M(map) => 3 + map.iter().map(|(name, v)| 1 + name.len() + value_bytes(v)).sum::<usize>(),
    }
}

/// Returns the size of a number: a byte for the exponent, one for each two significant digits, one more in case the
/// point falls between two of them, and one for a minus sign. Leading and trailing zeros take no room. How the
/// exponent is spelt takes none: DynamoDB Local returns numbers within lists and maps as they were written.
fn number_bytes(text: &str) -> usize {
    let mantissa = text.bytes().position(|byte| matches!(byte, b'e' | b'E')).map_or(text, |end| &text[..end]);
    let digits = mantissa.trim_start_matches(['-', '0', '.']).trim_end_matches(['0', '.']);
    digits.len().div_ceil(2) + 2 + usize::from(text.starts_with('-'))
}

/// Sorts the sets in a value. DynamoDB returns their elements in any order, and equal items must compare equal.
pub fn sort_sets(value: &mut AttributeValue) {
    match value {
        AttributeValue::Ss(set) | AttributeValue::Ns(set) => set.sort(),
        AttributeValue::Bs(set) => set.sort(),
        AttributeValue::L(list) => list.iter_mut().for_each(sort_sets),
        AttributeValue::M(map) => map.values_mut().for_each(sort_sets),
        _ => {}
    }
}
