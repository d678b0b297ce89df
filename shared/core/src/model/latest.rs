//! Copies of the newest revision.

use super::Settings;
use super::item::{AttributeValue, Item, number, with_key};
use super::row::with_copies;
use crate::keys::{ItemKey, KeyError, NodeRef, SortKey, Version};

/// The attribute of a `v0_` copy that says which revision it is a copy of.
pub const VERSION: &str = "_version";

/// A topic of a node, whose newest revision is copied to `v0_<topic>`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Latest {
    /// The node.
    pub node: NodeRef,
    /// The topic.
    pub topic: String,
}

impl Latest {
    /// The key of the copy.
    ///
    /// # Errors
    /// [`KeyError::TooLong`]; never for a topic that has a revision, whose key is longer.
    pub fn key(&self, settings: &Settings) -> Result<ItemKey, KeyError> {
        settings.schema.item_key(&self.node, &SortKey::Latest { topic: self.topic.clone() })
    }

    /// The key of one of its revisions.
    ///
    /// # Errors
    /// [`KeyError::TooLong`].
    pub fn revision_key(&self, version: Version, settings: &Settings) -> Result<ItemKey, KeyError> {
        settings.schema.item_key(&self.node, &SortKey::Revision { version, topic: self.topic.clone() })
    }

    /// The copy of a revision.
    #[must_use]
    pub fn copy(key: &ItemKey, version: Version, revision: &Item, settings: &Settings) -> Item {
        let mut own = with_key(key, &settings.schema);
        own.insert(VERSION.into(), number(version.number() as usize));
        with_copies(own, revision, settings)
    }

    /// The value of [`VERSION`] that a copy has, whatever it is.
    #[must_use]
    pub fn version_of(copy: &Item) -> Option<&AttributeValue> {
        copy.get(VERSION)
    }
}
