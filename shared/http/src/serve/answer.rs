//! One request, from its target to its answer.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, HttpBody};
use axum::extract::Request;
use axum::http::header::{
    ACCEPT_ENCODING, ALLOW, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, ETAG, IF_NONE_MATCH, VARY,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use sapwood_store::{Deadline, Usage};
use sapwood_telemetry::metrics::Metric;
use tokio::time::Instant;
use tower::ServiceExt;

use super::Options;
use super::cors::Cors;
use super::routes::{Route, Routes, routes};
use sapwood_api::body::read_whole;
use sapwood_api::headers::gzip_tag;
use sapwood_api::path::{as_the_gateway_decodes, normalise};
use sapwood_api::problem::{Kind, Problem};

/// The longest time in which a request may start calls to the table. API Gateway ends a request after 30 seconds.
pub const REQUEST_TIME_MAX: Duration = Duration::from_secs(25);

/// The time after the deadline in which a request must be answered.
const GRACE: Duration = Duration::from_millis(500);

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// A router as it is served. It answers every request and never fails.
#[derive(Clone, Debug)]
pub struct Api {
    routes: Routes,
    options: Arc<Options>,
}

#[derive(Clone, Debug)]
pub(super) struct RequestId(pub(super) String);

/// Wraps a router in all that every request needs: a `tower::Service` for requests on a local port.
#[must_use]
pub fn service(router: Router, options: Options) -> Api {
    Api { routes: routes(router), options: Arc::new(options) }
}

impl tower::Service<Request> for Api {
    type Response = Response;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        // `respond` waits for the clone of the routes that answers the request.
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let api = self.clone();
        let found = local_target(request.uri().path(), request.uri().query());
        Box::pin(async move { Ok(api.respond(found, request).await) })
    }
}

impl Api {
    pub(super) fn options(&self) -> &Options {
        &self.options
    }

    /// Answers a request for this target. The request's own URI is ignored.
    #[allow(clippy::disallowed_methods, reason = "the log says how long a request took")]
    pub(super) async fn respond(&self, target: Result<Uri, Problem>, mut request: Request) -> Response {
        let began = Instant::now();
        let method = request.method().clone();
        let id = request.extensions().get().map_or_else(String::new, |RequestId(id)| id.clone());
        let known = request.headers().get(IF_NONE_MATCH).cloned();
        let cors = Cors::of(&self.options.cors_origins, &method, request.headers());
        let deadline = *request.extensions_mut().get_or_insert_with(|| Deadline::at(began + REQUEST_TIME_MAX));
        let route = Route::default();
        request.extensions_mut().insert(route.clone());
        choose_encoding(&method, request.headers_mut());
        let answered = async { self.route(target?, request).await };
        let mut response = match tokio::time::timeout_at(deadline.end() + GRACE, answered).await {
            Ok(answered) => answered.unwrap_or_else(IntoResponse::into_response),
            Err(_) if method.is_safe() => {
                Problem::new(Kind::Unavailable, "the request took too long; try again").into_response()
            }
            Err(_) => Problem::new(
                Kind::OutcomeUnknown,
                "the request took too long, so it may have been done or not; read what is there before you send it again",
            )
            .into_response(),
        };
        finish(&method, &mut response);
        tag_encoding(known.as_ref(), &mut response);
        if let (false, Ok(id)) = (id.is_empty(), HeaderValue::try_from(&id)) {
            response.headers_mut().insert(REQUEST_ID, id);
        }
        if let Some(cors) = cors {
            cors.apply(response.headers_mut());
        }
        join_vary(response.headers_mut());
        let took = began.elapsed();
        let usage = response.extensions().get().copied().unwrap_or_default();
        log(&method, &id, &route, response.status(), &usage, took);
        self.options.metrics.write(|_| metrics_of(response.status(), &usage, took));
        response
    }

    async fn route(&self, target: Uri, request: Request) -> Result<Response, Problem> {
        let (mut parts, body) = request.into_parts();
        parts.uri = target;
        // The body is read first: a client that still sends may never read an answer.
        let body = read_whole(body).await?;
        let Ok(response) = self.routes.clone().oneshot(Request::from_parts(parts, Body::from(body))).await;
        Ok(response)
    }
}

/// Reduces the accepted encodings to the one used. The compression layer would answer 406 after the request is done.
fn choose_encoding(method: &Method, headers: &mut HeaderMap) {
    let gzip = method != Method::HEAD && headers.get_all(ACCEPT_ENCODING).iter().any(takes_gzip);
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static(if gzip { "gzip" } else { "identity" }));
}

fn takes_gzip(value: &HeaderValue) -> bool {
    let weight =
        |rest: &str| rest.split(';').find_map(|parameter| parameter.trim().strip_prefix("q=")?.parse::<f32>().ok());
    let takes = |coding: &str| {
        let (name, rest) = coding.split_once(';').unwrap_or((coding, ""));
        let name = name.trim().to_ascii_lowercase();
        (name == "gzip" || name == "x-gzip").then(|| weight(rest).unwrap_or(1.0) > 0.0)
    };
    value.to_str().is_ok_and(|value| value.split(',').filter_map(takes).any(|taken| taken))
}

