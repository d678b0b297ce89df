//! What the checks ask about the table.

use std::error::Error;

use sapwood_core::keys::NodeRef;
use sapwood_core::model::Placement;

/// Nodes couldn't be looked up.
#[derive(Debug, thiserror::Error)]
#[error("parents can't be looked up in the table: {0}")]
pub struct LookupError(#[source] pub Box<dyn Error + Send + Sync>);

/// Looks up nodes that the source names as parents and doesn't have.
pub trait Lookup {
    /// Returns where each of these nodes stands, in their order; `None` for one that isn't in the table. There are at
    /// most 100 different ones. If it fails, the checks can be run again.
    fn lookup(&mut self, nodes: &[NodeRef]) -> Result<Vec<Option<Placement>>, LookupError>;
}

/// An empty table: every parent must be in the source.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nowhere;

impl Lookup for Nowhere {
    fn lookup(&mut self, nodes: &[NodeRef]) -> Result<Vec<Option<Placement>>, LookupError> {
        Ok(vec![None; nodes.len()])
    }
}
