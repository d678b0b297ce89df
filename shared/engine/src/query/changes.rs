//! The feed of a tree: what has changed in it since a cursor.
//!
//! A follower keeps a mirror. It begins with a listing, and then asks for changes. An entry of the feed names a node,
//! and what has become of that is read now: the node, if it is in the tree, or nothing. So it doesn't matter in which
//! order entries come, nor how often.

use std::collections::{BTreeMap, BTreeSet};

use super::page::Listing;
use super::{Bounds, Fields, Filter, ListOptions, Page, ReadError, Reader};
use sapwood_core::keys::{DEPTH_MAX, Id, ItemKey, NodeRef, SortKey};
use sapwood_core::model::{
    BEHIND_MS, BaseNode, CURSOR_MS_MAX, FeedName, Item, ROW_ID, Stored, key_of, size_estimate, text_of,
};
use sapwood_core::plan::{Rule, Rules};
use sapwood_store::{ANSWER_BYTES_MAX, ErrorKind, Query, ReadOptions, RetryPolicy, Table, TableError};

/// Most nodes of a page. Each is looked up by two items, of which one request reads 100.
pub const CHANGES_MAX: usize = 50;

/// Most bytes of the nodes of a page as JSON, by [`size_estimate`]. A page has at least one node, whatever its size.
const CHANGES_BYTES_MAX: usize = Bounds::BYTES_MAX / 2;

