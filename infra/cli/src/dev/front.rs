//! The port of the embedded engine. The engine answers pages of any origin and takes any credentials, so it listens where nobody
//! looks for it, and what comes to the port that is known is passed on only if the guard lets it through.

use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::uri::{Authority, PathAndQuery, Scheme};
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::{Router, routing};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use sapwood_http::serve::Guard;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::error::DevError;

/// How long running requests may take when the port is closed.
const GRACE: Duration = Duration::from_secs(2);

/// The port, taken.
pub(super) struct Front(TcpListener);

/// The port, served.
pub(super) struct Served {
    /// The URL of the port.
    pub(super) url: String,
    stop: oneshot::Sender<()>,
    served: JoinHandle<std::io::Result<()>>,
}

#[derive(Clone)]
struct Proxy {
    client: Client<HttpConnector, Body>,
    engine: Authority,
    guard: Arc<Guard>,
}

/// Addresses for the engine: one of millions, and, where a system has no other loopback address than the usual, that one. The port
/// is any free one.
pub(super) fn hidden() -> [SocketAddr; 2] {
    let number = std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), 0_u8).to_be_bytes();
    let one_of_millions = Ipv4Addr::new(127, number[0] | 1, number[1], number[2] | 1);
    [one_of_millions, Ipv4Addr::LOCALHOST].map(|address| SocketAddr::new(IpAddr::V4(address), 0))
}

impl Front {
    /// Takes the port.
    pub(super) async fn bind(address: SocketAddr) -> Result<Self, DevError> {
        if !address.ip().is_loopback() {
            return Err(DevError::NotLoopback { address });
        }
        let listener = TcpListener::bind(address).await;
        listener.map(Self).map_err(|source| DevError::Listen { address, source })
    }

    /// Passes on to the engine what the guard lets through. `hosts` are allowed besides the address.
    pub(super) fn serve(self, engine: SocketAddr, hosts: Vec<String>) -> Result<Served, DevError> {
        let failed = |source| DevError::Listen { address: engine, source };
        let address = self.0.local_addr().map_err(failed)?;
        let proxy = Proxy {
            client: Client::builder(TokioExecutor::new()).build_http(),
            engine: Authority::try_from(engine.to_string()).map_err(|error| failed(std::io::Error::other(error)))?,
            guard: Arc::new(Guard::new(address, hosts, Vec::new())),
        };
        let router = Router::new().fallback(routing::any(pass_on)).with_state(proxy);
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = axum::serve(self.0, router).with_graceful_shutdown(async { drop(stopped.await) });
        Ok(Served { url: format!("http://{address}"), stop, served: tokio::spawn(serving.into_future()) })
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

async fn pass_on(State(proxy): State<Proxy>, mut request: Request) -> Result<Response, Infallible> {
    if let Err(refusal) = proxy.guard.check(request.headers()) {
        return Ok(error(
            StatusCode::FORBIDDEN,
            "com.amazon.coral.service#AccessDeniedException",
            &refusal.to_string(),
        ));
    }
    let target = request.uri().path_and_query().cloned().unwrap_or(PathAndQuery::from_static("/"));
    let uri = Uri::builder().scheme(Scheme::HTTP).authority(proxy.engine.clone()).path_and_query(target).build();
    *request.uri_mut() = uri.unwrap_or_default();
    Ok(match proxy.client.request(request).await {
        Ok(response) => response.map(Body::new),
        // The engine has stopped.
        Err(failed) => error(
            StatusCode::INTERNAL_SERVER_ERROR,
            "com.amazonaws.dynamodb.v20120810#InternalServerError",
            &failed.to_string(),
        ),
    })
}

fn error(status: StatusCode, kind: &str, message: &str) -> Response {
    let body = json!({"__type": kind, "message": message}).to_string();
    (status, [(CONTENT_TYPE, "application/x-amz-json-1.0")], body).into_response()
}
