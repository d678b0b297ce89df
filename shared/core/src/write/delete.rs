//! Nodes deleted: at once where they have no children, else marked, and the stream carries the deletion out.

use std::sync::Arc;

use super::attempts::{Attempted, Attempts, Done, Stop, Trace, settle};
use super::command::Children;
use super::idempotency::number;
use super::operation::operation_item;
use super::record::as_read;
use super::request::Stamp;
use super::{Outcome, Refusal};
use crate::keys::{ItemKey, NodeRef, Schema};
use crate::model::{
    AttributeValue, BORN, BaseNode, DELETING, DeletionMark, DeletionMode, Item, PUT_BACK, Settings, Stored, WRITE,
    has_mark, key_of, with_key,
};
use crate::plan::{Facts, Failure, Need, Plan, Read, Step};
use crate::request::{Action, Condition, Query, ReadOptions, Update};

/// How often a deletion that allows no children waits until the node is placed.
const LOOKS_MAX: u32 = 8;

/// How long the record of an operation is kept.
const OPERATION_SECONDS: u64 = 7 * 24 * 60 * 60;

/// How long the record is kept that a node was deleted: as long as the tombstone of an operation. A node that is put back is known by it.
const DELETED_SECONDS: u64 = 14 * 24 * 60 * 60;

/// By how much the clocks of two writers may differ, in seconds. An operator's machine writes too, and AWS takes requests that are signed up to 15
/// minutes early or late.
const CLOCKS_DIFFER_SECONDS_MAX: u64 = 2 * 15 * 60;

/// A node is deleted, in 2 round trips.
#[derive(Debug)]
pub(super) struct DeleteNode<'a> {
    attempts: Attempts<'a>,
    node: &'a NodeRef,
    children: Children,
    revisions: bool,
    operation: &'a str,
    /// How often the node was found not yet placed.
    looks: u32,
    state: State,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Begin,
    /// The node is read, the record that it was deleted, and a row of a child where none is allowed.
    Looking,
    /// The node is deleted or marked.
    Writing,
    /// Another attempt follows.
    Waiting,
    /// The node isn't placed yet. Another look follows.
    WaitingForRows,
}

impl<'a> DeleteNode<'a> {
    pub(super) fn new(
        attempts: Attempts<'a>,
        node: &'a NodeRef,
        children: Children,
        revisions: bool,
        operation: &'a str,
    ) -> Self {
        Self { attempts, node, children, revisions, operation, looks: 0, state: State::Begin }
    }

