//! Writes that are carried out together, and their outcomes.

use crate::keys::ItemKey;
use crate::model::{DELETING, DeletionMark};
use crate::request::{Action, Condition, Update};

/// Writes that are carried out together, or not at all.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub enum Task {
    /// A write on a condition.
    Write(Action),
    /// A transaction.
    Transact(Vec<Action>),
    /// A write that marks a node for deletion. Each attempt writes a mark with a name of its own, because an attempt
    /// whose answer was lost may have been carried out, and taken back by another client since.
    #[allow(missing_docs, reason = "the key and the condition are those of the base record")]
    Mark { key: ItemKey, mark: DeletionMark, condition: Condition },
    /// Writes of counts and of the totals that change with them: carried out together, or not at all.
    Count(Counting),
}

/// Nodes that are counted together. An attempt that comes late does nothing once another was answered: what it is
/// conditional on has changed then, for good.
#[derive(Clone, Debug, PartialEq)]
pub struct Counting {
    /// The writes that say as what the nodes are counted: each on the condition that it is as it was read.
    pub counted: Vec<Action>,
    /// The additions to the totals of each ancestor.
    pub added: Vec<Added>,
    /// The lane of the first attempt. Each attempt takes the next, because another writer may hold the one before.
    pub lane: usize,
}

/// An addition to the totals of one node.
#[derive(Clone, Debug, PartialEq)]
pub struct Added {
    /// The keys of its lanes. There is one at least.
    pub lanes: Vec<ItemKey>,
    /// The addition to one of them.
    pub update: Update,
}

impl Added {
    fn action(&self, lane: usize) -> Option<Action> {
        let key = self.lanes.get(lane % self.lanes.len().max(1))?.clone();
        Some(Action::Update { key, update: self.update.clone(), condition: Condition::Always })
    }
}

impl Task {
    /// Actions that are carried out together, or not at all.
    pub fn together(actions: Vec<Action>) -> Self {
        match <[Action; 1]>::try_from(actions) {
            Ok([action]) => Self::Write(action),
            Err(actions) => Self::Transact(actions),
        }
    }

    /// The item that the task is about: that of its first action.
    #[must_use]
    pub fn key(&self) -> Option<&ItemKey> {
        match self {
            Self::Write(action) => Some(action.key()),
            Self::Transact(actions) => actions.first().map(Action::key),
            Self::Mark { key, .. } => Some(key),
            Self::Count(counting) => counting.counted.first().map(Action::key),
        }
    }

    /// True if the task only updates an item that has to exist. Such tasks can share a request.
    #[must_use]
    pub fn is_update_of_existing(&self) -> bool {
        match self {
            // PartiQL, in which such requests are written, can't add.
            Self::Write(Action::Update { update, condition: Condition::Exists, .. }) => update.add.is_empty(),
            Self::Write(_) | Self::Transact(_) | Self::Mark { .. } | Self::Count(_) => false,
        }
    }

    /// The task's action, if it can share a request with others: an update of an item that has to exist, or a deletion
    /// where an attribute has a value. Where no item is, the deletion counts as done.
    #[must_use]
    pub fn shared(&self) -> Option<&Action> {
        match self {
            Self::Write(action @ Action::Delete { condition: Condition::Is { value: Some(_), .. }, .. }) => {
                Some(action)
            }
            Self::Write(action) if self.is_update_of_existing() => Some(action),
            Self::Write(_) | Self::Transact(_) | Self::Mark { .. } | Self::Count(_) => None,
        }
    }

    /// True if an attempt that comes late does nothing once another one was answered.
    #[must_use]
    pub fn is_settled_by_an_answer(&self) -> bool {
        matches!(self, Self::Count(_))
    }

    /// The task that one attempt sends; the first one's number is 0. `name` returns a name that no other attempt has.
    pub fn attempt(&self, number: u32, name: impl FnOnce() -> String) -> Self {
        match self {
            Self::Mark { key, mark, condition } => Self::Write(Action::Update {
                key: key.clone(),
                update: Update::set(DELETING, mark.marked(name()).value()),
                condition: condition.clone(),
            }),
            Self::Count(Counting { counted, added, lane }) => {
                let lane = lane.wrapping_add(number as usize);
                let added = added.iter().filter_map(|added| added.action(lane));
                Self::together(counted.iter().cloned().chain(added).collect())
            }
            Self::Write(_) | Self::Transact(_) => self.clone(),
        }
    }
}

/// The outcome of a task that the table has answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskOutcome {
    /// All conditions held, and the task is done.
    Held,
    /// No action was carried out. These are the positions of the actions whose conditions didn't hold.
    Failed(Vec<usize>),
}

/// Why a read or a write failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The record has to be delivered again: no time or use for a retry, or an unanswered attempt may still be carried
    /// out.
    Again,
    /// The table refuses this write now and at every retry. The executor has noted the problem.
    Refused,
}

/// Counts the tasks that held. One that the table refuses for good is no error; one to be tried again is.
pub fn count_held(outcomes: &[Result<TaskOutcome, Failure>]) -> Result<u64, Failure> {
    let mut held = 0;
    for outcome in outcomes {
        match outcome {
            Ok(TaskOutcome::Held) => held += 1,
            Ok(TaskOutcome::Failed(_)) | Err(Failure::Refused) => {}
            Err(Failure::Again) => return Err(Failure::Again),
        }
    }
    Ok(held)
}
