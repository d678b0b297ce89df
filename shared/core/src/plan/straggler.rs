//! Stragglers: nodes that the API put under a parent, and that arrive after the parent was deleted. The parent's cascade can't
//! find them any more, so each acts on itself as the parent's tombstone says.

use std::collections::BTreeSet;

use super::ancestry::{AncestorPath, Ancestry, Edge, Missing, PathEnd};
use super::child_action::{Child, ChildAction};
use super::step::{Facts, Failure, Need, Plan, PlanReport, Read, Step, Task, TaskOutcome};
use super::{Context, Problem, Rule};
use crate::keys::{DEPTH_MAX, Id, NodeRef};
use crate::model::{BORN, BaseNode, Deletion, NewerFormat, Stored, TooManyAttributes, is_same_life, still_gone};
use crate::request::{Action, Condition};

/// The plan by which a straggler acts on itself. If its heir was deleted as well, the heir's tombstone decides. If there is no
/// heir, the straggler becomes a root. If the straggler changes meanwhile, the plan ends, and the straggler's new record decides
/// again.
#[derive(Debug)]
pub struct Straggler<'a> {
    context: Context<'a>,
    child: Child,
    /// The deletion that decides: that of the parent, or of a node above it.
    deletion: Deletion,
    /// The heirs that were deleted as well. Nodes that were deleted and created again can be heirs in a circle.
    passed: BTreeSet<Id>,
    /// The condition that the heir is the life that was read.
    same_life: Condition,
    /// How often a node on an heir's way up has changed before the straggler was adopted.
    lost: usize,
    state: State,
    report: PlanReport,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Begin,
    /// The plan reads the heir and its lineage.
    ReadingHeir { heir: NodeRef, born: Option<String> },
    /// The plan reads the heir's ancestor path.
    Resolving { heir: NodeRef, born: Option<String>, ancestry: Ancestry, missing: Missing },
    /// The plan moves the straggler to the heir.
    Adopting,
    /// The plan marks the straggler, or makes it a root.
    Changing,
}

impl<'a> Straggler<'a> {
    /// Makes the plan of a straggler whose parent has this tombstone.
    #[must_use]
    pub fn new(context: Context<'a>, child: Child, tombstone: Deletion) -> Self {
        let (passed, state, report) = (BTreeSet::new(), State::Begin, PlanReport::default());
        Self { context, child, deletion: tombstone, passed, same_life: Condition::Always, lost: 0, state, report }
    }

    fn decide(&mut self) -> Step<()> {
        let action = ChildAction::of(&self.child.node.id, &self.deletion);
        let ChildAction::Reparent { parent, born } = action else { return self.change(&action) };
        let heir = self.child.node.sibling(parent);
        let schema = self.context.schema();
        let keys = [schema.node_key(&heir), schema.lineage_key(&heir)];
        self.state = State::ReadingHeir { heir, born };
        Need::keys(keys).into()
    }

    fn change(&mut self, action: &ChildAction) -> Step<()> {
        self.state = State::Changing;
        match self.child.task(action, &self.context) {
            Ok(task) => Step::Do(vec![task]),
            Err(error) => self.keep(&error),
        }
    }

    fn keep(&mut self, error: &TooManyAttributes) -> Step<()> {
        self.report.problems.push(self.child.kept(error, &self.context));
        Step::Done(())
    }

