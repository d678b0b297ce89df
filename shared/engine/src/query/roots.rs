//! The roots of all trees.

use super::page::Listing;
use super::{ListOptions, Page, ReadError, Reader};
use sapwood_core::keys::{Id, SortKey, Tenant};
use sapwood_core::model::{Item, ROW_ATTRIBUTES, is_truncated};
use sapwood_table::{RetryPolicy, Table};

/// A node without a parent.
#[derive(Clone, Debug, PartialEq)]
pub struct Root {
    /// The root's id.
    pub id: Id,
    /// The attributes that rows carry.
    pub attributes: Item,
    /// True if the row had no room for the attributes.
    pub truncated: bool,
}

impl<T: Table, P: RetryPolicy> Reader<'_, T, P> {
    /// Lists all nodes without a parent, by id.
    ///
    /// # Errors
    /// [`ReadError::SwitchedOff`] and [`ReadError::Position`].
    pub async fn roots(&self, tenant: Option<&Tenant>, options: &ListOptions) -> Result<Page<Root>, ReadError> {
        self.check_roots()?;
        let schema = self.client.schema();
        let listing = Listing::new(schema.roots_partition(tenant), schema.root_range(), ROW_ATTRIBUTES.into());
        self.list(&listing, options, |key, item| match schema.parse_sort_key(&key.sk)? {
            SortKey::Root(id) => {
                Some(Root { id, attributes: options.fields.of_node(item, schema), truncated: is_truncated(item) })
            }
            _ => None,
        })
        .await
    }

    pub(super) fn check_roots(&self) -> Result<(), ReadError> {
        match self.settings.root_rows {
            true => Ok(()),
            false => Err(ReadError::SwitchedOff { what: "root rows", variable: "ROOT_ROWS" }),
        }
    }
}
