//! What a node can't have, because of its own record or of those above it.

use super::item::{ITEM_BYTES_MAX, attribute_bytes, item_bytes};
use super::{BaseNode, Placement, PlacementInput, TOUCHED, has_unreadable_mark, padded, row};
use crate::keys::{DEPTH_MAX, KeyError};

/// Why a placement isn't all that a base record asks for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum Shortfall {
    /// The parent has no lineage.
    #[error("the node's parent isn't there; create it, or give the node another parent")]
    Orphan,
    /// The node is its own parent.
    #[error("the node is its own parent; it has no ancestors until it gets another parent")]
    OwnParent,
    /// The node is among its own ancestors.
    #[error("the node is below itself; give one of the nodes of the cycle another parent")]
    BelowItself,
    /// The node has more ancestors than rows are kept under.
    #[error("the node is deeper than 98 levels; it has rows under its nearest 98 ancestors only")]
    TooDeep,
    /// The key of the path row can't be written.
    #[error("the node has no path row: {0}")]
    Path(KeyError),
    /// The attribute that orders siblings has no number or text, or a number that no key has room for beside the id.
    #[error(
        "the node has no number or text in `{attribute}` that a key has room for; it is the last of its siblings, by its id"
    )]
    Order { attribute: String },
    /// The value in the place of the mark of a deletion is none.
    #[error(
        "`_deleting` isn't the mark of a deletion, so nobody deletes the node; remove the attribute, and delete the node by the API"
    )]
    Mark,
    /// The value in the place of how the node was put into the trash isn't the API's.
    #[error(
        "`_trashed` isn't as the API writes it; the node is in the trash all the same. Restore it by the API, or remove the attribute, which makes a root of it"
    )]
    Trashed,
    /// The key of the row in the trash can't be written.
    #[error("the node is in the trash, and `GET /trash` doesn't list it: {0}")]
    Unlisted(KeyError),
    /// The table would refuse a touch of the node.
    #[error(
        "the record is so large that it has no room for a touch: the node's rows won't follow a node above it that moves; make it smaller"
    )]
    Touch,
    /// The node links to more nodes than have rows.
    #[error(
        "{left_out} of the node's links have no row: a node has at most 100, whose targets have at most 16 KB together"
    )]
    Links { left_out: usize },
    /// An attribute that links holds something that can't be a link.
    #[error(
        "`{attribute}` holds something that can't be a link: write an id, or a set or a list of ids, and keep the node's own id short"
    )]
    Link { attribute: String },
}

impl Shortfall {
    /// False for an orphan, which waits for its parent, and for a node without a place among its siblings.
    #[must_use]
    pub fn is_a_problem(&self) -> bool {
        !matches!(self, Self::Orphan | Self::Order { .. })
    }

    /// Returns what a placement falls short of.
    pub fn of(wanted: &PlacementInput<'_>, placement: &Placement) -> impl Iterator<Item = Self> {
        let PlacementInput { node, base, parent, .. } = *wanted;
        let above = if base.parent.as_ref() == Some(&node.id) {
            Some(Self::OwnParent)
        } else if parent.is_some_and(|parent| parent.ancestors.contains(&node.id)) {
            Some(Self::BelowItself)
        } else if parent.is_some_and(|parent| parent.ancestors.len() == DEPTH_MAX) {
            Some(Self::TooDeep)
        } else {
            None
        };
        let mark = has_unreadable_mark(&base.item).then_some(Self::Mark);
        let touch = (!has_room_for_touch(base)).then_some(Self::Touch);
        above.into_iter().chain(mark).chain(touch).chain(row::shortfalls(wanted, placement))
    }
}

/// True if the table takes a touch of a node by its parent.
fn has_room_for_touch(base: &BaseNode) -> bool {
    let Some(parent) = &base.parent else { return true };
    let touch = TOUCHED.len() + padded("").len() + "#".len() + parent.as_str().len();
    let touched = base.item.get(TOUCHED).map_or(0, |value| attribute_bytes(TOUCHED, value));
    item_bytes(&base.item) - touched + touch <= ITEM_BYTES_MAX
}
