//! The version of the table's format, in the items that only the handler writes and reads back.

use thiserror::Error;

use super::item::{AttributeValue, Item};

/// The version of the table's format that this code writes: the number in the attribute [`FORMAT_ATTRIBUTE`] of every
/// lineage, tombstone and cascade cursor. A change that older code would misread counts it up by one.
pub const FORMAT: u64 = 1;

/// The attribute that holds an item's format, for example `"format": {"N": "1"}`.
pub const FORMAT_ATTRIBUTE: &str = "format";

/// An item was written by a newer version of the handler. This version must neither interpret nor overwrite it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "this item has the table format {format}, and this version of the handler knows {FORMAT}; deploy the version that wrote \
     it, or a newer one"
)]
pub struct NewerFormat {
    /// The item's format.
    pub format: u64,
}

/// Marks an item with the format that this code writes.
pub(super) fn mark(item: &mut Item) {
    item.insert(FORMAT_ATTRIBUTE.into(), AttributeValue::N(FORMAT.to_string()));
}

/// Returns true if the item has the format that this code knows, and false if it has none, an older one, or a value that is
/// no format at all. Such an item counts as malformed.
///
/// # Errors
/// [`NewerFormat`] where a newer version has written the item.
pub(super) fn is_known(item: &Item) -> Result<bool, NewerFormat> {
    let Some(AttributeValue::N(digits)) = item.get(FORMAT_ATTRIBUTE) else { return Ok(false) };
    match digits.parse() {
        Ok(format) if format > FORMAT => Err(NewerFormat { format }),
        Ok(format) => Ok(format == FORMAT),
        Err(_) => Ok(false),
    }
}
