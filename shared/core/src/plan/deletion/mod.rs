//! Deletes a node, a slice at a time. First its children are marked, adopted or detached, then its revisions are deleted if the
//! mark says so, and last the node itself. The stream record of that last delete has the node's rows deleted.
//!
//! The node's present base record and lineage decide. The stream record that set off the slice may be old.

mod children;
mod revisions;

use std::collections::{BTreeSet, VecDeque};

use super::child_action::Child;
use super::step::{Facts, Failure, Need, Plan, PlanReport, Read, Step, Task, TaskOutcome, count_held};
use super::{Context, Problem, Rule};
use crate::keys::{Id, ItemKey, NodeRef, SortKey, SortRange};
use crate::model::{
    BaseNode, Cursor, DELETING, Deletion, DeletionMark, Item, NewerFormat, Position, Stored, key_of, text,
};
use crate::request::{Action, Condition, Page, Query, ReadOptions};

/// The result of a slice of a deletion.
#[derive(Clone, Debug, PartialEq)]
pub enum Slice {
    /// Nothing is left to do.
    Done,
    /// The cursor is for touching children, and the node isn't being deleted. The slice begins after this sort key.
    NotDeleting(Option<String>),
    /// The node isn't being deleted, or doesn't exist. Its remaining children have to be touched.
    Touch {
        /// The remaining children of this slice.
        children: BTreeSet<Id>,
        /// The sort key of the row after which the next slice begins; `None` if there is no other slice.
        next: Option<String>,
    },
    /// Another slice follows.
    Continue {
        /// What the next slice acts on.
        position: Position,
        /// The sort key of the row or revision after which the next slice begins.
        after: String,
        /// True if a child couldn't be changed.
        blocked: bool,
    },
    /// A child couldn't be changed, so the node can't be deleted above it. This is where a next try begins.
    Blocked(Position),
    /// Only the node itself is left to delete. This is its base record.
    Finish(Item),
}

/// One slice of the deletion of a node.
#[derive(Debug)]
pub struct DeletionSlice<'a> {
    context: Context<'a>,
    node: NodeRef,
    from: Option<Position>,
    after: Option<String>,
    touches: bool,
    /// True if a mark of the node went. A cursor that rests as the sign of a blocked deletion is then deleted.
    mark_went: bool,
    /// True if a child couldn't be changed, in this slice or in one before.
    blocked: bool,
    state: State,
    report: PlanReport,
}

/// The node's base record, and the deletion that base record and lineage agree on.
#[derive(Clone, Debug)]
struct Present {
    item: Item,
    deletion: Deletion,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Begin,
    /// The plan reads the node's base record and lineage, and its cursor if a mark went.
    ReadingNode,
    /// The node isn't being deleted. The plan deletes the cursor that says that its deletion is blocked.
    DeletingSign,
    /// The plan reads a page of the node's ancestor rows.
    ListingChildren(Present),
    /// The plan reads the base records of the children.
    ReadingChildren(Present, Pass),
    /// The plan reads the node again, after its children.
    RecheckingNode(Present, Pass, Vec<Child>),
    /// The plan changes children, each by itself.
    ChangingChildren(Present, Pass, Vec<Child>, Adoptions),
    /// The plan moves a chunk of children to the heir, in one transaction.
    AdoptingChildren(Present, Pass, Vec<Child>, Adoptions),
    /// [`Rule::FinishLast`] is broken: the plan deletes the node before it acted on the last child.
    FinishingEarly(Slice),
    /// The plan reads a page of revisions.
    ListingRevisions(Present),
    /// The plan reads the node again, after its revisions.
    RecheckingRevisions(Present, Vec<(ItemKey, Item)>, Option<String>),
    /// The plan deletes revisions.
    DeletingRevisions(Present, Option<String>),
    /// The node isn't being deleted. The plan reads a page of its ancestor rows.
    ListingRemaining,
    /// The plan reads the base records of the children that these rows name.
    ReadingRemaining(BTreeSet<Id>, Option<String>),
}

