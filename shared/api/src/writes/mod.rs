//! The calls that write base records: nodes, revisions, batches of them.
//!
//! A request is read into a [`Command`](sapwood_core::write::Command), which a
//! [`Writer`](sapwood_engine::write::Writer) carries out, and its [`Outcome`](sapwood_core::write::Outcome) becomes the
//! answer. A batch is a list of commands. `sapwood put`, `move` and `rm` are the same commands from a shell.

mod answer;
mod batch;
mod call;
mod nodes;
mod problem;
mod revisions;
mod source;
mod stored_batch;

pub use answer::body;
pub use batch::BODIES_BYTES_MAX;
pub use call::{ApiState, WriterState};
pub use source::{Moment, Source};

use axum::Router;
use axum::routing::{MethodFilter, MethodRouter};
use sapwood_store::Table;

use crate::call::handler as handle;
use crate::contract::{Function, WriterCall};
use batch::Batch;
use call::{One, Seeing};
use nodes::{CopyNode, CreateNode, DeleteNode, PatchNode, ReplaceNode, RestoreNode, TrashNode};
use revisions::{AmendRevision, AppendRevision, DeleteRevision};

/// The router of the operations of this function, to be served by `sapwood_http::serve` (caller, deadline).
pub fn router<T: Table + 'static>(state: ApiState<T>) -> Router {
    let handler = |function, method| match function {
        Function::Writer(call) => Some(handler(call, method)),
        Function::Reader(_) => None,
    };
    crate::call::router(handler).with_state(state)
}

fn handler<T: Table + 'static>(call: WriterCall, method: MethodFilter) -> MethodRouter<ApiState<T>> {
    match call {
        WriterCall::CreateNode => handle::<One<CreateNode>, T, _>(method),
        WriterCall::PutNode => handle::<One<ReplaceNode>, T, _>(method),
        WriterCall::PatchNode => handle::<One<PatchNode>, T, _>(method),
        WriterCall::DeleteNode => handle::<Seeing<DeleteNode>, T, _>(method),
        WriterCall::TrashNode => handle::<One<TrashNode>, T, _>(method),
        WriterCall::RestoreNode => handle::<One<RestoreNode>, T, _>(method),
        WriterCall::CopyNode => handle::<One<CopyNode>, T, _>(method),
        WriterCall::Batch => handle::<Batch, T, _>(method),
        WriterCall::AppendRevision => handle::<One<AppendRevision>, T, _>(method),
        WriterCall::AmendRevision => handle::<One<AmendRevision>, T, _>(method),
        WriterCall::DeleteRevision => handle::<One<DeleteRevision>, T, _>(method),
    }
}
