//! The roots of all trees.

use super::fields::segment;
use super::page::Listing;
use super::{Descendant, ListOptions, Page, ReadError, Reader};
use sapwood_core::keys::{ItemKey, SortKey, Tenant};
use sapwood_core::model::{Item, ROW_ATTRIBUTES, is_truncated, own_order};
use sapwood_store::{RetryPolicy, Table};

impl<T: Table, P: RetryPolicy> Reader<'_, T, P> {
    /// Lists all nodes without a parent, by id.
    ///
    /// # Errors
    /// [`ReadError::SwitchedOff`] and [`ReadError::Position`].
    pub async fn roots(&self, tenant: Option<&Tenant>, options: &ListOptions) -> Result<Page<Descendant>, ReadError> {
        self.check_roots()?;
        self.list(&self.root_listing(tenant), options, |key, item| self.root(options, key, item)).await
    }

    pub(super) fn root_listing(&self, tenant: Option<&Tenant>) -> Listing<'_> {
        let schema = self.client.schema();
        Listing::new(schema.roots_partition(tenant), schema.root_range(), ROW_ATTRIBUTES.into())
    }

    /// Returns the root that a row of the roots' collection describes.
    pub(super) fn root(&self, options: &ListOptions, key: &ItemKey, item: &Item) -> Option<Descendant> {
        let schema = self.client.schema();
        match schema.parse_sort_key(&key.sk)? {
            SortKey::Root(id) | SortKey::OrderedRoot { id, .. } => {
                let (place, segment) = (own_order(item), segment(item, schema));
                let (attributes, truncated) = (options.fields.of_node(item, schema), is_truncated(item));
                Some(Descendant { id, parent: None, depth: 0, place, segment, attributes, truncated })
            }
            _ => None,
        }
    }

    pub(super) fn check_roots(&self) -> Result<(), ReadError> {
        match self.settings.root_rows {
            true => Ok(()),
            false => Err(ReadError::SwitchedOff { what: "root rows", parameter: "RootRows=on" }),
        }
    }
}
