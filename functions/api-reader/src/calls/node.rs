//! One node: its attributes, its ancestors, and the state of its rows.

use axum::response::Response;
use sapwood_core::keys::NodeRef;
use sapwood_core::model::ETag;
use sapwood_core::write::Preconditions;
use sapwood_engine::query::Fields;
use sapwood_http::call::{Call, json_response};
use sapwood_http::contract::{AncestorBody, FanoutBody, NodeBody};
use sapwood_http::cursor::Scope;
use sapwood_http::json::Attributes;
use sapwood_http::problem::{Kind, Problem};
use sapwood_table::Table;

use crate::call::{Asked, At, reader, tagged};
use crate::list::{List, fields};
use crate::problem::refused;
use crate::state::Shared;

/// `GET /nodes/{id}`
pub(crate) struct Node {
    node: NodeRef,
    strong: bool,
    fields: Fields,
    preconditions: Preconditions,
}

impl Call<Shared> for Node {
    fn read(asked: &mut Asked<'_>) -> Result<Self, Problem> {
        let (strong, fields) = (asked.strong()?, fields(asked)?);
        Ok(Self { node: asked.node("id")?, strong, fields, preconditions: asked.preconditions.clone() })
    }

    async fn answer<T: Table>(self, at: &At<'_, T>) -> Result<Response, Problem> {
        let base = reader(at).node(&self.node, self.strong).await.map_err(refused)?;
        let settings = &at.shared.settings;
        tagged(&self.preconditions, &ETag::of(&base.item, &settings.schema), || NodeBody {
            attributes: Attributes(self.fields.of_node(&base.item, &settings.schema)),
            ..NodeBody::of(&self.node.id, &base.item, settings)
        })
    }
}

/// `GET /nodes/{id}/ancestors`
pub(crate) struct Ancestors {
    node: NodeRef,
    list: List,
}

impl Call<Shared> for Ancestors {
    fn read(asked: &mut Asked<'_>) -> Result<Self, Problem> {
        let node = asked.node("id")?;
        let scope = Scope::new("ancestors", node.tenant.as_ref()).text(node.id.as_str());
        Ok(Self { list: List::read(asked, scope)?, node })
    }

    async fn answer<T: Table>(self, at: &At<'_, T>) -> Result<Response, Problem> {
        let page = reader(at).ancestors(&self.node, &self.list.options).await.map_err(refused)?;
        self.list.answer(at.shared, page, |ancestor| AncestorBody {
            id: ancestor.id.to_string(),
            depth: ancestor.depth,
            attributes: ancestor.attributes.map(Attributes),
        })
    }
}

/// `GET /nodes/{id}/fanout`
pub(crate) struct FanoutOf(NodeRef);

impl Call<Shared> for FanoutOf {
    fn read(asked: &mut Asked<'_>) -> Result<Self, Problem> {
        asked.node("id").map(Self)
    }

    async fn answer<T: Table>(self, at: &At<'_, T>) -> Result<Response, Problem> {
        let status = reader(at).status(&self.0).await.map_err(refused)?;
        // A deleted node is still answered while rows of it are left.
        if !status.exists && status.is_up_to_date() {
            return Err(Problem::new(Kind::NotFound, "neither the node nor a row of it exists"));
        }
        json_response(&FanoutBody {
            up_to_date: status.is_up_to_date(),
            ancestors: status.ancestors,
            missing: status.missing,
            stale: status.stale,
        })
    }
}
