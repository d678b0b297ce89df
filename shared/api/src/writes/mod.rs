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
pub use call::{ApiState, Shared};
pub use source::{Moment, Source};

use axum::Router;
use axum::routing::{MethodFilter, MethodRouter};
use sapwood_store::Table;

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
        WriterCall::CreateNode => handle::<One<CreateNode>, T>(method),
        WriterCall::PutNode => handle::<One<ReplaceNode>, T>(method),
        WriterCall::PatchNode => handle::<One<PatchNode>, T>(method),
        WriterCall::DeleteNode => handle::<Seeing<DeleteNode>, T>(method),
        WriterCall::TrashNode => handle::<One<TrashNode>, T>(method),
        WriterCall::RestoreNode => handle::<One<RestoreNode>, T>(method),
        WriterCall::CopyNode => handle::<One<CopyNode>, T>(method),
        WriterCall::Batch => handle::<Batch, T>(method),
        WriterCall::AppendRevision => handle::<One<AppendRevision>, T>(method),
        WriterCall::AmendRevision => handle::<One<AmendRevision>, T>(method),
        WriterCall::DeleteRevision => handle::<One<DeleteRevision>, T>(method),
    }
}

fn handle<C: crate::call::Call<Shared>, T: Table + 'static>(method: MethodFilter) -> MethodRouter<ApiState<T>> {
    crate::call::handler::<C, T, Shared>(method)
}
