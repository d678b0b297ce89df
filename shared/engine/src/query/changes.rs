//! The feed of a tree: what has changed in it since a cursor.
//!
//! A follower keeps a mirror. It begins with a listing, and then asks for changes. An entry of the feed names a node, and
//! what has become of that is read now: the node, if it is in the tree, or nothing. So it doesn't matter in which order
//! entries come, nor how often.

use std::collections::BTreeSet;

use super::page::Listing;
use super::{Bounds, Fields, Filter, ListOptions, ReadError, Reader};
use sapwood_core::keys::{DEPTH_MAX, Id, ItemKey, NodeRef, SortKey};
use sapwood_core::model::{BEHIND_MS, BaseNode, Item, ROW_ID, Stored, text_of};
use sapwood_core::plan::{Rule, Rules};
use sapwood_store::{ANSWER_BYTES_MAX, Query, ReadOptions, RetryPolicy, Table};

/// Most nodes of a page. Each is looked up by two items, of which one request reads 100.
pub const CHANGES_MAX: usize = 50;

/// A node that has changed, or is listed.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The node's id.
    pub id: Id,
    /// The node; `None` if it isn't in the tree.
    pub node: Option<BaseNode>,
}

/// How far a follower has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Followed {
    /// It is in the listing, after this position. Changes count from the time in milliseconds since 1970.
    Listing {
        /// The time from which changes count.
        since: u64,
        /// The position in the listing; `None` for its beginning.
        after: Option<String>,
    },
    /// It has read all entries with stamps before this time, and those up to this position.
    Changes {
        /// The time in milliseconds since 1970.
        since: u64,
        /// The position among later entries; `None` where there is none.
        after: Option<String>,
    },
}

impl Followed {
    /// A follower who begins now, with the listing.
    #[must_use]
    pub fn begin(now_ms: u64, rules: Rules) -> Self {
        Self::Listing { since: until(now_ms, rules), after: None }
    }

    /// A follower who begins now, without the listing.
    #[must_use]
    pub fn now(now_ms: u64, rules: Rules) -> Self {
        Self::Changes { since: until(now_ms, rules), after: None }
    }

    /// The time from which its changes count, in milliseconds since 1970.
    #[must_use]
    pub fn since(&self) -> u64 {
        let (Self::Listing { since, .. } | Self::Changes { since, .. }) = self;
        *since
    }
}

/// The time up to which a feed is read.
fn until(now_ms: u64, rules: Rules) -> u64 {
    if rules.keeps(Rule::StayBehind) { now_ms.saturating_sub(BEHIND_MS) } else { now_ms }
}

/// A page of a feed.
#[derive(Clone, Debug, PartialEq)]
pub struct ChangesPage {
    /// The nodes, each once.
    pub changes: Vec<Change>,
    /// How far the follower has come with this page.
    pub followed: Followed,
    /// True if there is more to read at once.
    pub more: bool,
}

