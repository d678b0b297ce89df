//! The calls of the contract.

mod batch;
mod nodes;
mod revisions;
mod stored_batch;

pub(crate) use batch::Batch;
pub(crate) use nodes::{CopyNode, CreateNode, DeleteNode, PatchNode, ReplaceNode, RestoreNode, TrashNode};
pub(crate) use revisions::{AmendRevision, AppendRevision, DeleteRevision};

use sapwood_http::problem::{Kind, Problem};

use crate::state::Shared;

/// Checks that revisions may be changed in this deployment.
fn mutable_revisions(shared: &Shared) -> Result<(), Problem> {
    if shared.revisions_mutable {
        return Ok(());
    }
    Err(Problem::new(Kind::RevisionsKept, "revisions are kept as they are in this deployment; append another one"))
}
