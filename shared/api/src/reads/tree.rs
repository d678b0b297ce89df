//! A node with its descendants, nested.

use axum::response::Response;
use sapwood_core::keys::NodeRef;
use sapwood_engine::query::{self, ListOptions};
use sapwood_store::Table;

use super::call::{Asked, At, ReaderState};
use super::descendants::max_depth;
use super::list::{List, options};
use crate::call::Call;
use crate::contract::TreeBody;
use crate::cursor::Scope;
use crate::problem::Problem;

/// `GET /nodes/{id}/tree`
pub(super) struct Tree {
    node: NodeRef,
    max_depth: Option<usize>,
    list: List,
}

impl Call<ReaderState> for Tree {
    fn read(asked: &mut Asked<'_>) -> Result<Self, Problem> {
        let (node, max_depth) = (asked.node("id")?, max_depth(asked)?);
        let deepest = max_depth.unwrap_or(sapwood_core::keys::DEPTH_MAX).min(sapwood_core::keys::DEPTH_MAX);
        let scope = Scope::new("tree", node.tenant.as_ref()).text(node.id.as_str()).number(deepest);
        let options = ListOptions { bounds: query::Tree::BOUNDS, ..options(asked)? };
        Ok(Self { list: List::at_cursor(asked, scope, options)?, node, max_depth })
    }

    async fn answer<T: Table>(self, at: &At<'_, T>) -> Result<Response, Problem> {
        let Self { node, max_depth, list } = self;
        let tree = at.reader().tree(&node, max_depth, &list.options).await?;
        let cursor = list.cursor(at.shared, tree.next.as_deref());
        let body = TreeBody::of(&node, tree, cursor);
        list.response(at, body.cursor.as_deref(), &body)
    }
}
