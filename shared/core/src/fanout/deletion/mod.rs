//! Deletes a node, a slice at a time. First its children are marked, adopted or detached, then its revisions are
//! deleted if the mark says so, and last the node itself. The stream record of that last delete has the node's rows
//! deleted.
//!
//! The node's present base record and lineage decide. The stream record that set off the slice may be old.

mod children;
mod revisions;

use std::collections::BTreeSet;

use crate::fanout::Context;
use crate::keys::{Id, ItemKey, NodeRef, SortRange};
use crate::model::{
    BaseNode, Cursor, CursorUse, DELETING, Deletion, DeletionMark, Item, NewerFormat, Stored, ancestor_in, text,
};
use crate::plan::{Failure, Io, Need, Read, Rule, Task, count_held};
use crate::request::{Action, Condition, Page, Query, ReadOptions};

/// The result of a slice of a deletion.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Slice {
    Done,
    /// The cursor is for touching children, and the node isn't being deleted. The slice begins after this sort key.
    NotDeleting(Option<String>),
    /// The node isn't being deleted, or doesn't exist. Its remaining children have to be touched.
    Touch {
        children: BTreeSet<Id>,
        next: Option<String>,
    },
    Continue {
        position: CursorUse,
        after: String,
        blocked: bool,
    },
    /// A child couldn't be changed, so the node can't be deleted above it. This is where a next try begins.
    Blocked(CursorUse),
    /// Only the node itself is left to delete. This is its base record.
    Finish(Item),
}

pub(super) struct DeletionSlice<'d> {
    context: Context<'d>,
    node: &'d NodeRef,
    from: Option<CursorUse>,
    after: Option<String>,
    touches: bool,
    /// True if a mark of the node went. A cursor that rests as the sign of a blocked deletion is then deleted.
    mark_went: bool,
    /// True if a child couldn't be changed, in this slice or in one before.
    blocked: bool,
    io: &'d Io,
}

/// The node's base record, and the deletion that base record and lineage agree on.
struct Present {
    item: Item,
    deletion: Deletion,
}

impl<'d> DeletionSlice<'d> {
    /// The first slice, by a record of the lineage. `touches`: if the node isn't being deleted, children are touched.
    pub(super) fn of_lineage(
        context: Context<'d>,
        node: &'d NodeRef,
        touches: bool,
        mark_went: bool,
        io: &'d Io,
    ) -> Self {
        Self { context, node, from: None, after: None, touches, mark_went, blocked: false, io }
    }

    pub(super) fn of_cursor(context: Context<'d>, node: &'d NodeRef, cursor: Cursor, io: &'d Io) -> Self {
        let touches = !matches!(cursor.position, CursorUse::Revisions(_));
        let blocked = cursor.blocked && cursor.after.is_some();
        let (from, after) = (Some(cursor.position), cursor.after);
        Self { from, after, blocked, ..Self::of_lineage(context, node, touches, false, io) }
    }

    pub(super) async fn carry_out(mut self) -> Result<Slice, Failure> {
        let schema = self.context.schema();
        let cursor = self.mark_went.then(|| schema.cascade_key(self.node));
        let keys = [self.node_key(), schema.lineage_key(self.node)].into_iter().chain(cursor);
        let read = self.io.read(Need::keys(keys)).await?;
        let Some(mut present) = self.present(&read)? else {
            if let Some(task) = self.delete_sign(&read)? {
                count_held(&self.io.all(vec![task]).await?)?;
            }
            let touches_all = self.from == Some(CursorUse::Touching);
            return if touches_all { Ok(Slice::NotDeleting(self.after)) } else { self.remaining().await };
        };
        if self.from == Some(CursorUse::Touching) && !self.context.rules.keeps(Rule::CursorAnyKind) {
            return Ok(Slice::NotDeleting(self.after));
        }
        self.restart_unless_of(present.deletion.mark.name());
        if !matches!(self.from, Some(CursorUse::Revisions(_))) {
            if let Some(slice) = self.act_on_children(&mut present).await? {
                return Ok(slice);
            }
            self.after = None;
        }
        self.delete_revisions(present).await
    }

