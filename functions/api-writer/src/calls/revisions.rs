//! Revisions.

use axum::response::Response;
use sapwood_http::contract::CreateRevision;
use sapwood_http::problem::Problem;
use sapwood_table::Table;

use super::{mutable_revisions, one};
use crate::call::{Asked, At, Call, topic};
use crate::problem::unfit;
use crate::write::Write;

/// `POST /nodes/{id}/revisions/{topic}`
pub(crate) struct AppendRevision(Write);

impl Call for AppendRevision {
    fn read(asked: &mut Asked<'_>) -> Result<Self, Problem> {
        let topic = topic(asked)?;
        let body: CreateRevision = asked.body()?;
        body.attributes.check_revision(&asked.shared.settings.schema).map_err(unfit)?;
        Ok(Self(Write::Append { topic, attributes: body.attributes.0 }))
    }

    async fn answer<T: Table>(self, at: &At<'_, T>) -> Result<Response, Problem> {
        one(at, &self.0).await
    }
}

/// `PUT /nodes/{id}/revisions/{topic}/{version}`
pub(crate) struct AmendRevision(Write);

impl Call for AmendRevision {
    fn read(asked: &mut Asked<'_>) -> Result<Self, Problem> {
        let (topic, version) = (topic(asked)?, asked.path.version("version")?);
        mutable_revisions(asked.shared)?;
        let body: CreateRevision = asked.body()?;
        body.attributes.check_revision(&asked.shared.settings.schema).map_err(unfit)?;
        Ok(Self(Write::Amend { topic, version, attributes: body.attributes.0 }))
    }

    async fn answer<T: Table>(self, at: &At<'_, T>) -> Result<Response, Problem> {
        one(at, &self.0).await
    }
}

/// `DELETE /nodes/{id}/revisions/{topic}/{version}`
pub(crate) struct RemoveRevision(Write);

impl Call for RemoveRevision {
    fn read(asked: &mut Asked<'_>) -> Result<Self, Problem> {
        let (topic, version) = (topic(asked)?, asked.path.version("version")?);
        mutable_revisions(asked.shared)?;
        Ok(Self(Write::Remove { topic, version }))
    }

    async fn answer<T: Table>(self, at: &At<'_, T>) -> Result<Response, Problem> {
        one(at, &self.0).await
    }
}
