//! Nodes.

use axum::response::Response;
use sapwood_core::keys::{Id, NodeRef};
use sapwood_http::contract;
use sapwood_http::problem::Problem;
use sapwood_table::Table;

use super::{mutable_revisions, one};
use crate::call::{Asked, At, Call};
use crate::problem::unfit;
use crate::write::{Write, content, patch};

/// `POST /nodes`
pub(crate) struct CreateNode(Write);

impl Call for CreateNode {
    fn read(asked: &mut Asked<'_>) -> Result<Self, Problem> {
        let body: contract::CreateNode = asked.body()?;
        let shared = asked.shared;
        body.attributes.check_node(&shared.settings.schema).map_err(unfit)?;
        let is_made_id = body.id.is_none();
        let id = body.id.map_or_else(|| Ok(Id::new(shared.source.name())?), Ok::<_, Problem>)?;
        let node = NodeRef { tenant: asked.caller.tenant.clone(), id };
        let content = content(body.parent, body.segment, body.attributes);
        Ok(Self(Write::Create { node, is_made_id, content }))
    }

    async fn answer<T: Table>(self, at: &At<'_, T>) -> Result<Response, Problem> {
        one(at, &self.0).await
    }
}

/// `PUT /nodes/{id}`
pub(crate) struct ReplaceNode(Write);

impl Call for ReplaceNode {
    fn read(asked: &mut Asked<'_>) -> Result<Self, Problem> {
        let node = asked.node("id")?;
        let body: contract::ReplaceNode = asked.body()?;
        body.attributes.check_node(&asked.shared.settings.schema).map_err(unfit)?;
        let content = content(body.parent, body.segment, body.attributes);
        Ok(Self(Write::Replace { node, content }))
    }

    async fn answer<T: Table>(self, at: &At<'_, T>) -> Result<Response, Problem> {
        one(at, &self.0).await
    }
}

/// `PATCH /nodes/{id}`
pub(crate) struct PatchNode(Write);

impl Call for PatchNode {
    fn read(asked: &mut Asked<'_>) -> Result<Self, Problem> {
        let node = asked.node("id")?;
        let body: contract::PatchNode = asked.merge_patch()?;
        body.attributes.check(&asked.shared.settings.schema).map_err(unfit)?;
        Ok(Self(Write::Patch { node, patch: patch(body) }))
    }

    async fn answer<T: Table>(self, at: &At<'_, T>) -> Result<Response, Problem> {
        one(at, &self.0).await
    }
}

/// `DELETE /nodes/{id}`
pub(crate) struct DeleteNode(Write);

impl Call for DeleteNode {
    fn read(asked: &mut Asked<'_>) -> Result<Self, Problem> {
        let node = asked.node("id")?;
        let children = asked.parameters.choice("children", &contract::Children::WORDS)?.unwrap_or_default();
        let revisions = asked.parameters.choice("revisions", &contract::Revisions::WORDS)?.unwrap_or_default();
        if revisions == contract::Revisions::Delete {
            mutable_revisions(asked.shared).map_err(|problem| problem.at("revisions"))?;
        }
        let operation = asked.shared.source.name();
        Ok(Self(Write::Delete { node, children, revisions, operation }))
    }

    async fn answer<T: Table>(self, at: &At<'_, T>) -> Result<Response, Problem> {
        one(at, &self.0).await
    }
}
