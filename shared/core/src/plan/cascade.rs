//! Hands a changed lineage down, level by level. Each child is touched, so that its own record places it again. If the node is
//! being deleted, the deletion acts on the children instead ([`DeletionSlice`]).

use std::collections::{BTreeMap, BTreeSet};

use super::deletion::{DeletionSlice, Slice, children_of, delete_marked, keys_alone, page_query};
use super::step::{Facts, Failure, Need, Plan, PlanReport, Step, Task, TaskOutcome, count_held};
use super::{Context, HandDown, Problem, Rule};
use crate::keys::{Id, ItemKey, NodeRef, SortKey};
use crate::model::{
    Cursor, CursorError, FORMAT_ATTRIBUTE, Item, ORPHAN_ROW, Position, TOUCHED, orphan_row_parent, own_id, text,
    touch_value,
};
use crate::request::{Action, Condition, Page, Query, ReadOptions, Update};

/// The work that a stream record of a lineage or of a cursor asks for, on the children of one node or a slice of them.
#[derive(Debug)]
pub struct Cascade<'a> {
    context: Context<'a>,
    node: NodeRef,
    cause: Cause,
    state: State<'a>,
    report: PlanReport,
}

/// What set the cascade off.
#[derive(Clone, Debug)]
enum Cause {
    /// The lineage changed. If the children don't fit one slice, the plan starts a cursor.
    Lineage { sequence: String, kind: HandDown },
    /// The cursor was written. The plan reads it first.
    Cursor,
    /// The cursor was read. The plan does the next slice.
    Continued(Cursor),
}

#[derive(Debug, Default)]
enum State<'a> {
    #[default]
    Begin,
    ReadingCursor,
    /// The plan reads a page of the node's children, to touch them.
    ListingChildren,
    /// A slice of a deletion is under way.
    Deleting(Box<DeletionSlice<'a>>),
    /// The plan touches these children. The cursor is for this, and then moves to this sort key.
    Touching(Vec<Id>, Position, Option<String>),
    /// The plan deletes the node, and after that its cursor.
    Finishing,
    /// [`Rule::FinishFirst`] is broken: the plan deletes the cursor, and after that the node with this base record.
    FinishingAfterCursor(Item),
    /// The plan starts this cursor, where none of its change or a newer one stands.
    StartingCursor(Cursor),
    /// The plan reads what stands in this cursor's place.
    ReadingObstacle(Cursor),
    /// The plan puts the cursor in the place of that.
    ReplacingObstacle,
    /// The plan starts, moves or deletes the cursor.
    WritingCursor,
}

impl<'a> Cascade<'a> {
    /// Makes the cascade of a lineage that changed. `sequence` is the record's sequence number, padded to 40 digits.
    #[must_use]
    pub fn of_lineage(context: Context<'a>, node: NodeRef, sequence: String, kind: HandDown) -> Self {
        Self::new(context, node, Cause::Lineage { sequence, kind })
    }

    /// Makes the cascade that does the next slice of a cursor.
    #[must_use]
    pub fn of_cursor(context: Context<'a>, node: NodeRef) -> Self {
        Self::new(context, node, Cause::Cursor)
    }

    fn new(context: Context<'a>, node: NodeRef, cause: Cause) -> Self {
        Self { context, node, cause, state: State::Begin, report: PlanReport::default() }
    }

    fn cursor_key(&self) -> ItemKey {
        self.context.schema().cascade_key(&self.node)
    }

    fn sequence(&self) -> &str {
        match &self.cause {
            Cause::Lineage { sequence, .. } => sequence,
            Cause::Continued(cursor) => &cursor.sequence,
            Cause::Cursor => "",
        }
    }

    fn begin(&mut self) -> Result<Step<()>, Failure> {
        match &self.cause {
            Cause::Lineage { kind: HandDown::Deletion { touches, mark_went }, .. } => {
                let slice = DeletionSlice::of_lineage(self.context, self.node.clone(), *touches, *mark_went);
                self.delete(slice, Facts::None)
            }
            Cause::Lineage { .. } => Ok(self.list_children(None)),
            Cause::Cursor | Cause::Continued(_) => {
                self.state = State::ReadingCursor;
                Ok(Need::keys([self.cursor_key()]).into())
            }
        }
    }

    fn continue_cursor(&mut self, item: Option<&Item>) -> Result<Step<()>, Failure> {
        let Some(item) = item else { return Ok(Step::Done(())) };
        let cursor = match Cursor::read(item) {
            Ok(cursor) => cursor,
            Err(error) => {
                let reason = error.to_string();
                self.report.problems.push(Problem { key: self.cursor_key(), reason, unreadable: false });
                return if let CursorError::Newer(_) = error { Err(Failure::Again) } else { Ok(Step::Done(())) };
            }
        };
        if cursor.rests(item) {
            return Ok(Step::Done(()));
        }
        self.cause = Cause::Continued(cursor.clone());
        let slice = DeletionSlice::of_cursor(self.context, self.node.clone(), cursor);
        self.delete(slice, Facts::None)
    }

