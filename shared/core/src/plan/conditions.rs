//! Conditions on a base record: that it is still as it was read, or still gone.

use thiserror::Error;

use crate::keys::{Id, Schema};
use crate::model::{
    BORN, COPYING, CREATED_AT, DELETING, Item, NameClaim, PUT_BACK, REVISION, TOUCHED, TRASHED, UNDER, UPDATED_AT,
    WRITE, text,
};
use crate::request::Condition;

/// Most attributes that one condition compares. DynamoDB takes expressions of at most 4 KB, and at most 300 operators
/// in one ([AWS: constraints](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html)); each
/// comparison takes 22 bytes and two operators at most.
pub const COMPARED_ATTRIBUTES_MAX: usize = 140;

/// A record of another client has too many attributes for one condition to compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "the record has {attributes} attributes to compare, over the limit of {COMPARED_ATTRIBUTES_MAX}; put some of them into a map, or replace the record by a PUT without If-Match"
)]
pub struct TooManyAttributes {
    /// The number of attributes to compare.
    pub attributes: usize,
}

/// Returns the condition that a base record is still as it was read. For a record that the API has written, it compares
/// the number and the time of the last write, the parent, the segment and the deletion mark. For any other record, and
/// with `strict` for every record, it compares all attributes except [`TOUCHED`], since a touch changes nothing that
/// matters.
///
/// # Errors
/// [`TooManyAttributes`] if one condition can't compare them all.
pub fn unchanged(item: &Item, strict: bool, schema: &Schema) -> Result<Condition, TooManyAttributes> {
    if !strict && item.contains_key(REVISION) {
        return Ok(own_unchanged(item, schema));
    }
    let names = schema.names();
    let own = own_names(schema);
    let skipped = [&names.partition_key, &names.sort_key, TOUCHED];
    let others = item.keys().filter(|name| !own.contains(&name.as_str()) && !skipped.contains(&name.as_str()));
    let names: Vec<&str> = own.into_iter().chain(others.map(String::as_str)).collect();
    if names.len() > COMPARED_ATTRIBUTES_MAX {
        return Err(TooManyAttributes { attributes: names.len() });
    }
    Ok(same(item, &names))
}

/// The condition that the attributes that Sapwood keeps in a base record are still as they were read: where its node
/// is, whether the node is being deleted or in the trash, and when the API last wrote the record. Each write of the API
/// changes these. No record gets the mark of a copy but when it is created, so the mark is compared where it is.
pub fn own_unchanged(item: &Item, schema: &Schema) -> Condition {
    let copying = item.contains_key(COPYING).then_some(COPYING);
    same(item, &own_names(schema).into_iter().chain(copying).collect::<Vec<_>>())
}

fn own_names(schema: &Schema) -> [&str; 9] {
    let names = schema.names();
    [&names.parent, &names.segment, BORN, UNDER, DELETING, TRASHED, REVISION, CREATED_AT, UPDATED_AT]
}

fn same(item: &Item, names: &[&str]) -> Condition {
    let is = |name: &&str| Condition::is(*name, item.get(*name).cloned());
    Condition::All(std::iter::once(Condition::Exists).chain(names.iter().map(is)).collect())
}

/// The condition that all attributes of an item are as they were read, and that none of these `others` has come.
pub(crate) fn as_read<'n>(item: &Item, others: impl IntoIterator<Item = &'n str>, schema: &Schema) -> Condition {
    let names = schema.names();
    let own = item.iter().filter(|(name, _)| **name != names.partition_key && **name != names.sort_key);
    let same = own.map(|(name, value)| Condition::is(name, Some(value.clone())));
    let absent = others.into_iter().filter(|name| !item.contains_key(*name)).map(|name| Condition::is(name, None));
    Condition::All(std::iter::once(Condition::Exists).chain(same).chain(absent).collect())
}

/// Returns the condition that a node has kept its name among its siblings, or still has none.
pub fn same_name(record: Option<&Item>, schema: &Schema) -> Condition {
    let (Some(item), None) = (record, still_gone(record)) else {
        return still_gone(record).unwrap_or(Condition::Absent);
    };
    let names = schema.names();
    same(item, &[&names.parent, &names.segment, DELETING, TRASHED])
}

/// Returns the condition that nobody has claimed a name, or this node has.
pub fn unclaimed_or_of(node: &Id) -> Condition {
    Condition::AbsentOr { name: NameClaim::NODE.to_owned(), value: text(node.as_str()) }
}

/// Returns the condition that the claim of a name is as it was read. Each write that claims a name leaves another one.
pub fn same_claim(item: &Item) -> Condition {
    same(item, &[NameClaim::NODE, WRITE])
}

/// The condition that a node is still gone, if it is: without a base record, or with one that a repair has put back.
#[must_use]
pub fn still_gone(record: Option<&Item>) -> Option<Condition> {
    let Some(record) = record else { return Some(Condition::Absent) };
    record.get(PUT_BACK).map(|name| Condition::is(PUT_BACK, Some(name.clone())))
}
