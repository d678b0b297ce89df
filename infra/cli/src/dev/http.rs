//! The HTTP API: both functions on one port, each configured as in the template.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use sapwood_http::caller::Claims;
use sapwood_http::serve::{Guard, serve_local};
use sapwood_local::template::Template;
use sapwood_table::DynamoTable;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::error::DevError;

/// The logical ids of the functions in the template.
const READER: &str = "ApiReader";
const WRITER: &str = "ApiWriter";

/// The key that signs cursors, which a deployment keeps in a secret. Here it protects nothing: whoever reaches the port
/// can read everything. It never changes, so that cursors stay valid after a restart.
const CURSOR_KEY: &str = "sapwood dev: no secret";

/// The running API.
pub(super) struct Http {
    /// The API's URL.
    pub(super) url: String,
    stop: oneshot::Sender<()>,
    served: JoinHandle<std::io::Result<()>>,
}

impl Http {
    /// Serves the API of a table. Every caller has these claims, since there is no authorizer. `hosts` are names under
    /// which the port is reached, and a container's port may have another number there.
    pub(super) async fn start(
        address: SocketAddr,
        template: &Template,
        table: &DynamoTable,
        table_name: &str,
        claims: Claims,
        hosts: Vec<String>,
        in_container: bool,
    ) -> Result<Self, DevError> {
        let given = BTreeMap::from([("CURSOR_KEY".to_owned(), CURSOR_KEY.to_owned())]);
        let of_reader = template.environment_of(READER, table_name, &given)?;
        let of_writer = template.environment_of(WRITER, table_name, &given)?;
        let reader = api_reader::Config::read(|name| of_reader.get(name).cloned())?;
        let writer = api_writer::Config::read(|name| of_writer.get(name).cloned())?;
        let tables = |table: &DynamoTable| {
            let table = table.clone();
            move |deadline| table.until(deadline)
        };
        let reads =
            api_reader::Shared { settings: reader.settings, cursors: reader.cursors, waits: api_reader::waits() };
        let reads = api_reader::State::new(tables(table), reads);
        let source = api_writer::Source::system();
        let writes = api_writer::Shared {
            settings: writer.settings,
            revisions_mutable: writer.revisions_mutable,
            trash: writer.trash,
            waits: source.waits(),
            source,
        };
        let writes = api_writer::State::new(tables(table), writes);
        let router = api_reader::router(reads).merge(api_writer::router(writes));
        let failed = |source| DevError::Http { address, source };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let bound = listener.local_addr().map_err(failed)?;
        let url = format!("http://{bound}");
        let guard = Guard::new(bound, hosts, reader.options.cors_origins.clone()).mapped(in_container);
        let (stop, stopped) = oneshot::channel();
        let shutdown = async {
            let _ = stopped.await;
        };
        let served = tokio::spawn(serve_local(listener, router, reader.options, claims, Some(guard), shutdown));
        Ok(Self { url, stop, served })
    }

    /// Stops the API when it has answered the running requests.
    pub(super) async fn stop(self) {
        let _ = self.stop.send(());
        let _ = self.served.await;
    }
}
