//! Serves requests from API Gateway (HTTP API, payload 2.0) or a function URL.
//!
//! This module reads the event itself, because `lambda_http` makes a URI of the path. The path arrives decoded, so `#`
//! or `?` in it would cut it and lose the query string, and a bad host or body would make `lambda_http` panic.

use std::time::{Duration, SystemTime};

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::header::{CONTENT_LENGTH, LOCATION, TRANSFER_ENCODING};
use axum::http::{HeaderValue, Uri};
use axum::response::Response;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lambda_http::Error;
use lambda_http::aws_lambda_events::apigw::{ApiGatewayV2httpRequest, ApiGatewayV2httpResponse};
use lambda_http::lambda_runtime::{self, Context, Diagnostic, LambdaEvent, service_fn};
use sapwood_store::Deadline;
use sapwood_telemetry::log::{self, Invocation};
use serde_json::value::RawValue;
use tokio::time::Instant;

use super::Options;
use super::answer::{Api, REQUEST_TIME_MAX, RequestId, service, target};
use super::claims::claims_of;
use sapwood_api::call::Prefix;
use sapwood_api::caller::Known;
use sapwood_api::path::percent_sign;
use sapwood_api::problem::{Kind, Problem};

/// The end of an invocation's time, reserved for the answer and the log.
const LEFT_FOR_THE_ANSWER: Duration = Duration::from_secs(1);

/// The time of a request if the event's deadline has already passed.
const TIME_WHERE_NONE_IS_SAID: Duration = REQUEST_TIME_MAX.saturating_add(LEFT_FOR_THE_ANSWER);

/// Receives events and answers them, for the life of the process.
pub async fn run_lambda(router: Router, options: Options) -> Result<(), Error> {
    let lambda = &lambda_service(router, options);
    lambda_runtime::run(service_fn(|event: LambdaEvent<Box<RawValue>>| async move {
        let request = request(event.payload.get())?;
        let Context { request_id, invoked_function_arn: arn, xray_trace_id: trace, .. } = &event.context;
        let correlation_id = request.request_context.request_id.as_deref();
        log::began(&Invocation { request_id, arn, correlation_id, trace: trace.as_deref() });
        Ok::<_, NoRequest>(lambda.handle(request, &event.context).await)
    }))
    .await
}

/// The event isn't an HTTP request from API Gateway or a function URL. The invocation fails, and the process goes on.
#[derive(Debug, thiserror::Error)]
#[error(
    "this is no request of an HTTP API or a function URL in payload format 2.0 (look at `{at}`); REST APIs, load balancers and \
     event sources can't invoke this function"
)]
pub struct NoRequest {
    /// The place in the event that is wrong. The value isn't repeated.
    at: String,
}

impl From<NoRequest> for Diagnostic {
    fn from(error: NoRequest) -> Self {
        Self { error_type: "NoRequest".to_owned(), error_message: error.to_string() }
    }
}

fn request(event: &str) -> Result<ApiGatewayV2httpRequest, NoRequest> {
    let request: ApiGatewayV2httpRequest =
        serde_path_to_error::deserialize(&mut serde_json::Deserializer::from_str(event))
            .map_err(|error| NoRequest { at: error.path().to_string() })?;
    match request.raw_path {
        Some(_) => Ok(request),
        None => Err(NoRequest { at: "rawPath".to_owned() }),
    }
}

/// Makes a service for Lambda of a router.
#[must_use]
pub fn lambda_service(router: Router, options: Options) -> Lambda {
    Lambda(service(router, options))
}

/// Answers an event in JSON as the function would, with all of an invocation's time, without a runtime.
///
/// # Errors
/// [`NoRequest`], which fails the invocation under Lambda.
#[allow(clippy::disallowed_methods, reason = "an invocation ends at a moment of the clock")]
pub async fn answer(lambda: &Lambda, event: &str) -> Result<serde_json::Value, Error> {
    let request = request(event)?;
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let end = now + REQUEST_TIME_MAX + LEFT_FOR_THE_ANSWER;
    let mut context = Context::default();
    context.request_id = "test".to_owned();
    context.deadline = u64::try_from(end.as_millis()).unwrap_or(u64::MAX);
    Ok(serde_json::to_value(lambda.handle(request, &context).await)?)
}

/// A router as it is served under Lambda.
#[derive(Clone, Debug)]
pub struct Lambda(Api);

