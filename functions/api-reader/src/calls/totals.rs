//! What is below a node, by its totals.

use axum::response::Response;
use sapwood_core::keys::NodeRef;
use sapwood_http::call::Call;
use sapwood_http::problem::Problem;
use sapwood_store::Table;

use crate::call::{Asked, At, reader};
use crate::list::totals_body;
use crate::problem::refused;
use crate::state::Shared;

/// `GET /nodes/{id}/totals`
pub(crate) struct Totals {
    node: NodeRef,
    strong: bool,
}

impl Call<Shared> for Totals {
    fn read(asked: &mut Asked<'_>) -> Result<Self, Problem> {
        Ok(Self { node: asked.node("id")?, strong: asked.strong()? })
    }

    async fn answer<T: Table>(self, at: &At<'_, T>) -> Result<Response, Problem> {
        let found = reader(at).totals(&self.node, self.strong).await.map_err(refused)?;
        at.json(&totals_body(found))
    }
}
