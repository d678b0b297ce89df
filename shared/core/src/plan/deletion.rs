//! Deletes a node, a slice at a time. First its children are marked, adopted or detached, then its revisions are deleted if the
//! mark says so, and last the node itself. The stream record of that last delete has the node's rows deleted.
//!
//! The node's present base record and lineage decide. The stream record that set off the slice may be old.

use std::collections::{BTreeSet, VecDeque};

use super::child_action::{Child, ChildAction};
use super::step::{Facts, Failure, Need, Outcome, Plan, PlanReport, Read, Step, Task, count_held};
use super::{Context, Problem, Rule};
use crate::keys::{Id, ItemKey, NodeRef, SortKey, SortRange};
use crate::model::{
    BaseNode, DELETING, Deletion, DeletionMark, Item, NewerFormat, Position, Stored, UNDER, item_bytes, key_of,
    unchanged,
};
use crate::request::{Action, Condition, Page, Query, ReadOptions, TRANSACTION_ACTIONS_MAX};

/// Most bytes of items in one transaction. DynamoDB takes 4 MB ([AWS: API reference][aws]); the rest is room for what the updates
/// add.
///
/// [aws]: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
const TRANSACTION_BYTES_MAX: usize = 3 * 1_024 * 1_024;

/// The result of a slice of a deletion.
#[derive(Clone, Debug, PartialEq)]
pub enum Slice {
    /// Nothing is left to do.
    Done,
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
    },
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
    /// The plan reads the node's base record and lineage.
    ReadingNode,
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
    /// How many passes were made before this one.
    number: usize,
    /// The sort key of the row after which the next page begins.
    next: Option<String>,
}

/// The children that are still to be adopted.
#[derive(Debug, Default)]
struct Adoptions {
    /// Chunks of children that fit one transaction together with the check.
    chunks: VecDeque<Vec<Child>>,
    /// Checks that the parent is as it was when it was read after its children.
    check: Option<Action>,
    /// The deletion as the second read of the parent showed it.
    deletion: Option<Deletion>,
}

impl<'a> DeletionSlice<'a> {
    /// Makes a slice. `from` and `after` are the position of a cursor; both are `None` for the first slice, which a record of the
    /// node's lineage sets off. With `touches` the remaining children of a node that isn't being deleted are touched.
    #[must_use]
    pub fn new(
        context: Context<'a>,
        node: NodeRef,
        from: Option<Position>,
        after: Option<String>,
        touches: bool,
    ) -> Self {
        let touches = touches && !matches!(from, Some(Position::Revisions(_)));
        Self { context, node, from, after, touches, state: State::Begin, report: PlanReport::default() }
    }

    fn node_key(&self) -> ItemKey {
        self.context.schema().node_key(&self.node)
    }

    fn is_about_children(&self) -> bool {
        !matches!(self.from, Some(Position::Revisions(_)))
    }

    /// True if the slice continues the deletion of this mark. A cursor that another mark left counts for nothing, because
    /// children may have come in since.
    fn continues(&self, mark: &str) -> bool {
        match &self.from {
            Some(Position::Children(own) | Position::Revisions(own)) => {
                own == mark || !self.context.rules.keeps(Rule::CursorMark)
            }
            Some(Position::Remaining | Position::Touching) => false,
            None => true,
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
            Stored::Tombstone(deletion) if !by_base => Some(deletion),
            Stored::Newer(format) => {
                let (key, reason) = (schema.lineage_key(&self.node), NewerFormat { format }.to_string());
                self.report.problems.push(Problem { key, reason, unreadable: false });
                return Err(Failure::Again);
            }
            _ => None,
        };
        // The heirs aren't compared: another client may change the parent there and back, and no record would say so.
        let agrees = |deletion: &Deletion| DeletionMark::read(&item).as_ref() == Some(&deletion.mark) || !by_base;
        Ok(deletion
            .filter(agrees)
            .filter(|deletion| self.continues(deletion.mark.name()))
            .map(|deletion| Present { item, deletion }))
    }

