//! Late children: nodes that the API put under a parent, and that arrive after the parent was deleted. The parent's
//! cascade can't find them any more, so each acts on itself as the parent's tombstone says.

use std::collections::BTreeSet;

use super::child_action::{Child, ChildAction};
use super::context::Context;
use crate::keys::{DEPTH_MAX, NodeRef};
use crate::model::{BORN, BaseNode, Deletion, Item, NewerFormat, Stored, Under, is_same_life};
use crate::plan::ancestry::{AncestorPath, Ancestry, Edge, PathEnd};
use crate::plan::conditions::{TooManyAttributes, still_gone};
use crate::plan::{Failure, Io, Need, Plan, Rule, Task, TaskOutcome, count_held};
use crate::request::{Action, Condition};

/// A node that came late.
#[derive(Clone, Debug, PartialEq)]
pub struct LateChild {
    /// The node.
    pub child: Child,
    /// The deletion in the tombstone of its parent.
    pub deletion: Deletion,
}

impl LateChild {
    /// The plan by which a late child acts on itself. If its heir was deleted as well, the heir's tombstone decides. If
    /// there is no heir, the late child becomes a root. If the late child changes meanwhile, the plan ends, and the
    /// late child's new record decides again.
    pub fn plan(self, context: Context<'_>) -> Plan<'_, ()> {
        Plan::new(|io| async move { Acting { context, child: self.child, io: &io }.act(self.deletion).await })
    }
}

struct Acting<'s> {
    context: Context<'s>,
    child: Child,
    io: &'s Io,
}

struct Heir {
    node: NodeRef,
    born: Option<String>,
    /// The condition that it still is that life.
    same_life: Condition,
    ancestry: Ancestry,
}

