//! Cascade cursors: how far a wide node's cascade, or its deletion, has come.

use thiserror::Error;

use super::format::{self, NewerFormat};
use super::item::{AttributeValue, Item, optional, text, text_of, with_key};
use crate::keys::{NodeRef, Schema};

/// A node's cascade cursor, the item `CASCADE`. It exists while the children or the revisions of a wide node are
/// handled slice by slice. The stream record of each write of the cursor starts the next slice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// The sequence number of the lineage's change, padded to 40 digits. A newer change replaces the cursor.
    pub sequence: String,
    /// The sort key of the last row or revision that was handled; none before the first slice.
    pub after: Option<String>,
    /// The use of the slices.
    pub position: CursorUse,
    /// True if the table refused to change a child of a node that is being deleted. The node isn't deleted above that
    /// child. After the last slice the cursor stays, without a position, until it is redriven.
    pub blocked: bool,
}

/// The attribute by which an item is handled again: redrives and repairs write it. No row carries it.
pub const REDRIVEN: &str = "_redriven";

/// The use of a cursor's slices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CursorUse {
    /// The slices touch the node's children.
    Touching,
    /// The node's deletion was taken back or is complete. The slices touch the children that are still there.
    Remaining,
    /// The slices handle children of a node deleted by this mark. With another mark the cursor starts from the
    /// beginning.
    Children(String),
    /// The slices delete the revisions of a node deleted by this mark. Its children are handled.
    Revisions(String),
}

/// Why an item isn't a cursor that the handler can follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum CursorError {
    /// No handler has written the item.
    #[error("this cursor is not the handler's; delete it")]
    Malformed,
    /// A newer version of the handler has written it.
    #[error(transparent)]
    Newer(#[from] NewerFormat),
}

impl Cursor {
    /// The attribute that holds the sequence number.
    pub const SEQUENCE: &str = "sequence";
    const AFTER: &str = "after";
    const REMAINING: &str = "remaining";
    const CHILDREN: &str = "children";
    const REVISIONS: &str = "revisions";
    const BLOCKED: &str = "blocked";

    /// A cursor that asks for the lineage's change from the beginning. `name` has at most 19 digits, below every
    /// sequence number of a stream, and is no other cursor's: a write that changes nothing makes no stream record.
    #[must_use]
    pub fn anew(name: &str) -> Self {
        Self { sequence: padded(name), after: None, position: CursorUse::Touching, blocked: false }
    }

    /// The item of a node's cursor, for example while the revisions of a node that is being deleted are deleted:
    ///
    /// ```json
    /// {"PK": "V", "SK": "CASCADE", "format": 1, "sequence": "0000000000000000000000000000000000012345",
    ///  "after": "v003_Audit", "revisions": "5a1c7ab2-…"}
    /// ```
    #[must_use]
    pub fn item(&self, node: &NodeRef, schema: &Schema) -> Item {
        let mut item = with_key(&schema.cascade_key(node), schema);
        format::mark(&mut item);
        item.insert(Self::SEQUENCE.into(), text(&self.sequence));
        if let Some(after) = &self.after {
            item.insert(Self::AFTER.into(), text(after));
        }
        let position = match &self.position {
            CursorUse::Touching => None,
            CursorUse::Remaining => Some((Self::REMAINING, AttributeValue::Bool(true))),
            CursorUse::Children(mark) => Some((Self::CHILDREN, text(mark))),
            CursorUse::Revisions(mark) => Some((Self::REVISIONS, text(mark))),
        };
        item.extend(position.map(|(name, value)| (name.to_owned(), value)));
        if self.blocked {
            item.insert(Self::BLOCKED.into(), AttributeValue::Bool(true));
        }
        item
    }

    /// Reads a cursor's item. Fails where no handler, or a newer one, has written it.
    pub fn read(item: &Item) -> Result<Self, CursorError> {
        if !format::is_known(item)? {
            return Err(CursorError::Malformed);
        }
        Self::parse(item).ok_or(CursorError::Malformed)
    }

    /// True if the item only says that the node's deletion is blocked, and no operator has asked for another try.
    #[must_use]
    pub fn rests(&self, item: &Item) -> bool {
        self.blocked && self.after.is_none() && !item.contains_key(REDRIVEN)
    }

    /// True if an item with a cursor's key has an attribute that makes a cursor, and so isn't the table owner's.
    #[must_use]
    pub fn is_ours(item: &Item) -> bool {
        [Self::SEQUENCE, format::FORMAT_ATTRIBUTE].iter().any(|name| item.contains_key(*name))
    }

    fn parse(item: &Item) -> Option<Self> {
        let after = optional(item, Self::AFTER, text_of)?.map(str::to_owned);
        let mark = |name| text_of(item, name).map(str::to_owned);
        let position = match (mark(Self::REVISIONS), mark(Self::CHILDREN)) {
            (Some(mark), _) => CursorUse::Revisions(mark),
            (None, Some(mark)) => CursorUse::Children(mark),
            (None, None) if item.contains_key(Self::REMAINING) => CursorUse::Remaining,
            (None, None) => CursorUse::Touching,
        };
        let blocked = item.get(Self::BLOCKED) == Some(&AttributeValue::Bool(true));
        let sequence = sequence_of(item, Self::SEQUENCE)?.to_owned();
        Some(Self { sequence, after, position, blocked })
    }
}

/// How many digits a sequence number has at most, and is written with.
const SEQUENCE_DIGITS_MAX: usize = 40;

/// The sequence number that an attribute has. No text but digits is compared with those of a stream.
pub(super) fn sequence_of<'i>(item: &'i Item, name: &str) -> Option<&'i str> {
    text_of(item, name).filter(|text| text.len() <= SEQUENCE_DIGITS_MAX && text.bytes().all(|b| b.is_ascii_digit()))
}

/// Returns a sequence number with zeros before it, 40 digits long, so that such numbers compare as text.
#[must_use]
pub fn padded(sequence: &str) -> String {
    format!("{sequence:0>SEQUENCE_DIGITS_MAX$}")
}