    fn page_of(&self, range: SortRange, after: Option<String>) -> Need {
        Need::page(children_query(&self.context, &self.node, range, after))
    }

    fn list_children(&mut self, present: Present) -> Step<Slice> {
        self.state = State::ListingChildren(present);
        self.page_of(self.context.schema().depth_range(1, 1), self.after.clone()).into()
    }

    fn read_children(&mut self, present: Present, pass: Pass) -> Result<Step<Slice>, Failure> {
        if pass.children.is_empty() {
            return Ok(self.after_children(present, pass.next));
        }
        if pass.number == self.context.limits.rounds_max {
            return Err(Failure::Again);
        }
        let step = Need::keys(pass.children.iter().map(|id| self.key_of_child(id))).into();
        self.state = State::ReadingChildren(present, pass);
        Ok(step)
    }

    fn key_of_child(&self, id: &Id) -> ItemKey {
        self.context.schema().node_key(&self.node.sibling(id.clone()))
    }

    /// Returns those of these nodes that are children of this node and aren't being deleted themselves.
    fn children_among(&self, ids: &BTreeSet<Id>, read: &Read) -> Result<Vec<Child>, Failure> {
        let mut children = Vec::new();
        for id in ids {
            let node = self.node.sibling(id.clone());
            let Some(item) = read.item(&self.key_of_child(id))? else { continue };
            let Ok(base) = BaseNode::read(item.clone(), &node, self.context.schema()) else { continue };
            let child = Child { node, base };
            if child.is_child_of(&self.node) {
                children.push(child);
            }
        }
        Ok(children)
    }

    /// Acts on children, on the condition that they are as they were read. The node was read after them. If it still has this
    /// mark, it was their parent, and being deleted, at that moment.
    fn act_on(
        &mut self,
        present: Present,
        pass: Pass,
        children: Vec<Child>,
        read: &Read,
    ) -> Result<Step<Slice>, Failure> {
        let item = read.item(&self.node_key())?;
        let now = item.and_then(|item| deletion_of(item, &self.node, &self.context));
        let (item, deletion) = match (item, now) {
            (Some(item), Some(now)) if now.mark == present.deletion.mark => (item.clone(), now),
            _ if !self.context.rules.keeps(Rule::DeletionRecheck) => (Item::new(), present.deletion.clone()),
            _ => return Ok(self.list_remaining()),
        };
        let together = self.context.rules.keeps(Rule::AdoptTogether);
        let action = |child: &Child| ChildAction::of(&child.node.id, &deletion);
        let is_adopted = |child: &Child| together && matches!(action(child), ChildAction::Reparent { .. });
        let (adopted, others): (Vec<Child>, Vec<Child>) = children.into_iter().partition(is_adopted);
        let adoptions = Adoptions {
            chunks: chunks(adopted, item_bytes(&item)),
            check: Some(Action::Check { key: self.node_key(), condition: self.same_deletion(&item) }),
            deletion: Some(deletion.clone()),
        };
        let (mut tasks, mut acted) = (Vec::new(), Vec::new());
        for child in others {
            match child.task(&action(&child), &self.context) {
                Ok(task) => {
                    tasks.push(task);
                    acted.push(child);
                }
                Err(error) => self.report.problems.push(child.kept(&error, &self.context)),
            }
        }
        if tasks.is_empty() {
            return self.adopt_next(present, pass, adoptions);
        }
        self.state = State::ChangingChildren(present, pass, acted, adoptions);
        Ok(Step::Do(tasks))
    }

    /// The condition that the node is still being deleted by the same mark and below the same parent.
    fn same_deletion(&self, item: &Item) -> Condition {
        let names = [DELETING, &self.context.schema().names().parent, UNDER];
        Condition::All(names.map(|name| Condition::is(name, item.get(name).cloned())).to_vec())
    }

