//! The version of the table's format, in the items that only the handler writes and reads back.

use thiserror::Error;

use super::item::{AttributeValue, Item, whole_of};

/// The version of the table's format: the number in the attribute [`FORMAT_ATTRIBUTE`] of every lineage, tombstone and
/// cascade cursor. A change that older code would misread counts it up by one.
pub const FORMAT: u64 = 1;

/// The format of a lineage that names rows unknown to handlers of format 1: ordered rows and links, which they would
/// lose track of. Without such rows the format is 1, so that a table can go back to an older handler.
pub const FORMAT_WITH_MORE_ROWS: u64 = 2;

/// The format of the lineage of a node in the trash, which older handlers would take for a root, or for one below a
/// root.
pub const FORMAT_WITH_TRASH: u64 = 3;

/// The format of a lineage that names an ordered row by more than one attribute. Older handlers can't read such a
/// place, and would lose track of the rows.
pub const FORMAT_WITH_PARTS: u64 = 4;

/// The format of a lineage that names trees whose followers are still to be told that the node has left. Older handlers
/// would settle it without telling them.
pub const FORMAT_WITH_LEFT: u64 = 5;

/// The newest format that this code knows.
pub const FORMAT_MAX: u64 = FORMAT_WITH_LEFT;

/// The attribute that holds an item's format, for example `"format": {"N": "1"}`.
pub const FORMAT_ATTRIBUTE: &str = "format";

/// An item was written by a newer version of the handler. This version must neither interpret nor overwrite it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "this item has the table format {format}, and this version of the handler knows up to {FORMAT_MAX}; deploy the version that wrote \
     it, or a newer one"
)]
pub struct NewerFormat {
    /// The item's format.
    pub format: u64,
}

/// Marks an item with [`FORMAT`].
pub(super) fn mark(item: &mut Item) {
    mark_as(FORMAT, item);
}

/// Marks an item with a format.
pub(super) fn mark_as(format: u64, item: &mut Item) {
    item.insert(FORMAT_ATTRIBUTE.into(), AttributeValue::N(format.to_string()));
}

/// True if the item has this format.
pub(super) fn is(format: u64, item: &Item) -> bool {
    whole_of(item, FORMAT_ATTRIBUTE) == Some(format)
}

/// True if the item has a known format. Without one, or with an older one, it counts as malformed.
pub(super) fn is_known(item: &Item) -> Result<bool, NewerFormat> {
    match whole_of::<u64>(item, FORMAT_ATTRIBUTE) {
        Some(format) if format > FORMAT_MAX => Err(NewerFormat { format }),
        Some(format) => Ok(format >= FORMAT),
        None => Ok(false),
    }
}