impl Acting<'_> {
    /// Acts as this deletion says, or that of a node above.
    async fn act(&self, mut deletion: Deletion) -> Result<(), Failure> {
        // The heirs that were deleted as well. Nodes that were deleted and created again can be heirs in a circle.
        let mut passed = BTreeSet::new();
        // How often a node on an heir's way up has changed before the late child was adopted.
        let mut lost = 0;
        loop {
            let action = ChildAction::of(&self.child.node.id, &deletion);
            let ChildAction::Reparent { parent, born, .. } = action else { return self.change(&action).await };
            let heir = self.child.node.sibling(parent);
            let schema = self.context.schema();
            let keys = [schema.node_key(&heir), schema.lineage_key(&heir)];
            let read = self.io.read(Need::keys(keys)).await?;
            let stored = Stored::read(read.item(&schema.lineage_key(&heir))?, schema);
            let item = read.item(&schema.node_key(&heir))?;
            if let Some(item) = item.filter(|item| still_gone(Some(item)).is_none()) {
                let Some(heir) = self.heir(heir, item, &stored) else { return self.change(&ChildAction::Detach).await };
                if self.adopt(heir).await? {
                    return Ok(());
                }
                lost += 1;
                if lost == self.context.limits.rounds_max {
                    return Err(Failure::Again);
                }
                continue;
            }
            let mut next = self.deletion_of(&heir, born.as_deref(), stored)?;
            if next.is_none() {
                next = self.deletion_read_again(&heir, born).await?;
            }
            match next.filter(|_| self.context.rules.keeps(Rule::AdoptOnwards)) {
                Some(next) if passed.insert(heir.id) => deletion = next,
                _ => return self.change(&ChildAction::Detach).await,
            }
        }
    }

    /// An heir that is there; `None` if it can't be understood.
    fn heir(&self, node: NodeRef, item: &Item, stored: &Stored) -> Option<Heir> {
        let schema = self.context.schema();
        let base = BaseNode::read(item.clone(), &node, schema).ok()?;
        let mut ancestry = Ancestry::default();
        ancestry.add(Edge::read(&node, Some(item), schema), Some(stored));
        let born = base.born().or(stored.born_now()).map(str::to_owned);
        Some(Heir { born, same_life: Condition::is(BORN, item.get(BORN).cloned()), ancestry, node })
    }

    /// The deletion of an heir that is gone, if it is that of this life.
    fn deletion_of(&self, heir: &NodeRef, born: Option<&str>, stored: Stored) -> Result<Option<Deletion>, Failure> {
        let is_any = !self.context.rules.keeps(Rule::HeirLife);
        match stored {
            Stored::Tombstone(tombstone) if !self.context.counts(&tombstone) => Ok(None),
            Stored::Tombstone(tombstone) if is_any => Ok(Some(tombstone.deletion)),
            Stored::Tombstone(tombstone) => Ok(tombstone.deletion_of_child(born, self.context.rules)),
            Stored::Lineage(lineage) if is_any || is_same_life(born, lineage.born.as_deref()) => Ok(lineage.deleting),
            Stored::Newer(format) => {
                Err(self.io.newer(self.context.schema().lineage_key(heir), NewerFormat { format }))
            }
            Stored::Lineage(_) | Stored::Absent | Stored::Foreign | Stored::Malformed => Ok(None),
        }
    }

    /// The same, read after the heir was seen to be gone, or else what `DELETED` says. DynamoDB reads the items of one
    /// batch at different moments: the lineage that came with the record can be that of before the deletion.
    async fn deletion_read_again(&self, heir: &NodeRef, born: Option<String>) -> Result<Option<Deletion>, Failure> {
        let schema = self.context.schema();
        let (lineage, deleted) = (schema.lineage_key(heir), schema.deleted_key(heir));
        let read = self.io.read(Need::keys([lineage.clone(), deleted.clone()])).await?;
        let stored = Stored::read(read.item(&lineage)?, schema);
        let next = match self.context.rules.keeps(Rule::HeirReadAgain) {
            true => self.deletion_of(heir, born.as_deref(), stored)?,
            false => None,
        };
        // Without a life the API has named none, and `DELETED` decides for the API's children alone.
        let under = born.map(|born| Under { parent: heir.id.clone(), born: Some(born) });
        let item = read.item(&deleted)?;
        Ok(next.or_else(|| self.context.deletion_without_children(item, &under?)))
    }

    async fn change(&self, action: &ChildAction) -> Result<(), Failure> {
        match self.child.task(action, &self.context) {
            Ok(task) => self.count(&self.io.all(vec![task]).await?),
            Err(error) => {
                self.keep(&error);
                Ok(())
            }
        }
    }

    fn count(&self, outcomes: &[Result<TaskOutcome, Failure>]) -> Result<(), Failure> {
        let held = count_held(outcomes)?;
        self.io.report(|report| report.tally.child_actions += held);
        Ok(())
    }

    fn keep(&self, error: &TooManyAttributes) {
        self.io.note(self.child.kept(error, &self.context));
    }

    /// Moves the late child to an heir that existed a moment ago, with checks of every edge from the heir to the root:
    /// the late child has no ancestor path of its own to stop at. A cycle above the heir, by other clients, doesn't
    /// hold it. Returns false if a node on the path has changed.
    async fn adopt(&self, heir: Heir) -> Result<bool, Failure> {
        let Heir { node: heir, born, same_life, mut ancestry } = heir;
        let schema = self.context.schema();
        ancestry.read_on(self.io, schema, &heir, &[&heir.id]).await?;
        let path = ancestry.path(&heir.id)?;
        let is_too_deep = path.end == PathEnd::TooLong || path.edges.len() > DEPTH_MAX;
        if is_too_deep || path.position(&self.child.node.id).is_some() {
            return self.change(&ChildAction::Detach).await.map(|()| true);
        }
        let action = ChildAction::Reparent { parent: heir.id.clone(), born, is_there: true };
        let adoption = match self.child.action(&action, &self.context) {
            Ok(action) => action,
            Err(error) => {
                self.keep(&error);
                return Ok(true);
            }
        };
        let mut actions = vec![adoption];
        if self.context.rules.keeps(Rule::AdoptAncestorPath) {
            actions.extend(self.checks(&heir, &same_life, &path));
        }
        match self.io.one(Task::Transact(actions)).await {
            Ok(TaskOutcome::Failed(failed)) if !failed.contains(&0) => Ok(false),
            // If the late child itself has changed, its new record decides.
            Ok(outcome) => self.count(&[Ok(outcome)]).map(|()| true),
            // The executor has noted the refusal. The table may still take the late child as a root.
            Err(Failure::Refused) => self.change(&ChildAction::Detach).await.map(|()| true),
            Err(Failure::Again) => Err(Failure::Again),
        }
    }

    fn checks(&self, heir: &NodeRef, same_life: &Condition, path: &AncestorPath) -> impl Iterator<Item = Action> {
        let schema = self.context.schema();
        let same = |edge: &Edge| match edge.same_parent(schema) {
            condition if edge.node == heir.id => Condition::All(vec![condition, same_life.clone()]),
            condition => condition,
        };
        path.edges.iter().map(move |edge| Action::Check {
            key: schema.node_key(&self.child.node.sibling(edge.node.clone())),
            condition: same(edge),
        })
    }
}