    /// Starts from the beginning if the cursor was left by another mark, because children may have come in since, or if
    /// it isn't for a deletion. An operator who has lost the cursor of a deletion can therefore write any.
    fn restart_unless_of(&mut self, mark: &str) {
        let continues = match &self.from {
            Some(CursorUse::Children(own) | CursorUse::Revisions(own)) => {
                own == mark || !self.context.rules.keeps(Rule::CursorMark)
            }
            Some(CursorUse::Remaining | CursorUse::Touching) => false,
            None => true,
        };
        if !continues {
            (self.from, self.after, self.blocked) = (None, None, false);
        }
    }

    /// Returns the deletion that the node's base record and lineage agree on. The base record alone isn't enough: only
    /// a lineage that names the deletion gives way to a tombstone, which late children need.
    fn present(&self, read: &Read) -> Result<Option<Present>, Failure> {
        let schema = self.context.schema();
        let by_base = self.context.rules.keeps(Rule::DeletionPresent);
        let item = read.item(&self.node_key())?.cloned().unwrap_or_default();
        let stored = Stored::read(read.item(&schema.lineage_key(self.node))?, schema);
        let deletion = match stored {
            Stored::Lineage(lineage) => lineage.deleting,
            Stored::Tombstone(tombstone) if !by_base => Some(tombstone.deletion),
            Stored::Newer(format) => {
                return Err(self.io.newer(schema.lineage_key(self.node), NewerFormat { format }));
            }
            _ => None,
        };
        // The heirs aren't compared: another client may change the parent there and back, and no record would say so.
        let agrees = |deletion: &Deletion| DeletionMark::read(&item).as_ref() == Some(&deletion.mark) || !by_base;
        Ok(deletion.filter(agrees).map(|deletion| Present { item, deletion }))
    }

    /// Deletes the cursor that rests as the sign of a blocked deletion, if there is one: nothing is blocked any more.
    fn delete_sign(&self, read: &Read) -> Result<Option<Task>, Failure> {
        let key = self.context.schema().cascade_key(self.node);
        let item = if self.mark_went { read.item(&key)? } else { None };
        let resting = item.and_then(|item| Cursor::read(item).ok().filter(|cursor| cursor.rests(item)));
        Ok(resting.map(|cursor| {
            let condition = Condition::is(Cursor::SEQUENCE, Some(text(&cursor.sequence)));
            Task::Write(Action::Delete { key, condition })
        }))
    }

    fn node_key(&self) -> ItemKey {
        self.context.schema().node_key(self.node)
    }

    /// The deletion that the node's base record names now.
    fn deletion_in(&self, item: Option<&Item>) -> Option<Deletion> {
        Deletion::of(self.node, &BaseNode::read(item?.clone(), self.node, self.context.schema()).ok()?)
    }

    async fn page_of(&self, range: SortRange, reading: ReadOptions) -> Result<Page, Failure> {
        let limit = self.context.limits.action_slice_items_max;
        self.io.page(page_query(&self.context, self.node, range, self.after.clone(), limit, reading)).await
    }

    /// The children to touch, if the node isn't being deleted.
    async fn remaining(&self) -> Result<Slice, Failure> {
        if !self.touches {
            return Ok(Slice::Done);
        }
        let page = self.page_of(self.context.schema().depth_range(1, 1), ReadOptions::of([])).await?;
        let (mut ids, mut children) = (children_of(&page, &self.context), BTreeSet::new());
        while !ids.is_empty() {
            let (present, left) = self.read_children(ids).await?;
            children.extend(present.into_iter().map(|child| child.node.id));
            ids = left;
        }
        Ok(Slice::Touch { children, next: page.next })
    }
}

/// Deletes a node on the condition that it still has the mark of this base record.
pub(super) fn delete_marked(context: &Context<'_>, node: &NodeRef, item: &Item) -> Task {
    let condition = context.rules.on(Rule::FinishCondition, Condition::is(DELETING, item.get(DELETING).cloned()));
    Task::Write(Action::Delete { key: context.schema().node_key(node), condition })
}

/// A page of a node's collection: the first, if `after` isn't in the range, which is no handler's position.
pub(super) fn page_query(
    context: &Context<'_>,
    node: &NodeRef,
    range: SortRange,
    after: Option<String>,
    limit: usize,
    reading: ReadOptions,
) -> Query {
    let after = after.filter(|after| range.contains(after));
    Query { after, reading, ..Query::first(context.schema().partition(node), range, limit) }
}

pub(super) fn children_of(page: &Page, context: &Context<'_>) -> BTreeSet<Id> {
    let schema = context.schema();
    page.items.iter().filter_map(|row| ancestor_in(row, schema)).map(|(_, id)| id).collect()
}
