//! Stragglers: nodes that the API put under a parent, and that arrive after the parent was deleted. Its cascade can't find them any
//! more, so each acts on itself, as the parent's tombstone says.

use super::ancestry::{AncestorPath, Ancestry, Edge, Missing, PathEnd};
use super::child_action::{Child, ChildAction};
use super::step::{Facts, Failure, Need, Outcome, Plan, PlanReport, Read, Step, Task};
use super::{Context, Problem, Rule};
use crate::keys::{DEPTH_MAX, Id, NodeRef};
use crate::model::{BaseNode, Deletion, Stored};
use crate::request::Action;

/// A straggler acts on itself. Where it is to be adopted by a node that was deleted as well, that node's tombstone decides; where
/// there is nobody it becomes a root. A straggler that changes meanwhile has a record of its own coming.
#[derive(Debug)]
pub struct Straggler<'a> {
    context: Context<'a>,
    child: Child,
    /// The deletion that decides: of the parent, or of a node above it.
    deletion: Deletion,
    looks: usize,
    state: State,
    report: PlanReport,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Begin,
    /// The one who should adopt is read, with its lineage.
    ReadingHeir { heir: NodeRef, seen: bool },
    /// The way up from there is read.
    Resolving { heir: NodeRef, ancestry: Ancestry, missing: Missing },
    /// The straggler is adopted.
    Adopting,
    /// The straggler is changed by itself.
    Changing,
}

impl<'a> Straggler<'a> {
    /// A straggler, with the tombstone of its parent.
    #[must_use]
    pub fn new(context: Context<'a>, child: Child, tombstone: Deletion) -> Self {
        Self { context, child, deletion: tombstone, looks: 0, state: State::Begin, report: PlanReport::default() }
    }

    fn decide(&mut self) -> Step<()> {
        let action = ChildAction::of(&self.child.node.id, &self.deletion);
        if self.looks == self.context.limits.rounds_max {
            return self.change(&ChildAction::Detach);
        }
        self.looks += 1;
        let ChildAction::Reparent { parent, seen } = action else { return self.change(&action) };
        let heir = self.child.node.sibling(parent);
        let schema = self.context.schema();
        let keys = [schema.node_key(&heir), schema.lineage_key(&heir)];
        self.state = State::ReadingHeir { heir, seen };
        Need::keys(keys).into()
    }

    fn change(&mut self, action: &ChildAction) -> Step<()> {
        self.state = State::Changing;
        match self.child.task(action, &self.context) {
            Ok(task) => Step::Do(vec![task]),
            Err(error) => self.leave(&error),
        }
    }

    fn leave(&mut self, error: &crate::model::TooManyAttributes) -> Step<()> {
        let key = self.context.schema().node_key(&self.child.node);
        let reason = format!("this child of a deleted node stays where it is: {error}");
        self.report.problems.push(Problem { key, reason, unreadable: false });
        Step::Done(())
    }

    fn meet_heir(&mut self, heir: NodeRef, seen: bool, read: &Read) -> Result<Step<()>, Failure> {
        let schema = self.context.schema();
        let stored = Stored::read(read.item(&schema.lineage_key(&heir))?, schema);
        if let Some(item) = read.item(&schema.node_key(&heir))? {
            if BaseNode::read(item.clone(), &heir, schema).is_err() {
                return Ok(self.change(&ChildAction::Detach));
            }
            let mut ancestry = Ancestry::default();
            ancestry.add(Edge::read(&heir, Some(item), schema), Some(&stored));
            return Ok(self.resolve(heir, ancestry));
        }
        let onwards = seen && self.context.rules.keeps(Rule::AdoptOnwards);
        let onward = match stored {
            Stored::Tombstone(deletion) => Some(deletion),
            Stored::Lineage(lineage) => lineage.deleting,
            Stored::Newer(_) => return Err(Failure::Again),
            Stored::Absent | Stored::Malformed => None,
        };
        match onward.filter(|_| onwards) {
            Some(deletion) => {
                self.deletion = deletion;
                Ok(self.decide())
            }
            None => Ok(self.change(&ChildAction::Detach)),
        }
    }

    fn resolve(&mut self, heir: NodeRef, ancestry: Ancestry) -> Step<()> {
        if let Some(missing) = ancestry.missing(&[&heir.id]) {
            let need = missing.need(&heir, self.context.schema());
            self.state = State::Resolving { heir, ancestry, missing };
            return need.into();
        }
        match ancestry.resolve(&heir.id) {
            Ok(path) => self.adopt(&heir.id, &path),
            Err(_) => self.decide(),
        }
    }

    /// A move to a parent that was there a moment ago. Every edge from there to the root is checked in the same transaction: the
    /// straggler has no way up of its own, so the two ways don't meet. A circle above, which other clients made, is none of this
    /// node's.
    fn adopt(&mut self, heir: &Id, path: &AncestorPath) -> Step<()> {
        let is_too_deep = path.end == PathEnd::TooLong || path.edges.len() > DEPTH_MAX;
        if is_too_deep || path.position(&self.child.node.id).is_some() {
            return self.change(&ChildAction::Detach);
        }
        let schema = self.context.schema();
        let action = ChildAction::Reparent { parent: heir.clone(), seen: true };
        let adoption = match self.child.action(&action, &self.context) {
            Ok(action) => action,
            Err(error) => return self.leave(&error),
        };
        let checks = path.edges.iter().map(|edge| Action::Check {
            key: schema.node_key(&self.child.node.sibling(edge.node.clone())),
            condition: edge.same_parent(schema),
        });
        let mut actions: Vec<Action> = std::iter::once(adoption).chain(checks).collect();
        if !self.context.rules.keeps(Rule::AdoptAncestorPath) {
            actions.truncate(1);
        }
        self.state = State::Adopting;
        Step::Do(vec![Task::Transact(actions)])
    }
}

impl Plan for Straggler<'_> {
    type Done = ();

    fn next(&mut self, facts: Facts) -> Result<Step<()>, Failure> {
        match std::mem::take(&mut self.state) {
            State::Begin => Ok(self.decide()),
            State::ReadingHeir { heir, seen } => self.meet_heir(heir, seen, &facts.read()?),
            State::Resolving { heir, mut ancestry, missing } => {
                missing.learn(&facts.read()?, &heir, self.context.schema(), &mut ancestry)?;
                Ok(self.resolve(heir, ancestry))
            }
            State::Adopting => match facts.outcome() {
                Ok(Outcome::Held) => {
                    self.report.tally.child_actions += 1;
                    Ok(Step::Done(()))
                }
                // The straggler itself has changed.
                Ok(Outcome::Failed(failed)) if failed.contains(&0) => Ok(Step::Done(())),
                // Somebody on the way up has.
                Ok(Outcome::Failed(_)) => Ok(self.decide()),
                // The refusal is noted; as a root the straggler may be possible.
                Err(Failure::Refused) => Ok(self.change(&ChildAction::Detach)),
                Err(Failure::Again) => Err(Failure::Again),
            },
            State::Changing => {
                self.report.tally.child_actions += super::step::count_held(&facts.outcomes()?)?;
                Ok(Step::Done(()))
            }
        }
    }

    fn take_report(&mut self) -> PlanReport {
        std::mem::take(&mut self.report)
    }
}
