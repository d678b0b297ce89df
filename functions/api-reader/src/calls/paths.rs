//! Subtrees by path.

use axum::response::Response;
use sapwood_core::keys::NodeRef;
use sapwood_engine::query::{AtPath, Within};
use sapwood_http::call::Call;
use sapwood_http::contract::PathBody;
use sapwood_http::cursor::Scope;
use sapwood_http::problem::Problem;
use sapwood_json::Attributes;
use sapwood_store::Table;

use super::descendants::max_depth;
use crate::call::{Asked, At, reader};
use crate::list::List;
use crate::problem::refused;
use crate::state::Shared;

/// `GET /paths/{root}/{segment}/…`
pub(crate) struct Paths {
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
        let page = reader(at).paths(&self.root, &self.within, &self.list.options).await.map_err(refused)?;
        let body = |at: AtPath| PathBody {
            id: at.id.to_string(),
            parent: at.parent.map(|parent| parent.to_string()),
            depth: at.path.len(),
            path: at.path,
            segment: at.segment,
            attributes: Attributes(at.attributes),
            truncated: at.truncated,
            record: None,
        };
        self.list.answer_nodes(at, self.root.tenant.as_ref(), page, body).await
    }
}

/// `GET /paths/{root}`
pub(crate) struct PathsOfRoot(Paths);

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
        let within = Within::new(segments, max_depth, from, to).map_err(refused)?;
        let (from, to) = within.bounds();
        let depth = within.max_depth().map(|depth| depth.to_string());
        let scope = Scope::new("paths", root.tenant.as_ref())
            .text(root.id.as_str())
            .list(within.segments().iter().map(String::as_str))
            .optional(depth.as_deref())
            .optional(from)
            .optional(to);
        Ok(Self { list: List::with_records(asked, scope)?, root, within })
    }
}