/// The last stamp that a key can hold.
const STAMP_MAX: u64 = 999_999_999_999_999;

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

    /// True if the follower's cursor doesn't count any more: entries that it hasn't read may have expired.
    #[must_use]
    pub fn is_too_old(&self, now_ms: u64) -> bool {
        now_ms.saturating_sub(self.since()) > CURSOR_MS_MAX
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
        let entry = |key: &ItemKey, _: &Item| match schema.parse_sort_key(&key.sk)? {
            SortKey::Node => Some((key.sk.clone(), tree.id.clone())),
            // Nobody is told of an id without room in an entry, so it isn't listed either.
            SortKey::Ancestor { id, .. } if schema.change_key(tree, 0, &id).is_ok() => Some((key.sk.clone(), id)),
            _ => None,
        };
        let Page { items: entries, next } = self.list(&listing, &options, entry).await?;
        let found = self.looked_up(tree, &entries, (true, rules)).await?;
        let (changes, cut) = fitting(&entries, found);
        let followed = match cut.or(next) {
            Some(after) => Followed::Listing { since, after: Some(after) },
            None => Followed::Changes { since, after: None },
        };
        let changes = changes.into_iter().filter(|change| change.node.is_some()).collect();
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
        let range = self.client.schema().changes_range(since, until);
        if after.as_ref().is_some_and(|after| *after < range.from) {
            return Err(ReadError::Position);
        }
        if after.as_ref().is_some_and(|after| *after > range.to) {
            // The page before was read by a clock that is ahead of this one.
            let followed = Followed::Changes { since, after };
            return Ok(ChangesPage { changes: Vec::new(), followed, more: false });
        }
        // The range has no entry of its end, whose key is longer.
        let query = Query { after, ..Query::first(self.client.schema().changes_partition(tree), range, items_max) };
        let (entries, next) = self.entries(query, true).await?;
        let found = self.looked_up(tree, &entries, (true, Rules::default())).await?;
        let (changes, cut) = fitting(&entries, found);
        let (followed, more) = match cut.or(next) {
            Some(after) => (Followed::Changes { since, after: Some(after) }, true),
            None => (Followed::Changes { since: until, after: None }, false),
        };
        Ok(ChangesPage { changes, followed, more })
    }

    /// Looks whether there may be a change since this time that can be read at this one, in milliseconds since 1970. It
    /// costs half a read unit, and may miss one that has just come: a follower who is told that there is none asks
    /// again from the same cursor.
    ///
    /// # Errors
    /// [`ReadError::Table`].
    pub async fn has_changes(&self, tree: &NodeRef, since: u64, now_ms: u64) -> Result<bool, ReadError> {
        let range = self.client.schema().changes_range(since, until(now_ms, Rules::default()).max(since));
        let query = Query::first(self.client.schema().changes_partition(tree), range, 1);
        Ok(!self.entries(query, false).await?.0.is_empty())
    }

    /// Lists what has changed in a tree lately, the newest first: each node once on a page, as it is now, and when it
    /// was told, in milliseconds since 1970. It is for people: changes that are being written are missed.
    ///
    /// # Errors
    /// [`ReadError::Position`] and [`ReadError::Table`].
    pub async fn recent(
        &self,
        tree: &NodeRef,
        after: Option<String>,
        items_max: usize,
    ) -> Result<Page<(u64, Change)>, ReadError> {
        let schema = self.client.schema();
        let range = schema.changes_range(0, STAMP_MAX);
        if after.as_ref().is_some_and(|after| *after < range.from || *after > range.to) {
            return Err(ReadError::Position);
        }
        let first = Query::first(schema.changes_partition(tree), range, items_max.clamp(1, CHANGES_MAX));
        let (entries, next) = self.entries(Query { after, ..first }.descending(), false).await?;
        let found = self.looked_up(tree, &entries, (false, Rules::default())).await?;
        let (changes, cut) = fitting(&entries, found);
        let at = |change: &Change| {
            let (key, _) = entries.iter().find(|(_, id)| *id == change.id)?;
            if let SortKey::Change { stamp, .. } = schema.parse_sort_key(key)? { Some(stamp) } else { None }
        };
        let items = changes.into_iter().filter_map(|change| Some((at(&change)?, change))).collect();
        Ok(Page { items, next: cut.or(next) })
    }

    /// True if the deployment keeps feeds.
    #[must_use]
    pub fn keeps_feeds(&self) -> bool {
        self.settings.changes
    }

    /// Reads the name of the table's feeds: perhaps the one before, if the read isn't strong. `None` if they haven't
    /// begun.
    ///
    /// # Errors
    /// [`ReadError::Table`].
    pub async fn feed_name(&self, strong: bool) -> Result<Option<FeedName>, ReadError> {
        let key = self.client.schema().feed_key();
        for strong in [strong, true] {
            let found = self.client.get(&key, &ReadOptions { strong, attributes: None }).await?;
            if let Some(name) = found.as_ref().and_then(FeedName::read) {
                return Ok(Some(name));
            }
        }
        Ok(None)
    }

    /// Reads entries: their sort keys, and the nodes that they name.
    async fn entries(&self, query: Query, strong: bool) -> Result<(Vec<(String, Id)>, Option<String>), ReadError> {
        let reading = ReadOptions { strong, attributes: Some([ROW_ID.to_owned()].into()) };
        let page = self.client.query(&Query { reading, ..query }).await?;
        let entry = |item: &Item| Some((key_of(item, self.client.schema())?.sk, Id::new(text_of(item, ROW_ID)?).ok()?));
        Ok((page.items.iter().filter_map(entry).collect(), page.next))
    }

    /// Looks nodes up: each is in the tree if its record is there and its lineage says so.
    async fn looked_up(
        &self,
        tree: &NodeRef,
        entries: &[(String, Id)],
        (strong, rules): (bool, Rules),
    ) -> Result<BTreeMap<Id, Change>, ReadError> {
        let schema = self.client.schema();
        let mut changes = BTreeMap::new();
        let ids: BTreeSet<&Id> = entries.iter().map(|(_, id)| id).collect();
        let mut left: Vec<NodeRef> = ids.into_iter().map(|id| tree.sibling(id.clone())).collect();
        while !left.is_empty() {
            let keys: BTreeSet<ItemKey> =
                left.iter().flat_map(|node| [schema.node_key(node), schema.lineage_key(node)]).collect();
            let reading = ReadOptions { strong, attributes: None };
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
                // Where a newer version has placed it can't be told, and nobody would be told again.
                lineage.check_format().map_err(|newer| TableError::new(ErrorKind::Retry, newer.to_string()))?;
                let is_in = lineage.lineage().and_then(|lineage| lineage.tree(&node)) == Some(tree.id.clone());
                let is_in = is_in || !rules.keeps(Rule::LookUpListed);
                let record = read.items.get(&schema.node_key(&node)).filter(|_| is_in);
                let found = record.and_then(|item| BaseNode::read(item.clone(), &node, schema).ok());
                changes.insert(node.id.clone(), Change { id: node.id, node: found });
            }
        }
        Ok(changes)
    }
}

/// The nodes of the first of these entries, each once, as many as a page has room for; and the key of the last of them,
/// if not all have room.
fn fitting(entries: &[(String, Id)], mut found: BTreeMap<Id, Change>) -> (Vec<Change>, Option<String>) {
    let (mut changes, mut bytes): (Vec<Change>, usize) = (Vec::with_capacity(found.len()), 0);
    let mut last = None;
    for (key, id) in entries {
        if let Some(change) = found.remove(id) {
            bytes += change.node.as_ref().map_or(0, |node| size_estimate(&node.item));
            if bytes > CHANGES_BYTES_MAX && !changes.is_empty() {
                return (changes, last);
            }
            changes.push(change);
        }
        last = Some(key.clone());
    }
    (changes, None)
}
