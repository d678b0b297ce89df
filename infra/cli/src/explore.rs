//! `sapwood explore`: the explorer for any table, with the API's code in this process.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use anyhow::{Result, anyhow};
use clap::Args;
use sapwood_api::caller::{Authority, Claims};
use sapwood_api::cursor::CursorKey;
use sapwood_api::feed::KnownFeed;
use sapwood_api::wait::Waits;
use sapwood_api::{reads, writes};
use sapwood_core::keys::Tenant;
use sapwood_core::model::Settings;
use sapwood_explorer::{PATH, Rights, TableAddress};
use sapwood_http::serve::{Front, Guard, Options, serve_local};
use sapwood_local::engine::listen;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use crate::connect::{Connection, Patient};
use crate::exit::Exit;
use crate::explorer::{self, Explorer, gate, new_token, open_browser, tables};
use crate::recognised::check_keys;
use crate::say::say;
use crate::stop_signal;

/// The claim that has the tenant. Nobody else sends claims here.
const TENANT: &str = "tenant";

/// Show a table in a browser. The page has its trees, the items behind each node, and the Query for each question.
#[derive(Args)]
#[command(after_help = "Examples:
  sapwood explore --table sapwood --profile prod --open
  sapwood explore --table sapwood --endpoint http://127.0.0.1:8000 --write
  sapwood explore --table sapwood --profile prod --tenant acme

The page is served on a loopback address, with your own credentials, and only to who has its whole address: the token in it is new each time.
It reads only, unless --write is set. Then it changes nodes as the HTTP API does.

It ends with 0 after Ctrl-C, with 2 for wrong arguments, and with 4 if the table can't be reached.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    connection: Connection,
    /// Show the nodes of this tenant.
    #[arg(long, value_name = "TENANT")]
    tenant: Option<String>,
    /// Serve the page on this loopback address. By default its port is any free one.
    #[arg(long, value_name = "ADDRESS", default_value_t = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0))]
    http: SocketAddr,
    /// Let the page create, change, move and delete nodes.
    #[arg(long)]
    write: bool,
    /// Open the page in a browser.
    #[arg(long)]
    open: bool,
    /// Print JSON. Each line is an object.
    #[arg(long)]
    json: bool,
    /// Set `_updated_by` and `_created_by` of the records.
    #[arg(long, value_name = "NAME", env = "USER", hide_env_values = true, default_value = "sapwood")]
    by: String,
}

pub(crate) async fn run(arguments: Arguments) -> Result<()> {
    let Arguments { connection, tenant, http, write, open, json, by } = arguments;
    // The address comes first: a wrong one is known without a request.
    let listener = listen(http)?;
    let (table, settings, whose) = match write {
        true => connection.open_and_tell().await?,
        false => connection.opened(&Patient).await?,
    };
    check_keys(&table).await?;
    let tenant = tenant.map(Tenant::new).transpose()?;
    check_tenant(tenant.as_ref(), &settings)?;
    if write {
        whose.warn_who_writes();
    }
    let token = new_token();
    let cursors = CursorKey::new(token.as_bytes())?;
    let of_reads = reads::ReaderState { cursors, feed: KnownFeed::default() };
    // `sapwood rm --trash` doesn't ask the stack either.
    let of_writes = writes::WriterState { revisions_mutable: false, trash: write, source: writes::Source::system() };
    // Reads and writes have separate `Waits`, as under Lambda, where they are two functions.
    let of_reads = reads::ApiState::new(tables(&table), settings.clone(), Waits::system(), of_reads);
    let of_writes = writes::ApiState::new(tables(&table), settings.clone(), Waits::system(), of_writes);
    let router = reads::router(of_reads).merge(writes::router(of_writes));
    let unserved = |error: std::io::Error| anyhow!("the page can't be served: {error}");
    let listener = TcpListener::from_std(listener).map_err(unserved)?;
    let address = listener.local_addr().map_err(unserved)?;
    let guard = Guard::new(address, Vec::new(), Vec::new());
    let rights = Rights { writes: write, trash: write };
    let authority = Authority { tenant_claim: tenant.is_some().then(|| TENANT.to_owned()), ..Authority::default() };
    let of_tenant = tenant.iter().map(|tenant| (TENANT.to_owned(), tenant.as_str().to_owned()));
    let claims: Claims = std::iter::once(("sub".to_owned(), by)).chain(of_tenant).collect();
    let explorer = Explorer {
        tables: Arc::new(tables(&table)),
        settings,
        tenant,
        place: TableAddress {
            endpoint: connection.endpoint().map(str::to_owned),
            table: connection.table,
            region: connection.region,
            profile: connection.profile,
        },
        rights,
        live: None,
        trials: None,
        example: None,
        is_playground: false,
    };
    let pages = vec![explorer::pages(explorer, guard.clone())];
    let front = Front { guard: Some(guard), gate: Some(gate(token.clone(), write)), pages };
    let (stop, stopped) = oneshot::channel::<()>();
    let options = Options { authority, ..Options::default() };
    let served = tokio::spawn(serve_local(listener, router, options, claims, front, async { drop(stopped.await) }));
    let page = format!("http://{address}{PATH}#token={token}");
    let stopped = stop_signal::catch(false)?;
    match json {
        true => say!("{}", json!({"event": "listening", "explorer": page, "writes": write})),
        false => {
            let does = if write { "reads and writes" } else { "reads" };
            say!("The explorer {does}:\n\n  {page}\n\nCtrl-C ends it.");
        }
    }
    if open {
        open_browser(&page);
    }
    stopped.await;
    let _ = stop.send(());
    let _ = served.await;
    Ok(())
}

fn check_tenant(tenant: Option<&Tenant>, settings: &Settings) -> Result<()> {
    match (tenant, settings.schema.has_tenants()) {
        (None, true) => Err(Exit::Usage.because("this table has tenants: name one with --tenant")),
        (Some(_), false) => Err(Exit::Usage.because("this table has no tenants: leave --tenant out")),
        _ => Ok(()),
    }
}
