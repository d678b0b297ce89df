//! Writes of one item.

use std::collections::BTreeSet;

use crate::keys::ItemKey;
use crate::model::{AttributeValue, Item};

/// A write without a condition.
#[derive(Clone, Debug, PartialEq)]
pub enum Write {
    /// Put an item in the place of whatever is there.
    Put {
        /// Its key.
        key: ItemKey,
        /// The item, key attributes included.
        item: Item,
    },
    /// Delete an item if it is there.
    Delete(ItemKey),
}

impl Write {
    /// The key that is written.
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
    /// Set to these values.
    pub set: Item,
    /// Removed, whether they are there or not.
    pub remove: BTreeSet<String>,
}

impl Update {
    /// One that sets one attribute.
    pub fn set(attribute: impl Into<String>, value: AttributeValue) -> Self {
        Self { set: Item::from([(attribute.into(), value)]), remove: BTreeSet::new() }
    }

    /// What becomes of an item.
    #[must_use]
    pub fn of(&self, mut item: Item) -> Item {
        item.retain(|name, _| !self.remove.contains(name));
        item.extend(self.set.clone());
        item
    }
}
