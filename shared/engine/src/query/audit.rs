//! What the auditor has found.

use std::time::Duration;

use sapwood_core::audit::State;
use sapwood_table::{ErrorKind, ReadOptions, RetryPolicy, Table, TableError};

use super::{ReadError, Reader};

impl<T: Table, P: RetryPolicy> Reader<'_, T, P> {
    /// Reads how far the auditor has come.
    ///
    /// # Errors
    /// [`ReadError::Absent`] where no auditor has run, and [`ReadError::Table`].
    pub async fn audit(&self) -> Result<State, ReadError> {
        let absent = ReadError::Absent { what: "audit: no auditor has run" };
        let found = self.client.get(&self.client.schema().audit_key(), &ReadOptions::default()).await?;
        // How long suspects settle is the auditor's business.
        match State::read(&found.ok_or(absent.clone())?, Duration::ZERO) {
            Ok(state) => state.ok_or(absent),
            Err(newer) => Err(TableError::new(ErrorKind::GiveUp, newer.to_string()).into()),
        }
    }
}