    fn list_children(&mut self, after: Option<String>) -> Step<()> {
        self.state = State::ListingChildren;
        let range = self.context.schema().depth_range(1, 1);
        let limit = self.context.limits.touch_slice_items_max;
        Need::page(page_query(&self.context, &self.node, range, after, limit, keys_alone())).into()
    }

    fn touch_page(&mut self, page: &Page) -> Step<()> {
        if let (Cause::Lineage { .. }, Some(_)) = (&self.cause, &page.next) {
            return self.write_cursor(Some(self.cursor(Position::Touching, None, false)));
        }
        self.touch(children_of(page, &self.context), Position::Touching, page.next.clone())
    }

    /// Touches children, in the order of their rows.
    fn touch(&mut self, children: BTreeSet<Id>, position: Position, next: Option<String>) -> Step<()> {
        let task = |child: &Id| touch(&self.context, &self.node, child.clone(), self.sequence());
        let tasks = children.iter().map(task).collect();
        self.state = State::Touching(children.into_iter().collect(), position, next);
        Step::Do(tasks)
    }

    /// Moves the cursor past the children that are done. Where there was no time for all of a slice, that is past the first ones that are: if all
    /// of a slice took longer than an invocation has, no invocation would ever be done with it.
    fn touched(
        &mut self,
        children: &[Id],
        outcomes: &[Result<TaskOutcome, Failure>],
        position: Position,
        next: Option<String>,
    ) -> Result<Step<()>, Failure> {
        let schema = self.context.schema();
        let keys = children.iter().map(|child| schema.node_key(&self.node.sibling(child.clone()))).collect();
        self.report.problems.extend(untouched(keys, outcomes));
        let is_done = |outcome: &&Result<TaskOutcome, Failure>| **outcome != Err(Failure::Again);
        let done = outcomes.iter().take_while(is_done).count();
        self.report.tally.touches += count_held(&outcomes[..done])?;
        if done == outcomes.len() {
            return Ok(self.move_cursor(position, next));
        }
        let last = children[..done].last().ok_or(Failure::Again)?;
        let after = schema.sort_key(&SortKey::Ancestor { depth: 1, id: last.clone() }).map_err(|_| Failure::Again)?;
        Ok(self.move_cursor(position, Some(after)))
    }

    fn delete(&mut self, mut slice: DeletionSlice<'a>, facts: Facts) -> Result<Step<()>, Failure> {
        let step = slice.next(facts);
        let report = slice.take_report();
        self.report.tally += report.tally;
        self.report.problems.extend(report.problems);
        self.state = State::Deleting(Box::new(slice));
        step?.and_then(|done| Ok(self.after_slice(done)))
    }

    fn after_slice(&mut self, slice: Slice) -> Step<()> {
        match slice {
            Slice::Done => self.write_cursor(None),
            Slice::NotDeleting(after) => self.list_children(after),
            Slice::Touch { children, next } => self.touch(children, Position::Remaining, next),
            Slice::Continue { position, after, blocked } => {
                self.write_cursor(Some(self.cursor(position, Some(after), blocked)))
            }
            // The cursor stays as a sign.
            Slice::Blocked(position) => self.write_cursor(Some(self.cursor(position, None, true))),
            Slice::Finish(item) if self.is_continued() && !self.context.rules.keeps(Rule::FinishFirst) => {
                self.state = State::FinishingAfterCursor(item);
                self.delete_cursor()
            }
            Slice::Finish(item) => {
                self.state = State::Finishing;
                Step::Do(vec![delete_marked(&self.context, &self.node, &item)])
            }
        }
    }

    fn is_continued(&self) -> bool {
        matches!(self.cause, Cause::Continued(_))
    }

    /// The cursor of this change.
    fn cursor(&self, position: Position, after: Option<String>, blocked: bool) -> Cursor {
        Cursor { sequence: self.sequence().to_owned(), after, position, blocked }
    }

    fn move_cursor(&mut self, position: Position, next: Option<String>) -> Step<()> {
        self.write_cursor(next.map(|after| self.cursor(position, Some(after), false)))
    }

