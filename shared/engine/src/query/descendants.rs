//! What is below a node, by depth.

use super::page::{Listing, PassedOver};
use super::{ListOptions, Page, ReadError, Reader};
use sapwood_core::keys::{DEPTH_MAX, Id, ItemKey, NodeRef, SortKey, SortRange};
use sapwood_core::model::{BaseNode, Item, ROW_ATTRIBUTES, is_truncated, row_parent};
use sapwood_table::{Query, ReadOptions, RetryPolicy, Table};

/// A node as a list shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct Descendant {
    /// Its id.
    pub id: Id,
    /// Its parent. Only a root has none, where a list begins with it.
    pub parent: Option<Id>,
    /// How far below; 0: the node itself.
    pub depth: usize,
    /// Those of its attributes that rows carry.
    pub attributes: Item,
    /// Whether its row had no room for them.
    pub truncated: bool,
}

/// Which depths below a node are wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    min: usize,
    max: usize,
    id_prefix: Option<String>,
}

impl Window {
    /// Depth 1.
    #[must_use]
    pub fn children() -> Self {
        Self { min: 1, max: 1, id_prefix: None }
    }

    /// From depth `min` (0: with the node itself) to depth `max`; with `id_prefix`, which only one level can have, those
    /// whose id begins so.
    ///
    /// # Errors
    /// [`ReadError::Parameter`] where the depths are no range, or an `id_prefix` has more than one level or level 0.
    pub fn new(min: usize, max: Option<usize>, id_prefix: Option<String>) -> Result<Self, ReadError> {
        let refuse = |parameter, reason| Err(ReadError::Parameter { parameter, reason });
        if min > DEPTH_MAX {
            return refuse("min_depth", "say a depth from 0 to 98: trees aren't deeper");
        }
        // A window may reach past the deepest level there is.
        let max = max.unwrap_or(DEPTH_MAX).min(DEPTH_MAX);
        if min > max {
            return refuse("max_depth", "say a depth that isn't less than min_depth");
        }
        if id_prefix.is_some() && (min != max || min == 0) {
            return refuse("id_prefix", "it takes one level: say the same min_depth and max_depth, 1 or more");
        }
        Ok(Self { min, max, id_prefix })
    }

    /// The first depth.
    #[must_use]
    pub fn min(&self) -> usize {
        self.min
    }

    /// The last depth.
    #[must_use]
    pub fn max(&self) -> usize {
        self.max
    }

    /// How the ids begin.
    #[must_use]
    pub fn id_prefix(&self) -> Option<&str> {
        self.id_prefix.as_deref()
    }
}

impl<T: Table, P: RetryPolicy> Reader<'_, T, P> {
    /// The nodes below a node by depth, then id. An id that isn't there may still have some: orphans.
    ///
    /// # Errors
    /// [`ReadError::Key`] for an `id_prefix` that no id can have; [`ReadError::Position`].
    pub async fn descendants(
        &self,
        node: &NodeRef,
        window: &Window,
        options: &ListOptions,
    ) -> Result<Page<Descendant>, ReadError> {
        let listing = self.depth_listing(node, self.depth_range(window)?);
        self.list(&listing, options, |key, item| self.descendant(node, options, key, item)).await
    }

    /// How many they are: all rows are read, their keys alone are sent.
    ///
    /// # Errors
    /// [`ReadError::Absent`] where there is neither the node nor anything below it; [`ReadError::Key`] as above.
    pub async fn count(&self, node: &NodeRef, window: &Window, strong: bool) -> Result<usize, ReadError> {
        let schema = self.client.schema();
        let mut query = Query {
            pk: schema.partition(node),
            range: self.depth_range(window)?,
            after: None,
            // Whatever fits a page.
            limit: i32::MAX as usize,
            descending: false,
            reading: ReadOptions { strong, attributes: Some(self.placing_attributes()) },
        };
        let mut count = 0;
        let options = ListOptions::default();
        loop {
            let page = self.client.query(&query).await?;
            let is_row = |item: &Item| {
                sapwood_core::model::key_of(item, schema)
                    .and_then(|key| self.descendant(node, &options, &key, item))
                    .is_some()
            };
            count += page.items.iter().filter(|item| is_row(item)).count();
            query.after = page.next;
            if query.after.is_none() {
                break;
            }
        }
        if count == 0 {
            self.check_node(node, strong).await?;
        }
        Ok(count)
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
        let names = schema.names();
        let own = ROW_ATTRIBUTES.into_iter().chain([names.parent.as_str(), names.segment.as_str()]).collect();
        Listing {
            pk: schema.partition(node),
            range,
            passed_over: PassedOver::Nothing,
            descending: false,
            across_pages: false,
            own,
        }
    }

    /// What a row of the node's collection, or its base record, says.
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
            SortKey::Ancestor { depth: 1, id } => (id, 1, Some(node.id.clone())),
            SortKey::Ancestor { depth, id } => (id, depth, row_parent(item)),
            _ => return None,
        };
        let attributes = options.fields.of_node(item, schema);
        Some(Descendant { id, parent, depth, attributes, truncated: is_truncated(item) })
    }
}
