//! Operations that the stream carries out, and how far they are.

use super::remove::{by, seconds};
use super::{Stamp, Writer};
use sapwood_core::keys::{Id, ItemKey, NodeRef, SortKey, Tenant};
use sapwood_core::model::{
    AttributeValue, CREATED_AT, CREATED_BY, DeletionMark, DeletionMode, Item, Settings, key_of, text, text_of, with_key,
};
use sapwood_table::{Query, ReadOptions, RetryPolicy, Table, TableError};

const NODE: &str = "_node";
const MODE: &str = "_mode";
const REVISIONS: &str = "_revisions";

/// Rows looked at to see whether something of a removed subtree is left.
const ROWS_LOOKED_AT: usize = 100;

/// A removal that the stream carries out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// The node.
    pub node: Id,
    /// What becomes of its children.
    pub mode: DeletionMode,
    /// Whether its revisions go as well.
    pub revisions: bool,
    /// When it was asked for.
    pub created_at: String,
    /// By whom.
    pub created_by: String,
    /// How far it is.
    pub progress: Progress,
}

/// How far an operation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// There is still something to do.
    Running,
    /// It is done.
    Done,
}

pub(super) fn operation_item(
    key: &ItemKey,
    node: &Id,
    deleting: &DeletionMark,
    stamp: &Stamp,
    settings: &Settings,
) -> Item {
    let mut item = with_key(key, &settings.schema);
    item.insert(NODE.to_owned(), text(node.as_str()));
    item.insert(MODE.to_owned(), text(deleting.mode.as_str()));
    item.insert(REVISIONS.to_owned(), AttributeValue::Bool(deleting.revisions));
    item.extend(by(stamp));
    item.insert(settings.expires().to_owned(), seconds(deleting.expires));
    item
}

fn read(item: &Item, progress: Progress) -> Option<Operation> {
    Some(Operation {
        node: Id::new(text_of(item, NODE)?).ok()?,
        mode: DeletionMode::parse(text_of(item, MODE)?)?,
        revisions: item.get(REVISIONS) == Some(&AttributeValue::Bool(true)),
        created_at: text_of(item, CREATED_AT)?.to_owned(),
        created_by: text_of(item, CREATED_BY)?.to_owned(),
        progress,
    })
}

impl<T: Table, P: RetryPolicy> Writer<'_, T, P> {
    /// How far an operation is; `None` where there is none of this id, or it was forgotten.
    ///
    /// # Errors
    /// [`TableError`] where the table fails.
    pub async fn operation(&self, tenant: Option<&Tenant>, operation: &str) -> Result<Option<Operation>, TableError> {
        let reading = ReadOptions::default();
        let key = self.client.schema().operation_key(tenant, operation);
        let item = self.client.get(&key, &reading).await?;
        let Some(mut found) = item.and_then(|item| read(&item, Progress::Done)) else { return Ok(None) };
        let node = NodeRef { tenant: tenant.cloned(), id: found.node.clone() };
        if self.carries(std::slice::from_ref(&node), operation).await?.contains(&Some(true))
            || found.mode == DeletionMode::Delete && self.has_rows_of(&node, operation).await?
        {
            found.progress = Progress::Running;
        }
        Ok(Some(found))
    }

    /// For each node whether it is being deleted by this operation; `None` where it isn't there.
    async fn carries(&self, nodes: &[NodeRef], operation: &str) -> Result<Vec<Option<bool>>, TableError> {
        let schema = self.client.schema();
        let keys: Vec<ItemKey> = nodes.iter().map(|node| schema.node_key(node)).collect();
        let items = self.read(keys.clone(), &ReadOptions::default()).await?;
        let is_ours = |item: &Item| DeletionMark::read(item).is_some_and(|deleting| deleting.operation == operation);
        Ok(keys.iter().map(|key| items.get(key).map(is_ours)).collect())
    }

    /// Whether rows are left of nodes that this operation removes, or has removed.
    async fn has_rows_of(&self, node: &NodeRef, operation: &str) -> Result<bool, TableError> {
        let schema = self.client.schema();
        let query = Query {
            pk: schema.partition(node),
            range: schema.depth_range(1, sapwood_core::keys::DEPTH_MAX),
            after: None,
            limit: ROWS_LOOKED_AT,
            descending: false,
            reading: ReadOptions { strong: true, attributes: Some([].into()) },
        };
        let page = self.client.query(&query).await?;
        let below = |row: &Item| match schema.parse_sort_key(&key_of(row, schema)?.sk)? {
            SortKey::Ancestor { id, .. } => Some(node.sibling(id)),
            _ => None,
        };
        let mut nodes: Vec<NodeRef> = page.items.iter().filter_map(below).collect();
        // A node is there twice while it is moved.
        nodes.sort();
        nodes.dedup();
        Ok(self.carries(&nodes, operation).await?.iter().any(|carries| carries.unwrap_or(true)))
    }
}
