//! A node with its descendants, nested.

use std::collections::BTreeMap;

use super::{Bounds, Descendant, ListOptions, Page, ReadError, Reader, Window};
use sapwood_core::keys::{Id, NodeRef};
use sapwood_store::{RetryPolicy, Table};

/// A nested tree, kept as a flat list, so that nothing recurses however deep it is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tree {
    /// All nodes, by depth, then id.
    pub nodes: Vec<Descendant>,
    /// The children of each node as indices into `nodes`, in the order of siblings where rows have it, then by id.
    pub children: Vec<Vec<usize>>,
    /// The nodes whose parent isn't among `nodes`, in their order. The first is the node itself. On a page after a cut,
    /// they are the children of nodes on earlier pages. A node that moves while the tree is read can be one as well.
    pub tops: Vec<usize>,
    /// The position to continue after; `None` if the tree is complete.
    pub next: Option<String>,
}

impl Tree {
    /// The bounds of a tree. `limit` doesn't change them.
    pub const BOUNDS: Bounds = Bounds { items_max: 5_000, bytes_max: 5_000_000, queries_max: Bounds::QUERIES_MAX };

    /// Nests rows that are ordered by depth. A row's parent is the row with the parent's id one level above.
    #[must_use]
    pub fn nest(page: Page<Descendant>) -> Self {
        let Page { items: nodes, next } = page;
        let mut children = vec![Vec::new(); nodes.len()];
        let mut tops = Vec::new();
        let mut at: BTreeMap<(usize, &Id), usize> = BTreeMap::new();
        for (index, node) in nodes.iter().enumerate() {
            let parent = node.parent.as_ref().filter(|_| node.depth > 0).and_then(|id| at.get(&(node.depth - 1, id)));
            match parent {
                Some(parent) => children[*parent].push(index),
                None => tops.push(index),
            }
            at.insert((node.depth, &node.id), index);
        }
        // The sort is stable, so ids decide between equal places.
        for siblings in &mut children {
            siblings.sort_by_key(|index| {
                let place = nodes[*index].place.as_ref();
                (place.is_none(), place)
            });
        }
        Self { nodes, children, tops, next }
    }
}

impl<T: Table, P: RetryPolicy> Reader<'_, T, P> {
    /// Reads a node with its descendants to `max_depth`, within `options.bounds`.
    ///
    /// # Errors
    /// [`ReadError::Absent`] and [`ReadError::Unreadable`] for the node itself, and [`ReadError::Position`].
    pub async fn tree(
        &self,
        node: &NodeRef,
        max_depth: Option<usize>,
        options: &ListOptions,
    ) -> Result<Tree, ReadError> {
        let window = Window::new(0, max_depth, None)?;
        let mut listing = self.depth_listing(node, self.depth_range(&window)?);
        listing.across_pages = true;
        let page = self.list(&listing, options, |key, item| self.descendant(node, options, key, item)).await?;
        if options.after.is_none() && page.items.first().is_none_or(|first| first.depth > 0) {
            self.check_node(node).await?;
        }
        Ok(Tree::nest(page))
    }
}
