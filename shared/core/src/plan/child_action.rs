//! What becomes of a child whose parent is being deleted, or has been.

use crate::keys::{Id, NodeRef};
use crate::model::{BaseNode, Deletion, DeletionMark, DeletionMode};

/// What becomes of a child.
#[derive(Clone, Debug, PartialEq)]
pub enum ChildAction {
    /// It is removed as well: it gets the same mark.
    Delete(DeletionMark),
    /// It becomes a root.
    Detach,
    /// It goes to its parent's parent.
    Reparent {
        /// Whom that is.
        parent: Id,
        /// Whether somebody has seen it there.
        seen: bool,
    },
}

impl ChildAction {
    /// Of a child of this node, which is being deleted as its base record says, or was, as its tombstone says.
    #[must_use]
    pub fn of(child: &Id, deletion: &Deletion) -> Self {
        match (deletion.mark.mode, &deletion.heir) {
            (DeletionMode::Delete, _) => Self::Delete(deletion.mark.clone()),
            // In a cycle, which only other clients make, the one to adopt can be the child itself.
            (DeletionMode::Adopt, Some(heir)) if heir.id != *child => {
                Self::Reparent { parent: heir.id.clone(), seen: heir.seen }
            }
            (DeletionMode::Adopt | DeletionMode::Detach, _) => Self::Detach,
        }
    }
}

/// Whether a node is to be released by the one that is being deleted: it is its child, and isn't being deleted itself.
#[must_use]
pub fn is_held(child: &BaseNode, node: &NodeRef) -> bool {
    child.parent.as_ref() == Some(&node.id) && child.deleting.is_none()
}
