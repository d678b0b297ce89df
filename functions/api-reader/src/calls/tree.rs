//! A node with its descendants, nested.

use axum::response::Response;
use sapwood_core::keys::NodeRef;
use sapwood_engine::query::{self, Descendant};
use sapwood_http::call::Call;
use sapwood_http::contract::{TreeBody, TreeNode};
use sapwood_http::cursor::Scope;
use sapwood_http::problem::Problem;
use sapwood_json::Attributes;
use sapwood_store::Table;

use super::descendants::max_depth;
use crate::call::{Asked, At, reader};
use crate::list::List;
use crate::problem::refused;
use crate::state::Shared;

/// `GET /nodes/{id}/tree`
pub(crate) struct Tree {
    node: NodeRef,
    max_depth: Option<usize>,
    list: List,
}

impl Call<Shared> for Tree {
    fn read(asked: &mut Asked<'_>) -> Result<Self, Problem> {
        let (node, max_depth) = (asked.node("id")?, max_depth(asked)?);
        let deepest = max_depth.unwrap_or(sapwood_core::keys::DEPTH_MAX).min(sapwood_core::keys::DEPTH_MAX);
        let scope = Scope::new("tree", node.tenant.as_ref()).text(node.id.as_str()).number(deepest);
        Ok(Self { list: List::bounded(asked, scope, query::Tree::BOUNDS)?, node, max_depth })
    }

    /// Answers with the node and its descendants. On a page after a cut the node has only its id, and its `children`
    /// are the children of nodes on earlier pages, each with its `parent` and `depth`. On any page they include nodes
    /// whose parent is just being moved.
    async fn answer<T: Table>(self, at: &At<'_, T>) -> Result<Response, Problem> {
        let mut tree = reader(at).tree(&self.node, self.max_depth, &self.list.options).await.map_err(refused)?;
        let cursor = self.list.cursor(at.shared, tree.next.as_deref());
        // Rows are ordered by depth, so the node itself is the first, or on an earlier page.
        let own = tree.nodes.first_mut().filter(|first| first.depth == 0);
        let own = own.map(|own| (own.parent.take(), own.segment.take(), std::mem::take(&mut own.attributes)));
        let (parent, segment, attributes) =
            own.map_or((None, None, None), |(parent, segment, attributes)| (parent, segment, Some(attributes)));
        let body = TreeBody {
            id: self.node.id.to_string(),
            parent: parent.map(|parent| parent.to_string()),
            depth: 0,
            segment,
            attributes: attributes.map(Attributes),
            children: nested(tree),
            truncated: cursor.is_some(),
            cursor,
        };
        self.list.response(at, body.cursor.as_deref(), &body)
    }
}

/// Returns the nodes right below the node, each with its children. Parents precede their children, so from the last
/// node to the first each finds its children made. Nothing recurs, however deep the tree is.
fn nested(tree: query::Tree) -> Vec<TreeNode> {
    let query::Tree { nodes, children, tops, .. } = tree;
    let mut made: Vec<Option<TreeNode>> = Vec::new();
    made.resize_with(nodes.len(), || None);
    for (index, (found, children)) in nodes.into_iter().zip(children).enumerate().rev() {
        let children = children.into_iter().filter_map(|child| made[child].take()).collect();
        made[index] = Some(tree_node(found, children));
    }
    let tops: Vec<TreeNode> = tops.into_iter().filter_map(|top| made[top].take()).collect();
    let right_below = |top: TreeNode| if top.depth == 0 { top.children } else { vec![top] };
    tops.into_iter().flat_map(right_below).collect()
}

fn tree_node(found: Descendant, children: Vec<TreeNode>) -> TreeNode {
    TreeNode {
        id: found.id.to_string(),
        parent: found.parent.map(|parent| parent.to_string()),
        depth: found.depth,
        segment: found.segment,
        attributes: Attributes(found.attributes),
        truncated: found.truncated,
        children,
    }
}
