//! Writes of one item.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{Action, Condition};
use crate::keys::{Id, ItemKey, Schema};
use crate::model::{AttributeValue, Decimal, Entry, Item, ROW_ID, Row, Shown, sent_bytes, text};

/// A write of one item, whatever is there; a row is deleted only where one is.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "the comment of each says what its fields are")]
pub enum Write {
    /// Puts an item, key attributes included, in the place of whatever is there.
    Put { key: ItemKey, item: Item },
    /// Puts a row in the place of whatever is there. Its item is made as the row is sent, because the rows of a batch
    /// can be a hundred times its base records.
    PutRow { row: Row, shown: Arc<Shown> },
    /// Puts an entry of a feed, with a stamp of the moment at which it is sent, and another one if the answer is late.
    /// The key has the stamp 0.
    Tell { key: ItemKey, entry: Entry },
    /// Deletes an item if it exists.
    Delete(ItemKey),
    /// Deletes a row, if it shows this node. Anything else under its key is the table owner's.
    DeleteRow { key: ItemKey, id: Id },
}

impl Write {
    /// The key of the item.
    #[must_use]
    pub fn key(&self) -> &ItemKey {
        match self {
            Self::Put { key, .. } | Self::Tell { key, .. } | Self::Delete(key) | Self::DeleteRow { key, .. } => key,
            Self::PutRow { row, .. } => &row.key,
        }
    }

    /// The item that is put; `None` if the write deletes one.
    #[must_use]
    pub fn item(&self, schema: &Schema) -> Option<Item> {
        match self {
            Self::Put { item, .. } => Some(item.clone()),
            Self::PutRow { row, shown } => Some(row.item_of(shown, schema)),
            Self::Tell { entry, .. } => Some(entry.item(0, schema)),
            Self::Delete(_) | Self::DeleteRow { .. } => None,
        }
    }

    /// About how many bytes the write takes in a request.
    #[must_use]
    pub fn sent_bytes(&self) -> usize {
        match self {
            Self::Put { item, .. } => sent_bytes(item),
            Self::PutRow { row, shown } => row.sent_bytes(shown),
            Self::Tell { key, .. } | Self::Delete(key) | Self::DeleteRow { key, .. } => key.bytes(),
        }
    }

    /// The put of an entry with this stamp, in milliseconds since 1970; any other write as it is.
    #[must_use]
    pub fn stamped(&self, stamp: u64, schema: &Schema) -> Self {
        match self {
            Self::Tell { entry, .. } => Self::Put { key: entry.key(stamp, schema), item: entry.item(stamp, schema) },
            other => other.clone(),
        }
    }

    /// How long after it is sent the answer to an entry may come, in milliseconds.
    #[must_use]
    pub fn answered_within_ms(&self) -> u64 {
        if let Self::Tell { entry, .. } = self { entry.answered_within_ms } else { u64::MAX }
    }

    /// The deletion of a row, with its condition. No BatchWriteItem can have one.
    #[must_use]
    pub fn row_deletion(&self) -> Option<Action> {
        let Self::DeleteRow { key, id } = self else { return None };
        Some(Action::Delete { key: key.clone(), condition: Condition::is(ROW_ID, Some(text(id.as_str()))) })
    }
}

/// The changes of an UpdateItem: attributes by name, each named once.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Update {
    /// The attributes to set, with their values.
    pub set: Item,
    /// The attributes to remove, whether they exist or not.
    pub remove: BTreeSet<String>,
    /// The summands of numbers, by their attributes. One that doesn't exist counts as zero.
    pub add: BTreeMap<String, Decimal>,
}

impl Update {
    /// The update that sets one attribute.
    pub fn set(attribute: impl Into<String>, value: AttributeValue) -> Self {
        Self { set: Item::from([(attribute.into(), value)]), ..Self::default() }
    }

    /// True if DynamoDB can carry the update out on this item: what is added to is a number, or isn't there.
    #[must_use]
    pub fn can_add_to(&self, item: Option<&Item>) -> bool {
        self.add.keys().all(|name| match item.and_then(|item| item.get(name)) {
            None => true,
            Some(AttributeValue::N(digits)) => Decimal::sum(digits).is_some(),
            Some(_) => false,
        })
    }

    /// Returns the item after the update.
    #[must_use]
    pub fn of(&self, mut item: Item) -> Item {
        item.retain(|name, _| !self.remove.contains(name));
        item.extend(self.set.clone());
        for (name, more) in &self.add {
            let before = match item.get(name) {
                Some(AttributeValue::N(digits)) => Decimal::sum(digits).unwrap_or_default(),
                _ => Decimal::ZERO,
            };
            item.insert(name.clone(), AttributeValue::N((before + *more).to_string()));
        }
        item
    }
}
