//! The body of a node with its descendants, nested.

use sapwood_core::keys::NodeRef;
use sapwood_engine::query::{Descendant, Tree};
use sapwood_json::Attributes;
use serde::Serialize;
use utoipa::ToSchema;

use super::attributes::ReadAttributes;
use super::fields::answers;
use super::reads::is_false;

answers! {
/// A node with its descendants.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
TreeNode {
    /// The node's id.
    #[schema(min_length = 1, max_length = 1014)]
    id: String,
    /// The parent's id.
    parent?: String,
    /// How many levels below the node that was asked for.
    #[schema(minimum = 0, maximum = 98)]
    depth: usize,
    /// The node's name in a path, if that isn't the id. Absent where rows don't carry it.
    #[schema(min_length = 1, max_length = 1014)]
    segment?: String,
    /// The attributes that rows carry.
    #[schema(value_type = ReadAttributes)]
    attributes: Attributes,
    /// True if the row had no room for the attributes. Read the node itself.
    #[serde(skip_serializing_if = "is_false")]
    #[schema(required = false)]
    truncated: bool,
    /// The children: in the order of siblings where the deployment keeps one, and by id.
    #[schema(no_recursion)]
    children: Vec<TreeNode>,
}

/// A subtree: a node with its children, each with its own. A subtree of more than 5,000 nodes or 5 MB is cut, and
/// continues on further pages. A further page has no attributes of the node itself, and its `children` are the next
/// nodes by depth. Each of them names its `parent`.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
TreeBody {
    /// The id of the node that was asked for.
    #[schema(min_length = 1, max_length = 1014)]
    id: String,
    /// The parent's id. Absent for a root, and on further pages.
    parent?: String,
    /// 0.
    #[schema(minimum = 0, maximum = 0)]
    depth: usize,
    /// The node's name in a path, if that isn't the id. Absent where rows don't carry it.
    #[schema(min_length = 1, max_length = 1014)]
    segment?: String,
    /// The node's attributes. Absent on further pages.
    #[schema(value_type = Option<ReadAttributes>)]
    attributes?: Attributes,
    /// The children: in the order of siblings where the deployment keeps one, and by id. On further pages, the next
    /// nodes by depth.
    children: Vec<TreeNode>,
    /// True if the subtree continues on another page.
    #[serde(skip_serializing_if = "is_false")]
    #[schema(required = false)]
    truncated: bool,
    /// The position of the next page: pass it as `cursor`. Absent on the last page.
    cursor?: String,
}
}

impl TreeBody {
    /// Makes the body of a page of a node's tree. After a cut the node has only its id, and its `children` are those of
    /// nodes on earlier pages. On any page they include nodes whose parent is just being moved.
    #[must_use]
    pub fn of(node: &NodeRef, mut tree: Tree, cursor: Option<String>) -> Self {
        // Rows are ordered by depth, so the node itself is the first, or on an earlier page.
        let own = tree.nodes.first_mut().filter(|first| first.depth == 0);
        let own = own.map(|own| (own.parent.take(), own.segment.take(), Some(std::mem::take(&mut own.attributes))));
        let (parent, segment, attributes) = own.unwrap_or_default();
        Self {
            id: node.id.to_string(),
            parent: parent.map(|parent| parent.to_string()),
            depth: 0,
            segment,
            attributes: attributes.map(Attributes),
            children: nested(tree),
            truncated: cursor.is_some(),
            cursor,
        }
    }
}

/// Returns the nodes right below the node, each with its children. Parents precede their children, so from the last
/// node to the first each finds its children made. Nothing recurs, however deep the tree is.
fn nested(tree: Tree) -> Vec<TreeNode> {
    let Tree { nodes, children, tops, .. } = tree;
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