    /// The attempts of this write.
    pub(super) fn attempts(&self) -> &Attempts<'a> {
        &self.attempts
    }

    fn schema(&self) -> &'a Schema {
        &self.attempts.context.settings.schema
    }

    fn operation_key(&self) -> ItemKey {
        self.schema().operation_key(self.node.tenant.as_ref(), self.operation)
    }

    fn stamp(&self) -> &'a Stamp {
        &self.attempts.request.stamp
    }

    fn look(&mut self) -> Step<Done> {
        let schema = self.schema();
        self.state = State::Looking;
        let first_child = Query {
            pk: schema.partition(self.node),
            range: schema.depth_range(1, 1),
            after: None,
            limit: 1,
            descending: false,
            reading: ReadOptions { strong: true, attributes: Some([].into()) },
        };
        let mut keys = vec![schema.node_key(self.node), schema.deleted_key(self.node)];
        if self.attempts.is_unanswered() {
            let is_operation = matches!(self.attempts.tried(), Some(Outcome::Deleting { .. }));
            keys.extend(is_operation.then(|| self.operation_key()));
            keys.extend(self.attempts.claim_key());
        }
        if self.children != Children::Restrict {
            return Need::keys(keys).into();
        }
        keys.push(schema.lineage_key(self.node));
        Need { query: Some(first_child), ..Need::keys(keys) }.into()
    }

    fn decide(&mut self, read: &Read) -> Result<Step<Done>, Stop> {
        let schema = self.schema();
        let before = read.shared(&schema.node_key(self.node))?;
        if let Some(outcome) = self.attempts.settle(before, self.trace(read)?, read)? {
            return Ok(Step::Done(Ok(outcome)));
        }
        self.attempts.check_claim()?;
        // A record that a repair has put back goes by itself.
        let on = before.filter(|item| !item.contains_key(PUT_BACK)).ok_or(Refusal::NotFound)?;
        let before = on.as_ref();
        let preconditions = &self.attempts.request.preconditions;
        preconditions.check_item(Some(before), schema)?;
        if has_mark(Some(before)) {
            return Err(Refusal::being_deleted(&self.node.id, before).into());
        }
        if self.children == Children::Restrict {
            let page = read.page.as_ref().ok_or(Failure::Again)?;
            if page.items.iter().any(|row| key_of(row, schema).is_some()) {
                return Err(Refusal::HasChildren.into());
            }
            if !self.is_placed(before, &Stored::read(read.item(&schema.lineage_key(self.node))?, schema)) {
                return self.look_later();
            }
        }
        let condition = as_read(Some(before), preconditions.are_given(), schema)?;
        let (actions, outcome) = match (self.children, self.revisions) {
            (Children::Restrict, false) => (self.delete(before, condition), Outcome::Deleted),
            // The node has no children. One that comes in at this moment becomes a root.
            (Children::Restrict, true) => self.mark(DeletionMode::Detach, condition),
            (Children::With(mode), _) => self.mark(mode, condition),
        };
        let completion = self.attempts.completion(&outcome);
        self.state = State::Writing;
        Ok(self.attempts.attempt(actions, completion, outcome, Some(Arc::clone(on))))
    }

    /// True if the lineage is that of this record: the same life, under the same parent. Before that the node's children can't have
    /// rows that show them, and rows of an earlier life may still be there.
    fn is_placed(&self, before: &Item, stored: &Stored) -> bool {
        let Ok(base) = BaseNode::read(before.clone(), self.node, self.schema()) else { return true };
        let Some(lineage) = stored.lineage() else { return false };
        let is_same_life = base.born().is_none() || base.born() == lineage.born.as_deref();
        let parent = base.parent.as_ref().filter(|parent| **parent != self.node.id);
        is_same_life && lineage.deleting.is_none() && lineage.placement.ancestors.first() == parent
    }

    /// Looks again after a while, because the stream is rarely more than a moment behind.
    fn look_later(&mut self) -> Result<Step<Done>, Stop> {
        if self.looks == LOOKS_MAX {
            return Err(Refusal::NotYetPlaced.into());
        }
        self.looks += 1;
        self.state = State::WaitingForRows;
        Ok(Step::Wait(self.looks.min(self.attempts.context.limits.wait_step_max)))
    }

    /// What the record of the deletion, or of the operation, tells of an attempt without an answer.
    fn trace(&self, read: &Read) -> Result<Trace, Failure> {
        let schema = self.schema();
        Ok(match self.attempts.tried().filter(|_| self.attempts.is_unanswered()) {
            Some(Outcome::Deleted) if self.stamp().made(read.item(&schema.deleted_key(self.node))?) => Trace::Done,
            // The operation is put in the transaction that marks the node, and stays. It may have been read before that, and the node after it.
            Some(Outcome::Deleting { .. }) if self.is_marked_by_this(read)? => Trace::Done,
            Some(Outcome::Deleting { .. }) if read.item(&self.operation_key())?.is_some() => Trace::Done,
            Some(Outcome::Deleting { .. }) => Trace::NotDone,
            _ => Trace::None,
        })
    }

    fn is_marked_by_this(&self, read: &Read) -> Result<bool, Failure> {
        let mark = read.item(&self.schema().node_key(self.node))?.and_then(DeletionMark::read);
        Ok(mark.is_some_and(|mark| mark.operation == self.operation))
    }

    /// Deletes the record, and puts one that says so:
    ///
    /// ```json
    /// {"PK": "V", "SK": "DELETED", "_born": "93ce…", "_write": "0b6a…", "_expires": 1770000000}
    /// ```
    ///
    /// It makes a node of this id that is put again a move: a child may have come in whose rows aren't there yet, and nothing
    /// but its rows would show it.
    fn delete(&self, before: &Item, condition: Condition) -> Vec<Action> {
        let schema = self.schema();
        let key = schema.deleted_key(self.node);
        let mut item = with_key(&key, schema);
        self.stamp().mark(&mut item);
        item.extend(before.get(BORN).map(|born| (BORN.to_owned(), born.clone())));
        let expires = self.stamp().seconds + DELETED_SECONDS;
        item.insert(self.attempts.context.settings.expires().to_owned(), seconds(expires));
        vec![
            Action::Delete { key: schema.node_key(self.node), condition },
            Action::Put { key, item, condition: Condition::Always },
        ]
    }

    /// Marks the record, and puts the operation's.
    fn mark(&self, mode: DeletionMode, condition: Condition) -> (Vec<Action>, Outcome) {
        let (schema, stamp) = (self.schema(), self.stamp());
        let operation = self.operation.to_owned();
        let mark = DeletionMark { mode, operation: operation.clone(), revisions: self.revisions, mark: None };
        let key = self.operation_key();
        let mut item = operation_item(&key, &self.node.id, &mark, stamp, schema);
        let expires = stamp.seconds + OPERATION_SECONDS;
        item.insert(self.attempts.context.settings.expires().to_owned(), seconds(expires));
        let update = Update::set(DELETING, mark.value());
        let actions = vec![
            Action::Update { key: schema.node_key(self.node), update, condition },
            Action::Put { key, item, condition: Condition::Absent },
        ];
        let (node, created_at) = (self.node.id.clone(), stamp.at.clone());
        (actions, Outcome::Deleting { operation, node, mode, created_at })
    }

    fn step(&mut self, facts: Facts) -> Result<Step<Done>, Stop> {
        match std::mem::take(&mut self.state) {
            State::Begin => Ok(self.look()),
            State::Looking => self.decide(&facts.read()?),
            State::Writing => match self.attempts.answered(facts.tried()?) {
                Attempted::Done(outcome) => Ok(Step::Done(Ok(outcome))),
                Attempted::Wait(step) => {
                    self.state = State::Waiting;
                    Ok(Step::Wait(step))
                }
                Attempted::Over => Err(self.attempts.give_up().into()),
            },
            State::Waiting => {
                if facts.waited()? {
                    Ok(self.look())
                } else {
                    Err(self.attempts.give_up().into())
                }
            }
            State::WaitingForRows => {
                if facts.waited()? {
                    Ok(self.look())
                } else {
                    Err(Refusal::NotYetPlaced.into())
                }
            }
        }
    }
}

