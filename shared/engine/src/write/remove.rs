//! Nodes removed: at once where they have no children, else marked, and the stream does the rest.

use super::operation::operation_item;
use super::record::still;
use super::{Done, Request, Stamp, WriteError, Writer};
use sapwood_core::keys::NodeRef;
use sapwood_core::model::{AttributeValue, DELETING, DeletionMark, DeletionMode, Item, key_of, text, with_key};
use sapwood_table::{Action, Condition, Query, ReadOptions, RetryPolicy, Table, TableError, Transacted, Update};

/// How long the record of an operation is kept, and what is left of a node that one removes.
const OPERATION_SECONDS: u64 = 7 * 24 * 60 * 60;

/// How long the record is kept that a node was deleted: longer than any change waits in the stream (24 hours).
const DELETED_SECONDS: u64 = 2 * 24 * 60 * 60;

/// What becomes of the children of a node that is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Children {
    /// If it has any, it isn't deleted.
    Restrict,
    /// The stream does this with them.
    Release(DeletionMode),
}

impl<T: Table, P: RetryPolicy> Writer<'_, T, P> {
    /// Deletes a node. At once where it may have no children and its revisions stay; else it is marked and the stream
    /// carries it out, as the operation of this id.
    ///
    /// # Errors
    /// [`WriteError::NotFound`], [`WriteError::HasChildren`], [`WriteError::BeingDeleted`].
    pub async fn delete(
        &self,
        node: &NodeRef,
        children: Children,
        revisions: bool,
        operation: &str,
        request: &Request<'_>,
    ) -> Result<Done, WriteError> {
        let mut attempt = 0;
        let mut also_failed = false;
        loop {
            let (before, deleted, has_children) = self.look_to_delete(node, children).await?;
            if attempt > 0 {
                // A write whose answer was lost finds itself done.
                if before.is_none() && request.stamp.made(deleted.as_ref()) {
                    return Ok(Done::Deleted);
                }
                let is_ours = |deleting: DeletionMark| deleting.operation == operation;
                if before.as_ref().and_then(DeletionMark::read).is_some_and(is_ours) {
                    return Ok(Done::Deleting { operation: operation.to_owned() });
                }
            }
            let Some(before) = before else { return Err(WriteError::NotFound) };
            if !request.precondition.holds(Some(&before)) {
                return Err(WriteError::PreconditionFailed);
            }
            if before.contains_key(DELETING) {
                return Err(WriteError::BeingDeleted(node.id.clone()));
            }
            if has_children {
                return Err(WriteError::HasChildren);
            }
            if also_failed {
                return Err(WriteError::InProgress);
            }
            let condition = still(Some(&before), request.precondition.is_strict(), self.client.schema());
            let (done, mut actions) = match (children, revisions) {
                (Children::Restrict, false) => (Done::Deleted, self.gone(node, condition, request.stamp)),
                // It has no children; one that comes in at this moment becomes a root.
                (Children::Restrict, true) => {
                    self.marked(node, DeletionMode::Detach, true, operation, condition, request.stamp)
                }
                (Children::Release(mode), _) => self.marked(node, mode, revisions, operation, condition, request.stamp),
            };
            let ours = actions.len();
            actions.extend(request.also(&done));
            match self.client.transact(&actions).await? {
                Transacted::Done => return Ok(done),
                Transacted::Failed(positions) => also_failed = positions.iter().any(|position| *position >= ours),
            }
            if !self.again(&mut attempt).await {
                return Err(WriteError::Contended);
            }
        }
    }

    /// Deletes the record, and leaves one that says so. It makes a node of this id that is put again a move: a child may
    /// have come in whose rows aren't there yet, and nothing but its rows would show it.
    fn gone(&self, node: &NodeRef, condition: Condition, stamp: &Stamp) -> Vec<Action> {
        let schema = self.client.schema();
        let key = schema.deleted_key(node);
        let mut item = with_key(&key, schema);
        stamp.mark(&mut item);
        item.insert(self.settings.expires().to_owned(), seconds(stamp.seconds + DELETED_SECONDS));
        vec![
            Action::Delete { key: schema.node_key(node), condition },
            Action::Put { key, item, condition: Condition::Always },
        ]
    }

    /// Marks the record, and puts the operation's.
    fn marked(
        &self,
        node: &NodeRef,
        mode: DeletionMode,
        revisions: bool,
        operation: &str,
        condition: Condition,
        stamp: &Stamp,
    ) -> (Done, Vec<Action>) {
        let schema = self.client.schema();
        let expires = stamp.seconds + OPERATION_SECONDS;
        let deleting = DeletionMark { mode, operation: operation.to_owned(), revisions, expires, mark: None };
        let key = schema.operation_key(node.tenant.as_ref(), operation);
        let item = operation_item(&key, &node.id, &deleting, stamp, self.settings);
        let actions = vec![
            Action::Update { key: schema.node_key(node), update: Update::set(DELETING, deleting.value()), condition },
            Action::Put { key, item, condition: Condition::Absent },
        ];
        (Done::Deleting { operation: operation.to_owned() }, actions)
    }

    /// The node, the record that it was deleted, and whether it has children that must be spared.
    async fn look_to_delete(
        &self,
        node: &NodeRef,
        children: Children,
    ) -> Result<(Option<Item>, Option<Item>, bool), TableError> {
        let schema = self.client.schema();
        let (node_key, deleted_key) = (schema.node_key(node), schema.deleted_key(node));
        let query = Query {
            pk: schema.partition(node),
            range: schema.depth_range(1, 1),
            after: None,
            limit: 1,
            descending: false,
            reading: ReadOptions { strong: true, attributes: Some([].into()) },
        };
        let any_child = async {
            match children {
                Children::Restrict => {
                    Ok(self.client.query(&query).await?.items.iter().any(|row| key_of(row, schema).is_some()))
                }
                Children::Release(_) => Ok(false),
            }
        };
        let reading = ReadOptions::default();
        let keys = vec![node_key.clone(), deleted_key.clone()];
        let (mut items, has_children) = futures::try_join!(self.read(keys, &reading), any_child)?;
        Ok((items.remove(&node_key), items.remove(&deleted_key), has_children))
    }
}

pub(super) fn seconds(value: u64) -> AttributeValue {
    AttributeValue::N(value.to_string())
}

/// Who did it, and when.
pub(super) fn by(stamp: &Stamp) -> [(String, AttributeValue); 2] {
    use sapwood_core::model::{CREATED_AT, CREATED_BY};
    [(CREATED_AT.to_owned(), text(&stamp.at)), (CREATED_BY.to_owned(), text(&stamp.by))]
}
