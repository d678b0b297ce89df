//! All trees.

use super::page::{Listing, PassedOver};
use super::{ListOptions, Page, ReadError, Reader};
use sapwood_core::keys::{Id, SortKey, Tenant};
use sapwood_core::model::{Item, ROW_ATTRIBUTES, is_truncated};
use sapwood_table::{RetryPolicy, Table};

/// A node without a parent.
#[derive(Clone, Debug, PartialEq)]
pub struct Root {
    /// Its id.
    pub id: Id,
    /// Those of its attributes that rows carry.
    pub attributes: Item,
    /// Whether its row had no room for them.
    pub truncated: bool,
}

impl<T: Table, P: RetryPolicy> Reader<'_, T, P> {
    /// All nodes without a parent, by id.
    ///
    /// # Errors
    /// [`ReadError::SwitchedOff`], [`ReadError::Position`].
    pub async fn roots(&self, tenant: Option<&Tenant>, options: &ListOptions) -> Result<Page<Root>, ReadError> {
        if !self.settings.root_rows {
            return Err(ReadError::SwitchedOff { what: "root", variable: "ROOT_ROWS" });
        }
        let schema = self.client.schema();
        let listing = Listing {
            pk: schema.roots_partition(tenant),
            range: schema.root_range(),
            passed_over: PassedOver::Nothing,
            descending: false,
            across_pages: false,
            own: ROW_ATTRIBUTES.into(),
        };
        self.list(&listing, options, |key, item| match schema.parse_sort_key(&key.sk)? {
            SortKey::Root(id) => {
                Some(Root { id, attributes: options.fields.of_node(item, schema), truncated: is_truncated(item) })
            }
            _ => None,
        })
        .await
    }
}