impl<T: Table, P: RetryPolicy> Reader<'_, T, P> {
    /// Reads what follows in the feed of a tree, at this time in milliseconds since 1970: a page of the listing, or of
    /// the changes, with so many nodes at most ([`CHANGES_MAX`]). All reads are strong.
    ///
    /// # Errors
    /// [`ReadError::Position`] and [`ReadError::Table`].
    pub async fn changes(
        &self,
        tree: &NodeRef,
        from: &Followed,
        now_ms: u64,
        (items_max, rules): (usize, Rules),
    ) -> Result<ChangesPage, ReadError> {
        let items_max = items_max.clamp(1, CHANGES_MAX);
        match from {
            Followed::Listing { since, after } => self.listed(tree, *since, after.clone(), (items_max, rules)).await,
            Followed::Changes { since, after } => {
                let until = until(now_ms, rules).max(*since);
                self.changed(tree, *since, after.clone(), (until, items_max)).await
            }
        }
    }

    /// Reads a page of the listing: of the rows below the tree's root, and the root itself.
    async fn listed(
        &self,
        tree: &NodeRef,
        since: u64,
        after: Option<String>,
        (items_max, rules): (usize, Rules),
    ) -> Result<ChangesPage, ReadError> {
        let schema = self.client.schema();
        let listing = Listing::new(schema.partition(tree), schema.depth_range(0, DEPTH_MAX), vec![ROW_ID]);
        let options = ListOptions {
            strong: true,
            fields: Fields::only(["_".to_owned()])?,
            filter: Filter::default(),
            after,
            bounds: Bounds::items(items_max),
        };
        let id = |key: &ItemKey, _: &Item| match schema.parse_sort_key(&key.sk)? {
            SortKey::Node => Some(tree.id.clone()),
            SortKey::Ancestor { id, .. } => Some(id),
            _ => None,
        };
        let page = self.list(&listing, &options, id).await?;
        let ids: BTreeSet<Id> = page.items.into_iter().collect();
        let found = self.looked_up(tree, ids, rules).await?;
        let followed = match page.next {
            Some(after) => Followed::Listing { since, after: Some(after) },
            None => Followed::Changes { since, after: None },
        };
        let changes = found.into_iter().filter(|change| change.node.is_some()).collect();
        // The changes since it began come next.
        Ok(ChangesPage { changes, followed, more: true })
    }

    /// Reads a page of the changes up to this time.
    async fn changed(
        &self,
        tree: &NodeRef,
        since: u64,
        after: Option<String>,
        (until, items_max): (u64, usize),
    ) -> Result<ChangesPage, ReadError> {
        let schema = self.client.schema();
        let range = schema.changes_range(since, until);
        if after.as_ref().is_some_and(|after| *after < range.from) {
            return Err(ReadError::Position);
        }
        // The range has no entry of its end, whose key is longer.
        let reading = ReadOptions { strong: true, attributes: Some([ROW_ID.to_owned()].into()) };
        let query = Query { after, reading, ..Query::first(schema.changes_partition(tree), range, items_max) };
        let page = self.client.query(&query).await?;
        let ids = page.items.iter().filter_map(|item| Id::new(text_of(item, ROW_ID)?).ok()).collect();
        let changes = self.looked_up(tree, ids, Rules::default()).await?;
        let (followed, more) = match page.next {
            Some(after) => (Followed::Changes { since, after: Some(after) }, true),
            None => (Followed::Changes { since: until, after: None }, false),
        };
        Ok(ChangesPage { changes, followed, more })
    }

    /// Looks nodes up: each is in the tree if its record is there and its lineage says so.
    async fn looked_up(&self, tree: &NodeRef, ids: BTreeSet<Id>, rules: Rules) -> Result<Vec<Change>, ReadError> {
        let schema = self.client.schema();
        let mut changes = Vec::with_capacity(ids.len());
        let mut left: Vec<NodeRef> = ids.into_iter().map(|id| tree.sibling(id)).collect();
        while !left.is_empty() {
            let keys: BTreeSet<ItemKey> =
                left.iter().flat_map(|node| [schema.node_key(node), schema.lineage_key(node)]).collect();
            let reading = ReadOptions { strong: true, attributes: None };
            let read = self.client.get_some(keys, &reading, ANSWER_BYTES_MAX).await;
            if let Some(error) = read.failed.into_values().next() {
                return Err(error.into());
            }
            let (done, later) = left.into_iter().partition::<Vec<_>, _>(|node| {
                ![schema.node_key(node), schema.lineage_key(node)].iter().any(|key| read.left.contains(key))
            });
            left = later;
            for node in done {
                let lineage = Stored::read(read.items.get(&schema.lineage_key(&node)), schema);
                let is_in = lineage.lineage().and_then(|lineage| lineage.tree(&node)) == Some(tree.id.clone());
                let is_in = is_in || !rules.keeps(Rule::LookUpListed);
                let record = read.items.get(&schema.node_key(&node)).filter(|_| is_in);
                let found = record.and_then(|item| BaseNode::read(item.clone(), &node, schema).ok());
                changes.push(Change { id: node.id, node: found });
            }
        }
        Ok(changes)
    }
}
