//! Merge patches (RFC 7396).

use std::collections::BTreeMap;

use sapwood_core::keys::Schema;
use sapwood_core::write::ValueChange;
use serde_json::value::RawValue;

use super::names::{self, Record};
use super::read::{NESTED_MAX, Object, below, each, members, object, value};
use super::{FromJson, JsonError, Place};

/// The changes of a merge patch. Attributes that it doesn't name keep their value and type.
///
/// As RFC 7396 defines it, null deletes an attribute, an object merges into an existing map, and any other value
/// replaces the existing one. So a patch can't set an attribute to NULL, but a PUT can. Within a list null is NULL,
/// because lists are replaced as a whole. `{"$set": …}`, `{"$binary": …}` and `{"$number": …}` are values. The names in
/// `{"$map": {…}}` merge as they stand.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MergePatch(pub BTreeMap<String, ValueChange>);

impl MergePatch {
    /// Checks that a patch of a node can change these attributes: none of the names is reserved.
    pub fn check(&self, schema: &Schema) -> Result<(), JsonError> {
        names::check(self.0.keys(), Record::Node, schema)
    }
}

impl FromJson for MergePatch {
    const WANTED: &'static str = "an object of attributes (null deletes one), or null, which deletes all";

    fn from_json(raw: &RawValue, at: &Place<'_>) -> Result<Self, JsonError> {
        each(members(raw, at, Self::WANTED)?, at, |raw, at| change(raw, at, NESTED_MAX)).map(Self)
    }
}

fn change(raw: &RawValue, at: &Place<'_>, levels: usize) -> Result<ValueChange, JsonError> {
    match raw.get().as_bytes().first() {
        Some(b'n') => Ok(ValueChange::Remove),
        Some(b'{') => match object(raw, at)? {
            Object::Value(value) => Ok(ValueChange::Set(value)),
            Object::Map(members) => {
                let below = below(levels, at)?;
                each(members, at, |raw, at| change(raw, at, below)).map(ValueChange::Merge)
            }
        },
        _ => value(raw, at, levels).map(ValueChange::Set),
    }
}
