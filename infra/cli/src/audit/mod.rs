//! `sapwood verify` and `sapwood repair`: the whole table, or a part of it, held against its base records.

mod difference_file;
mod looked_at;
mod pass;
mod plan;
pub(crate) mod repair;
mod report;
mod requeued;
pub(crate) mod verify;
mod work;

pub(crate) use looked_at::Seen;

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use sapwood_core::keys::{KeyError, NodeRef, Schema};

use crate::arguments::{Segments, node};

/// How a table is compared.
#[derive(Args)]
struct Comparison {
    /// Compare this node's subtree instead of the whole table.
    #[arg(long, value_name = "ID", conflicts_with = "segments")]
    under: Option<String>,
    /// Set the tenant of the node that --under names.
    #[arg(long, value_name = "TENANT", requires = "under")]
    tenant: Option<String>,
    #[command(flatten)]
    segments: Segments,
    /// Use at most so many read units a second, on average. A table on demand serves 12,000 at least.
    #[arg(long, value_name = "UNITS")]
    rate: Option<f64>,
    /// Confirm a difference after so many seconds without a change. Use more than the stream's lag.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    confirmation_window: u64,
    /// Save the progress in this file. The same command resumes from it.
    #[arg(long, value_name = "FILE", conflicts_with = "under")]
    work: Option<PathBuf>,
    /// Print JSON. Each line is an object.
    #[arg(long)]
    json: bool,
}

impl Comparison {
    fn window(&self) -> Duration {
        Duration::from_secs(self.confirmation_window)
    }

    /// The node that is compared with what is below it. `None`: the whole table is compared.
    fn top(&self, schema: &Schema) -> Result<Option<NodeRef>, KeyError> {
        self.under.as_ref().map(|id| node(id, self.tenant.as_ref(), schema)).transpose()
    }
}
