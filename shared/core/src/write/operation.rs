//! Operations: deletions that the stream carries out, and how far they are.

use std::collections::BTreeSet;

use super::request::Stamp;
use crate::keys::{DEPTH_MAX, Id, ItemKey, NodeRef, Schema, SortKey, Tenant};
use crate::model::{
    AttributeValue, CREATED_AT, CREATED_BY, DeletionMark, DeletionMode, Item, Settings, key_of, text, text_of, with_key,
};
use crate::plan::{Failure, Io, Need, Read, Script};
use crate::request::{Query, ReadOptions};

const NODE: &str = "_node";
const MODE: &str = "_mode";
const REVISIONS: &str = "_revisions";

/// How many rows are looked at to see whether something of a deleted subtree is left.
const ROWS_LOOKED_AT: usize = 25;

/// A deletion that the stream carries out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// The node.
    pub node: Id,
    /// What becomes of its children.
    pub mode: DeletionMode,
    /// True if its revisions are deleted as well.
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
    /// Everything is done.
    Done,
}

/// The item of an operation, for example
///
/// ```json
/// {"PK": "OPERATIONS", "SK": "OPERATION#5a1c7ab2-…", "_node": "V", "_mode": "adopt", "_revisions": false,
///  "_created_at": "2026-02-03T04:05:06.789Z", "_created_by": "anna", "_expires": 1770000000}
/// ```
pub(super) fn operation_item(key: &ItemKey, node: &Id, mark: &DeletionMark, stamp: &Stamp, schema: &Schema) -> Item {
    let mut item = with_key(key, schema);
    item.insert(NODE.to_owned(), text(node.as_str()));
    item.insert(MODE.to_owned(), text(mark.mode.as_str()));
    item.insert(REVISIONS.to_owned(), AttributeValue::Bool(mark.revisions));
    item.insert(CREATED_AT.to_owned(), text(&stamp.at));
    item.insert(CREATED_BY.to_owned(), text(&stamp.by));
    item
}

fn parse(item: &Item) -> Option<Operation> {
    Some(Operation {
        node: Id::new(text_of(item, NODE)?).ok()?,
        mode: DeletionMode::parse(text_of(item, MODE)?)?,
        revisions: item.get(REVISIONS) == Some(&AttributeValue::Bool(true)),
        created_at: text_of(item, CREATED_AT)?.to_owned(),
        created_by: text_of(item, CREATED_BY)?.to_owned(),
        progress: Progress::Done,
    })
}

/// Reads an operation, and how far it is: it runs while its node is being deleted, and while the node has rows of nodes
/// that the operation deletes or has deleted. `None` where there is none of this id, or it was forgotten.
#[must_use]
pub fn read_operation<'a>(
    settings: &'a Settings,
    tenant: Option<&'a Tenant>,
    id: &'a str,
) -> Script<'a, Option<Operation>> {
    Script::new(move |io| async move {
        let key = settings.schema.operation_key(tenant, id);
        let read = io.read(Need::keys([key.clone()])).await?;
        let Some(operation) = read.item(&key)?.and_then(parse) else { return Ok(None) };
        let node = NodeRef { tenant: tenant.cloned(), id: operation.node.clone() };
        let is_running = is_running(&io, &settings.schema, id, &operation, &node).await?;
        let progress = if is_running { Progress::Running } else { Progress::Done };
        Ok(Some(Operation { progress, ..operation }))
    })
}

async fn is_running(
    io: &Io,
    schema: &Schema,
    id: &str,
    operation: &Operation,
    node: &NodeRef,
) -> Result<bool, Failure> {
    // `None` where the node isn't there.
    let is_deleting = |node: &NodeRef, read: &Read| {
        let item = read.item(&schema.node_key(node))?;
        Ok::<_, Failure>(item.map(|item| DeletionMark::read(item).is_some_and(|mark| mark.operation == id)))
    };
    let read = io.read(Need::keys([schema.node_key(node)])).await?;
    if is_deleting(node, &read)? == Some(true) {
        return Ok(true);
    }
    if operation.mode != DeletionMode::Delete {
        return Ok(false);
    }
    let query = Query {
        pk: schema.partition(node),
        range: schema.depth_range(1, DEPTH_MAX),
        after: None,
        limit: ROWS_LOOKED_AT,
        descending: false,
        reading: ReadOptions { strong: true, attributes: Some([].into()) },
    };
    let page = io.page(query).await?;
    let of_row = |row: &Item| match schema.parse_sort_key(&key_of(row, schema)?.sk)? {
        SortKey::Ancestor { id, .. } => Some(node.sibling(id)),
        _ => None,
    };
    // A node has two rows while it is moved.
    let nodes: BTreeSet<NodeRef> = page.items.iter().filter_map(of_row).collect();
    if nodes.is_empty() {
        return Ok(false);
    }
    let read = io.read(Need::keys(nodes.iter().map(|node| schema.node_key(node)))).await?;
    for node in &nodes {
        // Rows of a node that isn't there any more are still to be deleted.
        if is_deleting(node, &read)?.unwrap_or(true) {
            return Ok(true);
        }
    }
    Ok(false)
}
