//! What the auditor has found.

use sapwood_core::audit::{Kept, State};
use sapwood_store::{ReadOptions, RetryPolicy, Table};

use super::{ReadError, Reader};

impl<T: Table, P: RetryPolicy> Reader<'_, T, P> {
    /// Reads how far the auditor has come, at this time in seconds since 1970.
    ///
    /// # Errors
    /// [`ReadError::Absent`] where no auditor has run, [`ReadError::NewerAudit`], and [`ReadError::Table`].
    pub async fn audit(&self, now: u64) -> Result<Kept, ReadError> {
        let absent = ReadError::Absent { what: "audit: no auditor has run".to_owned() };
        let found = self.client.get(&self.client.schema().audit_key(), &ReadOptions::default()).await?;
        // How long suspects settle is the auditor's business.
        State::read(&found.ok_or(absent)?, None, now).map_err(|newer| ReadError::NewerAudit { format: newer.format })
    }
}
