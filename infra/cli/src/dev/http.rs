//! The HTTP API: both functions on one port, each configured as in the template.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Result, anyhow};
use sapwood_api::caller::Claims;
use sapwood_api::feed::KnownFeed;
use sapwood_api::wait::Waits;
use sapwood_api::{reads, writes};
use sapwood_dynamodb::DynamoTable;
use sapwood_explorer::{Feed, Rights};
use sapwood_http::config::{ReaderConfig, WriterConfig};
use sapwood_http::serve::{Front, Guard, serve_local};
use sapwood_local::mapping::Progress;
use sapwood_local::template::Template;
use tokio::net::TcpListener;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;

use super::catch_up;
use crate::explorer::{self, Explorer, tables};

/// The logical ids of the functions in the template.
const READER: &str = "ApiReader";
const WRITER: &str = "ApiWriter";

/// The key that signs cursors. Here it protects nothing, and never changes, so that cursors stay valid after a restart.
const CURSOR_KEY: &str = "sapwood dev: no secret";

/// The running API.
pub(super) struct Http {
    /// The API's URL.
    pub(super) url: String,
    feed: Option<Feed>,
    /// Ends the requests that wait for the stream handler.
    ending: watch::Sender<bool>,
    stop: oneshot::Sender<()>,
    served: JoinHandle<std::io::Result<()>>,
}

/// The port of the API.
pub(super) struct Port {
    pub(super) address: SocketAddr,
    /// Names under which the port is reached besides.
    pub(super) hosts: Vec<String>,
    /// True if the port may have another number where it is reached.
    pub(super) in_container: bool,
}

impl Http {
    /// Serves the API of a table, `/dev/catch-up`, and the explorer, if there is one. Every caller has these claims.
    pub(super) async fn start(
        port: Port,
        template: &Template,
        table: &DynamoTable,
        table_name: &str,
        claims: Claims,
        mapping: Option<Arc<Progress>>,
        explorer: Option<Explorer>,
    ) -> Result<Self> {
        let Port { address, hosts, in_container } = port;
        let given = BTreeMap::from([("CURSOR_KEY".to_owned(), CURSOR_KEY.to_owned())]);
        let of_reader = template.environment_of(READER, table_name, &given)?;
        let of_writer = template.environment_of(WRITER, table_name, &given)?;
        let reader = ReaderConfig::read(|name| of_reader.get(name).cloned())?;
        let writer = WriterConfig::read(|name| of_writer.get(name).cloned())?;
        let WriterConfig { revisions_mutable, trash, .. } = writer;
        let of_reads = reads::ReaderState { cursors: reader.cursors, feed: KnownFeed::default() };
        let of_writes = writes::WriterState { revisions_mutable, trash, source: writes::Source::system() };
        let of_reads = reads::ApiState::new(tables(table), reader.settings, Waits::system(), of_reads);
        let of_writes = writes::ApiState::new(tables(table), writer.settings, Waits::system(), of_writes);
        let router = reads::router(of_reads).merge(writes::router(of_writes));
        let failed = |source| anyhow!("the HTTP API can't be served on {address}: {source}");
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let bound = listener.local_addr().map_err(failed)?;
        let url = format!("http://{bound}");
        // Pages of other origins may use the API where a parameter says so, and never the explorer.
        let explorers = Guard::new(bound, hosts.clone(), Vec::new()).mapped(in_container);
        let guard = Guard::new(bound, hosts, reader.options.cors_origins.clone()).mapped(in_container);
        let (stop, stopped) = oneshot::channel();
        let shutdown = async { drop(stopped.await) };
        let feed = explorer.as_ref().and_then(|explorer| explorer.live.clone());
        // The tenant of the API's callers.
        let tenant = reader.options.authority.caller(&claims, "local").ok().and_then(|caller| caller.tenant);
        let rights = Rights { writes: true, trash };
        let explorer = explorer.map(|explorer| Explorer { tenant, rights, ..explorer });
        let (ending, ended) = watch::channel(false);
        let pages = std::iter::once(catch_up::pages(mapping, ended));
        let pages = pages.chain(explorer.map(|explorer| explorer::pages(explorer, explorers))).collect();
        let front = Front { guard: Some(guard), gate: None, pages };
        let served = tokio::spawn(serve_local(listener, router, reader.options, claims, front, shutdown));
        Ok(Self { url, feed, ending, stop, served })
    }

    /// Stops the API when it has answered the running requests.
    pub(super) async fn stop(self) {
        // Or their pages would be answered for ever.
        if let Some(feed) = self.feed {
            feed.close();
        }
        self.ending.send_replace(true);
        let _ = self.stop.send(());
        let _ = self.served.await;
    }
}
