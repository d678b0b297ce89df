//! Serves requests on a port of this machine.
//!
//! A `#` begins a fragment (RFC 3986, 3.5), which clients and hyper drop, so `GET /nodes/ORDER#98765` is answered with
//! the node `ORDER`. Under Lambda such a path is refused, because API Gateway passes on a `#` that it has decoded.
//! `~23` stands for `#` on both.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tower::{Service, ServiceExt};

use super::answer::{Api, RequestId, service};
use super::{Guard, Options};
use sapwood_api::caller::{Claims, Known};
use sapwood_api::problem::{Kind, Problem};

/// The longest time for a client to send the head of a request, or to stay silent between two requests.
const HEAD_TIME_MAX: Duration = Duration::from_secs(30);

/// The pause before another connection is accepted, for example if no file descriptors are left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The guard, the gate and the pages in front of the API on a local port.
#[derive(Clone, Default)]
pub struct Front {
    /// Whom the port answers; without it everybody.
    pub guard: Option<Guard>,
    /// Says which of these requests are carried out, pages included; without it all.
    pub gate: Option<Gate>,
    /// Pages beside the API, which aren't part of the contract.
    pub pages: Vec<Pages>,
}

/// A function that lets a request through, or says why not.
pub type Gate = Arc<dyn Fn(&Request) -> Result<(), Problem> + Send + Sync>;

/// Pages beside the API. Their answers may take as long as they like.
#[derive(Clone, Debug)]
pub struct Pages {
    /// The first segment of their paths, such as `/explorer`. No call of the API has it.
    pub prefix: &'static str,
    /// The router that answers these paths.
    pub router: Router,
}

impl Pages {
    fn have(&self, path: &str) -> bool {
        path.strip_prefix(self.prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

/// Serves requests with these claims that the front lets through, until `shutdown` and all requests are done.
/// Errors of single connections end those connections only.
pub async fn serve_local(
    listener: TcpListener,
    router: Router,
    options: Options,
    claims: Claims,
    front: Front,
    shutdown: impl Future<Output = ()> + Send,
) -> io::Result<()> {
    let local = Local {
        front: Arc::new(front),
        known: Known(options.authority.caller(&claims, "local")),
        api: service(router, options),
        count: Arc::default(),
    };
    let (stop, stopped) = watch::channel(());
    let mut shutdown = std::pin::pin!(shutdown);
    loop {
        let stream = tokio::select! {
            () = &mut shutdown => break,
            accepted = listener.accept() => accepted,
        };
        match stream {
            Ok((stream, _)) => drop(tokio::spawn(local.clone().connection(stream, stopped.clone()))),
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    drop((listener, stopped));
    // Each connection holds a receiver until it ends.
    stop.send_replace(());
    stop.closed().await;
    Ok(())
}

#[derive(Clone)]
struct Local {
    api: Api,
    front: Arc<Front>,
    known: Known,
    count: Arc<AtomicU64>,
}

impl Local {
    async fn connection(self, stream: TcpStream, mut stopped: watch::Receiver<()>) {
        let answer = hyper::service::service_fn(|request| self.clone().answer(request));
        let serving = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIME_MAX)
            .serve_connection(TokioIo::new(stream), answer);
        let mut serving = std::pin::pin!(serving);
        // The client decides how a connection ends: most just close it.
        tokio::select! {
            _ = serving.as_mut() => return,
            _ = stopped.changed() => serving.as_mut().graceful_shutdown(),
        }
        drop(serving.await);
    }

    async fn answer(mut self, request: hyper::Request<Incoming>) -> Result<Response, Infallible> {
        let Front { guard, gate, pages } = &*self.front;
        if let Some(Err(refusal)) = guard.as_ref().map(|guard| guard.check(request.method(), request.headers())) {
            return Ok(Problem::new(Kind::Forbidden, refusal.to_string()).into_response());
        }
        let mut request: Request = request.map(Body::new);
        if let Some(Err(refusal)) = gate.as_ref().map(|gate| gate(&request)) {
            return Ok(refusal.into_response());
        }
        if let Some(pages) = pages.iter().find(|pages| pages.have(request.uri().path())) {
            return pages.router.clone().oneshot(request).await;
        }
        let number = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        request.extensions_mut().insert(RequestId(format!("local-{number}")));
        request.extensions_mut().insert(self.known.clone());
        self.api.call(request).await
    }
}
