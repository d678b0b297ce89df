//! The condition that a base record is still as it was read.

use thiserror::Error;

use super::{CREATED_AT, DELETING, Item, REVISION, TOUCHED, UNDER, UPDATED_AT};
use crate::keys::Schema;
use crate::request::Condition;

/// Most attributes that one condition compares. DynamoDB takes expressions of at most 4 KB, and at most 300 operators in one
/// ([AWS: constraints](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html)); each comparison
/// takes 22 bytes and two operators at most.
pub const COMPARED_ATTRIBUTES_MAX: usize = 140;

/// A record of another client has too many attributes for one condition to compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "the record has {attributes} attributes to compare, over the limit of {COMPARED_ATTRIBUTES_MAX}; put some of them into a map, or write the record once through the API"
)]
pub struct TooManyAttributes {
    /// The number of attributes to compare.
    pub attributes: usize,
}

/// Returns the condition that a base record is still as it was read. For a record that the API has written, it compares the number
/// and the time of the last write, the parent, the segment and the deletion mark. For any other record, and with `strict` for every
/// record, it compares all attributes except [`TOUCHED`], since a touch changes nothing that matters.
///
/// # Errors
/// [`TooManyAttributes`] if one condition can't compare them all.
pub fn unchanged(item: &Item, strict: bool, schema: &Schema) -> Result<Condition, TooManyAttributes> {
    let names = schema.names();
    let ours = [&names.parent, &names.segment, UNDER, DELETING, REVISION, CREATED_AT, UPDATED_AT];
    let is = |name: &str| Condition::is(name, item.get(name).cloned());
    let mut conditions: Vec<Condition> = std::iter::once(Condition::Exists).chain(ours.into_iter().map(is)).collect();
    if strict || !item.contains_key(REVISION) {
        let skipped = [&names.partition_key, &names.sort_key, TOUCHED];
        let is_other = |name: &&String| !ours.contains(&name.as_str()) && !skipped.contains(&name.as_str());
        conditions.extend(item.keys().filter(is_other).map(|name| is(name)));
    }
    let attributes = conditions.len() - 1;
    if attributes > COMPARED_ATTRIBUTES_MAX {
        return Err(TooManyAttributes { attributes });
    }
    Ok(Condition::All(conditions))
}
