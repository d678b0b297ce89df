//! Writes that are carried out together or not at all.

use super::{Condition, Update};
use crate::keys::ItemKey;
use crate::model::Item;

/// Most actions in one TransactWriteItems ([AWS: API reference][aws]).
///
/// [aws]: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
pub const TRANSACTION_ACTIONS_MAX: usize = 100;

/// About how many bytes of items our transactions have. DynamoDB takes 4 MB: updates, copies and totals add some.
pub(crate) const TRANSACTION_BYTES_MAX: usize = 3 * 1_024 * 1_024;

/// An action of a transaction, with the condition of its item.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Puts an item in the place of whatever is there.
    Put {
        /// The item's key.
        key: ItemKey,
        /// The item, key attributes included.
        item: Item,
        /// The condition.
        condition: Condition,
    },
    /// Changes some attributes of an item. If the item doesn't exist, the update makes it.
    Update {
        /// The item's key.
        key: ItemKey,
        /// The change.
        update: Update,
        /// The condition.
        condition: Condition,
    },
    /// Deletes an item if it exists.
    Delete {
        /// The item's key.
        key: ItemKey,
        /// The condition.
        condition: Condition,
    },
    /// Changes nothing, and fails the transaction if the condition doesn't hold.
    Check {
        /// The item's key.
        key: ItemKey,
        /// The condition; not [`Condition::Always`], because DynamoDB wants one.
        condition: Condition,
    },
}

impl Action {
    /// The item's key.
    #[must_use]
    pub fn key(&self) -> &ItemKey {
        match self {
            Self::Put { key, .. } | Self::Update { key, .. } | Self::Delete { key, .. } | Self::Check { key, .. } => {
                key
            }
        }
    }

    /// The condition.
    #[must_use]
    pub fn condition(&self) -> &Condition {
        match self {
            Self::Put { condition, .. }
            | Self::Update { condition, .. }
            | Self::Delete { condition, .. }
            | Self::Check { condition, .. } => condition,
        }
    }

    /// Returns the item after the action. Simulated tables use this. `bare` has only the key attributes: an update of
    /// an item that doesn't exist begins with it.
    #[must_use]
    pub fn outcome(&self, before: Option<&Item>, bare: Item) -> Option<Item> {
        match self {
            Self::Put { item, .. } => Some(item.clone()),
            Self::Update { update, .. } => Some(update.of(before.cloned().unwrap_or(bare))),
            Self::Delete { .. } => None,
            Self::Check { .. } => before.cloned(),
        }
    }
}

/// The outcome of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transacted {
    /// All actions are carried out.
    Done,
    /// No action is carried out. These are the positions of the actions whose conditions didn't hold.
    Failed(Vec<usize>),
}
