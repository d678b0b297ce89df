//! One node, and who has written it.

use std::collections::BTreeSet;

use super::{ReadError, Reader};
use sapwood_core::keys::NodeRef;
use sapwood_core::model::{AttributeValue, BaseNode, CREATED_AT, CREATED_BY, Item, UPDATED_AT, UPDATED_BY};
use sapwood_table::{ReadOptions, RetryPolicy, Table};

/// When and for whom the API wrote a base record. All fields are `None` if another client wrote it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stamps {
    /// The time of the first write.
    pub created_at: Option<String>,
    /// The caller of the first write.
    pub created_by: Option<String>,
    /// The time of the last write.
    pub updated_at: Option<String>,
    /// The caller of the last write.
    pub updated_by: Option<String>,
}

/// The attributes that [`Stamps`] are read from.
pub(super) const STAMPS: [&str; 4] = [CREATED_AT, CREATED_BY, UPDATED_AT, UPDATED_BY];

impl Stamps {
    pub(super) fn read(item: &Item) -> Self {
        let [created_at, created_by, updated_at, updated_by] = STAMPS.map(|name| match item.get(name) {
            Some(AttributeValue::S(text)) => Some(text.clone()),
            _ => None,
        });
        Self { created_at, created_by, updated_at, updated_by }
    }
}

impl<T: Table, P: RetryPolicy> Reader<'_, T, P> {
    /// Reads a node's whole base record.
    ///
    /// # Errors
    /// [`ReadError::Absent`], [`ReadError::Unreadable`] and [`ReadError::Table`].
    pub async fn node(&self, node: &NodeRef, strong: bool) -> Result<BaseNode, ReadError> {
        let reading = ReadOptions { strong, attributes: None };
        let item = self.client.get(&self.client.schema().node_key(node), &reading).await?;
        self.base(node, item)
    }

    /// Returns the base record in an item.
    pub(super) fn base(&self, node: &NodeRef, item: Option<Item>) -> Result<BaseNode, ReadError> {
        let item = item.ok_or(ReadError::Absent { what: "node" })?;
        BaseNode::read(item, node, self.client.schema()).map_err(ReadError::Unreadable)
    }

    /// Checks that the node exists. Lists ask this if they are empty.
    pub(super) async fn check_node(&self, node: &NodeRef, strong: bool) -> Result<(), ReadError> {
        let schema = self.client.schema();
        let reading = ReadOptions { strong, attributes: Some(self.placing_attributes()) };
        let item = self.client.get(&schema.node_key(node), &reading).await?;
        self.base(node, item).map(drop)
    }

    /// The attributes that say where a node belongs.
    pub(super) fn placing_attributes(&self) -> BTreeSet<String> {
        let names = self.client.schema().names();
        [names.parent.clone(), names.segment.clone()].into()
    }
}
