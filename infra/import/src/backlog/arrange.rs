//! Orders the nodes: parents come first.

use super::{ARRANGED, Backlog, WorkError};
use crate::cost::Sizes;
use crate::work::links::{self, Orphans};
use crate::work::{Lookup, check, tables};

/// The level of the nodes that no root leads to. They are below one another, so none of them waits for its parent.
const CYCLES: &str = "cycles";

impl Backlog {
    /// Orders the nodes by depth, and counts the costs of each level. It takes minutes for ten million nodes, and
    /// begins again if it is cut off. It fails with [`WorkError::Lookup`] if parents can't be looked up.
    pub fn arrange(&mut self, lookup: &mut dyn Lookup) -> Result<(), WorkError> {
        if self.is_arranged()? {
            return Ok(());
        }
        let sizes = Sizes::of(&self.settings).map_err(|error| WorkError::Damaged { reason: error.to_string() })?;
        let transaction = self.connection.transaction()?;
        transaction.execute_batch("CREATE INDEX by_key ON record (pk, sk)")?;
        links::parents(&transaction, &self.settings.schema, lookup, Orphans::Nodes)?;
        links::link(&transaction)?;
        links::place(&transaction)?;
        if let Some(level) = links::place_the_others(&transaction)? {
            tables::set(&transaction, CYCLES, level)?;
        }
        check::count(&transaction, &sizes)?;
        tables::set(&transaction, ARRANGED, 1)?;
        transaction.commit()?;
        Ok(())
    }

    /// Returns the level whose nodes don't wait for their parents, if there is one.
    pub(super) fn cycles(&self) -> Result<Option<i64>, WorkError> {
        let level = tables::integer(&self.connection, CYCLES)?;
        Ok((level > 0).then_some(level))
    }
}
