//! Handing a changed lineage down, level by level: each child is touched, so that its own record places it again. Where the node
//! is being deleted its children are acted on instead ([`DeletionSlice`]).

use std::collections::{BTreeMap, BTreeSet};

use super::deletion::{DeletionSlice, Slice, children_of, children_query, delete_marked};
use super::step::{Facts, Failure, Need, Plan, PlanReport, Step, Task, count_held};
use super::{Context, HandDown, Problem, Rule};
use crate::keys::{Id, ItemKey, NodeRef};
use crate::model::{
    Cursor, CursorError, Item, Position, TOUCHED, orphan_row_child, orphan_row_parent, text, touch_value,
};
use crate::request::{Action, Condition, Page, Query, ReadOptions, Update};

/// What a stream record of a lineage or of a cursor asks for: the children of one node, or a slice of them.
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
    /// The lineage changed. What doesn't fit a slice is for a cursor.
    Lineage { sequence: String, kind: HandDown },
    /// A cursor was written, which is read first.
    Cursor,
    /// The same, with the cursor read.
    Continued(Cursor),
}

#[derive(Debug, Default)]
enum State<'a> {
    #[default]
    Begin,
    ReadingCursor,
    /// A page of the node's children is read, to be touched.
    ListingChildren,
    Deleting(Box<DeletionSlice<'a>>),
    /// Children are touched; the cursor then goes on here.
    Touching(Option<(Position, String)>),
    /// The node is deleted; after that its cursor.
    Finishing,
    /// The broken rule [`Rule::FinishFirst`]: the cursor was deleted before the node, whose base record was this.
    FinishingLate(Item),
    /// The cursor is started, moved on or deleted.
    Remembering,
}

impl<'a> Cascade<'a> {
    /// The cascade of a lineage that changed; `sequence` is the record's sequence number, padded to 40 digits.
    #[must_use]
    pub fn of_lineage(context: Context<'a>, node: NodeRef, sequence: String, kind: HandDown) -> Self {
        Self::new(context, node, Cause::Lineage { sequence, kind })
    }

    /// The next slice of a cascade that has a cursor.
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
            Cause::Lineage { kind: HandDown::Deletion { touches }, .. } => {
                let slice = DeletionSlice::new(self.context, self.node.clone(), None, None, *touches);
                self.delete(slice, Facts::None)
            }
            Cause::Lineage { .. } => Ok(self.list_children(None)),
            Cause::Cursor | Cause::Continued(_) => {
                self.state = State::ReadingCursor;
                Ok(Need::keys([self.cursor_key()]).into())
            }
        }
    }

    fn go_on(&mut self, item: Option<&Item>) -> Result<Step<()>, Failure> {
        let Some(item) = item else { return Ok(Step::Done(())) };
        let cursor = match Cursor::read(item) {
            Ok(cursor) => cursor,
            Err(error) => {
                let reason = error.to_string();
                self.report.problems.push(Problem { key: self.cursor_key(), reason, unreadable: false });
                return if let CursorError::Newer(_) = error { Err(Failure::Again) } else { Ok(Step::Done(())) };
            }
        };
        self.cause = Cause::Continued(cursor.clone());
        if cursor.position == Position::Touching {
            return Ok(self.list_children(cursor.after));
        }
        let slice = DeletionSlice::new(self.context, self.node.clone(), Some(cursor.position), cursor.after, true);
        self.delete(slice, Facts::None)
    }

    fn list_children(&mut self, after: Option<String>) -> Step<()> {
        self.state = State::ListingChildren;
        let range = self.context.schema().depth_range(1, 1);
        Need::page(children_query(&self.context, &self.node, range, after)).into()
    }

    fn touch_page(&mut self, page: &Page) -> Step<()> {
        if let (Cause::Lineage { .. }, Some(_)) = (&self.cause, &page.next) {
            return self.remember(Some(Cursor {
                sequence: self.sequence().to_owned(),
                after: None,
                position: Position::Touching,
            }));
        }
        let next = page.next.clone().map(|after| (Position::Touching, after));
        self.touch(children_of(page, &self.context), next)
    }

    fn touch(&mut self, children: BTreeSet<Id>, next: Option<(Position, String)>) -> Step<()> {
        let tasks =
            children.into_iter().map(|child| touch(&self.context, &self.node, child, self.sequence())).collect();
        self.state = State::Touching(next);
        Step::Do(tasks)
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
            Slice::Done => self.remember(None),
            Slice::Touch { children, next } => self.touch(children, next.map(|after| (Position::Remaining, after))),
            Slice::Continue { position, after } => self.remember_position(Some((position, after))),
            Slice::Finish(item) if self.is_continued() && !self.context.rules.keeps(Rule::FinishFirst) => {
                self.state = State::FinishingLate(item);
                self.forget()
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

    fn remember_position(&mut self, next: Option<(Position, String)>) -> Step<()> {
        let sequence = self.sequence().to_owned();
        self.remember(next.map(|(position, after)| Cursor { sequence, after: Some(after), position }))
    }

    /// The cursor afterwards. One that is started gives way where one of this change or a newer one stands already: that one
    /// reaches every child. One that goes on, or is deleted, does so only while it is still this change's.
    fn remember(&mut self, cursor: Option<Cursor>) -> Step<()> {
        let Some(cursor) = cursor else {
            self.state = State::Remembering;
            return if self.is_continued() { self.forget() } else { Step::Done(()) };
        };
        let condition = if self.is_continued() {
            self.is_mine()
        } else {
            Condition::LessThan { name: Cursor::SEQUENCE.into(), value: text(&cursor.sequence) }
        };
        self.state = State::Remembering;
        let item = cursor.item(&self.node, self.context.schema());
        Step::Do(vec![Task::Write(Action::Put { key: self.cursor_key(), item, condition })])
    }

    fn forget(&self) -> Step<()> {
        Step::Do(vec![Task::Write(Action::Delete { key: self.cursor_key(), condition: self.is_mine() })])
    }

    fn is_mine(&self) -> Condition {
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
            State::ReadingCursor => self.go_on(facts.read()?.item(&self.cursor_key())?),
            State::ListingChildren => Ok(self.touch_page(&facts.page()?)),
            State::Deleting(slice) => self.delete(*slice, facts),
            State::Touching(next) => {
                self.report.tally.touches += count_held(&facts.outcomes()?)?;
                Ok(self.remember_position(next))
            }
            State::Finishing => {
                self.report.tally.nodes_deleted += count_held(&facts.outcomes()?)?;
                Ok(self.remember(None))
            }
            State::FinishingLate(item) => {
                count_held(&facts.outcomes()?)?;
                self.state = State::Remembering;
                Ok(Step::Do(vec![delete_marked(&self.context, &self.node, &item)]))
            }
            State::Remembering => {
                count_held(&facts.outcomes()?)?;
                Ok(Step::Done(()))
            }
        }
    }

    fn take_report(&mut self) -> PlanReport {
        std::mem::take(&mut self.report)
    }
}

