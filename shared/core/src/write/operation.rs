//! Operations: deletions that the stream carries out, and how far they are.

use std::collections::BTreeSet;

use super::request::Stamp;
use crate::keys::{DEPTH_MAX, Id, ItemKey, NodeRef, Schema, SortKey, Tenant};
use crate::model::{
    AttributeValue, CREATED_AT, CREATED_BY, DeletionMark, DeletionMode, Item, Settings, key_of, text, text_of, with_key,
};
use crate::plan::{Facts, Failure, Need, Plan, Read, Step};
use crate::request::{Page, Query, ReadOptions};

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

/// An operation is read, and how far it is: it runs while its node is being deleted, and while the node has rows of nodes that the
/// operation deletes or has deleted.
#[derive(Debug)]
pub struct ReadOperation<'a> {
    settings: &'a Settings,
    tenant: Option<&'a Tenant>,
    id: &'a str,
    state: State,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Begin,
    /// The operation's record is read.
    ReadingRecord,
    /// Its node is read.
    ReadingNode(Operation),
    /// Rows below its node are read.
    ListingRows(Operation),
    /// The nodes that these rows are about are read.
    ReadingNodes(Operation, BTreeSet<NodeRef>),
}

impl<'a> ReadOperation<'a> {
    /// The operation of this id.
    #[must_use]
    pub fn new(settings: &'a Settings, tenant: Option<&'a Tenant>, id: &'a str) -> Self {
        Self { settings, tenant, id, state: State::Begin }
    }

    fn record_key(&self) -> ItemKey {
        self.settings.schema.operation_key(self.tenant, self.id)
    }

    fn node_of(&self, operation: &Operation) -> NodeRef {
        NodeRef { tenant: self.tenant.cloned(), id: operation.node.clone() }
    }

    /// True while a node is being deleted by this operation; `None` where the node isn't there.
    fn is_deleting(&self, node: &NodeRef, read: &Read) -> Result<Option<bool>, Failure> {
        let item = read.item(&self.settings.schema.node_key(node))?;
        Ok(item.map(|item| DeletionMark::read(item).is_some_and(|mark| mark.operation == self.id)))
    }

    fn read_node(&mut self, record: Option<&Item>) -> Step<Option<Operation>> {
        let Some(operation) = record.and_then(parse) else { return Step::Done(None) };
        let key = self.settings.schema.node_key(&self.node_of(&operation));
        self.state = State::ReadingNode(operation);
        Need::keys([key]).into()
    }

    fn list_rows(&mut self, operation: Operation, read: &Read) -> Result<Step<Option<Operation>>, Failure> {
        let node = self.node_of(&operation);
        if self.is_deleting(&node, read)? == Some(true) {
            return Ok(running(operation));
        }
        if operation.mode != DeletionMode::Delete {
            return Ok(Step::Done(Some(operation)));
        }
        let schema = &self.settings.schema;
        self.state = State::ListingRows(operation);
        let query = Query {
            pk: schema.partition(&node),
            range: schema.depth_range(1, DEPTH_MAX),
            after: None,
            limit: ROWS_LOOKED_AT,
            descending: false,
            reading: ReadOptions { strong: true, attributes: Some([].into()) },
        };
        Ok(Need::page(query).into())
    }

    fn read_nodes(&mut self, operation: Operation, page: &Page) -> Step<Option<Operation>> {
        let (schema, node) = (&self.settings.schema, self.node_of(&operation));
        let of_row = |row: &Item| match schema.parse_sort_key(&key_of(row, schema)?.sk)? {
            SortKey::Ancestor { id, .. } => Some(node.sibling(id)),
            _ => None,
        };
        // A node has two rows while it is moved.
        let nodes: BTreeSet<NodeRef> = page.items.iter().filter_map(of_row).collect();
        if nodes.is_empty() {
            return Step::Done(Some(operation));
        }
        let need = Need::keys(nodes.iter().map(|node| schema.node_key(node)));
        self.state = State::ReadingNodes(operation, nodes);
        need.into()
    }
}

impl Plan for ReadOperation<'_> {
    /// The operation; none where there is none of this id, or it was forgotten.
    type Done = Option<Operation>;

    fn next(&mut self, facts: Facts) -> Result<Step<Option<Operation>>, Failure> {
        match std::mem::take(&mut self.state) {
            State::Begin => {
                self.state = State::ReadingRecord;
                Ok(Need::keys([self.record_key()]).into())
            }
            State::ReadingRecord => Ok(self.read_node(facts.read()?.item(&self.record_key())?)),
            State::ReadingNode(operation) => self.list_rows(operation, &facts.read()?),
            State::ListingRows(operation) => Ok(self.read_nodes(operation, &facts.page()?)),
            State::ReadingNodes(operation, nodes) => {
                let read = facts.read()?;
                for node in &nodes {
                    // Rows of a node that isn't there any more are still to be deleted.
                    if self.is_deleting(node, &read)?.unwrap_or(true) {
                        return Ok(running(operation));
                    }
                }
                Ok(Step::Done(Some(operation)))
            }
        }
    }
}

fn running(operation: Operation) -> Step<Option<Operation>> {
    Step::Done(Some(Operation { progress: Progress::Running, ..operation }))
}
