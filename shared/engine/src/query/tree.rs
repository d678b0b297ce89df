//! A node with all that is below it, nested.

use std::collections::BTreeMap;

use super::{Bounds, Descendant, ListOptions, Page, ReadError, Reader, Window};
use sapwood_core::keys::{Id, NodeRef};
use sapwood_table::{RetryPolicy, Table};

/// Nodes that are nested, without being so in memory: however deep they are, nothing here recurs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tree {
    /// All of them, by depth, then id.
    pub nodes: Vec<Descendant>,
    /// The children of each, in the order of their ids: indices into `nodes`.
    pub children: Vec<Vec<usize>>,
    /// Those whose parent isn't among them, in their order: the node itself first; where the tree goes on after a cut,
    /// children of nodes that came before it; and, for a moment, what is being moved while it is read.
    pub tops: Vec<usize>,
    /// The position to go on after, where it was cut.
    pub next: Option<String>,
}

impl Tree {
    /// What bounds a tree, whatever `limit` says.
    pub const BOUNDS: Bounds = Bounds { items_max: 5_000, bytes_max: 5_000_000 };

    /// Nests rows that are ordered by depth: a row's parent is the one of that id, one level above.
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
        Self { nodes, children, tops, next }
    }
}

impl<T: Table, P: RetryPolicy> Reader<'_, T, P> {
    /// A node with all that is below it, to `max_depth`: as much as `options.bounds` allow.
    ///
    /// # Errors
    /// [`ReadError::Absent`] and [`ReadError::Unreadable`] for the node itself; [`ReadError::Position`].
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
            self.check_node(node, options.strong).await?;
        }
        Ok(Tree::nest(page))
    }
}
