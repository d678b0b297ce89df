//! The calls of the contract.

mod batch;
mod nodes;
mod operation;
mod revisions;

pub(crate) use batch::Batch;
pub(crate) use nodes::{CreateNode, DeleteNode, PatchNode, ReplaceNode};
pub(crate) use operation::OperationOf;
pub(crate) use revisions::{AmendRevision, AppendRevision, RemoveRevision};

use axum::response::Response;
use sapwood_http::problem::{Kind, Problem};
use sapwood_table::Table;

use crate::call::At;
use crate::once::carry_out;
use crate::state::Shared;
use crate::write::Write;

/// Carries out one write and answers it, held until it is derived where the client waits for that.
async fn one<T: Table>(at: &At<'_, T>, write: &Write) -> Result<Response, Problem> {
    let writer = at.writer();
    let answer = carry_out(&writer, write, &at.stamp(), &at.preconditions, at.shared, at.key.as_ref()).await?;
    let Some(derived) = write.derived(&answer) else { return answer.response() };
    let is_derived = at.wait(&[derived]).await;
    let answer = if is_derived { answer } else { answer.accepted() };
    answer.response().map(|response| at.waited(response))
}

/// That revisions may be changed here.
fn mutable_revisions(shared: &Shared) -> Result<(), Problem> {
    if shared.revisions_mutable {
        return Ok(());
    }
    Err(Problem::new(Kind::RevisionsKept, "revisions are kept as they are in this deployment; append another one"))
}
