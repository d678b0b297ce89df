//! `sapwood get`, `inherited`, `granted`, `totals`, `links`, `history`, `latest`, `put`, `move`, `copy`, `rm` and
//! `trash`: one node or a few, read and written by the API's own code.

pub(crate) mod copy;
pub(crate) mod get;
pub(crate) mod granted;
pub(crate) mod history;
pub(crate) mod inherited;
pub(crate) mod latest;
pub(crate) mod links;
pub(crate) mod moves;
pub(crate) mod put;
pub(crate) mod rm;
pub(crate) mod totals;
pub(crate) mod trash;
mod write;

use anyhow::Result;
use clap::Args;
use sapwood_core::keys::NodeRef;
use sapwood_core::model::Settings;
use sapwood_dynamodb::DynamoTable;
use sapwood_engine::query::{Bounds, Fields, ListOptions};
use sapwood_store::Client;

use crate::arguments::node;
use crate::connect::{Connection, Patient, TableClient};

/// The node that a command is about, and its table.
#[derive(Args)]
pub(crate) struct NodeArguments {
    /// Name the node.
    id: String,
    #[command(flatten)]
    pub(crate) connection: Connection,
    /// Set the tenant, in a table with tenants.
    #[arg(long, value_name = "TENANT")]
    tenant: Option<String>,
}

/// The node of a command that can answer as the API does.
#[derive(Args)]
struct Target {
    #[command(flatten)]
    node: NodeArguments,
    /// Print JSON. It is that of the HTTP API.
    #[arg(long)]
    json: bool,
}

/// A node, and the table that it is in.
pub(crate) struct Opened {
    pub(crate) table: DynamoTable,
    pub(crate) settings: Settings,
    pub(crate) node: NodeRef,
}

impl NodeArguments {
    pub(crate) async fn open(&self) -> Result<Opened> {
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
    pub(crate) fn client(&self) -> TableClient<'_> {
        Client::new(&self.table, &Patient, &self.settings.schema)
    }
}

/// The options of a list that is read to its end, a full page at a time.
fn whole_pages() -> ListOptions {
    let bounds = Bounds::items(Bounds::ITEMS_MAX);
    ListOptions { strong: true, fields: Fields::all(), bounds, ..ListOptions::default() }
}