    fn adopt_next(&mut self, present: Present, pass: Pass, mut adoptions: Adoptions) -> Result<Step<Slice>, Failure> {
        let (Some(check), Some(deletion)) = (adoptions.check.clone(), adoptions.deletion.clone()) else {
            return Err(Failure::Again);
        };
        while let Some(chunk) = adoptions.chunks.pop_front() {
            let (mut actions, mut adopted) = (vec![check.clone()], Vec::new());
            for child in chunk {
                match child.action(&ChildAction::of(&child.node.id, &deletion), &self.context) {
                    Ok(action) => {
                        actions.push(action);
                        adopted.push(child);
                    }
                    Err(error) => self.report.problems.push(child.kept(&error, &self.context)),
                }
            }
            if !adopted.is_empty() {
                self.state = State::AdoptingChildren(present, pass, adopted, adoptions);
                return Ok(Step::Do(vec![Task::Transact(actions)]));
            }
        }
        self.look_again(present, pass)
    }

    fn adopted(
        &mut self,
        outcome: Result<Outcome, Failure>,
        present: Present,
        mut pass: Pass,
        children: Vec<Child>,
        mut adoptions: Adoptions,
    ) -> Result<Step<Slice>, Failure> {
        match outcome {
            Ok(Outcome::Held) => self.report.tally.child_actions += children.len() as u64,
            Ok(Outcome::Failed(_)) => pass.changed.extend(children.into_iter().map(|child| child.node.id)),
            // The table refuses one of the children below the heir. Each goes by itself, so that the others are adopted and the
            // executor notes that one.
            Err(Failure::Refused) if children.len() > 1 => {
                for child in children.into_iter().rev() {
                    adoptions.chunks.push_front(vec![child]);
                }
            }
            Err(Failure::Refused) => {}
            Err(Failure::Again) => return Err(Failure::Again),
        }
        self.adopt_next(present, pass, adoptions)
    }

    /// Reads the children again that have changed meanwhile.
    fn look_again(&mut self, present: Present, pass: Pass) -> Result<Step<Slice>, Failure> {
        if !self.context.rules.keeps(Rule::ChildAgain) {
            return Ok(self.after_children(present, pass.next));
        }
        let Pass { changed, number, next, .. } = pass;
        self.read_children(present, Pass { children: changed, changed: BTreeSet::new(), number: number + 1, next })
    }

    fn after_children(&mut self, present: Present, next: Option<String>) -> Step<Slice> {
        if let Some(after) = next {
            let position = Position::Children(present.deletion.mark.name().to_owned());
            let slice = Slice::Continue { position, after };
            if self.context.rules.keeps(Rule::FinishLast) {
                return Step::Done(slice);
            }
            self.state = State::FinishingEarly(slice);
            return Step::Do(vec![delete_marked(&self.context, &self.node, &present.item)]);
        }
        self.after = None;
        self.list_revisions(present)
    }

    fn list_revisions(&mut self, present: Present) -> Step<Slice> {
        if !present.deletion.mark.revisions {
            return Step::Done(Slice::Finish(present.item));
        }
        self.state = State::ListingRevisions(present);
        self.page_of(self.context.schema().revision_range(), self.after.clone()).into()
    }

    fn after_revisions(present: Present, next: Option<String>) -> Step<Slice> {
        Step::Done(match next {
            Some(after) => {
                let position = Position::Revisions(present.deletion.mark.name().to_owned());
                Slice::Continue { position, after }
            }
            None => Slice::Finish(present.item),
        })
    }

    fn read_revisions(&mut self, present: Present, page: Page) -> Step<Slice> {
        let schema = self.context.schema();
        let is_revision = |sk: &str| matches!(schema.parse_sort_key(sk), Some(SortKey::Revision { .. }));
        let revisions: Vec<(ItemKey, Item)> = page
            .items
            .into_iter()
            .filter_map(|item| Some((key_of(&item, schema)?, item)))
            .filter(|(key, _)| is_revision(&key.sk))
            .collect();
        if revisions.is_empty() {
            return Self::after_revisions(present, page.next);
        }
        if !self.context.rules.keeps(Rule::RevisionCondition) {
            return self.delete_revisions(present, revisions, page.next);
        }
        self.state = State::RecheckingRevisions(present, revisions, page.next);
        Need::keys([self.node_key()]).into()
    }

