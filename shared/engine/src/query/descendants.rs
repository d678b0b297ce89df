//! The descendants of a node, by depth.

use super::fields::segment;
use super::page::Listing;
use super::{ListOptions, Page, ReadError, Reader};
use sapwood_core::keys::{DEPTH_MAX, Id, ItemKey, NodeRef, SiblingPlace, SortKey, SortRange};
use sapwood_core::model::{BaseNode, Item, ROW_ATTRIBUTES, is_truncated, key_of, own_order, row_parent};
use sapwood_store::{ErrorKind, Query, ReadOptions, RetryPolicy, Table};

/// A descendant of a node, or a root.
#[derive(Clone, Debug, PartialEq)]
pub struct Descendant {
    /// The descendant's id.
    pub id: Id,
    /// The descendant's parent. Only a root, which a list can begin with, has none.
    pub parent: Option<Id>,
    /// How many levels below the node: 0 is the node itself.
    pub depth: usize,
    /// The descendant's place among its siblings, if they are in an order.
    pub place: Option<SiblingPlace>,
    /// The node's segment, if it has one and rows carry it.
    pub segment: Option<String>,
    /// The attributes that rows carry.
    pub attributes: Item,
    /// True if the row had no room for the attributes.
    pub truncated: bool,
}

/// How many rows were counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counted {
    /// The number of descendants.
    pub count: usize,
    /// The position to continue after; `None` if all are counted.
    pub next: Option<String>,
}

/// The depths that a list covers.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Window {
    /// The first depth.
    pub min: usize,
    /// The last depth.
    pub max: usize,
    /// The prefix of the ids.
    pub id_prefix: Option<String>,
}

impl Window {
    /// The window of depth 1.
    #[must_use]
    pub fn children() -> Self {
        Self { min: 1, max: 1, id_prefix: None }
    }

    /// The window from depth `min` (0: the node itself) to `max`. With `id_prefix` it must be one level.
    ///
    /// # Errors
    /// [`ReadError::Parameter`] if the depths aren't a range, or if there is an `id_prefix` with more than one level or
    /// with level 0.
    pub fn new(min: usize, max: Option<usize>, id_prefix: Option<String>) -> Result<Self, ReadError> {
        let refuse = |parameter, reason| Err(ReadError::Parameter { parameter, reason });
        if min > DEPTH_MAX {
            return refuse("min_depth", "give a depth from 0 to 98; no tree is deeper");
        }
        // A window may be larger than the deepest tree.
        let max = max.unwrap_or(DEPTH_MAX).min(DEPTH_MAX);
        if min > max {
            return refuse("max_depth", "give a depth that isn't less than min_depth");
        }
        if id_prefix.is_some() && (min != max || min == 0) {
            return refuse("id_prefix", "it needs one level; give equal min_depth and max_depth of 1 or more");
        }
        Ok(Self { min, max, id_prefix })
    }
}

impl<T: Table, P: RetryPolicy> Reader<'_, T, P> {
    /// Lists the descendants of a node by depth, then id. An id without a node can have orphans as descendants.
    ///
    /// # Errors
    /// [`ReadError::Absent`] if neither the node nor a descendant exists, [`ReadError::Key`] for an `id_prefix` that no
    /// id can have, and [`ReadError::Position`].
    pub async fn descendants(
        &self,
        node: &NodeRef,
        window: &Window,
        options: &ListOptions,
    ) -> Result<Page<Descendant>, ReadError> {
        let listing = self.depth_listing(node, self.depth_range(window)?);
        let page = self.list(&listing, options, |key, item| self.descendant(node, options, key, item)).await?;
        if page.is_an_empty_list(options) {
            self.check_node(node).await?;
        }
        Ok(page)
    }

    /// Counts the descendants of a node from `options.after` on, in at most `options.bounds.queries_max` requests.
    ///
    /// # Errors
    /// [`ReadError::Absent`] if neither the node nor a descendant exists, [`ReadError::Key`] for an `id_prefix` that no
    /// id can have, and [`ReadError::Position`].
    pub async fn count(&self, node: &NodeRef, window: &Window, options: &ListOptions) -> Result<Counted, ReadError> {
        let schema = self.client.schema();
        let listing = self.depth_listing(node, self.depth_range(window)?);
        let after = listing.start(options)?;
        let reading = ReadOptions { strong: options.strong, attributes: Some(self.placing_attributes()) };
        // A page of DynamoDB's ends at 1 MB.
        let mut query = Query { after, reading, ..Query::first(listing.pk, listing.range, i32::MAX as usize) };
        let mut count = 0;
        for queries in 0..options.bounds.queries_max.max(1) {
            let page = match self.client.query(&query).await {
                Err(error) if queries > 0 && error.kind == ErrorKind::Retry => break,
                page => page?,
            };
            let row = |item: &Item| self.descendant(node, options, &key_of(item, schema)?, item);
            count += page.items.iter().filter_map(row).count();
            query.after = page.next;
            if query.after.is_none() {
                break;
            }
        }
        if count == 0 && query.after.is_none() && options.after.is_none() {
            self.check_node(node).await?;
        }
        Ok(Counted { count, next: query.after })
    }

    pub(super) fn depth_range(&self, window: &Window) -> Result<SortRange, ReadError> {
        let schema = self.client.schema();
        match &window.id_prefix {
            None => Ok(schema.depth_range(window.min, window.max)),
            Some(prefix) => schema
                .level_range(window.min, prefix)
                .map_err(|source| ReadError::Key { parameter: "id_prefix", source }),
        }
    }

    pub(super) fn depth_listing(&self, node: &NodeRef, range: SortRange) -> Listing<'_> {
        let schema = self.client.schema();
        let own = ROW_ATTRIBUTES.into_iter().chain([schema.names().parent.as_str()]).collect();
        Listing::new(schema.partition(node), range, own)
    }

    /// Returns the descendant that a row of the node's collection describes, or the node itself for its base record.
    pub(super) fn descendant(
        &self,
        node: &NodeRef,
        options: &ListOptions,
        key: &ItemKey,
        item: &Item,
    ) -> Option<Descendant> {
        let schema = self.client.schema();
        let (id, depth, parent) = match schema.parse_sort_key(&key.sk)? {
            SortKey::Node => (node.id.clone(), 0, BaseNode::read(item.clone(), node, schema).ok()?.parent),
            SortKey::Ancestor { depth: 1, id } | SortKey::Child { id, .. } => (id, 1, Some(node.id.clone())),
            SortKey::Ancestor { depth, id } => (id, depth, row_parent(item)),
            _ => return None,
        };
        let attributes = options.fields.of_node(item, schema);
        let (segment, place) = (segment(item, schema), own_order(item));
        Some(Descendant { id, parent, depth, place, segment, attributes, truncated: is_truncated(item) })
    }
}
