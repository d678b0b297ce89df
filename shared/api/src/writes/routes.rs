//! Which call serves which operation.

use crate::call;
use crate::contract::{Function, WriterCall};
use axum::Router;
use axum::routing::{MethodFilter, MethodRouter};
use sapwood_store::Table;

use super::batch::Batch;
use super::call::{One, Seeing, Shared, State};
use super::nodes::{CopyNode, CreateNode, DeleteNode, PatchNode, ReplaceNode, RestoreNode, TrashNode};
use super::revisions::{AmendRevision, AppendRevision, DeleteRevision};

/// The router of the operations that this function serves. It is to be served by `crate::serve`, which says who
/// calls and until when; merged with the reads' router, both have the same paths and other methods.
pub fn router<T: Table + 'static>(state: State<T>) -> Router {
    let handler = |function, method| match function {
        Function::Writer(call) => Some(handler(call, method)),
        Function::Reader(_) => None,
    };
    call::router(handler).with_state(state)
}

fn handler<T: Table + 'static>(call: WriterCall, method: MethodFilter) -> MethodRouter<State<T>> {
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

fn handle<C: call::Call<Shared>, T: Table + 'static>(method: MethodFilter) -> MethodRouter<State<T>> {
    call::handler::<C, T, Shared>(method)
}
