//! The action on a child whose parent is being deleted, or was deleted.

use super::context::Context;
use crate::keys::{Id, NodeRef, Schema};
use crate::model::{
    BaseNode, Deletion, DeletionMark, DeletionMode, REVISION, TRASHED, UNDER, Under, number, text, times_written_next,
};
use crate::plan::conditions::{TooManyAttributes, unchanged};
use crate::plan::{Problem, Rule, Task};
use crate::request::{Action, Condition, Update};

/// The action on a child of a deleted node.
#[derive(Clone, Debug, PartialEq)]
pub enum ChildAction {
    /// The child is deleted as well: it gets a mark of the same operation.
    Delete(DeletionMark),
    /// The child becomes a root.
    Detach,
    /// The child moves to its parent's parent, the heir.
    Reparent {
        /// The new parent.
        parent: Id,
        /// The life of the new parent that the API saw when it put the deleted node under it.
        born: Option<String>,
        /// True if the new parent is there, even if its life has no name yet.
        is_there: bool,
    },
}

impl ChildAction {
    /// The action on a child, by the deletion in the parent's base record, or once that is gone, in its tombstone.
    #[must_use]
    pub fn of(child: &Id, deletion: &Deletion) -> Self {
        match (deletion.mark.mode, &deletion.heir) {
            (DeletionMode::Delete, _) => Self::Delete(deletion.mark.clone()),
            // In a cycle, which only other clients make, the heir can be the child itself.
            (DeletionMode::Adopt, Some(heir)) if heir.id != *child => {
                Self::Reparent { parent: heir.id.clone(), born: heir.born.clone(), is_there: false }
            }
            (DeletionMode::Adopt | DeletionMode::Detach, _) => Self::Detach,
        }
    }

    /// The action as an update of a child's base record, without the mark of a `Delete` ([`Task::Mark`] has it).
    fn update(&self, base: &BaseNode, schema: &Schema) -> Update {
        let name = &schema.names().parent;
        let mut update = Update::default();
        match self {
            Self::Delete(mark) => {
                update.set.insert(crate::model::DELETING.into(), mark.value());
            }
            Self::Detach => {
                update.remove.extend([name.clone(), UNDER.to_owned()]);
                // Without a parent it would count as in the trash.
                update.remove.extend(base.was_taken_out_of_trash().then(|| TRASHED.to_owned()));
            }
            Self::Reparent { parent, born, is_there } => {
                update.set.insert(name.clone(), text(parent.as_str()));
                if born.is_some() || *is_there {
                    let under = Under { parent: parent.clone(), born: born.clone() };
                    update.set.insert(UNDER.into(), under.value());
                    // By the count, `_under` is told from a copy of it.
                    update.set.insert(REVISION.into(), number(times_written_next(Some(&base.item))));
                } else {
                    update.remove.insert(UNDER.into());
                }
            }
        }
        update
    }
}

/// A child with its base record as it was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Child {
    /// The child.
    pub node: NodeRef,
    /// The child's base record.
    pub base: BaseNode,
}

impl Child {
    /// True if `node` is the child's parent and the child has no mark. Only then the deletion of `node` acts on it.
    #[must_use]
    pub fn is_child_of(&self, node: &NodeRef) -> bool {
        self.base.parent.as_ref() == Some(&node.id) && self.base.deleting.is_none()
    }

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

    pub(super) fn action(&self, action: &ChildAction, context: &Context<'_>) -> Result<Action, TooManyAttributes> {
        let schema = context.schema();
        let (key, update) = (schema.node_key(&self.node), action.update(&self.base, schema));
        Ok(Action::Update { key, update, condition: self.as_read(context)? })
    }

    /// The problem of a child that keeps its parent, because no condition can compare its attributes.
    pub(super) fn kept(&self, error: &TooManyAttributes, context: &Context<'_>) -> Problem {
        let key = context.schema().node_key(&self.node);
        let reason = format!("this child of a node that is being deleted stays, and so does the node: {error}");
        Problem { key, reason, unreadable: false }
    }

    /// The condition that the child is as read: then it was its parent's child when the parent was read after it.
    fn as_read(&self, context: &Context<'_>) -> Result<Condition, TooManyAttributes> {
        if !context.rules.keeps(Rule::ChildCondition) {
            return Ok(Condition::Exists);
        }
        unchanged(&self.base.item, false, context.schema())
    }
}
