//! Nodes that another client than the API or an operation has put where they are. What their records say of how they
//! came there is stale, and is removed: `_under`, else a deletion that was over before would take them along, as if
//! they had come late; and `_trashed`, else they would be back in the trash once their parents went.

use std::sync::Arc;

use super::Round;
use crate::keys::{NodeRef, Schema};
use crate::model::{BORN, BaseNode, REVISION, Stored, TRASHED, UNDER, Under, WRITE, is_same_life};
use crate::plan::{Failure, Rule, Task, TaskOutcome};
use crate::request::{Action, Condition, Update};

impl Round<'_> {
    /// Removes `_under` and `_trashed` from nodes that another client has put where they are, before anything else is
    /// written: the first lineage replaces the tombstone that shows it. A node that has changed meanwhile is looked at
    /// again. Where the table refuses the removal, the node is placed without them all the same.
    pub(super) async fn remove_stale(&mut self) -> Result<(), Failure> {
        let schema = self.context.schema();
        let (mut stale, mut tasks) = (Vec::new(), Vec::new());
        for (node, base) in self.bases.iter().filter_map(|(node, base)| Some((node, base.as_ref()?))) {
            let names = self.stale_names(node, base);
            if !names.is_empty() {
                tasks.push(remove(node, base, &names, schema));
                stale.push((node.clone(), names));
            }
        }
        if tasks.is_empty() {
            return Ok(());
        }
        if !self.context.rules.keeps(Rule::RemoveUnder) {
            stale.iter().for_each(|(node, names)| self.forget(node, names));
            return Ok(());
        }
        for ((node, names), outcome) in stale.into_iter().zip(self.io.all(tasks).await?) {
            if matches!(outcome, Ok(TaskOutcome::Held) | Err(Failure::Refused)) {
                self.forget(&node, &names);
                continue;
            }
            self.bases.remove(&node);
            let placing = self.placings.remove(&node);
            match outcome {
                Ok(_) => self.end.again.extend(placing.map(|placing| (node, placing))),
                Err(_) => _ = self.end.failed.insert(node),
            }
        }
        Ok(())
    }

    fn stale_names(&self, node: &NodeRef, base: &BaseNode) -> Vec<&'static str> {
        let under = self.has_stale_under(node, base).then_some(UNDER);
        let is_out = base.was_taken_out_of_trash() && self.context.rules.keeps(Rule::RemoveTrashed);
        under.into_iter().chain(is_out.then_some(TRASHED)).collect()
    }

    fn has_stale_under(&self, node: &NodeRef, base: &BaseNode) -> bool {
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
        is_of_others && rules.keeps(Rule::UnderOfOthers) || has_ended && rules.keeps(Rule::PutBack)
    }

    fn forget(&mut self, node: &NodeRef, names: &[&str]) {
        if let Some(Some(base)) = self.bases.get_mut(node) {
            let item = Arc::make_mut(&mut base.item);
            names.iter().for_each(|name| _ = item.remove(*name));
        }
    }
}

/// Removes these attributes, on the condition that no client has put the node anywhere since it was read.
pub(super) fn remove(node: &NodeRef, base: &BaseNode, names: &[&str], schema: &Schema) -> Task {
    let same = |name: &str| Condition::is(name, base.item.get(name).cloned());
    let compared = [UNDER, &schema.names().parent, BORN, REVISION, WRITE, TRASHED];
    let update = Update { remove: names.iter().map(|&name| name.to_owned()).collect(), ..Update::default() };
    let condition = Condition::All(compared.into_iter().map(same).collect());
    Task::Write(Action::Update { key: schema.node_key(node), update, condition })
}
