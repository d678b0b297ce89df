//! The children of a node that is being deleted: read before the node, then marked, adopted or detached as they were read.

use std::collections::{BTreeSet, VecDeque};

use super::{Adoptions, DeletionSlice, Pass, Present, Slice, State, delete_marked, deletion_of};
use crate::keys::{Id, ItemKey};
use crate::model::{BaseNode, DELETING, Item, Position, UNDER, item_bytes};
use crate::plan::Rule;
use crate::plan::child_action::{Child, ChildAction};
use crate::plan::step::{Failure, Need, Outcome, Read, Step, Task};
use crate::request::{Action, Condition, TRANSACTION_ACTIONS_MAX};

/// Most bytes of items in one transaction. DynamoDB takes 4 MB ([AWS: API reference][aws]); the rest is room for what the updates
/// add.
///
/// [aws]: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
const TRANSACTION_BYTES_MAX: usize = 3 * 1_024 * 1_024;

impl DeletionSlice<'_> {
    pub(super) fn list_children(&mut self, present: Present) -> Step<Slice> {
        self.state = State::ListingChildren(present);
        self.page_of(self.context.schema().depth_range(1, 1), self.after.clone()).into()
    }

    pub(super) fn read_children(&mut self, present: Present, pass: Pass) -> Result<Step<Slice>, Failure> {
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

    pub(super) fn key_of_child(&self, id: &Id) -> ItemKey {
        self.context.schema().node_key(&self.node.sibling(id.clone()))
    }

    /// Returns those of these nodes that are children of this node and aren't being deleted themselves.
    pub(super) fn children_among(&self, ids: &BTreeSet<Id>, read: &Read) -> Result<Vec<Child>, Failure> {
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
    pub(super) fn act_on(
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
    pub(super) fn same_deletion(&self, item: &Item) -> Condition {
        let names = [DELETING, &self.context.schema().names().parent, UNDER];
        Condition::All(names.map(|name| Condition::is(name, item.get(name).cloned())).to_vec())
    }

    pub(super) fn adopt_next(
        &mut self,
        present: Present,
        pass: Pass,
        mut adoptions: Adoptions,
    ) -> Result<Step<Slice>, Failure> {
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

    pub(super) fn adopted(
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
    pub(super) fn look_again(&mut self, present: Present, pass: Pass) -> Result<Step<Slice>, Failure> {
        if !self.context.rules.keeps(Rule::ChildAgain) {
            return Ok(self.after_children(present, pass.next));
        }
        let Pass { changed, number, next, .. } = pass;
        self.read_children(present, Pass { children: changed, changed: BTreeSet::new(), number: number + 1, next })
    }

    pub(super) fn after_children(&mut self, present: Present, next: Option<String>) -> Step<Slice> {
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
