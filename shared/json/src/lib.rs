//! Attributes as JSON, in both directions and without loss.
//!
//! | in the table | in JSON |
//! |---|---|
//! | text, boolean, null, list, map | the same |
//! | number | a number, with its value to 38 digits, whatever its size; never by way of a float |
//! | number, where the client asks for it ([`Numbers::Strings`]), and in requests always | `{"$number": "<digits>"}` |
//! | binary | `{"$binary": "<base64, standard alphabet, padded>"}` |
//! | set of text, numbers or binary | `{"$set": [...]}`: not empty, no value twice, all of one kind |
//! | a map whose only key begins with `$` | `{"$map": {...}}` around it, whose keys then stand for themselves |
//!
//! The object `attributes` itself is never one of the `$` forms: its keys are names of attributes. Numbers are read
//! into the one spelling that DynamoDB gives back, so that an item that was written can be compared with the item in
//! the table.

mod error;
mod fields;
mod merge;
mod names;
mod numbers;
mod read;
#[cfg(test)]
mod tests;
mod write;

pub use error::{Fault, JsonError, Place};
pub use fields::{Fields, FromJson, id, or_null, value};
pub use merge::MergePatch;
use names::Record;
pub use numbers::{Numbers, to_vec};
pub use read::{list, number_text, text};
use sapwood_core::keys::Schema;
use sapwood_core::model::Item;
pub use write::write_value;

/// A user's own attributes of a node or a revision.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Attributes(pub Item);

impl Attributes {
    /// The user's own attributes of a node or its row: not the keys, the parent, the segment, nor names with `_` first.
    #[must_use]
    pub fn of_node(item: &Item, schema: &Schema) -> Self {
        Self::own(item, Record::Node, schema)
    }

    /// The user's own attributes of a revision, or of a copy of it: not the keys, nor names that begin with `_`.
    #[must_use]
    pub fn of_revision(item: &Item, schema: &Schema) -> Self {
        Self::own(item, Record::Revision, schema)
    }

    fn own(item: &Item, record: Record, schema: &Schema) -> Self {
        let own = item.iter().filter(|(name, _)| names::reserved(name, record, schema).is_none());
        Self(own.map(|(name, value)| (name.clone(), value.clone())).collect())
    }

    /// Checks that a node can have these attributes: none of the names is reserved.
    pub fn check_node(&self, schema: &Schema) -> Result<(), JsonError> {
        names::check(self.0.keys(), Record::Node, schema)
    }

    /// Checks that a revision can have these attributes: none of the names is reserved.
    pub fn check_revision(&self, schema: &Schema) -> Result<(), JsonError> {
        names::check(self.0.keys(), Record::Revision, schema)
    }
}

/// Reads the body of a request. Fails if it isn't JSON, isn't of this shape, or has a value that can't be kept.
pub fn read<T: FromJson>(body: &[u8]) -> Result<T, JsonError> {
    let raw: &serde_json::value::RawValue =
        serde_json::from_slice(body).map_err(|error| JsonError::Syntax { detail: error.to_string() })?;
    T::from_json(raw, &Place::Body)
}
