//! `sapwood get`, `inherited`, `granted`, `totals`, `links`, `history`, `latest`, `put`, `move`, `copy`, `rm` and
//! `trash`: one node or a few, read and written by the API's own code.

mod copy;
mod get;
mod granted;
mod history;
mod inherited;
mod latest;
mod links;
mod moves;
mod put;
mod rm;
mod totals;
mod trash;
mod write;

pub(crate) use copy::{Arguments as CopyArguments, run as copy};
pub(crate) use get::{Arguments as GetArguments, run as get};
pub(crate) use granted::{Arguments as GrantedArguments, run as granted};
pub(crate) use history::{Arguments as HistoryArguments, run as history};
pub(crate) use inherited::{Arguments as InheritedArguments, run as inherited};
pub(crate) use latest::{Arguments as LatestArguments, run as latest};
pub(crate) use links::{Arguments as LinksArguments, run as links};
pub(crate) use moves::{Arguments as MoveArguments, run as relocate};
pub(crate) use put::{Arguments as PutArguments, run as put};
pub(crate) use rm::{Arguments as RmArguments, run as rm};
pub(crate) use totals::{Arguments as TotalsArguments, run as totals};
pub(crate) use trash::{Arguments as TrashArguments, run as trash};

use anyhow::Result;
use clap::Args;
use sapwood_core::keys::NodeRef;
use sapwood_core::model::Settings;
use sapwood_dynamodb::DynamoTable;
use sapwood_engine::query::{Bounds, Fields, ListOptions};
use sapwood_store::Client;

use crate::arguments::node;
use crate::connect::{Connection, Patient, TableClient};

/// The node that a command is about.
#[derive(Args)]
struct Target {
    /// Name the node.
    id: String,
    #[command(flatten)]
    connection: Connection,
    /// Set the tenant, in a table with tenants.
    #[arg(long, value_name = "TENANT")]
    tenant: Option<String>,
    /// Print JSON. It is that of the HTTP API.
    #[arg(long)]
    json: bool,
}

/// A node, and the table that it is in.
struct Opened {
    table: DynamoTable,
    settings: Settings,
    node: NodeRef,
}

impl Target {
    async fn open(&self) -> Result<Opened> {
        self.found_in(self.connection.open().await?)
    }

    async fn open_to_write(&self) -> Result<Opened> {
        self.found_in(self.connection.open_to_write(&Patient).await?)
    }

    fn found_in(&self, (table, settings): (DynamoTable, Settings)) -> Result<Opened> {
        let node = node(&self.id, self.tenant.as_ref(), &settings.schema)?;
        Ok(Opened { table, settings, node })
    }
}

impl Opened {
    fn client(&self) -> TableClient<'_> {
        Client::new(&self.table, &Patient, &self.settings.schema)
    }
}

/// The options of a list that is read to its end, a full page at a time.
fn whole_pages() -> ListOptions {
    let bounds = Bounds::items(Bounds::ITEMS_MAX);
    ListOptions { strong: true, fields: Fields::all(), bounds, ..ListOptions::default() }
}
