//! What becomes of a child whose parent is being deleted, or has been.

use super::step::Task;
use super::{Context, Rule};
use crate::keys::{Id, NodeRef, Schema};
use crate::model::{BaseNode, Deletion, DeletionMark, DeletionMode, TooManyAttributes, UNDER, text, unchanged};
use crate::request::{Action, Condition, Update};

/// What becomes of a child.
#[derive(Clone, Debug, PartialEq)]
pub enum ChildAction {
    /// The child is deleted as well: it gets a mark of the same operation.
    Delete(DeletionMark),
    /// The child becomes a root.
    Detach,
    /// The child goes to its parent's parent.
    Reparent {
        /// The new parent.
        parent: Id,
        /// True if the API has seen the new parent there.
        seen: bool,
    },
}

impl ChildAction {
    /// The action on a child of a node that is being deleted, as the node's base record says, or was, as its tombstone says.
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

    /// The action as a change of the child's base record. A mark is left to [`Task::Mark`], which names it.
    #[must_use]
    pub fn update(&self, schema: &Schema) -> Update {
        let name = &schema.names().parent;
        let mut update = Update::default();
        match self {
            Self::Delete(mark) => {
                update.set.insert(crate::model::DELETING.into(), mark.value());
            }
            Self::Detach => update.remove.extend([name.clone(), UNDER.to_owned()]),
            Self::Reparent { parent, seen } => {
                update.set.insert(name.clone(), text(parent.as_str()));
                if *seen {
                    update.set.insert(UNDER.into(), text(parent.as_str()));
                } else {
                    update.remove.insert(UNDER.into());
                }
            }
        }
        update
    }
}

/// A child with its base record, as it was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Child {
    /// The child.
    pub node: NodeRef,
    /// Its base record.
    pub base: BaseNode,
}

impl Child {
    /// True if the node is this node's child and isn't being deleted itself: then the deletion of this node acts on it.
    #[must_use]
    pub fn is_child_of(&self, node: &NodeRef) -> bool {
        self.base.parent.as_ref() == Some(&node.id) && self.base.deleting.is_none()
    }

    /// The action as a task of its own.
    pub(super) fn task(&self, action: &ChildAction, context: &Context<'_>) -> Result<Task, TooManyAttributes> {
        match action {
            ChildAction::Delete(mark) if context.rules.keeps(Rule::FreshMark) => Ok(Task::Mark {
                key: context.schema().node_key(&self.node),
                mark: mark.clone(),
                condition: self.as_read(context)?,
            }),
            action => Ok(Task::Write(self.action(action, context)?)),
        }
    }

    /// The action as one of a transaction.
    pub(super) fn action(&self, action: &ChildAction, context: &Context<'_>) -> Result<Action, TooManyAttributes> {
        let schema = context.schema();
        let (key, update) = (schema.node_key(&self.node), action.update(schema));
        Ok(Action::Update { key, update, condition: self.as_read(context)? })
    }

    /// The condition that the child is as it was read. So it was its parent's child at the moment when the parent was read after
    /// it.
    fn as_read(&self, context: &Context<'_>) -> Result<Condition, TooManyAttributes> {
        if !context.rules.keeps(Rule::ChildCondition) {
            return Ok(Condition::Exists);
        }
        unchanged(&self.base.item, false, context.schema())
    }
}
