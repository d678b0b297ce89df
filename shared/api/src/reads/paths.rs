//! Subtrees by path.

use axum::response::Response;
use sapwood_core::keys::NodeRef;
use sapwood_engine::query::Within;
use sapwood_store::Table;

use super::call::{Asked, At, ReaderState};
use super::descendants::max_depth;
use super::list::{List, Takes};
use crate::call::Call;
use crate::contract::PathBody;
use crate::cursor::Scope;
use crate::problem::Problem;

/// `GET /paths/{root}/{segment}/…`, or `GET /paths/{root}` with the segments as parameters.
pub(super) struct Paths<const IN_URL: bool> {
    root: NodeRef,
    within: Within,
    list: List,
}

impl<const IN_URL: bool> Call<ReaderState> for Paths<IN_URL> {
    fn read(asked: &mut Asked<'_>) -> Result<Self, Problem> {
        let segments = if IN_URL { asked.path.segments("path")? } else { asked.parameters.texts("path") };
        let root = asked.node("root")?;
        let max_depth = max_depth(asked)?;
        let [from, to] = ["from", "to"].map(|name| asked.parameters.text(name));
        let within = Within::new(segments, max_depth, from, to)?;
        let depth = within.max_depth.map(|depth| depth.to_string());
        let scope = Scope::new("paths", root.tenant.as_ref())
            .text(root.id.as_str())
            .list(within.segments.iter().map(String::as_str))
            .optional(depth.as_deref())
            .optional(within.from.as_deref())
            .optional(within.to.as_deref());
        Ok(Self { list: List::read(asked, scope, Takes::Records)?, root, within })
    }

    async fn answer<T: Table>(self, at: &At<'_, T>) -> Result<Response, Problem> {
        let Self { root, within, list } = self;
        let page = at.reader().paths(&root, &within, &list.options).await?;
        list.answer_nodes(at, list.page(at.shared, page, PathBody::from)).await
    }
}
