//! Operations: deletions that the stream carries out.

use sapwood_core::keys::{SortKey, Tenant};
use sapwood_core::write::{Operation, read_operation};
use sapwood_store::{RetryPolicy, Table};

use super::page::Listing;
use super::{ListOptions, Page, ReadError, Reader};
use crate::run::run;

const AT_ONCE: usize = 5;

/// The read units after which a page ends. The state of an operation takes reads of up to 25 nodes of any size.
const READ_UNITS_MAX: f64 = 2_560.0;

impl<T: Table, P: RetryPolicy> Reader<'_, T, P> {
    /// Reads how far an operation is.
    ///
    /// # Errors
    /// [`ReadError::Absent`] where there is none of this id, or it was forgotten, and [`ReadError::Table`].
    pub async fn operation(&self, tenant: Option<&Tenant>, id: &str) -> Result<Operation, ReadError> {
        let found = run(self.client, read_operation(self.settings, tenant, id)).await?;
        found.ok_or_else(|| ReadError::Absent { what: format!("operation `{id}`") })
    }

    /// Lists all operations with their progress, the newest first. Ids sort by time. Forgotten ones are left out.
    pub async fn operations(
        &self,
        tenant: Option<&Tenant>,
        options: &ListOptions,
    ) -> Result<Page<(String, Operation)>, ReadError> {
        let schema = self.client.schema();
        let listing = Listing {
            descending: true,
            ..Listing::new(schema.operations_partition(tenant), schema.operation_range(), Vec::new())
        };
        let id = |sk: &str| match schema.parse_sort_key(sk)? {
            SortKey::Operation(id) => Some(id),
            _ => None,
        };
        let Page { items: ids, next } = self.list(&listing, options, |key, _| id(&key.sk)).await?;
        let mut operations = Vec::with_capacity(ids.len());
        let mut done = 0;
        for chunk in ids.chunks(AT_ONCE) {
            // The cost of reading one isn't known before.
            if done > 0 && self.client.usage().read_units > READ_UNITS_MAX {
                let next = Some(schema.operation_key(tenant, &ids[done - 1]).sk);
                return Ok(Page { items: operations, next });
            }
            let states = self.client.all(chunk.iter().map(|id| self.operation(tenant, id)).collect()).await;
            for (id, state) in chunk.iter().zip(states) {
                done += 1;
                match state {
                    Ok(operation) => operations.push((id.clone(), operation)),
                    Err(ReadError::Absent { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(Page { items: operations, next })
    }
}
