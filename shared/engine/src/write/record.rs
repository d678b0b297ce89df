//! How a base record of the API is made of what there was, and what must still hold of that when it is written.

use super::content::{Content, Patch, ValueChange};
use super::{Stamp, WriteError};
use sapwood_core::keys::{ItemKey, Schema};
use sapwood_core::model::{
    AttributeValue, CREATED_AT, CREATED_BY, DELETING, ITEM_BYTES_MAX, Item, REVISION, TOUCHED, UNDER, UPDATED_AT,
    UPDATED_BY, item_bytes, number, text, with_key,
};
use sapwood_table::{Action, Condition, Update};

/// What is kept free in a node's record for what the stream writes into it: the touch of a parent with the longest id, and
/// the mark of a removal.
const ROOM_BYTES: usize = 1_536;

/// Most attributes that a condition compares. DynamoDB has at most 300 operators in an expression.
const COMPARED_MAX: usize = 120;

/// A record as it is to be, and how it is written.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Draft {
    pub(super) key: ItemKey,
    /// The item afterwards.
    pub(super) item: Item,
    /// Only what changes, where the rest stays.
    pub(super) update: Option<Update>,
    /// What must hold of the item before.
    pub(super) condition: Condition,
}

impl Draft {
    pub(super) fn action(&self) -> Action {
        let (key, condition) = (self.key.clone(), self.condition.clone());
        match &self.update {
            Some(update) => Action::Update { key, update: update.clone(), condition },
            None => Action::Put { key, item: self.item.clone(), condition },
        }
    }

    /// That it isn't too large.
    pub(super) fn check(self) -> Result<Self, WriteError> {
        let (bytes, limit) = (item_bytes(&self.item), ITEM_BYTES_MAX - ROOM_BYTES);
        if bytes > limit { Err(WriteError::TooLarge { bytes, limit }) } else { Ok(self) }
    }
}

/// A node's record anew, in the place of one or of none.
pub(super) fn anew(
    key: ItemKey,
    content: &Content,
    before: Option<&Item>,
    strict: bool,
    stamp: &Stamp,
    schema: &Schema,
) -> Draft {
    let names = schema.names();
    let mut item = base(&key, &content.attributes, before, stamp, schema);
    if let Some(parent) = &content.parent {
        item.insert(names.parent.clone(), text(parent.as_str()));
        item.insert(UNDER.to_owned(), text(parent.as_str()));
    }
    if let Some(segment) = &content.segment {
        item.insert(names.segment.clone(), text(segment));
    }
    Draft { key, item, update: None, condition: still(before, strict, schema) }
}

/// A base record without what makes it a node: a revision's.
pub(super) fn base(key: &ItemKey, attributes: &Item, before: Option<&Item>, stamp: &Stamp, schema: &Schema) -> Item {
    let mut item = with_key(key, schema);
    item.extend(attributes.clone());
    item.extend(stamped(before, stamp));
    item
}

/// A node's record with what a patch changes. `None`: nothing.
pub(super) fn patched(
    key: ItemKey,
    patch: &Patch,
    before: &Item,
    strict: bool,
    stamp: &Stamp,
    schema: &Schema,
) -> Option<Draft> {
    let names = schema.names();
    let mut changes = patch.changes(before, schema);
    // A map that is merged is written whole, so it must be the one that was read.
    let merged = patch.attributes.iter().filter(|(_, change)| matches!(change, ValueChange::Merge(_)));
    let read = merged.map(|(name, _)| Condition::is(name, before.get(name).cloned())).take(COMPARED_MAX).collect();
    if let Some(parent) = &patch.parent {
        let value = parent.as_ref().map(|id| text(id.as_str()));
        if before.get(&names.parent) != value.as_ref() {
            changes.insert(UNDER.to_owned(), value.clone());
            changes.insert(names.parent.clone(), value);
        }
    }
    if let Some(segment) = &patch.segment {
        let value = segment.as_ref().map(text);
        if before.get(&names.segment) != value.as_ref() {
            changes.insert(names.segment.clone(), value);
        }
    }
    if changes.is_empty() {
        return None;
    }
    let stamps = stamped(Some(before), stamp).into_iter();
    changes.extend(stamps.filter(|(name, value)| before.get(name) != Some(value)).map(|(n, v)| (n, Some(v))));
    let update = Update {
        remove: changes.iter().filter(|(_, value)| value.is_none()).map(|(name, _)| name.clone()).collect(),
        set: changes.into_iter().filter_map(|(name, value)| Some((name, value?))).collect(),
    };
    let condition = all(still(Some(before), strict, schema), read);
    Some(Draft { key, item: update.of(before.clone()), update: Some(update), condition })
}

/// Ours of every record that the API writes.
fn stamped(before: Option<&Item>, stamp: &Stamp) -> Item {
    let kept = |name: &str, new: &str| before.and_then(|item| item.get(name)).cloned().unwrap_or_else(|| text(new));
    let mut item = Item::from([
        (REVISION.to_owned(), number(written(before) + 1)),
        (CREATED_AT.to_owned(), kept(CREATED_AT, &stamp.at)),
        (CREATED_BY.to_owned(), kept(CREATED_BY, &stamp.by)),
        (UPDATED_AT.to_owned(), text(&stamp.at)),
        (UPDATED_BY.to_owned(), text(&stamp.by)),
    ]);
    stamp.mark(&mut item);
    item
}

/// How often the API has written it.
fn written(before: Option<&Item>) -> usize {
    match before.and_then(|item| item.get(REVISION)) {
        Some(AttributeValue::N(digits)) => digits.parse().unwrap_or(0),
        _ => 0,
    }
}

/// That a record is still what was read: by the number of the API's last write, and by its attributes where there is none
/// or where a caller asked for exactly this record. A touch changes nothing of what counts.
pub(super) fn still(before: Option<&Item>, strict: bool, schema: &Schema) -> Condition {
    let Some(item) = before else { return Condition::Absent };
    let names = schema.names();
    let always = [names.parent.as_str(), DELETING, REVISION];
    let mut conditions = vec![Condition::Exists];
    conditions.extend(always.map(|name| Condition::is(name, item.get(name).cloned())));
    if strict || !item.contains_key(REVISION) {
        let skipped = [names.partition_key.as_str(), names.sort_key.as_str(), TOUCHED];
        let compared =
            item.iter().filter(|(name, _)| !always.contains(&name.as_str()) && !skipped.contains(&name.as_str()));
        conditions.extend(compared.take(COMPARED_MAX).map(|(name, value)| Condition::is(name, Some(value.clone()))));
    }
    Condition::All(conditions)
}

fn all(condition: Condition, others: Vec<Condition>) -> Condition {
    match condition {
        Condition::All(mut conditions) => {
            let new: Vec<_> = others.into_iter().filter(|other| !conditions.contains(other)).collect();
            conditions.extend(new);
            Condition::All(conditions)
        }
        condition => Condition::All(std::iter::once(condition).chain(others).collect()),
    }
}
