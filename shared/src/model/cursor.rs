//! How far the touching of a wide node's children is.

use super::Item;
use super::item::{text, text_of, with_key};
use crate::keys::{NodeRef, Schema};

/// A node's cascade cursor, the item `CASCADE`. It is there while the children of a wide node are being touched, a
/// slice at a time, each slice set off by the cursor's own stream record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// The sequence number of the lineage's change, padded to 40 digits. A newer change takes the cursor over.
    pub sequence: String,
    /// The sort key of the last child's row that was touched; none before the first slice.
    pub after: Option<String>,
}

impl Cursor {
    /// The attribute that holds the sequence number.
    pub const SEQUENCE: &str = "sequence";
    const AFTER: &str = "after";

    /// As an item.
    #[must_use]
    pub fn item(&self, node: &NodeRef, schema: &Schema) -> Item {
        let mut item = with_key(&schema.cascade_key(node), schema);
        item.insert(Self::SEQUENCE.into(), text(&self.sequence));
        if let Some(after) = &self.after {
            item.insert(Self::AFTER.into(), text(after));
        }
        item
    }

    /// Reads one. `None` for an item that no handler has written.
    #[must_use]
    pub fn read(item: &Item) -> Option<Self> {
        let after = match item.get(Self::AFTER) {
            None => None,
            Some(_) => Some(text_of(item, Self::AFTER)?.to_owned()),
        };
        Some(Self { sequence: text_of(item, Self::SEQUENCE)?.to_owned(), after })
    }
}