/// One pass over the children of a page.
#[derive(Clone, Debug)]
struct Pass {
    /// The children to act on.
    children: BTreeSet<Id>,
    /// The children that changed after they were read. The next pass reads them again.
    changed: BTreeSet<Id>,
    /// The children that weren't read, because those that were have many bytes. Later passes read them.
    left: BTreeSet<Id>,
    /// How many passes were made before this one that found children changed.
    number: usize,
    /// The sort key of the row after which the next page begins.
    next: Option<String>,
}

/// The children that are still to be adopted.
#[derive(Debug, Default)]
struct Adoptions {
    /// Chunks of children that fit one transaction together with the check.
    chunks: VecDeque<Vec<Child>>,
    /// Checks that the parent is as it was when it was read after its children, and that the heir is the life that was read then.
    checks: Vec<Action>,
    /// The deletion as the second read of the parent showed it.
    deletion: Option<Deletion>,
}

impl<'a> DeletionSlice<'a> {
    /// Makes the first slice, which a record of the node's lineage sets off. With `touches` the remaining children of a node that
    /// isn't being deleted are touched. `mark_went` says that the record took a mark away.
    #[must_use]
    pub fn of_lineage(context: Context<'a>, node: NodeRef, touches: bool, mark_went: bool) -> Self {
        let (state, report) = (State::Begin, PlanReport::default());
        Self { context, node, from: None, after: None, touches, mark_went, blocked: false, state, report }
    }

    /// Makes the slice that a cursor asks for.
    #[must_use]
    pub fn of_cursor(context: Context<'a>, node: NodeRef, cursor: Cursor) -> Self {
        let touches = !matches!(cursor.position, Position::Revisions(_));
        let blocked = cursor.blocked && cursor.after.is_some();
        let (from, after) = (Some(cursor.position), cursor.after);
        Self { from, after, blocked, ..Self::of_lineage(context, node, touches, false) }
    }

    fn node_key(&self) -> ItemKey {
        self.context.schema().node_key(&self.node)
    }

    fn is_about_children(&self) -> bool {
        !matches!(self.from, Some(Position::Revisions(_)))
    }

    /// Starts from the beginning if the cursor was left by another mark, because children may have come in since, or if it isn't for a
    /// deletion. An operator who has lost the cursor of a deletion can therefore write any.
    fn restart_unless_of(&mut self, mark: &str) {
        let continues = match &self.from {
            Some(Position::Children(own) | Position::Revisions(own)) => {
                own == mark || !self.context.rules.keeps(Rule::CursorMark)
            }
            Some(Position::Remaining | Position::Touching) => false,
            None => true,
        };
        if !continues {
            (self.from, self.after, self.blocked) = (None, None, false);
        }
    }

    /// Returns the deletion that the node's base record and lineage agree on. The base record alone isn't enough: only a lineage
    /// that names the deletion gives way to a tombstone, which stragglers need.
    fn present(&mut self, read: &Read) -> Result<Option<Present>, Failure> {
        let schema = self.context.schema();
        let by_base = self.context.rules.keeps(Rule::DeletionPresent);
        let item = read.item(&self.node_key())?.cloned().unwrap_or_default();
        let stored = Stored::read(read.item(&schema.lineage_key(&self.node))?, schema);
        let deletion = match stored {
            Stored::Lineage(lineage) => lineage.deleting,
            Stored::Tombstone(tombstone) if !by_base => Some(tombstone.deletion),
            Stored::Newer(format) => {
                let (key, reason) = (schema.lineage_key(&self.node), NewerFormat { format }.to_string());
                self.report.problems.push(Problem { key, reason, unreadable: false });
                return Err(Failure::Again);
            }
            _ => None,
        };
        // The heirs aren't compared: another client may change the parent there and back, and no record would say so.
        let agrees = |deletion: &Deletion| DeletionMark::read(&item).as_ref() == Some(&deletion.mark) || !by_base;
        Ok(deletion.filter(agrees).map(|deletion| Present { item, deletion }))
    }