    /// Writes the cursor, or deletes it. A cursor is started only if no cursor of this change or a newer one stands there,
    /// because that one reaches every child. A cursor is moved or deleted only while it has this change's sequence number.
    fn write_cursor(&mut self, cursor: Option<Cursor>) -> Step<()> {
        let Some(cursor) = cursor else {
            self.state = State::WritingCursor;
            return if self.is_continued() { self.delete_cursor() } else { Step::Done(()) };
        };
        if self.is_continued() {
            self.state = State::WritingCursor;
            return self.put_cursor(&cursor, self.has_same_sequence());
        }
        let condition = if self.context.rules.keeps(Rule::CursorStart) {
            Condition::LessThan { name: Cursor::SEQUENCE.into(), value: text(&cursor.sequence) }
        } else {
            Condition::Always
        };
        let step = self.put_cursor(&cursor, condition);
        self.state = State::StartingCursor(cursor);
        step
    }

    fn put_cursor(&self, cursor: &Cursor, condition: Condition) -> Step<()> {
        let item = cursor.item(&self.node, self.context.schema());
        Step::Do(vec![Task::Write(Action::Put { key: self.cursor_key(), item, condition })])
    }

    /// The cursor gives way to one of its change or a newer one, which reaches every child. It doesn't give way to what nobody moves on: an item
    /// that is no cursor, or one that rests as a sign.
    fn after_start(&mut self, cursor: Cursor, outcome: TaskOutcome) -> Step<()> {
        if outcome == TaskOutcome::Held || !self.context.rules.keeps(Rule::CursorObstacle) {
            return Step::Done(());
        }
        self.state = State::ReadingObstacle(cursor);
        Need::keys([self.cursor_key()]).into()
    }

    fn replace_obstacle(&mut self, cursor: &Cursor, item: Option<&Item>) -> Result<Step<()>, Failure> {
        let Some(item) = item else { return Err(Failure::Again) };
        match Cursor::read(item) {
            Ok(other) if !other.rests(item) => Ok(Step::Done(())),
            Err(CursorError::Newer(newer)) => {
                let (key, reason) = (self.cursor_key(), newer.to_string());
                self.report.problems.push(Problem { key, reason, unreadable: false });
                Err(Failure::Again)
            }
            Ok(_) | Err(CursorError::Malformed) => {
                self.state = State::ReplacingObstacle;
                let names = [Cursor::SEQUENCE, FORMAT_ATTRIBUTE].map(|name| (name, item.get(name).cloned()));
                let same = names.into_iter().map(|(name, value)| Condition::is(name, value));
                Ok(self.put_cursor(cursor, Condition::All(same.collect())))
            }
        }
    }

    fn delete_cursor(&self) -> Step<()> {
        Step::Do(vec![Task::Write(Action::Delete { key: self.cursor_key(), condition: self.has_same_sequence() })])
    }

    fn has_same_sequence(&self) -> Condition {
        if self.context.rules.keeps(Rule::CursorCondition) {
            Condition::is(Cursor::SEQUENCE, Some(text(self.sequence())))
        } else {
            Condition::Always
        }
    }
}

impl Plan for Cascade<'_> {
    type Done = ();

    fn next(&mut self, facts: Facts) -> Result<Step<()>, Failure> {
        match std::mem::take(&mut self.state) {
            State::Begin => self.begin(),
            State::ReadingCursor => self.continue_cursor(facts.read()?.item(&self.cursor_key())?),
            State::ListingChildren => Ok(self.touch_page(&facts.page()?)),
            State::Deleting(slice) => self.delete(*slice, facts),
            State::Touching(children, position, next) => self.touched(&children, &facts.outcomes()?, position, next),
            State::Finishing => {
                self.report.tally.nodes_deleted += count_held(&facts.outcomes()?)?;
                Ok(self.write_cursor(None))
            }
            State::FinishingAfterCursor(item) => {
                count_held(&facts.outcomes()?)?;
                self.state = State::WritingCursor;
                Ok(Step::Do(vec![delete_marked(&self.context, &self.node, &item)]))
            }
            State::StartingCursor(cursor) => match facts.outcome() {
                Ok(outcome) => Ok(self.after_start(cursor, outcome)),
                Err(Failure::Refused) => Ok(Step::Done(())),
                Err(Failure::Again) => Err(Failure::Again),
            },
            State::ReadingObstacle(cursor) => {
                let read = facts.read()?;
                self.replace_obstacle(&cursor, read.item(&self.cursor_key())?)
            }
            State::ReplacingObstacle => match facts.outcome() {
                Ok(TaskOutcome::Held) | Err(Failure::Refused) => Ok(Step::Done(())),
                Ok(TaskOutcome::Failed(_)) | Err(Failure::Again) => Err(Failure::Again),
            },
            State::WritingCursor => {
                count_held(&facts.outcomes()?)?;
                Ok(Step::Done(()))
            }
        }
    }

    fn take_report(&mut self) -> PlanReport {
        std::mem::take(&mut self.report)
    }
}

