//! The children of a node that is being deleted: read before the node, then marked, adopted or detached as they were read.

use std::collections::{BTreeSet, VecDeque};

use super::{Adoptions, DeletionSlice, Pass, Present, Slice, State, delete_marked, deletion_of, keys_alone};
use crate::keys::{Id, ItemKey};
use crate::model::{
    BORN, BaseNode, DELETING, Deletion, Heir, Item, Position, Stored, TooManyAttributes, UNDER, item_bytes, life_of,
    sent_bytes, still_gone,
};
use crate::plan::Rule;
use crate::plan::child_action::{Child, ChildAction};
use crate::plan::step::{Failure, Need, Read, Step, Task, TaskOutcome};
use crate::request::{Action, Condition, TRANSACTION_ACTIONS_MAX};

/// Most bytes of items in one transaction. DynamoDB takes 4 MB ([AWS: API reference][aws]); the rest is room for what the updates
/// add.
///
/// [aws]: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
const TRANSACTION_BYTES_MAX: usize = 3 * 1_024 * 1_024;

/// About how many bytes of children one pass reads, as answers have them. It is a choice: 200 children of 400 KB, each forty times that in an
/// answer and more in memory, are more than an invocation has room for.
const PASS_BYTES_MAX: usize = 4 * 1_024 * 1_024;

