//! Subtrees by path.

use axum::response::Response;
use sapwood_core::keys::NodeRef;
use sapwood_engine::query::Within;
use sapwood_store::Table;

use super::call::{Asked, At, Shared};
use super::descendants::max_depth;
use super::list::{List, Takes};
use crate::call::Call;
use crate::contract::PathBody;
use crate::cursor::Scope;
use crate::problem::Problem;

/// `GET /paths/{root}/{segment}/…`
pub(super) struct Paths {
    root: NodeRef,
    within: Within,
    list: List,
}

impl Call<Shared> for Paths {
    fn read(asked: &mut Asked<'_>) -> Result<Self, Problem> {
        let segments = asked.path.segments("path")?;
        Self::below(asked, segments)
    }

    async fn answer<T: Table>(self, at: &At<'_, T>) -> Result<Response, Problem> {
        let Self { root, within, list } = self;
        let page = at.reader().paths(&root, &within, &list.options).await?;
        list.answer_nodes(at, list.page(at.shared, page, PathBody::from)).await
    }
}

/// `GET /paths/{root}`
pub(super) struct PathsOfRoot(Paths);

impl Call<Shared> for PathsOfRoot {
    fn read(asked: &mut Asked<'_>) -> Result<Self, Problem> {
        let segments = asked.parameters.texts("path");
        Paths::below(asked, segments).map(Self)
    }

    async fn answer<T: Table>(self, at: &At<'_, T>) -> Result<Response, Problem> {
        self.0.answer(at).await
    }
}

impl Paths {
    fn below(asked: &mut Asked<'_>, segments: Vec<String>) -> Result<Self, Problem> {
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
}
