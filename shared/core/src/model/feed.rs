//! The feed of a tree: an entry for each change of a node, which says the node's id and nothing else. What has become
//! of the node is read when the feed is asked, so neither order nor duplicates of entries matter. An entry only has to
//! come, in time.

use super::{AttributeValue, Item, Lineage, Placement, ROW_ID, Settings, text, text_of, with_key};
use crate::keys::{Id, ItemKey, NodeRef, Schema};

/// How long after its stamp the answer to an entry may come, in milliseconds. One that is answered later may be in the
/// table behind the cursor of a follower, so another one is sent.
pub const ANSWERED_WITHIN_MS: u64 = 3_000;

/// How far a clock may be from the right time, in milliseconds: 1.5 s.
pub const CLOCKS_APART_MS: u64 = 1_500;

/// How far a follower stays behind the clock, in milliseconds: 6 s. Every entry that is older is in the table.
pub const BEHIND_MS: u64 = ANSWERED_WITHIN_MS + 2 * CLOCKS_APART_MS;

/// How long an entry is kept, in seconds: 31 days, a day longer than a cursor counts.
pub const ENTRY_SECONDS: u64 = 31 * 24 * 60 * 60;

/// How long a cursor counts, in milliseconds: 30 days.
pub const CURSOR_MS_MAX: u64 = 30 * 24 * 60 * 60 * 1_000;

/// An entry that is to be put: its node's id, in the feed of this tree. Its stamp is taken as it is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The farthest ancestor of the node, or the node itself.
    pub tree: NodeRef,
    /// The node.
    pub id: Id,
    /// The attribute with the time at which it expires.
    pub expires: String,
    /// How long after its stamp its answer may come, in milliseconds: [`ANSWERED_WITHIN_MS`].
    pub answered_within_ms: u64,
}

impl Entry {
    /// The entry of a change of this node. `None` if its key would be too long.
    #[must_use]
    pub fn of(node: &NodeRef, tree: Id, settings: &Settings) -> Option<Self> {
        let tree = node.sibling(tree);
        settings.schema.change_key(&tree, 0, &node.id).ok()?;
        let (id, expires) = (node.id.clone(), settings.expires().to_owned());
        Some(Self { tree, id, expires, answered_within_ms: ANSWERED_WITHIN_MS })
    }

    /// The key of the entry with this stamp, in milliseconds since 1970.
    #[must_use]
    pub fn key(&self, stamp: u64, schema: &Schema) -> ItemKey {
        schema.change_key(&self.tree, stamp, &self.id).unwrap_or_else(|_| ItemKey::new("", ""))
    }

    /// The entry with this stamp, in milliseconds since 1970. It expires after [`ENTRY_SECONDS`].
    ///
    /// ```json
    /// {"PK": "CHANGES#D", "SK": "CHANGE#001764390000123#d", "_id": "d", "_expires": 1767068400}
    /// ```
    #[must_use]
    pub fn item(&self, stamp: u64, schema: &Schema) -> Item {
        let mut item = with_key(&self.key(stamp, schema), schema);
        item.insert(ROW_ID.to_owned(), text(self.id.as_str()));
        let expires = stamp / 1_000 + ENTRY_SECONDS;
        item.insert(self.expires.clone(), AttributeValue::N(expires.to_string()));
        item
    }
}

/// The name of a table's feeds: the item `FEED`. Cursors carry it, so with another name every follower lists its tree
/// anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeedName(pub String);

impl FeedName {
    /// The item, for example `{"PK": "SAPWOOD", "SK": "FEED", "name": "1764390000123456789"}`.
    #[must_use]
    pub fn item(&self, schema: &Schema) -> Item {
        let mut item = with_key(&schema.feed_key(), schema);
        item.insert("name".to_owned(), text(&self.0));
        item
    }

    /// Reads the item. `None` for one that isn't ours.
    #[must_use]
    pub fn read(item: &Item) -> Option<Self> {
        Some(Self(text_of(item, "name")?.to_owned()))
    }
}

/// The tree in which a node with this placement is: its farthest ancestor, or the node itself. `None` in the trash.
#[must_use]
pub fn tree_of(node: &NodeRef, placement: &Placement) -> Option<Id> {
    (!placement.trash.is_in()).then(|| placement.ancestors.last().unwrap_or(&node.id).clone())
}

impl Lineage {
    /// The tree in which the node is. `None` in the trash, and while the lineage says that the node has gone.
    #[must_use]
    pub fn tree(&self, node: &NodeRef) -> Option<Id> {
        tree_of(node, &self.placement).filter(|_| !self.is_gone)
    }
}
