//! The children of a node that is being deleted: read before the node, then marked, adopted or detached as they were
//! read.

use std::collections::{BTreeSet, VecDeque};

use super::{DeletionSlice, Present, Slice, children_of, delete_marked};
use crate::fanout::child_action::{Child, ChildAction};
use crate::keys::{Id, ItemKey};
use crate::model::{
    BORN, BaseNode, CursorUse, DELETING, Deletion, Heir, Item, Stored, UNDER, item_bytes, life_of, sent_bytes,
};
use crate::plan::conditions::{TooManyAttributes, still_gone};
use crate::plan::{Failure, Need, Read, Rule, Task, TaskOutcome, count_held};
use crate::request::{Action, Condition, ReadOptions, TRANSACTION_ACTIONS_MAX, TRANSACTION_BYTES_MAX};

/// About how many bytes of children one pass reads, as answers have them. It is a choice: 200 children of 400 KB, each
/// forty times that in an answer and more in memory, are more than an invocation has room for.
const PASS_BYTES_MAX: usize = 4 * 1_024 * 1_024;

impl DeletionSlice<'_> {
    /// Acts on a page of children; one that changes after it was read is read again. Returns the slice if it ends here.
    pub(super) async fn act_on_children(&mut self, present: &mut Present) -> Result<Option<Slice>, Failure> {
        let page = self.page_of(self.context.schema().depth_range(1, 1), ReadOptions::of([])).await?;
        let mut ids = children_of(&page, &self.context);
        // How many passes found children changed.
        let mut passes = 0;
        while !ids.is_empty() {
            if passes == self.context.limits.rounds_max {
                return Err(Failure::Again);
            }
            let (children, left) = self.read_children(ids).await?;
            let mut changed = BTreeSet::new();
            if !children.is_empty() {
                let Some(others) = self.act_on(present, children).await? else {
                    return self.remaining().await.map(Some);
                };
                changed = others;
            }
            if !self.context.rules.keeps(Rule::ChildAgain) {
                changed.clear();
            }
            passes += usize::from(!changed.is_empty());
            ids = changed;
            ids.extend(left);
        }
        let position = || CursorUse::Children(present.deletion.mark.name().to_owned());
        if let Some(after) = page.next {
            if !self.context.rules.keeps(Rule::FinishLast) {
                let early = delete_marked(&self.context, self.node, &present.item);
                let held = count_held(&self.io.all(vec![early]).await?)?;
                self.io.report(|report| report.tally.nodes_deleted += held);
            }
            return Ok(Some(Slice::Continue { position: position(), after, blocked: self.blocked }));
        }
        Ok(self.blocked.then(|| Slice::Blocked(position())))
    }

    /// Returns the children among these nodes, and the ids left unread because the items before have many bytes.
    pub(super) async fn read_children(&self, ids: BTreeSet<Id>) -> Result<(Vec<Child>, BTreeSet<Id>), Failure> {
        let keys = ids.iter().map(|id| self.key_of_child(id));
        let read = self.io.read(Need::keys(keys).within(PASS_BYTES_MAX)).await?;
        let (left, ids) = ids.into_iter().partition(|id| read.left.contains(&self.key_of_child(id)));
        Ok((self.children_among(&ids, &read)?, left))
    }

    pub(super) fn key_of_child(&self, id: &Id) -> ItemKey {
        self.context.schema().node_key(&self.node.sibling(id.clone()))
    }

    fn children_among(&self, ids: &BTreeSet<Id>, read: &Read) -> Result<Vec<Child>, Failure> {
        let mut children = Vec::new();
        for id in ids {
            let node = self.node.sibling(id.clone());
            let Some(item) = read.item(&self.key_of_child(id))? else { continue };
            let Ok(base) = BaseNode::read(item.clone(), &node, self.context.schema()) else { continue };
            let child = Child { node, base };
            if child.is_child_of(self.node) {
                children.push(child);
            }
        }
        Ok(children)
    }

    /// The keys to read after the children: the node's, and, where the heir adopts them, the heir's.
    fn keys_to_recheck(&self, deletion: &Deletion) -> Vec<ItemKey> {
        let schema = self.context.schema();
        let heir = deletion.adopter().map(|heir| self.node.sibling(heir.id.clone()));
        let keys = heir.iter().flat_map(|heir| [schema.node_key(heir), schema.lineage_key(heir)]);
        std::iter::once(self.node_key()).chain(keys).collect()
    }

    /// The heir as its life stands now, the check that it does, and the bytes of its item. No heir if a life has ended
    /// there that never had the node: its tombstone says nothing about the children.
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

    /// Acts on children that are as they were read. Returns those that have changed; `None` if this mark is gone. The
    /// node is read after the children: if it still has the mark, it was their parent, and being deleted, then.
    async fn act_on(&mut self, present: &mut Present, children: Vec<Child>) -> Result<Option<BTreeSet<Id>>, Failure> {
        let read = self.io.read(Need::keys(self.keys_to_recheck(&present.deletion))).await?;
        let item = read.item(&self.node_key())?;
        let (item, mut deletion) = match (item, self.deletion_in(item)) {
            (Some(item), Some(now)) if now.mark == present.deletion.mark => (item.clone(), now),
            _ if !self.context.rules.keeps(Rule::DeletionRecheck) => (Item::new(), present.deletion.clone()),
            _ => return Ok(None),
        };
        let mut checks = vec![Action::Check { key: self.node_key(), condition: self.same_deletion(&item) }];
        let mut bytes = item_bytes(&item);
        if let Some(heir) = deletion.adopter().filter(|_| self.context.rules.keeps(Rule::AdoptLife)) {
            if present.deletion.adopter().is_none_or(|before| before.id != heir.id) {
                // Another client has moved the node meanwhile, so it is another heir that has to be read.
                *present = Present { item, deletion };
                return Ok(Some(ids_of(children).collect()));
            }
            let (heir, check, more) = self.heir_now(heir, &read)?;
            deletion.heir = heir;
            checks.push(check);
            bytes += more;
        }
        let together = self.context.rules.keeps(Rule::AdoptTogether);
        let action = |child: &Child| ChildAction::of(&child.node.id, &deletion);
        let is_adopted = |child: &Child| together && matches!(action(child), ChildAction::Reparent { .. });
        let (adopted, others): (Vec<Child>, Vec<Child>) = children.into_iter().partition(is_adopted);
        let mut changed = self.change(others, &deletion).await?;
        changed.extend(self.adopt(adopted, &deletion, &checks, bytes).await?);
        Ok(Some(changed))
    }

    /// The condition that the node is still being deleted by the same mark and below the same parent.
    fn same_deletion(&self, item: &Item) -> Condition {
        let mut names = vec![DELETING, &self.context.schema().names().parent, UNDER];
        if !self.context.rules.keeps(Rule::AdoptParent) {
            names.truncate(1);
        }
        Condition::All(names.into_iter().map(|name| Condition::is(name, item.get(name).cloned())).collect())
    }

    /// Changes children, each in a write of its own. Returns those that have changed since they were read.
    async fn change(&mut self, children: Vec<Child>, deletion: &Deletion) -> Result<BTreeSet<Id>, Failure> {
        let (mut tasks, mut acted) = (Vec::new(), Vec::new());
        for child in children {
            match child.task(&ChildAction::of(&child.node.id, deletion), &self.context) {
                Ok(task) => {
                    tasks.push(task);
                    acted.push(child);
                }
                Err(error) => self.keep(&child, &error),
            }
        }
        if tasks.is_empty() {
            return Ok(BTreeSet::new());
        }
        let outcomes = self.io.all(tasks).await?;
        let held = count_held(&outcomes)?;
        self.io.report(|report| report.tally.child_actions += held);
        self.blocked |= outcomes.contains(&Err(Failure::Refused));
        let answered = acted.into_iter().zip(outcomes);
        let changed = answered.filter(|(_, outcome)| matches!(outcome, Ok(TaskOutcome::Failed(_))));
        Ok(ids_of(changed.map(|(child, _)| child)).collect())
    }

    /// Moves children to the heir, a chunk in each transaction with the checks. Returns the chunks that weren't moved.
    async fn adopt(
        &mut self,
        children: Vec<Child>,
        deletion: &Deletion,
        checks: &[Action],
        checked_bytes: usize,
    ) -> Result<BTreeSet<Id>, Failure> {
        let mut changed = BTreeSet::new();
        let mut chunks = chunks(children, checked_bytes);
        while let Some(chunk) = chunks.pop_front() {
            let (mut actions, mut adopted) = (checks.to_vec(), Vec::new());
            for child in chunk {
                match child.action(&ChildAction::of(&child.node.id, deletion), &self.context) {
                    Ok(action) => {
                        actions.push(action);
                        adopted.push(child);
                    }
                    Err(error) => self.keep(&child, &error),
                }
            }
            if adopted.is_empty() {
                continue;
            }
            match self.io.one(Task::Transact(actions)).await {
                Ok(TaskOutcome::Held) => self.io.report(|report| report.tally.child_actions += adopted.len() as u64),
                Ok(TaskOutcome::Failed(_)) => changed.extend(ids_of(adopted)),
                // The table refuses a child below the heir: each goes by itself, so the executor notes that one.
                Err(Failure::Refused) if adopted.len() > 1 => {
                    adopted.into_iter().rev().for_each(|child| chunks.push_front(vec![child]));
                }
                Err(Failure::Refused) => self.blocked = true,
                Err(Failure::Again) => return Err(Failure::Again),
            }
        }
        Ok(changed)
    }

    /// Leaves a child as it is, because no condition can compare its attributes.
    fn keep(&mut self, child: &Child, error: &TooManyAttributes) {
        self.io.note(child.kept(error, &self.context));
        self.blocked = true;
    }
}

fn ids_of(children: impl IntoIterator<Item = Child>) -> impl Iterator<Item = Id> {
    children.into_iter().map(|child| child.node.id)
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
