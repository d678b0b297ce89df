//! What was put into the trash.

use super::fields::segment;
use super::page::Listing;
use super::{ListOptions, Order, Page, ReadError, Reader};
use sapwood_core::keys::{Id, SortKey, Tenant, TrashTime};
use sapwood_core::model::{Item, ROW_ATTRIBUTES, TRASHED, Trashed, is_truncated};
use sapwood_store::{RetryPolicy, Table};

/// A node that was put into the trash.
#[derive(Clone, Debug, PartialEq)]
pub struct InTrash {
    /// The node's id.
    pub id: Id,
    /// When, by whom, and from below which parent.
    pub trashed: Trashed,
    /// The node's segment, if it has one and rows carry it.
    pub segment: Option<String>,
    /// The attributes that rows carry.
    pub attributes: Item,
    /// True if the row had no room for the attributes.
    pub truncated: bool,
}

impl<T: Table, P: RetryPolicy> Reader<'_, T, P> {
    /// Lists the trash, until a time if one is given. What is below a node in the trash has no entry of its own.
    pub async fn trash(
        &self,
        tenant: Option<&Tenant>,
        order: Order,
        until: Option<&TrashTime>,
        options: &ListOptions,
    ) -> Result<Page<InTrash>, ReadError> {
        let schema = self.client.schema();
        let own = ROW_ATTRIBUTES.into_iter().chain([TRASHED]).collect();
        let listing = Listing::new(schema.trash_partition(tenant), schema.trash_range(None, until), own);
        let listing = Listing { descending: order == Order::Descending, ..listing };
        self.list(&listing, options, |key, item| {
            let SortKey::Trash { id, at } = schema.parse_sort_key(&key.sk)? else { return None };
            let trashed = Trashed::read(item).unwrap_or(Trashed { at, by: None, parent: None, born: None });
            let (segment, attributes) = (segment(item, schema), options.fields.of_node(item, schema));
            Some(InTrash { id, trashed, segment, attributes, truncated: is_truncated(item) })
        })
        .await
    }
}
