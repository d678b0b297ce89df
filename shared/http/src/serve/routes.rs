//! The router of a function, and what stands right around it.

use std::any::Any;
use std::convert::Infallible;

use axum::Router;
use axum::extract::{MatchedPath, Request};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use tower::util::BoxCloneSyncService;
use tower::{Layer, ServiceExt};
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::SizeAbove;

use crate::problem::{Kind, Problem};

/// Answers below this aren't compressed: they fit a packet anyhow.
const COMPRESSED_BYTES_MIN: u64 = 1_024;

/// All that takes a request and has an answer, whatever happens.
pub(super) type Routes = BoxCloneSyncService<Request, Response, Infallible>;

/// The route that answered, for the log.
#[derive(Clone, Debug)]
pub(super) struct Route(pub(super) MatchedPath);

pub(super) fn routes(router: Router) -> Routes {
    let router = router.method_not_allowed_fallback(not_allowed).layer(from_fn(keep_route)).fallback(not_found);
    let caught = CatchPanicLayer::custom(panicked).layer(router);
    let compression = CompressionLayer::new().gzip(true).compress_when(SizeAbove::new(COMPRESSED_BYTES_MIN));
    let answer =
        compression.layer(caught).map_request(|request: Request| request).map_response(IntoResponse::into_response);
    BoxCloneSyncService::new(answer)
}

async fn keep_route(request: Request, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>().cloned();
    let mut response = next.run(request).await;
    if let Some(route) = route {
        response.extensions_mut().insert(Route(route));
    }
    response
}

async fn not_found() -> Problem {
    Problem::new(Kind::NotFound, "no call has this path; `/openapi.json` lists them")
}

/// The router adds which methods there are.
async fn not_allowed() -> Problem {
    Problem::new(Kind::MethodNotAllowed, "use one of the methods in the header `Allow`")
}

/// What it panicked with may hold anything, so it isn't repeated.
fn panicked(_: Box<dyn Any + Send>) -> Response {
    tracing::error!("a handler panicked");
    Problem::internal().into_response()
}
