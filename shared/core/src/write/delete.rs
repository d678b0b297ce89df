//! Nodes deleted: at once where they have no children, else marked, and the stream carries the deletion out.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::attempts::{Attempts, Stop, Trace};
use super::command::Children;
use super::names::Naming;
use super::operation::operation_item;
use super::record::{as_read, seconds};
use super::request::Stamp;
use super::traces::DELETED_SECONDS;
use super::{Context, Outcome, Refusal};
use crate::keys::{Id, ItemKey, NodeRef, Schema};
use crate::model::{
    BORN, BaseNode, DELETING, Deletion, DeletionMark, DeletionMode, Item, NameClaim, PUT_BACK, Settings, Stored,
    Tombstone, Trashed, WRITE, has_mark, key_of, life_of, with_key,
};
use crate::plan::{Failure, Io, Need, Read, Rule};
use crate::request::{Action, Condition, Query, ReadOptions, Update};

/// How often a deletion that allows no children waits until the node is placed.
const LOOKS_MAX: u32 = 8;

/// The deletion of a node: at once where it has no children, else it is marked. It takes 2 round trips.
#[derive(Clone, Copy)]
pub(super) struct DeleteNode<'a> {
    pub(super) node: &'a NodeRef,
    pub(super) children: Children,
    pub(super) revisions: bool,
    pub(super) operation: &'a str,
    /// Nodes that the batch may have put below it.
    pub(super) below: &'a BTreeSet<Id>,
}

/// Most pages of claims that are read to see whether a child has a name.
const CLAIM_PAGES_MAX: usize = 10;

/// Most claims on a page, as many as nodes are read at a time.
const CLAIMS_MAX: usize = 100;

enum Decided {
    Write(Vec<Action>, Outcome),
    /// The node isn't placed yet, so its children's rows may be missing.
    Later,
}

