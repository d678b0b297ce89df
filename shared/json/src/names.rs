//! Reserved names of attributes.

use sapwood_core::keys::Schema;
use sapwood_core::model::is_reserved;

use super::{JsonError, Place};

/// The kind of record that attributes belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Record {
    /// A node. Its parent and its segment aren't attributes of the user.
    Node,
    /// A revision. `parent` and `segment` are names like any other.
    Revision,
}

/// Returns why a name is reserved; `None` if a user can give it.
pub(super) fn reserved(name: &str, record: Record, schema: &Schema) -> Option<&'static str> {
    let names = schema.names();
    if is_reserved(name, schema) {
        let is_own = name.starts_with('_');
        Some(if is_own { "names that begin with `_` are Sapwood's own" } else { "it is a part of the table's key" })
    } else if record == Record::Node && *name == names.parent {
        Some("it holds the node's parent, a field beside `attributes`")
    } else if record == Record::Node && *name == names.segment {
        Some("it holds the node's segment, a field beside `attributes`")
    } else {
        None
    }
}

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
