//! The calls that read: nodes, trees, paths, histories.

mod audit;
mod call;
mod changes;
mod descendants;
mod history;
mod inherit;
mod links;
mod list;
mod node;
mod operations;
mod paths;
mod static_files;
mod tree;

pub use call::{ApiState, ReaderState};

use axum::Router;
use axum::routing::{MethodFilter, MethodRouter, on};
use sapwood_store::Table;

use crate::call::handler as handle;
use crate::contract::{Function, ReaderCall};
use audit::Audit;
use call::Showing;
use changes::{Changes, Recent};
use descendants::{Children, Count, Descendants, Roots, Totals, Trash};
use history::{LatestOfAll, LatestOfOne, RevisionOfOne, Revisions, Topic};
use inherit::{Granted, Inherited};
use links::Links;
use node::{Ancestors, Node, Nodes, PropagationOf};
use operations::{OperationOf, Operations};
use paths::Paths;
use static_files::{docs, document, health, index};
use tree::Tree;

/// Makes the router of the operations of this function, to be served by `sapwood_http::serve` (caller, deadline).
pub fn router<T: Table + 'static>(state: ApiState<T>) -> Router {
    let handler = |function, method| match function {
        Function::Reader(call) => Some(handler(call, method)),
        Function::Writer(_) => None,
    };
    crate::call::router(handler).with_state(state)
}

fn handler<T: Table + 'static>(call: ReaderCall, method: MethodFilter) -> MethodRouter<ApiState<T>> {
    match call {
        ReaderCall::ListRoots => handle::<Showing<Roots>, T, _>(method),
        ReaderCall::ListTrash => handle::<Showing<Trash>, T, _>(method),
        ReaderCall::GetNode => handle::<Showing<Node>, T, _>(method),
        ReaderCall::GetNodes => handle::<Showing<Nodes>, T, _>(method),
        ReaderCall::ListAncestors => handle::<Showing<Ancestors>, T, _>(method),
        ReaderCall::GetInherited => handle::<Inherited, T, _>(method),
        ReaderCall::GetGranted => handle::<Granted, T, _>(method),
        ReaderCall::ListChildren => handle::<Showing<Children>, T, _>(method),
        ReaderCall::ListDescendants => handle::<Showing<Descendants>, T, _>(method),
        ReaderCall::ListLinks => handle::<Showing<Links>, T, _>(method),
        ReaderCall::GetTree => handle::<Showing<Tree>, T, _>(method),
        ReaderCall::GetTotals => handle::<Totals, T, _>(method),
        ReaderCall::CountDescendants => handle::<Showing<Count>, T, _>(method),
        ReaderCall::ListChanges => handle::<Changes, T, _>(method),
        ReaderCall::ListRecent => handle::<Recent, T, _>(method),
        ReaderCall::ListPaths => handle::<Showing<Paths<false>>, T, _>(method),
        ReaderCall::ListPathsByUrl => handle::<Showing<Paths<true>>, T, _>(method),
        ReaderCall::GetPropagation => handle::<PropagationOf, T, _>(method),
        ReaderCall::ListOperations => handle::<Operations, T, _>(method),
        ReaderCall::GetOperation => handle::<OperationOf, T, _>(method),
        ReaderCall::ListLatest => handle::<Showing<LatestOfAll>, T, _>(method),
        ReaderCall::GetLatest => handle::<Showing<LatestOfOne>, T, _>(method),
        ReaderCall::ListRevisions => handle::<Showing<Revisions>, T, _>(method),
        ReaderCall::ListTopic => handle::<Showing<Topic>, T, _>(method),
        ReaderCall::GetRevision => handle::<Showing<RevisionOfOne>, T, _>(method),
        ReaderCall::GetIndex => on(method, index),
        ReaderCall::GetOpenapi => on(method, document),
        ReaderCall::GetDocs => on(method, docs),
        ReaderCall::GetHealth => on(method, health),
        ReaderCall::GetAudit => handle::<Audit, T, _>(method),
    }
}
