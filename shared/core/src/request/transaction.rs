//! Writes that are done together or not at all.

use super::{Condition, Update};
use crate::keys::ItemKey;
use crate::model::Item;

/// Most actions in one TransactWriteItems ([AWS: API reference][aws]).
///
/// [aws]: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
pub const TRANSACTION_ACTIONS_MAX: usize = 100;

/// One action of a transaction, with what must hold of its item.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Put an item in the place of whatever is there.
    Put {
        /// Its key.
        key: ItemKey,
        /// The item, key attributes included.
        item: Item,
        /// What must hold.
        condition: Condition,
    },
    /// Change some attributes.
    Update {
        /// The item's key.
        key: ItemKey,
        /// The change.
        update: Update,
        /// What must hold.
        condition: Condition,
    },
    /// Delete an item if it is there.
    Delete {
        /// Its key.
        key: ItemKey,
        /// What must hold.
        condition: Condition,
    },
    /// Change nothing: only what must hold.
    Check {
        /// The item's key.
        key: ItemKey,
        /// What must hold; not [`Condition::Always`].
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

    /// What must hold of the item.
    #[must_use]
    pub fn condition(&self) -> &Condition {
        match self {
            Self::Put { condition, .. }
            | Self::Update { condition, .. }
            | Self::Delete { condition, .. }
            | Self::Check { condition, .. } => condition,
        }
    }

    /// What becomes of the item, for tables that are simulated. `bare` is one with only its key attributes, for an update
    /// where none is.
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

/// What came of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transacted {
    /// All of it is done.
    Done,
    /// None of it is: these actions' conditions, by their positions, didn't hold.
    Failed(Vec<usize>),
}