impl DeleteNode<'_> {
    pub(super) async fn carry_out(self, io: &Io, attempts: &mut Attempts<'_>) -> Result<Outcome, Stop> {
        let schema = &attempts.context.settings.schema;
        let mut looks = 0;
        loop {
            let read = io.read(self.look(attempts)).await?;
            let before = read.shared(&schema.node_key(self.node))?;
            if let Some(outcome) = attempts.settle(before, self.trace(attempts, &read)?, &read)? {
                return Ok(outcome);
            }
            // The handler deletes a record that a repair has put back.
            let before = before.filter(|item| !item.contains_key(PUT_BACK)).ok_or(Refusal::NotFound)?;
            match self.decide(attempts, before, &read)? {
                Decided::Write(actions, outcome) => {
                    if self.children == Children::Restrict && self.has_unseen_children(io, attempts).await? {
                        return Err(Refusal::HasChildren.into());
                    }
                    let attempt = attempts.attempt(actions, outcome, Some(Arc::clone(before)));
                    if let Some(outcome) = attempts.send(io, attempt).await? {
                        return Ok(outcome);
                    }
                }
                // The stream is rarely more than a moment behind.
                Decided::Later => {
                    looks += 1;
                    let step = looks.min(attempts.context.limits.wait_step_max);
                    if looks > LOOKS_MAX || !io.wait(step).await? {
                        return Err(Refusal::NotUpToDate.into());
                    }
                }
            }
        }
    }

    /// The node, the record that it was deleted, and a row of a child where none is allowed.
    fn look(&self, attempts: &Attempts<'_>) -> Need {
        let schema = &attempts.context.settings.schema;
        let mut keys = vec![schema.node_key(self.node), schema.deleted_key(self.node)];
        if attempts.is_unanswered() {
            let is_operation = matches!(attempts.tried(), Some(Outcome::Deleting { .. }));
            keys.extend(is_operation.then(|| self.operation_key(schema)));
            keys.extend(attempts.key_claim_key());
        }
        if self.children != Children::Restrict {
            return Need::keys(keys);
        }
        keys.push(schema.lineage_key(self.node));
        let first_child = Query::first(schema.partition(self.node), schema.depth_range(1, 1), 1).of([]);
        Need { query: Some(first_child), ..Need::keys(keys) }
    }

    /// True if a child's row may be missing: the batch has put it there, or its name is claimed.
    async fn has_unseen_children(&self, io: &Io, attempts: &Attempts<'_>) -> Result<bool, Failure> {
        let Context { settings, .. } = attempts.context;
        let schema = &settings.schema;
        if self.has_child_among(io, self.below, schema).await? {
            return Ok(true);
        }
        let claims = Query::first(schema.partition(self.node), schema.name_range(), CLAIMS_MAX);
        let mut claims = claims.of([NameClaim::NODE]);
        for _ in 0..CLAIM_PAGES_MAX * usize::from(settings.names.is_on()) {
            let page = io.page(claims.clone()).await?;
            if self.has_child_among(io, &page.items.iter().filter_map(NameClaim::node_in).collect(), schema).await? {
                return Ok(true);
            }
            claims.after = page.next;
            if claims.after.is_none() {
                break;
            }
        }
        Ok(false)
    }

    /// True if one of these nodes is a child, and isn't being deleted.
    async fn has_child_among(&self, io: &Io, ids: &BTreeSet<Id>, schema: &Schema) -> Result<bool, Failure> {
        if ids.is_empty() {
            return Ok(false);
        }
        let nodes = || ids.iter().map(|id| self.node.sibling(id.clone()));
        // Records can be large, and little of them counts.
        let names = schema.names();
        let options = ReadOptions::of([&*names.parent, &*names.segment, DELETING, PUT_BACK]);
        let read = io.read(Need { options, ..Need::keys(nodes().map(|node| schema.node_key(&node))) }).await?;
        for node in nodes() {
            let record = read.item(&schema.node_key(&node))?.filter(|record| !has_mark(Some(record)));
            if record.and_then(|record| BaseNode::parent_in(record, &node, schema)).as_ref() == Some(&self.node.id) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn operation_key(&self, schema: &Schema) -> ItemKey {
        schema.operation_key(self.node.tenant.as_ref(), self.operation)
    }

    fn decide(&self, attempts: &Attempts<'_>, before: &Item, read: &Read) -> Result<Decided, Stop> {
        let schema = &attempts.context.settings.schema;
        let preconditions = &attempts.request.preconditions;
        preconditions.check_item(Some(before), schema)?;
        if has_mark(Some(before)) {
            return Err(Refusal::being_deleted(&self.node.id, before).into());
        }
        if self.children == Children::Restrict {
            let page = read.page.as_ref().ok_or(Failure::Again)?;
            if page.items.iter().any(|row| key_of(row, schema).is_some()) {
                return Err(Refusal::HasChildren.into());
            }
            if !self.is_placed(before, &Stored::read(read.item(&schema.lineage_key(self.node))?, schema), schema) {
                return Ok(Decided::Later);
            }
        }
        let releases = matches!(self.children, Children::With(DeletionMode::Adopt | DeletionMode::Detach));
        if releases && Trashed::in_record(before, schema).is_some() {
            return Err(Refusal::ChildrenInTrash.into());
        }
        let condition = as_read(Some(before), preconditions.are_given(), schema)?;
        let (settings, stamp) = (attempts.context.settings, &attempts.request.stamp);
        let (actions, outcome) = match (self.children, self.revisions) {
            (Children::Restrict, false) => {
                (self.delete(before, read, condition, attempts.context, stamp)?, Outcome::Deleted)
            }
            // The node has no children that anything shows. One that comes in at this moment is adopted.
            (Children::Restrict, true) => self.mark(DeletionMode::Adopt, condition, settings, stamp),
            (Children::With(mode), _) => self.mark(mode, condition, settings, stamp),
        };
        let naming = Naming::of(self.node, Some(before), None, attempts.context);
        Ok(Decided::Write(actions.into_iter().chain(naming.release(self.node, attempts)).collect(), outcome))
    }

    /// True if the lineage is of this record's life and parent. Before that rows may be missing, or of an earlier life.
    fn is_placed(&self, before: &Item, stored: &Stored, schema: &Schema) -> bool {
        let Ok(base) = BaseNode::read(before.clone(), self.node, schema) else { return true };
        let Some(lineage) = stored.lineage() else { return false };
        let is_same_life = base.born().is_none() || base.born() == lineage.born.as_deref();
        let parent = base.parent.as_ref().filter(|parent| **parent != self.node.id);
        is_same_life && lineage.deleting.is_none() && lineage.placement.ancestors.first() == parent
    }

    /// The evidence of an attempt without an answer: the record of the deletion, or of the operation.
    fn trace(&self, attempts: &Attempts<'_>, read: &Read) -> Result<Trace, Failure> {
        let schema = &attempts.context.settings.schema;
        let is_own = |item: Option<&Item>| attempts.request.stamp.made(item);
        Ok(match attempts.tried().filter(|_| attempts.is_unanswered()) {
            Some(Outcome::Deleted) if is_own(read.item(&schema.deleted_key(self.node))?) => Trace::Done,
            // The operation is put with the mark, and stays. It may have been read before, and the node after.
            Some(Outcome::Deleting { .. }) if self.is_marked_by_this(read, schema)? => Trace::Done,
            Some(Outcome::Deleting { .. }) if read.item(&self.operation_key(schema))?.is_some() => Trace::Done,
            Some(Outcome::Deleting { .. }) => Trace::NotDone,
            _ => Trace::None,
        })
    }

    fn is_marked_by_this(&self, read: &Read, schema: &Schema) -> Result<bool, Failure> {
        let mark = read.item(&schema.node_key(self.node))?.and_then(DeletionMark::read);
        Ok(mark.is_some_and(|mark| mark.operation == self.operation))
    }

    /// Deletes the record, and puts one that says so (docs/reference/items.md, `DELETED`). It makes a node of this id
    /// that is put again a move: a child may have come in whose rows aren't there yet, and only its rows would show it.
    /// Such a child finds in it who adopts it, as in a tombstone.
    fn delete(
        &self,
        before: &Item,
        read: &Read,
        condition: Condition,
        context: Context<'_>,
        stamp: &Stamp,
    ) -> Result<Vec<Action>, Failure> {
        let Context { settings, rules, .. } = context;
        let schema = &settings.schema;
        let key = schema.deleted_key(self.node);
        let last = read.item(&key)?;
        // It may have been read before the node: then it isn't the last one, and leaves out a life.
        let is_last = Condition::is(WRITE, last.and_then(|item| item.get(WRITE)).cloned());
        let is_last = rules.on(Rule::DeletedAsRead, is_last);
        let mut item = with_key(&key, schema);
        stamp.mark(&mut item);
        item.extend(before.get(BORN).map(|born| (BORN.to_owned(), born.clone())));
        item.insert(settings.expires().to_owned(), seconds(stamp.seconds + DELETED_SECONDS));
        let stored = Stored::read(read.item(&schema.lineage_key(self.node))?, schema);
        let last = last.and_then(Tombstone::read).map_or(Stored::Absent, Stored::Tombstone);
        let born = life_of(before).or(stored.born_now()).map(str::to_owned);
        let earlier = [last, stored].iter().flat_map(|stored| stored.lives_before(born.as_deref())).collect();
        let (mode, operation) = (DeletionMode::Adopt, stamp.token.clone());
        let mark = DeletionMark { mode, operation, revisions: false, mark: None };
        // The heir of a node whose record can't be understood is unknown.
        let deletion = match BaseNode::read(before.clone(), self.node, schema) {
            Ok(base) => Deletion::by(mark, self.node, &base),
            Err(_) => Deletion { mark, heir: None },
        };
        Tombstone { deletion, born, earlier, deleted: stamp.seconds }.write(&mut item, settings);
        Ok(vec![
            Action::Delete { key: schema.node_key(self.node), condition },
            Action::Put { key, item, condition: is_last },
        ])
    }

    /// Marks the record, and puts the operation's.
    fn mark(
        &self,
        mode: DeletionMode,
        condition: Condition,
        settings: &Settings,
        stamp: &Stamp,
    ) -> (Vec<Action>, Outcome) {
        let schema = &settings.schema;
        let operation = self.operation.to_owned();
        let mark = DeletionMark { mode, operation: operation.clone(), revisions: self.revisions, mark: None };
        let key = self.operation_key(schema);
        let item = operation_item(&key, &self.node.id, &mark, stamp, settings);
        let update = Update::set(DELETING, mark.value());
        let actions = vec![
            Action::Update { key: schema.node_key(self.node), update, condition },
            Action::Put { key, item, condition: Condition::Absent },
        ];
        let (node, created_at) = (self.node.id.clone(), stamp.at.clone());
        (actions, Outcome::Deleting { operation, node, mode, created_at })
    }
}
