//! The port of the embedded engine. The engine answers pages of any origin and takes any credentials, so it listens
//! where nobody looks for it, and what comes to the port that is known is passed on only if the guard lets it through.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::http::uri::PathAndQuery;
use axum::response::{IntoResponse, Response};
use axum::{Router, routing};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use sapwood_http::serve::Guard;
use sapwood_local::engine::{Data, Engine, EngineError, listen, listen_anywhere};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// How long running requests may take when the port is closed.
const GRACE: Duration = Duration::from_secs(2);

/// The port, taken.
pub(super) struct Front {
    listener: TcpListener,
    address: SocketAddr,
    in_container: bool,
}

/// The port, served.
pub(super) struct Served {
    pub(super) url: String,
    stop: oneshot::Sender<()>,
    served: JoinHandle<std::io::Result<()>>,
}

#[derive(Clone)]
struct Proxy {
    client: Client<HttpConnector, Body>,
    engine: String,
    guard: Arc<Guard>,
}

/// Starts the engine on any port of one address of millions, where no scan finds it soon, or else of the usual one.
pub(super) fn start_hidden(data: &Data) -> Result<Engine, EngineError> {
    match Engine::start((one_of_millions(), 0).into(), data) {
        Err(EngineError::Listen { .. }) => Engine::start((Ipv4Addr::LOCALHOST, 0).into(), data),
        started => started,
    }
}

/// A loopback address that no scan finds soon.
pub(super) fn one_of_millions() -> Ipv4Addr {
    let number = std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), 0_u8).to_be_bytes();
    Ipv4Addr::new(127, number[0] | 1, number[1], number[2] | 1)
}

impl Front {
    /// Takes the port. In a container it may be one that other machines reach.
    pub(super) fn bind(address: SocketAddr, in_container: bool) -> Result<Self, EngineError> {
        let listener = if in_container { listen_anywhere(address) } else { listen(address) }?;
        let taken = listener.local_addr().and_then(|address| Ok((TcpListener::from_std(listener)?, address)));
        let (listener, address) = taken.map_err(|source| EngineError::Listen { address, source })?;
        Ok(Self { listener, address, in_container })
    }

    /// Passes on to the engine what the guard lets through. `hosts` are allowed besides the address.
    pub(super) fn serve(self, engine: &Engine, hosts: Vec<String>) -> Served {
        let proxy = Proxy {
            client: Client::builder(TokioExecutor::new()).build_http(),
            engine: engine.url(),
            guard: Arc::new(Guard::new(self.address, hosts, Vec::new()).mapped(self.in_container)),
        };
        let router = Router::new().fallback(routing::any(pass_on)).with_state(proxy);
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = axum::serve(self.listener, router).with_graceful_shutdown(async { drop(stopped.await) });
        Served { url: format!("http://{}", self.address), stop, served: tokio::spawn(serving.into_future()) }
    }
}

impl Served {
    /// Stops when the running requests are answered, or after a while.
    pub(super) async fn stop(mut self) {
        let _ = self.stop.send(());
        if tokio::time::timeout(GRACE, &mut self.served).await.is_err() {
            self.served.abort();
        }
    }
}

async fn pass_on(State(proxy): State<Proxy>, request: Request) -> Result<Response, Infallible> {
    if let Err(refusal) = proxy.guard.check(request.method(), request.headers()) {
        return Ok(error(StatusCode::FORBIDDEN, "com.amazon.coral.service#AccessDeniedException", refusal));
    }
    Ok(forward(&proxy.client, &proxy.engine, request).await)
}

/// Passes a request on to the engine at this URL.
pub(super) async fn forward(client: &Client<HttpConnector, Body>, engine: &str, mut request: Request) -> Response {
    let target = request.uri().path_and_query().map_or("/", PathAndQuery::as_str);
    *request.uri_mut() = format!("{engine}{target}").parse().unwrap_or_default();
    match client.request(request).await {
        Ok(response) => response.map(Body::new),
        // The engine has stopped.
        Err(failed) => {
            error(StatusCode::INTERNAL_SERVER_ERROR, "com.amazonaws.dynamodb.v20120810#InternalServerError", failed)
        }
    }
}

fn error(status: StatusCode, kind: &str, message: impl ToString) -> Response {
    let body = json!({"__type": kind, "message": message.to_string()}).to_string();
    (status, [(CONTENT_TYPE, "application/x-amz-json-1.0")], body).into_response()
}