    /// The deletion of the cursor that rests as the sign of a blocked deletion, if there is one. Nothing is blocked any more.
    fn delete_sign(&self, read: &Read) -> Result<Option<Task>, Failure> {
        let key = self.context.schema().cascade_key(&self.node);
        let item = if self.mark_went { read.item(&key)? } else { None };
        let resting = item.and_then(|item| Cursor::read(item).ok().filter(|cursor| cursor.rests(item)));
        Ok(resting.map(|cursor| {
            let condition = Condition::is(Cursor::SEQUENCE, Some(text(&cursor.sequence)));
            Task::Write(Action::Delete { key, condition })
        }))
    }

    /// The need for a page of the node's children, or of its revisions.
    fn page_of(&self, range: SortRange, after: Option<String>, reading: ReadOptions) -> Need {
        let limit = self.context.limits.action_slice_items_max;
        Need::page(page_query(&self.context, &self.node, range, after, limit, reading))
    }

    fn list_remaining(&mut self) -> Step<Slice> {
        if !self.touches {
            return Step::Done(Slice::Done);
        }
        self.state = State::ListingRemaining;
        self.page_of(self.context.schema().depth_range(1, 1), self.after.clone(), keys_alone()).into()
    }

    fn read_remaining(&mut self, page: &Page) -> Step<Slice> {
        let children = children_of(page, &self.context);
        let next = page.next.clone();
        if children.is_empty() {
            return Step::Done(Slice::Touch { children, next });
        }
        let step = Need::keys(children.iter().map(|id| self.key_of_child(id))).into();
        self.state = State::ReadingRemaining(children, next);
        step
    }
}

impl Plan for DeletionSlice<'_> {
    type Done = Slice;

    fn next(&mut self, facts: Facts) -> Result<Step<Slice>, Failure> {
        match std::mem::take(&mut self.state) {
            State::Begin => {
                self.state = State::ReadingNode;
                let schema = self.context.schema();
                let cursor = self.mark_went.then(|| schema.cascade_key(&self.node));
                Ok(Need::keys([self.node_key(), schema.lineage_key(&self.node)].into_iter().chain(cursor)).into())
            }
            State::ReadingNode => {
                let read = facts.read()?;
                let Some(present) = self.present(&read)? else {
                    if let Some(task) = self.delete_sign(&read)? {
                        self.state = State::DeletingSign;
                        return Ok(Step::Do(vec![task]));
                    }
                    let touches_all = self.from == Some(Position::Touching);
                    return Ok(if touches_all {
                        Step::Done(Slice::NotDeleting(self.after.take()))
                    } else {
                        self.list_remaining()
                    });
                };
                if self.from == Some(Position::Touching) && !self.context.rules.keeps(Rule::CursorAnyKind) {
                    return Ok(Step::Done(Slice::NotDeleting(self.after.take())));
                }
                self.restart_unless_of(present.deletion.mark.name());
                Ok(if self.is_about_children() { self.list_children(present) } else { self.list_revisions(present) })
            }
            State::DeletingSign => {
                count_held(&facts.outcomes()?)?;
                Ok(self.list_remaining())
            }
            State::ListingChildren(present) => {
                let page = facts.page()?;
                let children = children_of(&page, &self.context);
                let pass =
                    Pass { children, changed: BTreeSet::new(), left: BTreeSet::new(), number: 0, next: page.next };
                self.read_children(present, pass)
            }
            State::ReadingChildren(present, mut pass) => {
                let read = facts.read()?;
                let left = |id: &Id| read.left.contains(&self.key_of_child(id));
                (pass.left, pass.children) = pass.children.into_iter().partition(left);
                let children = self.children_among(&pass.children, &read)?;
                if children.is_empty() {
                    return self.look_again(present, pass);
                }
                let keys = self.keys_to_recheck(&present.deletion);
                self.state = State::RecheckingNode(present, pass, children);
                Ok(Need::keys(keys).into())
            }
            State::RecheckingNode(present, pass, children) => self.act_on(present, pass, children, &facts.read()?),
            State::ChangingChildren(present, mut pass, children, adoptions) => {
                let outcomes = facts.outcomes()?;
                self.report.tally.child_actions += count_held(&outcomes)?;
                self.blocked |= outcomes.contains(&Err(Failure::Refused));
                let failed =
                    children.into_iter().zip(outcomes).filter(|(_, out)| matches!(out, Ok(TaskOutcome::Failed(_))));
                pass.changed.extend(failed.map(|(child, _)| child.node.id));
                self.adopt_next(present, pass, adoptions)
            }
            State::AdoptingChildren(present, pass, children, adoptions) => {
                let outcome = facts.outcomes()?.pop().ok_or(Failure::Again)?;
                self.adopted(outcome, present, pass, children, adoptions)
            }
            State::FinishingEarly(slice) => {
                self.report.tally.nodes_deleted += count_held(&facts.outcomes()?)?;
                Ok(Step::Done(slice))
            }
            State::ListingRevisions(present) => Ok(self.read_revisions(present, facts.page()?)),
            State::RecheckingRevisions(present, revisions, next) => {
                let read = facts.read()?;
                let item = read.item(&self.node_key())?;
                let now = item.and_then(|item| deletion_of(item, &self.node, &self.context));
                if now.is_none_or(|now| now.mark != present.deletion.mark) {
                    return Ok(self.list_remaining());
                }
                Ok(self.delete_revisions(present, revisions, next))
            }
            State::DeletingRevisions(present, next) => {
                count_held(&facts.outcomes()?)?;
                Ok(Self::after_revisions(present, next))
            }
            State::ListingRemaining => Ok(self.read_remaining(&facts.page()?)),
            State::ReadingRemaining(ids, next) => {
                let children = self.children_among(&ids, &facts.read()?)?;
                let children = children.into_iter().map(|child| child.node.id).collect();
                Ok(Step::Done(Slice::Touch { children, next }))
            }
        }
    }

    fn take_report(&mut self) -> PlanReport {
        std::mem::take(&mut self.report)
    }
}