    /// Deletes revisions, each on the condition that it is as it was read. The node was read again after them.
    fn delete_revisions(
        &mut self,
        present: Present,
        revisions: Vec<(ItemKey, Item)>,
        next: Option<String>,
    ) -> Step<Slice> {
        let mut tasks = Vec::new();
        for (key, item) in revisions {
            let condition = if self.context.rules.keeps(Rule::RevisionCondition) {
                unchanged(&item, false, self.context.schema())
            } else {
                Ok(Condition::Always)
            };
            match condition {
                Ok(condition) => tasks.push(Task::Write(Action::Delete { key, condition })),
                Err(error) => {
                    let reason = format!("this revision of a deleted node stays: {error}");
                    self.report.problems.push(Problem { key, reason, unreadable: false });
                }
            }
        }
        self.state = State::DeletingRevisions(present, next);
        Step::Do(tasks)
    }

    fn list_remaining(&mut self) -> Step<Slice> {
        if !self.touches {
            return Step::Done(Slice::Done);
        }
        self.state = State::ListingRemaining;
        self.page_of(self.context.schema().depth_range(1, 1), self.after.clone()).into()
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
                Ok(Need::keys([self.node_key(), self.context.schema().lineage_key(&self.node)]).into())
            }
            State::ReadingNode => match self.present(&facts.read()?)? {
                Some(present) if self.is_about_children() => Ok(self.list_children(present)),
                Some(present) => Ok(self.list_revisions(present)),
                None => Ok(self.list_remaining()),
            },
            State::ListingChildren(present) => {
                let page = facts.page()?;
                let children = children_of(&page, &self.context);
                let pass = Pass { children, changed: BTreeSet::new(), number: 0, next: page.next };
                self.read_children(present, pass)
            }
            State::ReadingChildren(present, pass) => {
                let children = self.children_among(&pass.children, &facts.read()?)?;
                if children.is_empty() {
                    return Ok(self.after_children(present, pass.next));
                }
                self.state = State::RecheckingNode(present, pass, children);
                Ok(Need::keys([self.node_key()]).into())
            }
            State::RecheckingNode(present, pass, children) => self.act_on(present, pass, children, &facts.read()?),
            State::ChangingChildren(present, mut pass, children, adoptions) => {
                let outcomes = facts.outcomes()?;
                self.report.tally.child_actions += count_held(&outcomes)?;
                let failed =
                    children.into_iter().zip(outcomes).filter(|(_, out)| matches!(out, Ok(Outcome::Failed(_))));
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
                    return Ok(Self::after_revisions(present, None));
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

/// Queries a page of a node's item collection. The page has as many items as a slice.
pub(super) fn children_query(context: &Context<'_>, node: &NodeRef, range: SortRange, after: Option<String>) -> Query {
    Query {
        pk: context.schema().partition(node),
        range,
        after,
        limit: context.limits.touch_slice_items_max,
        descending: false,
        reading: ReadOptions::default(),
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

/// Splits children into chunks that fit one transaction together with the check of their parent.
fn chunks(children: Vec<Child>, parent_bytes: usize) -> VecDeque<Vec<Child>> {
    let mut chunks: VecDeque<Vec<Child>> = VecDeque::new();
    let mut bytes = 0;
    for child in children {
        let more = item_bytes(&child.base.item);
        match chunks.back_mut() {
            Some(chunk) if chunk.len() < TRANSACTION_ACTIONS_MAX - 1 && bytes + more <= TRANSACTION_BYTES_MAX => {
                bytes += more;
                chunk.push(child);
            }
            _ => {
                bytes = parent_bytes + more;
                chunks.push_back(vec![child]);
            }
        }
    }
    chunks
}