impl Lambda {
    /// Answers one event.
    #[allow(clippy::disallowed_methods, reason = "an invocation ends at a moment of the clock")]
    pub async fn handle(&self, event: ApiGatewayV2httpRequest, context: &Context) -> ApiGatewayV2httpResponse {
        let arrived = self.arrived(&event);
        // The deadline has already passed. Only cargo-lambda sends such a deadline (in 1970).
        let left = context.deadline().duration_since(SystemTime::now()).unwrap_or(TIME_WHERE_NONE_IS_SAID);
        let deadline = Deadline::at(Instant::now() + left.saturating_sub(LEFT_FOR_THE_ANSWER).min(REQUEST_TIME_MAX));
        let claims = event.request_context.authorizer.as_ref().map(claims_of).unwrap_or_default();
        let known = Known(self.0.options().authority.caller(&claims, "anonymous"));
        let (found, body) = match body(&event) {
            Ok(body) => (arrived.target, body),
            Err(problem) => (Err(problem), Body::empty()),
        };
        let mut request = Request::new(body);
        *request.method_mut() = event.request_context.http.method;
        *request.headers_mut() = event.headers;
        // The header counts the body as the gateway received it, encoded or not.
        request.headers_mut().remove(CONTENT_LENGTH);
        request.extensions_mut().insert(known);
        request.extensions_mut().insert(deadline);
        request.extensions_mut().insert(RequestId(context.request_id.clone()));
        request.extensions_mut().insert(Prefix(arrived.prefix.clone()));
        let mut response = self.0.respond(found, request).await;
        put_in_front(&arrived.prefix, &mut response);
        written(response).await
    }

    fn arrived(&self, event: &ApiGatewayV2httpRequest) -> Arrived {
        let path = event.raw_path.as_deref().unwrap_or_default();
        let stage = event.request_context.stage.as_deref().filter(|stage| *stage != "$default");
        let stage = stage.map(|stage| format!("/{stage}")).unwrap_or_default();
        let prefix = [stage.as_str(), &self.0.options().base_path].into_iter().find(|prefix| {
            !prefix.is_empty()
                && path.strip_prefix(*prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        });
        let prefix = prefix.unwrap_or_default();
        let path = path.get(prefix.len()..).filter(|path| !path.is_empty()).unwrap_or("/");
        // A function URL's path isn't decoded; API Gateway's is, so a `%` there can't be told from an escape.
        let as_written = event.request_context.domain_name.as_deref().is_some_and(|name| name.contains(".lambda-url."));
        let target = match path.contains('%') && !as_written {
            true => Err(percent_sign()),
            false => target(path, event.raw_query_string.as_deref()),
        };
        Arrived { prefix: prefix.to_owned(), target }
    }
}

struct Arrived {
    /// The stage or base path that precedes the router's paths.
    prefix: String,
    target: Result<Uri, Problem>,
}

fn body(event: &ApiGatewayV2httpRequest) -> Result<Body, Problem> {
    match &event.body {
        Some(body) if event.is_base64_encoded => match STANDARD.decode(body) {
            Ok(bytes) => Ok(Body::from(bytes)),
            Err(_) => Err(Problem::new(Kind::BadJson, "the body arrived broken; send it again")),
        },
        Some(body) => Ok(Body::from(body.clone())),
        None => Ok(Body::empty()),
    }
}

/// Puts the prefix before a `Location`, which counts from the host's root. The router doesn't know the prefix.
fn put_in_front(prefix: &str, response: &mut Response) {
    let location = response.headers().get(LOCATION).and_then(|location| location.to_str().ok());
    let moved = location.filter(|location| location.starts_with('/')).map(|location| format!("{prefix}{location}"));
    if let Some(moved) = moved.and_then(|moved| HeaderValue::try_from(moved).ok()) {
        response.headers_mut().insert(LOCATION, moved);
    }
}

async fn written(response: Response) -> ApiGatewayV2httpResponse {
    let (parts, body) = response.into_parts();
    let mut written = ApiGatewayV2httpResponse::default();
    written.status_code = parts.status.as_u16().into();
    written.headers = parts.headers.clone();
    // The gateway computes the length itself, and the transfer encoding is a matter of connections.
    written.headers.remove(CONTENT_LENGTH);
    written.headers.remove(TRANSFER_ENCODING);
    // `lambda_http` knows which bodies are text and which need base64.
    let body = Response::from_parts(parts, body);
    let body = lambda_http::IntoResponse::into_response(body).await.into_body();
    written.is_base64_encoded = matches!(body, lambda_http::Body::Binary(_));
    written.body = (!body.is_empty()).then_some(body);
    written
}
