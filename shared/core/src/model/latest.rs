//! `v0_` copies of the newest revisions.

use super::Settings;
use super::item::{Item, number, with_key};
use super::row::with_copies;
use crate::keys::{ItemKey, KeyError, NodeRef, SortKey, Version};

/// The attribute of a `v0_` copy with the version of the revision that was copied.
pub const VERSION: &str = "_version";

/// A topic of a node, whose newest revision is copied to `v0_<topic>`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Latest {
    /// The node that the revisions belong to.
    pub node: NodeRef,
    /// The topic of the revisions, free text.
    pub topic: String,
}

impl Latest {
    /// Returns the copy's key. Never fails for a topic that has a revision, whose key is longer.
    pub fn key(&self, settings: &Settings) -> Result<ItemKey, KeyError> {
        settings.schema.item_key(&self.node, &SortKey::Latest { topic: self.topic.clone() })
    }

    /// Returns the key of one of the topic's revisions. Fails if it is too long.
    pub fn revision_key(&self, version: Version, settings: &Settings) -> Result<ItemKey, KeyError> {
        settings.schema.item_key(&self.node, &SortKey::Revision { version, topic: self.topic.clone() })
    }

    /// Returns the copy of a revision, the item with this `key`. A copy that would pass 400 KB has `"_truncated": true`
    /// instead of the revision's attributes.
    ///
    /// ```json
    /// {"PK": "Equipment_1", "SK": "v0_Audit", "_version": 3, "auditor": "Lin"}
    /// ```
    #[must_use]
    pub fn copy(key: &ItemKey, version: Version, revision: &Item, settings: &Settings) -> Item {
        let mut own = with_key(key, &settings.schema);
        own.insert(VERSION.into(), number(version.number() as usize));
        with_copies(own, revision, settings)
    }
}
