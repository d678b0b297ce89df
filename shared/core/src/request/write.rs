//! Writes of one item.

use std::collections::BTreeSet;

use crate::keys::ItemKey;
use crate::model::{AttributeValue, Item};

/// A write without a condition.
#[derive(Clone, Debug, PartialEq)]
pub enum Write {
    /// Puts an item in the place of whatever is there.
    Put {
        /// The item's key.
        key: ItemKey,
        /// The item, key attributes included.
        item: Item,
    },
    /// Deletes an item if it exists.
    Delete(ItemKey),
}

impl Write {
    /// The key of the item.
    #[must_use]
    pub fn key(&self) -> &ItemKey {
        match self {
            Self::Put { key, .. } | Self::Delete(key) => key,
        }
    }
}

/// What UpdateItem changes: attributes by name, each named once.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Update {
    /// The attributes to set, with their values.
    pub set: Item,
    /// The attributes to remove, whether they exist or not.
    pub remove: BTreeSet<String>,
}

impl Update {
    /// The update that sets one attribute.
    pub fn set(attribute: impl Into<String>, value: AttributeValue) -> Self {
        Self { set: Item::from([(attribute.into(), value)]), remove: BTreeSet::new() }
    }

    /// Returns the item after the update.
    #[must_use]
    pub fn of(&self, mut item: Item) -> Item {
        item.retain(|name, _| !self.remove.contains(name));
        item.extend(self.set.clone());
        item
    }
}