impl Plan for DeleteNode<'_> {
    type Done = Done;

    fn next(&mut self, facts: Facts) -> Result<Step<Done>, Failure> {
        settle(self.step(facts))
    }
}

/// True if a node of this id, which isn't there, may have been deleted since this time, in seconds since 1970. What deletions leave says so: the
/// item `DELETED`, or a tombstone. A lineage says that the handler hasn't seen the deletion yet.
#[must_use]
pub fn deleted_since(since: u64, deleted: Option<&Item>, stored: &Stored, settings: &Settings) -> bool {
    let since = since.saturating_sub(CLOCKS_DIFFER_SECONDS_MAX);
    let is_of_stream = match stored {
        Stored::Absent => false,
        Stored::Tombstone(tombstone) => tombstone.deleted >= since,
        Stored::Lineage(_) | Stored::Malformed | Stored::Newer(_) => true,
    };
    is_of_stream || deleted.is_some_and(|item| number(item, settings.expires()) >= since + DELETED_SECONDS)
}

/// What is checked by a write that is tried again, and is decided on the node's absence: that the items which would tell of an attempt without an
/// answer are as they were read. The record was read at another moment, and the attempt may be carried out even now. If its node is deleted then,
/// the record is absent as before.
pub(super) fn traces_stay(node: &NodeRef, read: &Read, schema: &Schema) -> Result<[Action; 2], Failure> {
    let (deleted, lineage) = (schema.deleted_key(node), schema.lineage_key(node));
    let same_deletion = Condition::is(WRITE, read.item(&deleted)?.and_then(|item| item.get(WRITE)).cloned());
    let same_life = Stored::same_life(read.item(&lineage)?);
    Ok([Action::Check { key: deleted, condition: same_deletion }, Action::Check { key: lineage, condition: same_life }])
}

pub(super) fn seconds(value: u64) -> AttributeValue {
    AttributeValue::N(value.to_string())
}
