//! Nodes that somebody else than the API or an operation has put where they are: their `_under` is stale, and is removed. Otherwise a
//! deletion that was over before would take them along, as if they had come late.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{Round, RoundEnd, State, Straggler};
use crate::keys::{ItemKey, NodeRef, Schema};
use crate::model::{
    BORN, BaseNode, REVISION, Stored, UNDER, Under, WRITE, is_same_life, life_of, still_gone, times_written,
};
use crate::plan::Rule;
use crate::plan::step::{Failure, Read, Step, Task, TaskOutcome};
use crate::request::{Action, Condition, Update};

impl<'a> Round<'a> {
    /// Removes `_under` from the nodes that somebody else than the API or an operation has put where they are. That comes before anything
    /// else is written: the first lineage takes the place of the tombstone that shows it.
    pub(super) fn remove_stale_under(&mut self, parents: BTreeSet<ItemKey>) -> Step<RoundEnd<'a>> {
        let stale: Vec<&NodeRef> = self.bases.keys().filter(|node| self.has_stale_under(node)).collect();
        let (schema, rules) = (self.context.schema(), self.context.rules);
        let base = |node: &NodeRef| self.bases.get(node).and_then(Option::as_ref);
        let removals = |node| Some(remove_under(node, base(node)?, schema));
        let tasks: Vec<Task> = stale.iter().filter_map(|node| removals(node)).collect();
        self.stale = stale.into_iter().cloned().collect();
        if tasks.is_empty() {
            return self.read_parents(parents);
        }
        if !rules.keeps(Rule::RemoveUnder) {
            self.without_under();
            return self.read_parents(parents);
        }
        self.state = State::RemovingUnder(parents);
        Step::Do(tasks)
    }

    fn has_stale_under(&self, node: &NodeRef) -> bool {
        let Some(base) = self.bases.get(node).and_then(Option::as_ref) else { return false };
        let Some(under) = Under::read(&base.item) else { return false };
        let (rules, shown) = (self.context.rules, self.placings.get(node).and_then(|p| p.stale_under.as_ref()));
        let is_elsewhere = base.parent.as_ref() != Some(&under.parent);
        let is_of_others = is_elsewhere || shown.is_some_and(|stale| stale.is_of(&base.item));
        let stored = self.read.item(&self.lineage_key(node)).map(|item| Stored::read(item, self.context.schema()));
        let has_ended = stored.is_ok_and(|stored| match &stored {
            Stored::Lineage(lineage) if lineage.deleting.is_none() || base.deleting.is_some() => false,
            // Only the lineage gave a name to the life of a record without `_born`.
            Stored::Lineage(_) | Stored::Tombstone(_) if base.born().is_none() => true,
            stored => is_same_life(stored.born(), base.born()),
        });
        is_of_others && rules.keeps(Rule::UnderOfOthers)
            || has_ended && rules.keeps(Rule::PutBack)
            || self.is_counted_back(node, base) && rules.keeps(Rule::CountedBack)
    }

    /// True if the node has been written less often than its newest record shows of the same life: a copy was put back.
    fn is_counted_back(&self, node: &NodeRef, base: &BaseNode) -> bool {
        let written = self.placings.get(node).and_then(|placing| placing.written.as_ref());
        let count = times_written(Some(&base.item));
        written.is_some_and(|(born, shown)| born.as_ref() == base.item.get(BORN) && count < *shown)
    }

    /// Takes the answer to the removals. A node that has changed meanwhile is looked at again, with what its records show. Where the table
    /// refuses the removal, the executor notes the problem, and the node is placed as one without `_under` all the same.
    pub(super) fn removed_under(
        &mut self,
        outcomes: Vec<Result<TaskOutcome, Failure>>,
        parents: BTreeSet<ItemKey>,
    ) -> Step<RoundEnd<'a>> {
        let mut held = Vec::new();
        for (node, outcome) in std::mem::take(&mut self.stale).into_iter().zip(outcomes) {
            if matches!(outcome, Ok(TaskOutcome::Held) | Err(Failure::Refused)) {
                held.push(node);
                continue;
            }
            self.bases.remove(&node);
            let placing = self.placings.remove(&node);
            match outcome {
                Ok(_) => self.end.again.extend(placing.map(|placing| (node, placing))),
                Err(_) => _ = self.end.failed.insert(node),
            }
        }
        self.stale = held;
        self.without_under();
        self.read_parents(parents)
    }

    fn without_under(&mut self) {
        for node in std::mem::take(&mut self.stale) {
            if let Some(Some(base)) = self.bases.get_mut(&node) {
                Arc::make_mut(&mut base.item).remove(UNDER);
            }
        }
    }

    /// A straggler whose parent exists again is left alone, because the parent's new lineage will touch its orphans. One that the API has
    /// deleted before, and that is back with the same life, is none.
    pub(super) fn take_stragglers(&mut self, read: &Read) -> Step<RoundEnd<'a>> {
        let (schema, rules) = (self.context.schema(), self.context.rules);
        let mut tasks = Vec::new();
        for (child, parent, deletion) in std::mem::take(&mut self.stragglers) {
            let node = child.node.clone();
            let (Ok(record), Ok(deleted)) =
                (read.item(&schema.node_key(&parent)), read.item(&schema.deleted_key(&node)))
            else {
                self.end.failed.insert(node);
                continue;
            };
            let has_ended = deleted.is_some_and(|item| life_of(item) == child.base.born());
            if still_gone(record).is_none() && rules.keeps(Rule::TombstoneGone) {
                continue;
            }
            if has_ended && rules.keeps(Rule::PutBackAfterRestrict) {
                tasks.push(remove_under(&node, &child.base, schema));
                self.stale.push(node);
            } else {
                self.end.stragglers.push((node, Straggler::new(self.context, child, deletion)));
            }
        }
        if tasks.is_empty() {
            return self.finish();
        }
        self.state = State::Releasing;
        Step::Do(tasks)
    }

    /// A node that has changed meanwhile has a record of its own coming, which decides again. One whose removal the table refuses stays as
    /// it is, and the executor notes the problem: no retry would help.
    pub(super) fn released(&mut self, outcomes: Vec<Result<TaskOutcome, Failure>>) -> Step<RoundEnd<'a>> {
        let answered = std::mem::take(&mut self.stale).into_iter().zip(outcomes);
        self.end.failed.extend(answered.filter(|(_, outcome)| *outcome == Err(Failure::Again)).map(|(node, _)| node));
        self.finish()
    }
}

/// Returns the removal of `_under`, on the condition that nobody has put the node anywhere since it was read.
fn remove_under(node: &NodeRef, base: &BaseNode, schema: &Schema) -> Task {
    let same = |name: &str| Condition::is(name, base.item.get(name).cloned());
    let names = [UNDER, &schema.names().parent, BORN, REVISION, WRITE];
    let update = Update { remove: [UNDER.to_owned()].into(), ..Update::default() };
    let condition = Condition::All(names.into_iter().map(same).collect());
    Task::Write(Action::Update { key: schema.node_key(node), update, condition })
}
