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
#[allow(missing_docs, reason = "the comment of each says what its fields are")]
pub enum Action {
    /// Puts an item, key attributes included, in the place of whatever is there.
    Put { key: ItemKey, item: Item, condition: Condition },
    /// Changes some attributes of an item. If the item doesn't exist, the update makes it.
    Update { key: ItemKey, update: Update, condition: Condition },
    /// Deletes an item if it exists.
    Delete { key: ItemKey, condition: Condition },
    /// Changes nothing, and fails the transaction if the condition doesn't hold. It isn't [`Condition::Always`]:
    /// DynamoDB wants one.
    Check { key: ItemKey, condition: Condition },
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
