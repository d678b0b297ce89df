//! `sapwood import` and `sapwood export`.

pub(crate) mod export;
mod formats;
pub(crate) mod import;
mod write;

use std::collections::BTreeSet;

use sapwood_core::keys::NodeRef;
use sapwood_core::model::{Placement, Settings, Stored};
use sapwood_engine::write::Above;
use sapwood_import::work::{Lookup, LookupError};
use sapwood_store::ReadOptions;
use tokio::runtime::Handle;

use crate::connect::TableClient;

/// The nodes of a table, for checks that know no runtime.
pub(crate) struct InTheTable<'a> {
    pub(crate) client: &'a TableClient<'a>,
    pub(crate) settings: &'a Settings,
}

impl Lookup for InTheTable<'_> {
    fn lookup(&mut self, nodes: &[NodeRef]) -> Result<Vec<Option<Placement>>, LookupError> {
        let schema = &self.settings.schema;
        let keys = nodes.iter().flat_map(|node| [schema.node_key(node), schema.lineage_key(node)]);
        let keys: BTreeSet<_> = keys.collect();
        let options = ReadOptions::default();
        let reading = self.client.get_many(keys, &options);
        let read = tokio::task::block_in_place(|| Handle::current().block_on(reading)).all();
        let items = read.map_err(|error| LookupError(Box::new(error)))?;
        let placement = |node: &NodeRef| {
            let stored = Stored::read(items.get(&schema.lineage_key(node)), schema);
            if Above::read(items.get(&schema.node_key(node)), &stored) == Above::Absent {
                return None;
            }
            // A node that was just written has no lineage yet. Then the table decides how deep its children come to be.
            Some(stored.lineage().map(|lineage| lineage.placement.clone()).unwrap_or_default())
        };
        Ok(nodes.iter().map(placement).collect())
    }
}