impl DeletionSlice<'_> {
    pub(super) fn list_children(&mut self, present: Present) -> Step<Slice> {
        self.state = State::ListingChildren(present);
        self.page_of(self.context.schema().depth_range(1, 1), self.after.clone(), keys_alone()).into()
    }

    pub(super) fn read_children(&mut self, present: Present, pass: Pass) -> Result<Step<Slice>, Failure> {
        if pass.children.is_empty() {
            return Ok(self.after_children(present, pass.next));
        }
        if pass.number == self.context.limits.rounds_max {
            return Err(Failure::Again);
        }
        let keys = pass.children.iter().map(|id| self.key_of_child(id));
        let step = Need::keys(keys).within(PASS_BYTES_MAX).into();
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

    /// The keys to read after the children: the node's, and, where the heir adopts them, the heir's.
    pub(super) fn keys_to_recheck(&self, deletion: &Deletion) -> Vec<ItemKey> {
        let schema = self.context.schema();
        let heir = deletion.adopter().map(|heir| self.node.sibling(heir.id.clone()));
        let keys = heir.iter().flat_map(|heir| [schema.node_key(heir), schema.lineage_key(heir)]);
        std::iter::once(self.node_key()).chain(keys).collect()
    }

    /// Returns the heir with the life that stands there now, the check that it does, and the bytes of the heir's item. There is no
    /// heir if a life has ended there under which the node never was: its tombstone says nothing about the children.
    fn heir_now(&self, heir: &Heir, read: &Read) -> Result<(Option<Heir>, Action, usize), Failure> {
        let (schema, node) = (self.context.schema(), self.node.sibling(heir.id.clone()));
        let key = schema.node_key(&node);
        let stored = Stored::read(read.item(&schema.lineage_key(&node))?, schema);
        let item = read.item(&key)?;
        let life = |born: Option<&str>| Some(Heir { id: heir.id.clone(), born: born.map(str::to_owned) });
        let (heir, condition) = match (item, still_gone(item)) {
            (Some(item), None) => {
                let same = Condition::is(BORN, item.get(BORN).cloned());
                (life(life_of(item).or(stored.born_now())), Condition::All(vec![Condition::Exists, same]))
            }
            (_, gone) => {
                let is_another = |last: &str| heir.born.is_some() && heir.born.as_deref() != Some(last);
                let heir = life(heir.born.as_deref()).filter(|_| !stored.born().is_some_and(is_another));
                (heir, gone.unwrap_or(Condition::Absent))
            }
        };
        Ok((heir, Action::Check { key, condition }, item.map_or(0, item_bytes)))
    }

    /// Acts on children, on the condition that they are as they were read. The node was read after them. If it still has this
    /// mark, it was their parent, and being deleted, at that moment.
    pub(super) fn act_on(
        &mut self,
        present: Present,
        mut pass: Pass,
        children: Vec<Child>,
        read: &Read,
    ) -> Result<Step<Slice>, Failure> {
        let item = read.item(&self.node_key())?;
        let now = item.and_then(|item| deletion_of(item, &self.node, &self.context));
        let (item, mut deletion) = match (item, now) {
            (Some(item), Some(now)) if now.mark == present.deletion.mark => (item.clone(), now),
            _ if !self.context.rules.keeps(Rule::DeletionRecheck) => (Item::new(), present.deletion.clone()),
            _ => return Ok(self.list_remaining()),
        };
        let mut checks = vec![Action::Check { key: self.node_key(), condition: self.same_deletion(&item) }];
        let mut bytes = item_bytes(&item);
        if let Some(heir) = deletion.adopter().filter(|_| self.context.rules.keeps(Rule::AdoptLife)) {
            if present.deletion.adopter().is_none_or(|before| before.id != heir.id) {
                // Another client has moved the node meanwhile, so it is another heir that has to be read.
                pass.changed.extend(children.into_iter().map(|child| child.node.id));
                return self.look_again(Present { item, deletion }, pass);
            }
            let (heir, check, more) = self.heir_now(heir, read)?;
            deletion.heir = heir;
            checks.push(check);
            bytes += more;
        }
        let together = self.context.rules.keeps(Rule::AdoptTogether);
        let action = |child: &Child| ChildAction::of(&child.node.id, &deletion);
        let is_adopted = |child: &Child| together && matches!(action(child), ChildAction::Reparent { .. });
        let (adopted, others): (Vec<Child>, Vec<Child>) = children.into_iter().partition(is_adopted);
        let adoptions = Adoptions { chunks: chunks(adopted, bytes), checks, deletion: Some(deletion.clone()) };
        let (mut tasks, mut acted) = (Vec::new(), Vec::new());
        for child in others {
            match child.task(&action(&child), &self.context) {
                Ok(task) => {
                    tasks.push(task);
                    acted.push(child);
                }
                Err(error) => self.keep(&child, &error),
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
        let mut names = vec![DELETING, &self.context.schema().names().parent, UNDER];
        if !self.context.rules.keeps(Rule::AdoptParent) {
            names.truncate(1);
        }
        Condition::All(names.into_iter().map(|name| Condition::is(name, item.get(name).cloned())).collect())
    }

    pub(super) fn adopt_next(
        &mut self,
        present: Present,
        pass: Pass,
        mut adoptions: Adoptions,
    ) -> Result<Step<Slice>, Failure> {
        let Some(deletion) = adoptions.deletion.clone() else { return Err(Failure::Again) };
        while let Some(chunk) = adoptions.chunks.pop_front() {
            let (mut actions, mut adopted) = (adoptions.checks.clone(), Vec::new());
            for child in chunk {
                match child.action(&ChildAction::of(&child.node.id, &deletion), &self.context) {
                    Ok(action) => {
                        actions.push(action);
                        adopted.push(child);
                    }
                    Err(error) => self.keep(&child, &error),
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
        outcome: Result<TaskOutcome, Failure>,
        present: Present,
        mut pass: Pass,
        children: Vec<Child>,
        mut adoptions: Adoptions,
    ) -> Result<Step<Slice>, Failure> {
        match outcome {
            Ok(TaskOutcome::Held) => self.report.tally.child_actions += children.len() as u64,
            Ok(TaskOutcome::Failed(_)) => pass.changed.extend(children.into_iter().map(|child| child.node.id)),
            // The table refuses one of the children below the heir. Each goes by itself, so that the others are adopted and the
            // executor notes that one.
            Err(Failure::Refused) if children.len() > 1 => {
                for child in children.into_iter().rev() {
                    adoptions.chunks.push_front(vec![child]);
                }
            }
            Err(Failure::Refused) => self.blocked = true,
            Err(Failure::Again) => return Err(Failure::Again),
        }
        self.adopt_next(present, pass, adoptions)
    }

    /// Leaves a child as it is, because no condition can compare its attributes.
    fn keep(&mut self, child: &Child, error: &TooManyAttributes) {
        self.report.problems.push(child.kept(error, &self.context));
        self.blocked = true;
    }

    /// Reads the children again that have changed meanwhile, and those that weren't read yet.
    pub(super) fn look_again(&mut self, present: Present, pass: Pass) -> Result<Step<Slice>, Failure> {
        let Pass { mut changed, left, mut number, next, .. } = pass;
        if !self.context.rules.keeps(Rule::ChildAgain) {
            changed.clear();
        }
        number += usize::from(!changed.is_empty());
        changed.extend(left);
        let (children, changed, left) = (changed, BTreeSet::new(), BTreeSet::new());
        self.read_children(present, Pass { children, changed, left, number, next })
    }

    pub(super) fn after_children(&mut self, present: Present, next: Option<String>) -> Step<Slice> {
        if let Some(after) = next {
            let position = Position::Children(present.deletion.mark.name().to_owned());
            let slice = Slice::Continue { position, after, blocked: self.blocked };
            if self.context.rules.keeps(Rule::FinishLast) {
                return Step::Done(slice);
            }
            self.state = State::FinishingEarly(slice);
            return Step::Do(vec![delete_marked(&self.context, &self.node, &present.item)]);
        }
        if self.blocked {
            return Step::Done(Slice::Blocked(Position::Children(present.deletion.mark.name().to_owned())));
        }
        self.after = None;
        self.list_revisions(present)
    }
}

/// Splits children into chunks that fit one transaction together with the checks of their parent and of the heir.
fn chunks(children: Vec<Child>, checked_bytes: usize) -> VecDeque<Vec<Child>> {
    let mut chunks: VecDeque<Vec<Child>> = VecDeque::new();
    let mut bytes = 0;
    for child in children {
        // A condition may have the whole item, and a request has room for four times the bytes that its items may have.
        let more = item_bytes(&child.base.item).max(sent_bytes(&child.base.item) / 4);
        match chunks.back_mut() {
            Some(chunk) if chunk.len() < TRANSACTION_ACTIONS_MAX - 2 && bytes + more <= TRANSACTION_BYTES_MAX => {
                bytes += more;
                chunk.push(child);
            }
            _ => {
                bytes = checked_bytes + more;
                chunks.push_back(vec![child]);
            }
        }
    }
    chunks
}
