//! What becomes of a child whose parent is being removed, or has been.

use crate::keys::{Id, NodeRef};
use crate::model::{BaseNode, Departure, Leaving, Mode};

/// What becomes of a child.
#[derive(Clone, Debug, PartialEq)]
pub enum Release {
    /// It is removed as well: it gets the same mark.
    Leave(Leaving),
    /// It becomes a root.
    Root,
    /// It goes to its parent's parent.
    Under {
        /// Whom that is.
        parent: Id,
        /// Whether somebody has seen it there.
        seen: bool,
    },
}

impl Release {
    /// Of a child of this node, which is being removed as its base record says, or was, as its tombstone says.
    #[must_use]
    pub fn of(child: &Id, departure: &Departure) -> Self {
        match (departure.leaving.mode, &departure.heir) {
            (Mode::Delete, _) => Self::Leave(departure.leaving.clone()),
            // In a cycle, which only other clients make, the one to adopt can be the child itself.
            (Mode::Adopt, Some(heir)) if heir.id != *child => Self::Under { parent: heir.id.clone(), seen: heir.seen },
            (Mode::Adopt | Mode::Detach, _) => Self::Root,
        }
    }
}

/// Whether a node is to be released by the one that is being removed: it is its child, and isn't being removed itself.
#[must_use]
pub fn is_held(child: &BaseNode, node: &NodeRef) -> bool {
    child.parent.as_ref() == Some(&node.id) && child.leaving.is_none()
}
