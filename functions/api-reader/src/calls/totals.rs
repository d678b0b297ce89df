//! What is below a node, by its totals.

use axum::response::Response;
use sapwood_core::keys::NodeRef;
use sapwood_core::model::AttributeValue;
use sapwood_engine::query::Totals as Found;
use sapwood_http::call::Call;
use sapwood_http::contract::TotalsBody;
use sapwood_http::problem::Problem;
use sapwood_json::Attributes;
use sapwood_table::Table;

use crate::call::{Asked, At, reader};
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
        at.json(&body(found))
    }
}

/// The body of totals.
#[must_use]
pub fn body(found: Found) -> TotalsBody {
    let sums = found.sums.into_iter().map(|(name, sum)| (name, AttributeValue::N(sum.to_string())));
    TotalsBody { count: found.count, children: found.children, sums: Attributes(sums.collect()) }
}