/// Returns the deletion that a base record names.
fn deletion_of(item: &Item, node: &NodeRef, context: &Context<'_>) -> Option<Deletion> {
    Deletion::of(node, &BaseNode::read(item.clone(), node, context.schema()).ok()?)
}

/// Deletes a node on the condition that it still has the mark of this base record.
pub(super) fn delete_marked(context: &Context<'_>, node: &NodeRef, item: &Item) -> Task {
    let condition = if context.rules.keeps(Rule::FinishCondition) {
        Condition::is(DELETING, item.get(DELETING).cloned())
    } else {
        Condition::Always
    };
    Task::Write(Action::Delete { key: context.schema().node_key(node), condition })
}

/// Reads keys alone. Rows can have 400 KB, and forty times that in an answer, and their keys name the nodes that they are about.
pub(super) fn keys_alone() -> ReadOptions {
    ReadOptions { attributes: Some(BTreeSet::new()), ..ReadOptions::default() }
}

/// Queries a page of a node's item collection. The page has as many items as a slice. A position that isn't in the range is no handler's, and
/// no query could begin there: then the page is the first one.
pub(super) fn page_query(
    context: &Context<'_>,
    node: &NodeRef,
    range: SortRange,
    after: Option<String>,
    limit: usize,
    reading: ReadOptions,
) -> Query {
    Query {
        pk: context.schema().partition(node),
        after: after.filter(|after| range.contains(after)),
        range,
        limit,
        descending: false,
        reading,
    }
}

/// Returns the nodes that the ancestor rows of a page are about.
pub(super) fn children_of(page: &Page, context: &Context<'_>) -> BTreeSet<Id> {
    let schema = context.schema();
    let id = |row: &Item| match schema.parse_sort_key(&key_of(row, schema)?.sk) {
        Some(SortKey::Ancestor { id, .. }) => Some(id),
        _ => None,
    };
    page.items.iter().filter_map(id).collect()
}
