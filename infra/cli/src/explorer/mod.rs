//! The explorer: a page that shows a tree, the items behind each node, and the stream handler at work. It is plain
//! files in the binary. Nodes are written through the HTTP API's own calls; what the page needs besides is under
//! `/explorer/data`, which is no part of the published contract and may change with any release.

mod assets;
mod calls;
mod lag;
mod live;
mod node;
mod node_state;
mod question;
mod trials;
mod verify;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Path, Request};
use axum::http::{HeaderMap, Method};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use sapwood_api::problem::{Kind, Problem};
use sapwood_core::keys::{Id, NodeRef, Tenant};
use sapwood_core::model::{Settings, Totals};
use sapwood_dynamodb::DynamoTable;
use sapwood_http::serve::{Gate, Guard, Pages};
use sapwood_store::{Client, Deadline};
use serde_json::{Value, json};

use crate::connect::{Patient, TableClient};

pub(crate) use self::live::Feed;
pub(crate) use self::trials::{Trial, Trials};

pub(crate) const PATH: &str = "/explorer";

/// The header in which the page sends the token that it has from its address.
const TOKEN: &str = "x-sapwood-explorer";

/// Longest time that a call of the page may take.
const CALL_TIME_MAX: Duration = Duration::from_secs(25);

/// The table of a page, and the page's rights.
pub(crate) struct Explorer {
    pub(crate) table: DynamoTable,
    pub(crate) settings: Settings,
    /// The tenant whose nodes are shown, in a table with tenants.
    pub(crate) tenant: Option<Tenant>,
    /// Where the table is, for the code that the page shows.
    pub(crate) place: TableAddress,
    pub(crate) rights: Rights,
    /// The events of this process's event source mapping, if there is one.
    pub(crate) live: Option<Feed>,
    /// The trials of this process's stream handler, if there is one.
    pub(crate) trials: Option<Arc<Trials>>,
    /// The node of an example that is shown first, and the parents to move it below.
    pub(crate) example: Option<(&'static str, [&'static str; 2])>,
}

/// Where a table is, as a user's own clients reach it.
#[derive(Clone, Debug, Default)]
pub(crate) struct TableAddress {
    pub(crate) table: String,
    /// The endpoint, if it isn't the region's own.
    pub(crate) endpoint: Option<String>,
    pub(crate) region: Option<String>,
    pub(crate) profile: Option<String>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Rights {
    /// True if it may write at all.
    pub(crate) writes: bool,
    /// True if nodes may be put into the trash.
    pub(crate) trash: bool,
}

impl Explorer {
    /// Returns the pages and their calls, for whom this guard lets through.
    pub(crate) fn pages(self, guard: Guard) -> Pages {
        let calls = calls::router(Arc::new(self));
        let router = Router::new()
            .route(PATH, get(async || assets::answer("index.html")))
            .route("/explorer/{file}", get(async |Path(file): Path<String>| assets::answer(&file)))
            .nest("/explorer/data", calls)
            .fallback(async || Problem::new(Kind::NotFound, "the explorer has no such page").into_response())
            .layer(from_fn(move |request: Request, next: Next| {
                let refused = guard.check(request.method(), request.headers()).err();
                async move {
                    match refused {
                        Some(refusal) => Problem::new(Kind::Forbidden, refusal.to_string()).into_response(),
                        None => next.run(request).await,
                    }
                }
            }));
        Pages { prefix: PATH, router }
    }

    fn node(&self, id: &str) -> Result<NodeRef, Problem> {
        let id = Id::new(id).map_err(|error| Problem::new(Kind::BadParameter, error.to_string()).at("id"))?;
        Ok(NodeRef { tenant: self.tenant.clone(), id })
    }

    /// The table, for the time that a call has.
    fn table(&self) -> DynamoTable {
        self.table.until(Deadline::after(CALL_TIME_MAX))
    }

    fn client<'a>(&'a self, table: &'a DynamoTable) -> TableClient<'a> {
        Client::new(table, &Patient, &self.settings.schema)
    }

    /// Describes the table and this release.
    fn about(&self) -> Value {
        let Self { settings, place, rights, .. } = self;
        let names = settings.schema.names();
        let order = settings.order.as_ref();
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "table": place.table, "endpoint": place.endpoint, "region": place.region, "profile": place.profile,
            "tenant": self.tenant.as_ref().map(Tenant::as_str),
            "writes": rights.writes, "trash": rights.trash, "live": self.live.is_some(), "trials": self.trials.is_some(),
            "keys": {
                "pk": names.partition_key, "sk": names.sort_key, "node": names.node, "parent": names.parent, "segment": names.segment,
            },
            "order": order.map(|order| order.attributes().iter().map(|one| one.name.as_str()).collect::<Vec<_>>()).unwrap_or_default(),
            "by_hand": order.is_some_and(|order| order.by_hand),
            "links": settings.links, "names": settings.names.as_str(),
            "totals": settings.totals.as_ref().map(Totals::attributes),
            "example": self.example.map(|(node, to)| json!({"node": node, "to": to})),
            "path_rows": settings.path_rows, "root_rows": settings.root_rows, "changes": settings.changes,
        })
    }
}

/// Returns the gate of the page's port: requests need the token of the page's address, and writes the right to write.
pub(crate) fn gate(token: String, writes: bool) -> Gate {
    Arc::new(move |request: &Request| {
        let path = request.uri().path();
        if path.strip_prefix(PATH).is_some_and(|rest| !rest.starts_with("/data")) {
            return Ok(());
        }
        if !has_token(request.headers(), &token) {
            return Err(Problem::new(
                Kind::Forbidden,
                "this request lacks the token of the page's address: open the address that `sapwood explore` has printed",
            ));
        }
        match writes || matches!(*request.method(), Method::GET | Method::HEAD) || path.starts_with("/explorer/data") {
            true => Ok(()),
            false => {
                Err(Problem::new(Kind::Forbidden, "this explorer only reads; start it with --write to change nodes"))
            }
        }
    })
}

fn has_token(headers: &HeaderMap, token: &str) -> bool {
    let given = headers.get(TOKEN).map(axum::http::HeaderValue::as_bytes).unwrap_or_default();
    // All bytes are compared, so that the time tells nothing of them.
    given.len() == token.len() && given.iter().zip(token.as_bytes()).fold(0, |sum, (a, b)| sum | (a ^ b)) == 0
}

/// Returns a token that nobody guesses: two names of 122 random bits each.
pub(crate) fn new_token() -> String {
    let source = sapwood_api::writes::Source::system();
    format!("{}{}", source.name(), source.name()).replace('-', "")
}

/// Opens an address in the user's browser. Who has none reads the address.
pub(crate) fn open_browser(url: &str) {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let quiet = std::process::Stdio::null;
    let begun = std::process::Command::new(program).arg(url).stdin(quiet()).stdout(quiet()).stderr(quiet()).spawn();
    if begun.is_err() {
        eprintln!("sapwood: no browser can be opened here ({program} is missing); open {url} yourself");
    }
}

/// A call that can't be answered.
fn failed(error: impl std::fmt::Display) -> Problem {
    Problem::new(Kind::Unavailable, format!("the table can't be read or written: {error}"))
}

/// An answer in JSON, with numbers that JavaScript can't keep as text.
struct Answer<T>(T);

impl<T: serde::Serialize> IntoResponse for Answer<T> {
    fn into_response(self) -> Response {
        match sapwood_json::to_vec(&self.0, sapwood_json::Numbers::Strings) {
            Ok(body) => assets::data(body),
            Err(_) => Problem::internal().into_response(),
        }
    }
}