/// Adds the headers that every answer carries, and removes what an answer to this method can't carry.
fn finish(method: &Method, response: &mut Response) {
    if response.status() == StatusCode::METHOD_NOT_ALLOWED {
        allow_options(response.headers_mut());
        if method == Method::OPTIONS {
            *response.status_mut() = StatusCode::NO_CONTENT;
            response.headers_mut().remove(CONTENT_TYPE);
            response.headers_mut().remove(CONTENT_LENGTH);
            *response.body_mut() = Body::empty();
        }
    }
    if method == Method::HEAD {
        // If the router removed the body, it has set the length.
        let length = response.body().size_hint().exact().filter(|_| !response.headers().contains_key(CONTENT_LENGTH));
        if let Some(length) = length {
            response.headers_mut().insert(CONTENT_LENGTH, length.into());
        }
        *response.body_mut() = Body::empty();
    }
    let headers = response.headers_mut();
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
}

/// Gives a compressed answer the tag of its encoding. 304 has the tag that the client knows.
fn tag_encoding(known: Option<&HeaderValue>, response: &mut Response) {
    let Some(tag) = response.headers().get(ETAG).and_then(gzip_tag) else { return };
    let knows =
        |known: &HeaderValue| known.to_str().ok().zip(tag.to_str().ok()).is_some_and(|(k, tag)| k.contains(tag));
    let is_gzip = match response.status() {
        StatusCode::NOT_MODIFIED => known.is_some_and(knows),
        _ => response.headers().get(CONTENT_ENCODING).is_some_and(|encoding| encoding == "gzip"),
    };
    if is_gzip {
        response.headers_mut().insert(ETAG, tag);
    }
    if response.status() == StatusCode::NOT_MODIFIED {
        // As the answer that the client has.
        response.headers_mut().append(VARY, HeaderValue::from_static("accept-encoding"));
    }
}

fn allow_options(headers: &mut HeaderMap) {
    let allowed = headers.get(ALLOW).and_then(|allowed| allowed.to_str().ok()).unwrap_or_default();
    let methods = allowed.split(',').map(str::trim).filter(|method| !method.is_empty()).chain(["OPTIONS"]);
    if let Ok(allowed) = HeaderValue::try_from(methods.collect::<Vec<_>>().join(", ")) {
        headers.insert(ALLOW, allowed);
    }
}

/// Joins several headers `Vary` into one, because Lambda's answer has room for one header of a name.
fn join_vary(headers: &mut HeaderMap) {
    let all: Vec<&str> = headers.get_all(VARY).iter().filter_map(|value| value.to_str().ok()).collect();
    if all.len() > 1
        && let Ok(joined) = HeaderValue::try_from(all.join(", "))
    {
        headers.insert(VARY, joined);
    }
}

/// Logs one line for a request. The line contains nothing that a user chose: no path, no id and no query.
fn log(method: &Method, id: &str, route: &Route, status: StatusCode, usage: &Usage, took: Duration) {
    // A client can send any word as the method.
    let known = [Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::PATCH, Method::DELETE, Method::OPTIONS];
    tracing::info!(
        request_id = id,
        method = known.iter().find(|known| *known == method).map_or("other", Method::as_str),
        route = route.as_str(),
        status = status.as_u16(),
        ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        calls = usage.requests,
        retries = usage.retries,
        conflicts = usage.conflicts,
        read_units = usage.read_units,
        write_units = usage.write_units,
        "request"
    );
}

/// Returns the normalised path with the query string as it arrived.
///
/// # Errors
/// The errors of [`normalise`]; [`Kind::BadParameter`] if the query string isn't percent-encoded.
pub(super) fn target(path: &str, query: Option<&str>) -> Result<Uri, Problem> {
    let path = normalise(path)?;
    let refused = || Problem::new(Kind::BadParameter, "the query string has characters that must be percent-encoded");
    let target = match query.filter(|query| !query.is_empty()) {
        Some(query) if !query.bytes().all(|b| b.is_ascii_graphic() && b != b'#') => return Err(refused()),
        Some(query) => format!("{path}?{query}"),
        None => path,
    };
    target.parse().map_err(|_| refused())
}

/// Returns the target of a request on a local port. It is refused where API Gateway would change the path.
///
/// # Errors
/// The errors of [`target`]; [`Kind::BadPath`] for percent-encoding that a deployment refuses.
fn local_target(path: &str, query: Option<&str>) -> Result<Uri, Problem> {
    target(&as_the_gateway_decodes(path)?, query)
}

/// The metrics of a request (docs/reference/metrics.md).
#[must_use]
pub fn metrics_of(status: StatusCode, usage: &Usage, took: Duration) -> Vec<Metric> {
    vec![
        Metric::count("Requests", 1),
        // Latency is exact to a microsecond; more digits would be noise.
        Metric::time("Latency", took.as_micros() as f64 / 1_000.0),
        Metric::count("ServerErrors", u64::from(status.is_server_error())),
        Metric::count("Unavailable", u64::from(status == StatusCode::SERVICE_UNAVAILABLE)),
        Metric::count("Conflicts", usage.conflicts),
        Metric::count("Retries", usage.retries),
        Metric::amount("ReadUnits", usage.read_units),
        Metric::amount("WriteUnits", usage.write_units),
    ]
}
