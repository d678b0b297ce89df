//! Names of attributes that aren't the user's to give.

use sapwood_core::keys::Schema;

use super::{JsonError, Place};

/// Whose attributes they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Record {
    /// A node's: what says where it stands isn't among them.
    Node,
    /// A revision's: `parent` is a name like any other there.
    Revision,
}

/// Why an attribute of this name isn't the user's own; none where it is.
pub(super) fn reserved(name: &str, record: Record, schema: &Schema) -> Option<&'static str> {
    let names = schema.names();
    if name.starts_with('_') {
        Some("names that begin with `_` are Sapwood's own")
    } else if *name == names.partition_key || *name == names.sort_key {
        Some("it is a part of the table's key")
    } else if record == Record::Node && *name == names.parent {
        Some("it holds the node's parent, a field beside `attributes`")
    } else if record == Record::Node && *name == names.segment {
        Some("it holds the node's segment, a field beside `attributes`")
    } else {
        None
    }
}

/// Whether all are names that a user can give.
pub(super) fn check<'a>(
    names: impl IntoIterator<Item = &'a String>,
    record: Record,
    schema: &Schema,
) -> Result<(), JsonError> {
    for name in names {
        if let Some(reason) = reserved(name, record, schema) {
            let path = Place::Member(&Place::Member(&Place::Body, "attributes"), name).to_string();
            return Err(JsonError::Reserved { path, reason });
        }
    }
    Ok(())
}
