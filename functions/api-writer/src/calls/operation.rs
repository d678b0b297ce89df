//! How far an operation is.

use axum::response::Response;
use sapwood_core::write::{Progress, Refusal};
use sapwood_http::call::json_response;
use sapwood_http::contract::{OperationBody, OperationStatus};
use sapwood_http::problem::Problem;
use sapwood_table::Table;

use crate::answer::children;
use crate::call::{Asked, At, Call};
use crate::problem::refused;

/// `GET /operations/{id}`
pub(crate) struct OperationOf(String);

impl Call for OperationOf {
    fn read(asked: &mut Asked<'_>) -> Result<Self, Problem> {
        // An operation's id is as long as any id may be: longer ones can't be looked for.
        Ok(Self(asked.path.id("id")?.as_str().to_owned()))
    }

    async fn answer<T: Table>(self, at: &At<'_, T>) -> Result<Response, Problem> {
        let found = at.writer().operation(at.caller.tenant.as_ref(), &self.0).await?;
        let operation = found.ok_or_else(|| refused(Refusal::NotFound.into()))?;
        json_response(&OperationBody {
            id: self.0,
            status: match operation.progress {
                Progress::Running => OperationStatus::Running,
                Progress::Done => OperationStatus::Done,
            },
            mode: children(operation.mode),
            node: operation.node.as_str().to_owned(),
            created_at: operation.created_at,
        })
    }
}
