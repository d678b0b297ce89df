//! Which call serves which operation.

use axum::Router;
use axum::routing::{MethodFilter, MethodRouter, on};
use sapwood_http::call;
use sapwood_http::contract::{Function, ReaderCall};
use sapwood_table::Table;

use crate::calls::{
    Ancestors, Audit, Children, Count, Descendants, FanoutOf, LatestOfAll, LatestOfOne, Links, Node, Nodes,
    OperationOf, Operations, Paths, PathsOfRoot, RevisionOfOne, Revisions, Roots, Topic, Tree, docs, document, health,
    index,
};
use crate::state::{Shared, State};

/// Makes the router of the operations that this function serves. [`sapwood_http::serve`] must serve it, because it
/// identifies the caller and sets the deadline.
pub fn router<T: Table + 'static>(state: State<T>) -> Router {
    let handler = |function, method| match function {
        Function::Reader(call) => Some(handler(call, method)),
        Function::Writer(_) => None,
    };
    call::router(handler).with_state(state)
}

fn handler<T: Table + 'static>(call: ReaderCall, method: MethodFilter) -> MethodRouter<State<T>> {
    match call {
        ReaderCall::ListRoots => handle::<Roots, T>(method),
        ReaderCall::GetNode => handle::<Node, T>(method),
        ReaderCall::GetNodes => handle::<Nodes, T>(method),
        ReaderCall::ListAncestors => handle::<Ancestors, T>(method),
        ReaderCall::ListChildren => handle::<Children, T>(method),
        ReaderCall::ListDescendants => handle::<Descendants, T>(method),
        ReaderCall::ListLinks => handle::<Links, T>(method),
        ReaderCall::GetTree => handle::<Tree, T>(method),
        ReaderCall::CountDescendants => handle::<Count, T>(method),
        ReaderCall::ListPaths => handle::<PathsOfRoot, T>(method),
        ReaderCall::ListPathsByUrl => handle::<Paths, T>(method),
        ReaderCall::GetFanout => handle::<FanoutOf, T>(method),
        ReaderCall::ListOperations => handle::<Operations, T>(method),
        ReaderCall::GetOperation => handle::<OperationOf, T>(method),
        ReaderCall::ListLatest => handle::<LatestOfAll, T>(method),
        ReaderCall::GetLatest => handle::<LatestOfOne, T>(method),
        ReaderCall::ListRevisions => handle::<Revisions, T>(method),
        ReaderCall::ListTopic => handle::<Topic, T>(method),
        ReaderCall::GetRevision => handle::<RevisionOfOne, T>(method),
        ReaderCall::GetIndex => on(method, index),
        ReaderCall::GetOpenapi => on(method, document),
        ReaderCall::GetDocs => on(method, docs),
        ReaderCall::GetHealth => on(method, health),
        ReaderCall::GetAudit => handle::<Audit, T>(method),
    }
}

fn handle<C: call::Call<Shared>, T: Table + 'static>(method: MethodFilter) -> MethodRouter<State<T>> {
    call::handler::<C, T, Shared>(method)
}
