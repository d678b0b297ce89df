//! What a node can't have, because of its own record or of those above it.

use super::{Placement, Wanted, row};
use crate::keys::{DEPTH_MAX, KeyError};

/// Why a placement isn't all that a base record asks for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
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
    /// The attribute that orders siblings is missing, or neither a number nor a text.
    #[error("the node has no number or text in `{attribute}`; it is the last of its siblings, by its id")]
    Order {
        /// The attribute.
        attribute: String,
    },
    /// The node links to more nodes than have rows.
    #[error(
        "{left_out} of the node's links have no row: a node has at most 100, whose targets have at most 16 KB together"
    )]
    Links {
        /// How many links have none.
        left_out: usize,
    },
    /// An attribute that links holds something that can't be a link.
    #[error(
        "`{attribute}` holds something that can't be a link: write an id, or a set or a list of ids, and keep the node's own id short"
    )]
    Link {
        /// The attribute.
        attribute: String,
    },
}

impl Shortfall {
    /// False for what is as it should be: an orphan waits for its parent, and a node may have no place among its siblings.
    #[must_use]
    pub fn is_a_problem(&self) -> bool {
        !matches!(self, Self::Orphan | Self::Order { .. })
    }

    /// Returns what a placement falls short of.
    pub fn of(wanted: &Wanted<'_>, placement: &Placement) -> impl Iterator<Item = Self> {
        let Wanted { node, base, parent, .. } = *wanted;
        let above = if base.parent.as_ref() == Some(&node.id) {
            Some(Self::OwnParent)
        } else if parent.is_some_and(|parent| parent.ancestors.contains(&node.id)) {
            Some(Self::BelowItself)
        } else if parent.is_some_and(|parent| parent.ancestors.len() == DEPTH_MAX) {
            Some(Self::TooDeep)
        } else {
            None
        };
        above.into_iter().chain(row::shortfalls(wanted, placement))
    }
}
