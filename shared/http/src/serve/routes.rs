//! The router of a function, and what stands right around it.

use std::any::Any;
use std::convert::Infallible;
use std::sync::{Arc, OnceLock};

use axum::Router;
use axum::extract::{MatchedPath, Request};
use axum::http::Uri;
use axum::http::header::ALLOW;
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use tower::util::BoxCloneSyncService;
use tower::{Layer, ServiceExt};
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::SizeAbove;

use super::allowed::allowed;
use crate::problem::{Kind, Problem};

/// Answers below this aren't compressed: they fit a packet anyhow.
const COMPRESSED_BYTES_MIN: u64 = 1_024;

/// All that takes a request and has an answer, whatever happens.
pub(super) type Routes = BoxCloneSyncService<Request, Response, Infallible>;

/// The route that answers, for the log. Whoever sends a request looks into it afterwards, however that went.
#[derive(Clone, Debug, Default)]
pub(super) struct Route(Arc<OnceLock<MatchedPath>>);

impl Route {
    /// With the names of its parameters in place of what they hold.
    pub(super) fn as_str(&self) -> &str {
        self.0.get().map_or("none", MatchedPath::as_str)
    }
}

pub(super) fn routes(router: Router) -> Routes {
    let router = router.method_not_allowed_fallback(not_allowed).layer(from_fn(keep_route)).fallback(not_found);
    let caught = CatchPanicLayer::custom(panicked).layer(router);
    let compression = CompressionLayer::new().gzip(true).compress_when(SizeAbove::new(COMPRESSED_BYTES_MIN));
    let answer = compression.layer(caught);
    BoxCloneSyncService::new(answer.map_request(|request: Request| request).map_response(IntoResponse::into_response))
}

async fn keep_route(request: Request, next: Next) -> Response {
    let extensions = request.extensions();
    if let (Some(Route(route)), Some(matched)) = (extensions.get(), extensions.get::<MatchedPath>()) {
        // It is set once, since a request is routed once.
        let _ = route.set(matched.clone());
    }
    next.run(request).await
}

async fn not_found(uri: Uri) -> Problem {
    match allowed(uri.path()) {
        // The other function's.
        Some(_) => not_allowed(uri).await,
        None => Problem::new(Kind::NotFound, "no call has this path; `/openapi.json` lists them"),
    }
}

/// For a path that the contract doesn't know the router adds which methods there are.
async fn not_allowed(uri: Uri) -> Problem {
    let problem = Problem::new(Kind::MethodNotAllowed, "use one of the methods in the header `Allow`");
    match allowed(uri.path()) {
        Some(methods) => problem.header(ALLOW, methods),
        None => problem,
    }
}

/// What it panicked with may hold anything, so it isn't repeated.
fn panicked(_: Box<dyn Any + Send>) -> Response {
    tracing::error!("a handler panicked");
    Problem::internal().into_response()
}