/// Has a child placed again, if it is there.
fn touch(context: &Context<'_>, node: &NodeRef, child: Id, sequence: &str) -> Task {
    Task::Write(Action::Update {
        key: context.schema().node_key(&node.sibling(child)),
        update: Update::set(TOUCHED, touch_value(sequence, node)),
        condition: Condition::Exists,
    })
}

/// Touches the orphans that wait for nodes which have just got their lineage: a look into one partition of the register.
#[derive(Debug)]
pub struct TouchOrphans<'a> {
    context: Context<'a>,
    partition: String,
    /// The nodes, with the sequence numbers of their lineages' records.
    nodes: BTreeMap<NodeRef, String>,
    state: OrphanState,
    report: PlanReport,
}

#[derive(Debug, Default)]
enum OrphanState {
    #[default]
    Begin,
    Listing,
    /// These nodes' orphans are touched, in this order.
    Touching(Vec<NodeRef>),
}

/// What a look into the register of orphans comes to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Orphans {
    /// Nodes whose records have to be delivered again.
    pub failed: BTreeSet<NodeRef>,
    /// Nodes whose orphans can't be told from this partition: it has more than a page of entries. Their own children are to be
    /// touched.
    pub unknown: BTreeMap<NodeRef, String>,
}

impl<'a> TouchOrphans<'a> {
    /// A look into one partition of the register, for the nodes whose orphans it holds.
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
                    reading: ReadOptions::default(),
                })
                .into())
            }
            OrphanState::Listing => {
                let page = facts.page()?;
                if page.next.is_some() {
                    let unknown = std::mem::take(&mut self.nodes);
                    return Ok(Step::Done(Orphans { unknown, ..Orphans::default() }));
                }
                let (mut tasks, mut owners) = (Vec::new(), Vec::new());
                for (node, sequence) in &self.nodes {
                    let waiting = page.items.iter().filter(|row| orphan_row_parent(row) == Some(node.id.as_str()));
                    for child in waiting.filter_map(orphan_row_child) {
                        tasks.push(touch(&self.context, node, child, sequence));
                        owners.push(node.clone());
                    }
                }
                self.state = OrphanState::Touching(owners);
                Ok(Step::Do(tasks))
            }
            OrphanState::Touching(owners) => {
                let mut failed = BTreeSet::new();
                for (node, outcome) in owners.into_iter().zip(facts.outcomes()?) {
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
