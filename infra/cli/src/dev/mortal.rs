//! A way to the table on which a caller dies between two of its writes: the last is carried out, and no answer comes.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::HeaderMap;
use axum::response::Response;
use axum::{Router, routing};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use sapwood_local::engine::{EngineError, listen};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use super::host_guard::{forward, one_of_millions};

/// The calls of DynamoDB that write.
const WRITES: [&str; 6] =
    ["PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems", "BatchExecuteStatement"];

/// A way to the table. It ends when it is dropped.
#[derive(Debug)]
pub(super) struct Way {
    /// Where it begins.
    pub(super) url: String,
    death: Arc<Death>,
    served: JoinHandle<std::io::Result<()>>,
}

#[derive(Debug, Default)]
struct Death {
    /// How many writes are left; 0 if nobody is to die.
    writes_left: AtomicU32,
    comes: Notify,
}

#[derive(Clone)]
struct Proxy {
    client: Client<HttpConnector, Body>,
    table: String,
    death: Arc<Death>,
}

impl Way {
    /// Opens a way to the table of this endpoint.
    pub(super) fn open(endpoint: &str) -> Result<Self, EngineError> {
        let hidden: SocketAddr = (one_of_millions(), 0).into();
        // Not every system has other loopback addresses than the usual.
        let listener = listen(hidden).or_else(|_| listen((Ipv4Addr::LOCALHOST, 0).into()))?;
        let taken = listener.local_addr().and_then(|address| Ok((TcpListener::from_std(listener)?, address)));
        let (listener, address) = taken.map_err(|source| EngineError::Listen { address: hidden, source })?;
        let death = Arc::new(Death::default());
        let client = Client::builder(TokioExecutor::new()).build_http();
        let proxy = Proxy { client, table: endpoint.to_owned(), death: Arc::clone(&death) };
        let router = Router::new().fallback(routing::any(pass_on)).with_state(proxy);
        let served = tokio::spawn(axum::serve(listener, router).into_future());
        Ok(Self { url: format!("http://{address}"), death, served })
    }

    /// Runs what uses this way until it has sent so many writes. `None`: it has died of the last.
    pub(super) async fn until<T>(&self, writes: u32, run: impl Future<Output = T>) -> Option<T> {
        self.death.writes_left.store(writes, Ordering::SeqCst);
        let ended = tokio::select! {
            ended = run => Some(ended),
            () = self.death.comes.notified() => None,
        };
        self.death.writes_left.store(0, Ordering::SeqCst);
        ended
    }
}

impl Drop for Way {
    fn drop(&mut self) {
        self.served.abort();
    }
}

async fn pass_on(State(proxy): State<Proxy>, request: Request) -> Result<Response, Infallible> {
    let last = is_write(request.headers())
        && proxy.death.writes_left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1))
            == Ok(1);
    let response = forward(&proxy.client, &proxy.table, request).await;
    if last {
        proxy.death.comes.notify_one();
        std::future::pending::<()>().await;
    }
    Ok(response)
}

fn is_write(headers: &HeaderMap) -> bool {
    let target = headers.get("x-amz-target").and_then(|target| target.to_str().ok()).unwrap_or_default();
    target.rsplit_once('.').is_some_and(|(_, call)| WRITES.contains(&call))
}
