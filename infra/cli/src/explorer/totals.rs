//! How many nodes are below those in view, and what their numbers add up to, where the table keeps totals.

use sapwood_api::contract::TotalsBody;
use sapwood_core::keys::NodeRef;
use sapwood_core::model::Settings;
use sapwood_engine::query::totals_of_nodes;
use sapwood_store::{Client, RetryPolicy, Table, TableError};

/// Most nodes whose totals one call reads: their lanes are as many keys as one BatchGetItem takes.
pub(super) const NODES_MAX: usize = 25;

/// Returns the totals of these nodes, in their order, with one request for the epoch and one for the lanes of
/// [`NODES_MAX`] nodes. A node without lanes has nothing below it. Returns nothing if the table keeps no totals.
pub(super) async fn totals<T: Table, P: RetryPolicy>(
    client: &Client<'_, T, P>,
    settings: &Settings,
    nodes: &[NodeRef],
) -> Result<Vec<TotalsBody>, TableError> {
    let Some(kept) = &settings.totals else { return Ok(Vec::new()) };
    let found = totals_of_nodes(client, kept, nodes, false).await?;
    Ok(nodes.iter().filter_map(|node| found.get(node).cloned()).map(TotalsBody::from).collect())
}
