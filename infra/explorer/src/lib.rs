//! The explorer: a page that shows a tree, the items behind each node, and the stream handler at work. It is plain
//! files in the binary. Nodes are written through the HTTP API's own calls; what the page needs besides is under
//! `/explorer/data`, which is no part of the published contract and may change with any release.
//!
//! `sapwood dev` and `sapwood explore` serve it on a port, and the playground (`infra/playground`) in WebAssembly.

pub mod assets;
mod calls;
pub mod change;
pub mod example;
mod lag;
pub mod live;
mod node;
mod node_state;
mod question;
mod trials;
mod verify;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use sapwood_api::problem::{Kind, Problem};
use sapwood_core::keys::{Id, NodeRef, Tenant};
use sapwood_core::model::{Settings, Totals};
use sapwood_store::{Client, Deadline, Scannable, clock};
use serde_json::{Value, json};

pub use self::live::Feed;
pub use self::trials::{Trial, Trials};

/// Where the page is.
pub const PATH: &str = "/explorer";

/// Longest time that a call of the page may take.
const CALL_TIME_MAX: Duration = Duration::from_secs(25);

/// The table of a page, and the page's rights.
pub struct Explorer<T> {
    /// Makes the table for a call, which may use it until a deadline.
    pub tables: Arc<dyn Fn(Deadline) -> T + Send + Sync>,
    /// The settings of the table.
    pub settings: Settings,
    /// The tenant whose nodes are shown, in a table with tenants.
    pub tenant: Option<Tenant>,
    /// Where the table is, for the code that the page shows.
    pub place: TableAddress,
    /// What the page may do.
    pub rights: Rights,
    /// The events of this process's event source mapping, if there is one.
    pub live: Option<Feed>,
    /// The trials of this process's stream handler, if there is one.
    pub trials: Option<Arc<Trials>>,
    /// The node of an example that is shown first, and the parents to move it below.
    pub example: Option<(&'static str, [&'static str; 2])>,
    /// True in a page that has its table in itself.
    pub is_playground: bool,
}

/// Where a table is, as a user's own clients reach it.
#[derive(Clone, Debug, Default)]
pub struct TableAddress {
    /// The table's name.
    pub table: String,
    /// The endpoint, if it isn't the region's own.
    pub endpoint: Option<String>,
    /// The region.
    pub region: Option<String>,
    /// The AWS profile.
    pub profile: Option<String>,
}

/// What a page may do.
#[derive(Clone, Copy, Debug)]
pub struct Rights {
    /// True if it may write at all.
    pub writes: bool,
    /// True if nodes may be put into the trash.
    pub trash: bool,
}

/// The table of one call, and when the call ends.
struct CallTable<T> {
    table: T,
    deadline: Deadline,
}

impl<T: Scannable + 'static> Explorer<T> {
    /// Returns the router of the page's calls.
    pub fn calls(self) -> Router {
        Router::new().nest("/explorer/data", calls::router(Arc::new(self)))
    }

    /// Returns the router of the page's files and calls.
    pub fn router(self) -> Router {
        self.calls()
            .route(PATH, get(async || assets::answer("index.html")))
            .route("/explorer/{file}", get(async |Path(file): Path<String>| assets::answer(&file)))
            .fallback(async || Problem::new(Kind::NotFound, "the explorer has no such page").into_response())
    }

    fn node(&self, id: &str) -> Result<NodeRef, Problem> {
        let id = Id::new(id).map_err(|error| Problem::new(Kind::BadParameter, error.to_string()).at("id"))?;
        Ok(NodeRef { tenant: self.tenant.clone(), id })
    }

    /// The table, for the time that a call has.
    fn table(&self) -> CallTable<T> {
        let deadline = Deadline::at(clock::now() + CALL_TIME_MAX);
        CallTable { table: (self.tables)(deadline), deadline }
    }

    fn client<'a>(&'a self, of: &'a CallTable<T>) -> Client<'a, T, Deadline> {
        Client::new(&of.table, &of.deadline, &self.settings.schema)
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
            "writes": rights.writes, "trash": rights.trash, "playground": self.is_playground,
            "live": self.live.is_some(), "trials": self.trials.is_some(),
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

/// A call that can't be answered.
fn failed(error: impl std::fmt::Display) -> Problem {
    Problem::new(Kind::Unavailable, format!("the table can't be read or written: {error}"))
}

/// An answer in JSON, with numbers that JavaScript can't keep as text.
struct Answer<T>(T);

impl<T: serde::Serialize> IntoResponse for Answer<T> {
    fn into_response(self) -> Response {
        match sapwood_json::to_vec(&self.0, sapwood_json::Numbers::Strings) {
            Ok(body) => assets::finished(body.into(), "application/json"),
            Err(_) => Problem::internal().into_response(),
        }
    }
}
