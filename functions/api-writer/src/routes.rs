//! Which call answers which path.

use axum::Router;
use axum::routing::{delete, get, patch, post, put};
use sapwood_table::Table;

use crate::call::handle;
use crate::calls::{
    AmendRevision, AppendRevision, Batch, CreateNode, DeleteNode, OperationOf, PatchNode, RemoveRevision, ReplaceNode,
};
use crate::state::State;

/// The router of the writes. It is to be served by `sapwood_http::serve`, which says who calls and until when; merged
/// with the reads' router, both have the same paths and other methods.
pub fn router<T: Table + 'static>(state: State<T>) -> Router {
    let revision = put(handle::<AmendRevision, T>).merge(delete(handle::<RemoveRevision, T>));
    let node =
        put(handle::<ReplaceNode, T>).merge(patch(handle::<PatchNode, T>)).merge(delete(handle::<DeleteNode, T>));
    Router::new()
        .route("/nodes", post(handle::<CreateNode, T>))
        .route("/nodes/{id}", node)
        .route("/nodes/{id}/revisions/{topic}", post(handle::<AppendRevision, T>))
        .route("/nodes/{id}/revisions/{topic}/{version}", revision)
        .route("/operations/{id}", get(handle::<OperationOf, T>))
        .route("/batch", post(handle::<Batch, T>))
        .with_state(state)
}
