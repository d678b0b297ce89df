//! Digests of items and of what happened, to tell states of a run apart.

use std::hash::{DefaultHasher, Hash, Hasher};

use sapwood_core::model::{AttributeValue, Item};

/// A digest of a value.
pub(super) fn of(value: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// A digest of what came before and of what comes next.
pub(super) fn chained(before: u64, next: u64) -> u64 {
    of(&(before, next))
}

/// A digest of an item.
pub(super) fn of_item(item: &Item) -> u64 {
    of_pairs(item.iter())
}

fn of_pairs<'a>(pairs: impl Iterator<Item = (&'a String, &'a AttributeValue)>) -> u64 {
    // The attributes of a map have no order.
    pairs.map(|(name, value)| chained(of(name), of_value(value))).fold(0, u64::wrapping_add)
}

fn of_value(value: &AttributeValue) -> u64 {
    match value {
        AttributeValue::S(text) => of(text),
        AttributeValue::N(number) => of(&(3, number)),
        AttributeValue::M(map) => chained(1, of_pairs(map.iter())),
        AttributeValue::L(list) => list.iter().map(of_value).fold(2, chained),
        other => of(&format!("{other:?}")),
    }
}