/// Touches a child, if it exists, so that it is placed again.
fn touch(context: &Context<'_>, node: &NodeRef, child: Id, sequence: &str) -> Task {
    Task::Write(Action::Update {
        key: context.schema().node_key(&node.sibling(child)),
        update: Update::set(TOUCHED, touch_value(sequence, node)),
        condition: if context.rules.keeps(Rule::TouchExists) { Condition::Exists } else { Condition::Always },
    })
}

/// The problems of nodes that the table refuses to touch. No retry would help, so their parent's record isn't kept waiting for them.
fn untouched(keys: Vec<ItemKey>, outcomes: &[Result<TaskOutcome, Failure>]) -> impl Iterator<Item = Problem> {
    let refused = keys.into_iter().zip(outcomes).filter(|(_, outcome)| **outcome == Err(Failure::Refused));
    refused.map(|(key, _)| {
        let reason = "the record has no room for a touch, so the node keeps its rows where a node above it was before; make it smaller";
        Problem { key, reason: reason.to_owned(), unreadable: false }
    })
}

/// Touches the orphans that wait for nodes whose lineages are new. It looks into one partition of the register.
#[derive(Debug)]
pub struct TouchOrphans<'a> {
    context: Context<'a>,
    partition: String,
    /// The nodes, each with the sequence number of its lineage's record.
    nodes: BTreeMap<NodeRef, String>,
    state: OrphanState,
    report: PlanReport,
}

#[derive(Debug, Default)]
enum OrphanState {
    #[default]
    Begin,
    Listing,
    /// The plan touches orphans with these keys, each of one of these nodes, in this order.
    Touching(Vec<ItemKey>, Vec<NodeRef>),
}

/// The result of a look into the register of orphans.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Orphans {
    /// Nodes whose records have to be delivered again.
    pub failed: BTreeSet<NodeRef>,
    /// Nodes, each with its sequence number, whose orphans this partition can't tell because it has more entries than a page.
    /// Their own children have to be touched.
    pub unknown: BTreeMap<NodeRef, String>,
}

impl<'a> TouchOrphans<'a> {
    /// Makes the plan that looks into one partition of the register, for the nodes whose orphans it holds.
    #[must_use]
    pub fn new(context: Context<'a>, partition: String, nodes: BTreeMap<NodeRef, String>) -> Self {
        Self { context, partition, nodes, state: OrphanState::Begin, report: PlanReport::default() }
    }
}

impl Plan for TouchOrphans<'_> {
    type Done = Orphans;

    fn next(&mut self, facts: Facts) -> Result<Step<Orphans>, Failure> {
        match std::mem::take(&mut self.state) {
            OrphanState::Begin => {
                self.state = OrphanState::Listing;
                Ok(Need::page(Query {
                    pk: self.partition.clone(),
                    range: self.context.schema().orphan_range(),
                    after: None,
                    limit: self.context.limits.orphan_page_items_max,
                    descending: false,
                    reading: ReadOptions {
                        attributes: Some(ORPHAN_ROW.map(str::to_owned).into()),
                        ..ReadOptions::default()
                    },
                })
                .into())
            }
            OrphanState::Listing => {
                let page = facts.page()?;
                if page.next.is_some() && self.context.rules.keeps(Rule::OrphanFallback) {
                    let unknown = std::mem::take(&mut self.nodes);
                    return Ok(Step::Done(Orphans { unknown, ..Orphans::default() }));
                }
                let (mut tasks, mut owners) = (Vec::new(), Vec::new());
                for (node, sequence) in &self.nodes {
                    let waiting = page.items.iter().filter(|row| orphan_row_parent(row) == Some(node.id.as_str()));
                    for child in waiting.filter_map(own_id) {
                        tasks.push(touch(&self.context, node, child, sequence));
                        owners.push(node.clone());
                    }
                }
                self.state = OrphanState::Touching(tasks.iter().filter_map(Task::key).cloned().collect(), owners);
                Ok(Step::Do(tasks))
            }
            OrphanState::Touching(keys, owners) => {
                let (outcomes, mut failed) = (facts.outcomes()?, BTreeSet::new());
                self.report.problems.extend(untouched(keys, &outcomes));
                for (node, outcome) in owners.into_iter().zip(outcomes) {
                    match count_held(&[outcome]) {
                        Ok(held) => self.report.tally.touches += held,
                        Err(_) => _ = failed.insert(node),
                    }
                }
                Ok(Step::Done(Orphans { failed, ..Orphans::default() }))
            }
        }
    }

    fn take_report(&mut self) -> PlanReport {
        std::mem::take(&mut self.report)
    }
}
