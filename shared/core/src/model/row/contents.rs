//! What a row has of its own, besides its key and the id of the node that it shows.

use crate::keys::Id;
use crate::model::item::{AttributeValue, Item, number, text, text_of};

pub(super) const ID: &str = "_id";
const DEPTH: &str = "_depth";
const PARENT: &str = "_parent";
pub(super) const TRUNCATED: &str = "_truncated";

/// What a row has of its own.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(super) struct Contents {
    /// The node's depth below the node in whose partition the row is.
    depth: Option<usize>,
    /// True if the row names the node's parent.
    parent: bool,
    /// True if the row copies attributes of the base record.
    pub(super) copies: bool,
}

impl Contents {
    /// Copies alone.
    pub(super) fn copies() -> Self {
        Self { copies: true, ..Self::default() }
    }

    /// A node so far below another.
    pub(super) fn descendant(depth: usize) -> Self {
        Self { depth: Some(depth), parent: true, copies: true }
    }

    /// The parent and nothing else.
    pub(super) fn parent_alone() -> Self {
        Self { parent: true, ..Self::default() }
    }

    /// The attributes, of a node with this parent.
    pub(super) fn attributes<'a>(
        &self,
        parent: Option<&'a Id>,
    ) -> impl Iterator<Item = (&'a str, AttributeValue)> + use<'a> {
        let depth = self.depth.map(|depth| (DEPTH, number(depth)));
        let parent = parent.filter(|_| self.parent).map(|parent| (PARENT, text(parent.as_str())));
        depth.into_iter().chain(parent)
    }
}

/// The attributes that [`row_parent`] and [`is_truncated`] read, which every projection has to include.
pub const ROW_ATTRIBUTES: [&str; 2] = [PARENT, TRUNCATED];

/// Returns the parent of the node that an ancestor row or a path row shows.
#[must_use]
pub fn row_parent(row: &Item) -> Option<Id> {
    text_of(row, PARENT).and_then(|id| Id::new(id).ok())
}

/// Returns true if a row or a `v0_` copy had no room for its copied attributes.
#[must_use]
pub fn is_truncated(row: &Item) -> bool {
    row.get(TRUNCATED) == Some(&AttributeValue::Bool(true))
}

/// Returns the node that a row shows, if the item says so.
#[must_use]
pub fn own_id(row: &Item) -> Option<Id> {
    text_of(row, ID).and_then(|id| Id::new(id).ok())
}

/// Returns the depth at which a row shows its node, if the item says so.
#[must_use]
pub fn own_depth(row: &Item) -> Option<usize> {
    match row.get(DEPTH) {
        Some(AttributeValue::N(digits)) => digits.parse().ok(),
        _ => None,
    }
}

/// Returns the missing parent in an entry of the register of orphans.
#[must_use]
pub fn orphan_row_parent(row: &Item) -> Option<&str> {
    text_of(row, PARENT)
}
