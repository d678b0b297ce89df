//! A function's router with a fallback for what it has no handler for, a handler of panics, and compression.

use std::any::Any;
use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::{Arc, OnceLock};

use axum::Router;
use axum::extract::{MatchedPath, Request};
use axum::http::header::ALLOW;
use axum::http::{HeaderValue, Method};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::MethodRouter;
use tower::util::BoxCloneSyncService;
use tower::{Layer, ServiceExt};
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::SizeAbove;

use sapwood_api::contract::operations;
use sapwood_api::problem::{Kind, Problem};

/// Shorter answers, in bytes, aren't compressed: they fit a packet anyway.
const COMPRESSED_BYTES_MIN: u64 = 1_024;

pub(super) type Routes = BoxCloneSyncService<Request, Response, Infallible>;

#[derive(Clone, Debug, Default)]
pub(super) struct Route(Arc<OnceLock<MatchedPath>>);

impl Route {
    /// The route's template, with the names of its parameters in place of their values; `none` if no route was found.
    pub(super) fn as_str(&self) -> &str {
        self.0.get().map_or("none", MatchedPath::as_str)
    }
}

pub(super) fn routes(router: Router) -> Routes {
    // API Gateway sends a method to one function, which also answers for the other function's operations.
    let all_paths =
        operations().fold(router, |router, operation| router.route(&operation.route(), MethodRouter::new()));
    let router = all_paths.method_not_allowed_fallback(not_allowed).layer(from_fn(keep_route)).fallback(not_found);
    let caught = CatchPanicLayer::custom(panicked).layer(router);
    let compression = CompressionLayer::new().gzip(true).compress_when(SizeAbove::new(COMPRESSED_BYTES_MIN));
    let answer = compression.layer(caught);
    BoxCloneSyncService::new(answer.map_request(|request: Request| request).map_response(IntoResponse::into_response))
}

async fn keep_route(request: Request, next: Next) -> Response {
    let extensions = request.extensions();
    if let (Some(Route(route)), Some(matched)) = (extensions.get(), extensions.get::<MatchedPath>()) {
        // A request is routed once, so the value is set once.
        let _ = route.set(matched.clone());
    }
    next.run(request).await
}

async fn not_found() -> Problem {
    Problem::new(Kind::NotFound, "no call has this path; `/openapi.json` lists the paths")
}

async fn not_allowed(route: MatchedPath) -> Problem {
    let problem = Problem::new(Kind::MethodNotAllowed, "use one of the methods in the header `Allow`");
    match allowed(route.as_str()) {
        Some(methods) => problem.header(ALLOW, methods),
        // The route isn't in the contract. The router itself adds the methods that it has.
        None => problem,
    }
}

/// Returns a route's methods for `Allow`, whichever function serves them; `None` for an unknown route.
fn allowed(route: &str) -> Option<HeaderValue> {
    let mut methods: BTreeSet<&str> = BTreeSet::new();
    for operation in operations().filter(|operation| operation.route() == route) {
        methods.insert(operation.method.as_str());
        methods.extend((operation.method == Method::GET).then_some("HEAD"));
    }
    let methods = methods.into_iter().collect::<Vec<_>>().join(", ");
    HeaderValue::try_from(methods).ok().filter(|methods| !methods.is_empty())
}

/// The message of a panic may quote anything, so it isn't logged here.
fn panicked(_: Box<dyn Any + Send>) -> Response {
    tracing::error!("a handler panicked");
    Problem::internal().into_response()
}
