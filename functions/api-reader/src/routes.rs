//! Which call answers which path.

use axum::Router;
use axum::routing::{MethodRouter, get};
use sapwood_table::Table;

use crate::call::{Call, handle};
use crate::calls::{
    Ancestors, Children, Count, Descendants, FanoutOf, LatestOfAll, LatestOfOne, Node, Paths, PathsOfRoot,
    RevisionOfOne, Revisions, Roots, Topic, Tree, docs, document, health,
};
use crate::state::State;

/// The router of the reads. It is to be served by `sapwood_http::serve`, which says who calls and until when.
pub fn router<T: Table + 'static>(state: State<T>) -> Router {
    Router::new()
        .route("/roots", call::<Roots, T>())
        .route("/nodes/{id}", call::<Node, T>())
        .route("/nodes/{id}/ancestors", call::<Ancestors, T>())
        .route("/nodes/{id}/children", call::<Children, T>())
        .route("/nodes/{id}/descendants", call::<Descendants, T>())
        .route("/nodes/{id}/tree", call::<Tree, T>())
        .route("/nodes/{id}/count", call::<Count, T>())
        .route("/nodes/{id}/latest", call::<LatestOfAll, T>())
        .route("/nodes/{id}/latest/{topic}", call::<LatestOfOne, T>())
        .route("/nodes/{id}/revisions", call::<Revisions, T>())
        .route("/nodes/{id}/revisions/{topic}", call::<Topic, T>())
        .route("/nodes/{id}/revisions/{topic}/{version}", call::<RevisionOfOne, T>())
        .route("/nodes/{id}/fanout", call::<FanoutOf, T>())
        .route("/paths/{root}", call::<PathsOfRoot, T>())
        .route("/paths/{root}/{*segments}", call::<Paths, T>())
        .route("/health", get(health))
        .route("/openapi.json", get(document))
        .route("/docs", get(docs))
        .with_state(state)
}

fn call<C: Call + 'static, T: Table + 'static>() -> MethodRouter<State<T>> {
    get(handle::<C, T>)
}
