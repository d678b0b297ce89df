//! Hands a changed lineage down, level by level. Each child is touched, so that its own record places it again. If the
//! node is being deleted, the deletion acts on the children instead ([`Slice`]).

use std::collections::BTreeSet;

use super::HandDown;
use super::context::Context;
use super::deletion::{DeletionSlice, Slice, children_of, delete_marked, page_query};
use crate::keys::{Id, ItemKey, NodeRef, SortKey};
use crate::model::{Cursor, CursorError, CursorUse, FORMAT_ATTRIBUTE, TOUCHED, text, touch_value};
use crate::plan::{Failure, Io, Need, Plan, Problem, Rule, Task, TaskOutcome, count_held};
use crate::request::{Action, Condition, ReadOptions, Update};

/// The plan that a record of a lineage asks for, on the children of its node or a first slice of them. `sequence` is
/// the record's sequence number, padded to 40 digits. If the children don't fit one slice, the plan starts a cursor.
pub fn hand_down(context: Context<'_>, node: NodeRef, sequence: String, kind: HandDown) -> Plan<'_, ()> {
    Plan::new(|io| async move {
        let cascade = Cascade { context, node: &node, sequence, is_continued: false, io: &io };
        match kind {
            HandDown::Deletion { touches, mark_went } => {
                cascade.delete(DeletionSlice::of_lineage(context, &node, touches, mark_went, &io)).await
            }
            HandDown::ToChildren | HandDown::ToOrphans => cascade.touch_children(None).await,
        }
    })
}

/// The plan that a record of a cursor asks for: the next slice.
pub fn continue_cursor(context: Context<'_>, node: NodeRef) -> Plan<'_, ()> {
    Plan::new(|io| async move {
        let key = context.schema().cascade_key(&node);
        let read = io.read(Need::keys([key.clone()])).await?;
        let Some(item) = read.item(&key)? else { return Ok(()) };
        let cursor = match Cursor::read(item) {
            Ok(cursor) => cursor,
            Err(error) => {
                io.note(Problem { key, reason: error.to_string(), unreadable: false });
                return if let CursorError::Newer(_) = error { Err(Failure::Again) } else { Ok(()) };
            }
        };
        if cursor.rests(item) {
            return Ok(());
        }
        let cascade = Cascade { context, node: &node, sequence: cursor.sequence.clone(), is_continued: true, io: &io };
        cascade.delete(DeletionSlice::of_cursor(context, &node, cursor, &io)).await
    })
}

struct Cascade<'c> {
    context: Context<'c>,
    node: &'c NodeRef,
    sequence: String,
    /// True if this is a slice that a cursor asks for.
    is_continued: bool,
    io: &'c Io,
}

impl Cascade<'_> {
    fn cursor_key(&self) -> ItemKey {
        self.context.schema().cascade_key(self.node)
    }

    async fn touch_children(&self, after: Option<String>) -> Result<(), Failure> {
        let range = self.context.schema().depth_range(1, 1);
        let limit = self.context.limits.touch_slice_items_max;
        let query = page_query(&self.context, self.node, range, after, limit, ReadOptions::of([]));
        let page = self.io.page(query).await?;
        if !self.is_continued && page.next.is_some() {
            return self.write_cursor(Some(self.cursor(CursorUse::Touching, None, false))).await;
        }
        self.touch(children_of(&page, &self.context), CursorUse::Touching, page.next).await
    }

    /// Touches children in the order of their rows, and moves the cursor past the first ones that are done: if a slice
    /// took longer than an invocation has, no invocation would ever be done with all of it.
    async fn touch(&self, children: BTreeSet<Id>, position: CursorUse, next: Option<String>) -> Result<(), Failure> {
        let schema = self.context.schema();
        let task = |child: &Id| touch(&self.context, self.node, child.clone(), &self.sequence);
        let outcomes = self.io.all(children.iter().map(task).collect()).await?;
        let keys = children.iter().map(|child| schema.node_key(&self.node.sibling(child.clone()))).collect();
        untouched(keys, &outcomes).for_each(|problem| self.io.note(problem));
        let is_done = |outcome: &&Result<TaskOutcome, Failure>| **outcome != Err(Failure::Again);
        let done = outcomes.iter().take_while(is_done).count();
        let touches = count_held(&outcomes[..done])?;
        self.io.report(|report| report.tally.touches += touches);
        let after = if done == outcomes.len() {
            next
        } else {
            let id = children.into_iter().take(done).next_back().ok_or(Failure::Again)?;
            Some(schema.sort_key(&SortKey::Ancestor { depth: 1, id }).map_err(|_| Failure::Again)?)
        };
        self.write_cursor(after.map(|after| self.cursor(position, Some(after), false))).await
    }

    async fn delete(&self, slice: DeletionSlice<'_>) -> Result<(), Failure> {
        match slice.carry_out().await? {
            Slice::Done => self.write_cursor(None).await,
            Slice::NotDeleting(after) => self.touch_children(after).await,
            Slice::Touch { children, next } => self.touch(children, CursorUse::Remaining, next).await,
            Slice::Continue { position, after, blocked } => {
                self.write_cursor(Some(self.cursor(position, Some(after), blocked))).await
            }
            // The cursor stays as a sign.
            Slice::Blocked(position) => self.write_cursor(Some(self.cursor(position, None, true))).await,
            Slice::Finish(item) if self.is_continued && !self.context.rules.keeps(Rule::FinishFirst) => {
                self.carry_out(self.delete_cursor()).await?;
                self.carry_out(delete_marked(&self.context, self.node, &item)).await.map(|_| ())
            }
            Slice::Finish(item) => {
                let held = self.carry_out(delete_marked(&self.context, self.node, &item)).await?;
                self.io.report(|report| report.tally.nodes_deleted += held);
                self.write_cursor(None).await
            }
        }
    }

    /// Carries out what is no fault if the table refuses it.
    async fn carry_out(&self, task: Task) -> Result<u64, Failure> {
        count_held(&self.io.all(vec![task]).await?)
    }

    fn cursor(&self, position: CursorUse, after: Option<String>, blocked: bool) -> Cursor {
        Cursor { sequence: self.sequence.clone(), after, position, blocked }
    }

    /// Writes the cursor, or deletes it. A cursor is moved or deleted only while it has this change's sequence number.
    async fn write_cursor(&self, cursor: Option<Cursor>) -> Result<(), Failure> {
        match cursor {
            None if !self.is_continued => Ok(()),
            None => self.carry_out(self.delete_cursor()).await.map(|_| ()),
            Some(cursor) if self.is_continued => {
                self.carry_out(self.put_cursor(&cursor, self.has_same_sequence())).await.map(|_| ())
            }
            Some(cursor) => self.start_cursor(&cursor).await,
        }
    }

    /// Starts a cursor. It gives way to one of its change or a newer one, which reaches every child. It doesn't give
    /// way to what no handler moves on: an item that is no cursor, or one that rests as a sign.
    async fn start_cursor(&self, cursor: &Cursor) -> Result<(), Failure> {
        let is_older = Condition::LessThan { name: Cursor::SEQUENCE.into(), value: text(&cursor.sequence) };
        let condition = self.context.rules.on(Rule::CursorStart, is_older);
        match self.io.one(self.put_cursor(cursor, condition)).await {
            Ok(TaskOutcome::Failed(_)) if self.context.rules.keeps(Rule::CursorObstacle) => {}
            Err(Failure::Again) => return Err(Failure::Again),
            Ok(_) | Err(Failure::Refused) => return Ok(()),
        }
        let key = self.cursor_key();
        let read = self.io.read(Need::keys([key.clone()])).await?;
        let item = read.item(&key)?.ok_or(Failure::Again)?;
        match Cursor::read(item) {
            Ok(other) if !other.rests(item) => return Ok(()),
            Err(CursorError::Newer(newer)) => {
                return Err(self.io.newer(key, newer));
            }
            Ok(_) | Err(CursorError::Malformed) => {}
        }
        let names = [Cursor::SEQUENCE, FORMAT_ATTRIBUTE].map(|name| (name, item.get(name).cloned()));
        let same = names.into_iter().map(|(name, value)| Condition::is(name, value));
        match self.io.one(self.put_cursor(cursor, Condition::All(same.collect()))).await {
            Ok(TaskOutcome::Held) | Err(Failure::Refused) => Ok(()),
            Ok(TaskOutcome::Failed(_)) | Err(Failure::Again) => Err(Failure::Again),
        }
    }

    fn put_cursor(&self, cursor: &Cursor, condition: Condition) -> Task {
        let item = cursor.item(self.node, self.context.schema());
        Task::Write(Action::Put { key: self.cursor_key(), item, condition })
    }

    fn delete_cursor(&self) -> Task {
        Task::Write(Action::Delete { key: self.cursor_key(), condition: self.has_same_sequence() })
    }

    fn has_same_sequence(&self) -> Condition {
        self.context.rules.on(Rule::CursorCondition, Condition::is(Cursor::SEQUENCE, Some(text(&self.sequence))))
    }
}

/// Touches a child, if it exists, so that it is placed again.
pub(super) fn touch(context: &Context<'_>, node: &NodeRef, child: Id, sequence: &str) -> Task {
    Task::Write(Action::Update {
        key: context.schema().node_key(&node.sibling(child)),
        update: Update::set(TOUCHED, touch_value(sequence, node)),
        condition: context.rules.on(Rule::TouchExists, Condition::Exists),
    })
}

/// Problems of nodes that the table refuses to touch. No retry helps, so their parent's record doesn't wait for them.
pub(super) fn untouched(
    keys: Vec<ItemKey>,
    outcomes: &[Result<TaskOutcome, Failure>],
) -> impl Iterator<Item = Problem> {
    let refused = keys.into_iter().zip(outcomes).filter(|(_, outcome)| **outcome == Err(Failure::Refused));
    refused.map(|(key, _)| {
        let reason = "the record has no room for a touch, so the node keeps its rows where a node above it was before; make it smaller";
        Problem { key, reason: reason.to_owned(), unreadable: false }
    })
}