    fn meet_heir(&mut self, heir: NodeRef, born: Option<String>, read: &Read) -> Result<Step<()>, Failure> {
        let schema = self.context.schema();
        let stored = Stored::read(read.item(&schema.lineage_key(&heir))?, schema);
        if let Some(item) = read.item(&schema.node_key(&heir))?.filter(|item| still_gone(Some(item)).is_none()) {
            let Ok(base) = BaseNode::read(item.clone(), &heir, schema) else {
                return Ok(self.change(&ChildAction::Detach));
            };
            let present = base.born().or(stored.born_now());
            self.same_life = Condition::is(BORN, item.get(BORN).cloned());
            let mut ancestry = Ancestry::default();
            ancestry.add(Edge::read(&heir, Some(item), schema), Some(&stored));
            return self.resolve(heir, present.map(str::to_owned), ancestry);
        }
        let rules = self.context.rules;
        let is_that_life = is_same_life(born.as_deref(), stored.born()) || !rules.keeps(Rule::HeirLife);
        let onwards = rules.keeps(Rule::AdoptOnwards) && is_that_life;
        let next = match stored {
            Stored::Tombstone(tombstone) => {
                Some(tombstone).filter(|one| self.context.counts(one)).map(|one| one.deletion)
            }
            Stored::Lineage(lineage) => lineage.deleting,
            Stored::Newer(format) => {
                let (key, reason) = (schema.lineage_key(&heir), NewerFormat { format }.to_string());
                self.report.problems.push(Problem { key, reason, unreadable: false });
                return Err(Failure::Again);
            }
            Stored::Absent | Stored::Malformed => None,
        };
        match next.filter(|_| onwards) {
            Some(deletion) if self.passed.insert(heir.id) => {
                self.deletion = deletion;
                Ok(self.decide())
            }
            _ => Ok(self.change(&ChildAction::Detach)),
        }
    }

    fn resolve(&mut self, heir: NodeRef, born: Option<String>, ancestry: Ancestry) -> Result<Step<()>, Failure> {
        if let Some(missing) = ancestry.missing(&[&heir.id]) {
            let need = missing.need(&heir, self.context.schema());
            self.state = State::Resolving { heir, born, ancestry, missing };
            return Ok(need.into());
        }
        let path = ancestry.resolve(&heir.id).map_err(|_| Failure::Again)?;
        Ok(self.adopt(&heir.id, born, &path))
    }

    /// Moves the straggler to an heir that existed a moment ago. The same transaction checks every edge from the heir to the
    /// root: the straggler has no ancestor path of its own, so the two paths have no common ancestor to stop at. A cycle above
    /// the heir, which other clients made, doesn't hold the straggler.
    fn adopt(&mut self, heir: &Id, born: Option<String>, path: &AncestorPath) -> Step<()> {
        let is_too_deep = path.end == PathEnd::TooLong || path.edges.len() > DEPTH_MAX;
        if is_too_deep || path.position(&self.child.node.id).is_some() {
            return self.change(&ChildAction::Detach);
        }
        let schema = self.context.schema();
        let action = ChildAction::Reparent { parent: heir.clone(), born };
        let adoption = match self.child.action(&action, &self.context) {
            Ok(action) => action,
            Err(error) => return self.keep(&error),
        };
        let same = |edge: &Edge| match edge.same_parent(schema) {
            condition if edge.node == *heir => Condition::All(vec![condition, self.same_life.clone()]),
            condition => condition,
        };
        let checks = path.edges.iter().map(|edge| Action::Check {
            key: schema.node_key(&self.child.node.sibling(edge.node.clone())),
            condition: same(edge),
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
            State::ReadingHeir { heir, born } => self.meet_heir(heir, born, &facts.read()?),
            State::Resolving { heir, born, mut ancestry, missing } => {
                missing.learn(&facts.read()?, &heir, self.context.schema(), &mut ancestry)?;
                self.resolve(heir, born, ancestry)
            }
            State::Adopting => match facts.outcome() {
                Ok(TaskOutcome::Held) => {
                    self.report.tally.child_actions += 1;
                    Ok(Step::Done(()))
                }
                // The straggler itself has changed, so its new record decides.
                Ok(TaskOutcome::Failed(failed)) if failed.contains(&0) => Ok(Step::Done(())),
                // A node on the heir's ancestor path has changed.
                Ok(TaskOutcome::Failed(_)) => {
                    self.lost += 1;
                    if self.lost < self.context.limits.rounds_max { Ok(self.decide()) } else { Err(Failure::Again) }
                }
                // The executor has noted the refusal. The table may still take the straggler as a root.
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
