//! Ways up, and what a move must check of them. Pure: see `ARCHITECTURE.md`, "The HTTP API".

use std::collections::BTreeMap;

use super::WriteError;
use sapwood_core::keys::{DEPTH_MAX, Id, NodeRef, Schema};
use sapwood_core::model::{AttributeValue, BaseNode, DELETING, Item};
use sapwood_core::plan::{Rule, Rules};
use sapwood_table::Condition;

/// Longest way that is climbed: one node more than can be in a tree.
const RUNGS_MAX: usize = DEPTH_MAX + 1;

/// A base record as a way goes through it, or that there is none.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rung {
    pub(super) node: Id,
    /// Whether there is a record.
    pub(super) there: bool,
    /// Its parent, whatever was written there.
    pub(super) link: Option<AttributeValue>,
    /// Its parent, where that is an id.
    pub(super) parent: Option<Id>,
    /// Whether it is being deleted.
    pub(super) deleting: bool,
}

impl Rung {
    /// What is read of a node's base record.
    pub(super) fn read(node: &NodeRef, item: Option<&Item>, schema: &Schema) -> Self {
        let link = item.and_then(|item| item.get(&schema.names().parent)).cloned();
        // A parent that can't be understood is none: nobody follows it.
        let only_parent = link.iter().map(|value| (schema.names().parent.clone(), value.clone())).collect();
        let parent = BaseNode::read(only_parent, node, schema).ok().and_then(|base| base.parent);
        let deleting = item.is_some_and(|item| item.contains_key(DELETING));
        Self { node: node.id.clone(), there: item.is_some(), link, parent, deleting }
    }

    /// That the way still goes through here as it was read.
    pub(super) fn condition(&self, schema: &Schema) -> Condition {
        if !self.there {
            return Condition::Absent;
        }
        let mut conditions =
            vec![Condition::is(&schema.names().parent, self.link.clone()), Condition::is(DELETING, None)];
        if self.link.is_none() {
            conditions.push(Condition::Exists);
        }
        Condition::All(conditions)
    }
}

/// A way up, from a node to where it ends.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Way {
    /// The node, its parent, and so on.
    pub(super) rungs: Vec<Rung>,
    pub(super) end: End,
}

/// How a way up ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// At a root, at a node that isn't there, or at one whose parent can't be understood.
    Top,
    /// It comes back to itself.
    Circle,
    /// It is longer than a tree is deep.
    Cut,
}

impl Way {
    fn position(&self, node: &Id) -> Option<usize> {
        self.rungs.iter().position(|rung| rung.node == *node)
    }
}

/// What is known of base records.
#[derive(Clone, Debug, Default)]
pub(super) struct Known(BTreeMap<Id, Rung>);

impl Known {
    pub(super) fn add(&mut self, rung: Rung) {
        self.0.insert(rung.node.clone(), rung);
    }

    pub(super) fn contains(&self, node: &Id) -> bool {
        self.0.contains_key(node)
    }

    /// The way up from a node; or the first node on it that isn't known.
    pub(super) fn climb(&self, from: &Id) -> Result<Way, Id> {
        let mut rungs: Vec<Rung> = Vec::new();
        let mut next = Some(from);
        while let Some(node) = next {
            if rungs.iter().any(|rung| rung.node == *node) {
                return Ok(Way { rungs, end: End::Circle });
            }
            if rungs.len() == RUNGS_MAX {
                return Ok(Way { rungs, end: End::Cut });
            }
            let rung = self.0.get(node).ok_or_else(|| node.clone())?;
            rungs.push(rung.clone());
            next = rung.parent.as_ref();
        }
        Ok(Way { rungs, end: End::Top })
    }
}

/// A move, and what was read of both ways.
#[derive(Debug)]
pub(super) struct Ways<'a> {
    pub(super) node: &'a Id,
    /// The way up from the node; none where it isn't there yet.
    pub(super) own: Option<&'a Way>,
    /// The way up from its new parent.
    pub(super) target: &'a Way,
    /// How many levels there are below the node.
    pub(super) height: usize,
}

impl<'a> Ways<'a> {
    /// What has to hold besides, when the node is moved: at most `room` checks.
    pub(super) fn checks(&self, room: usize, rules: Rules) -> Result<Vec<&'a Rung>, WriteError> {
        let Self { node, own, target, height } = *self;
        let Some(parent) = target.rungs.first() else { return Ok(Vec::new()) };
        if target.position(node).is_some() {
            return Err(WriteError::Cycle { node: node.clone(), parent: parent.node.clone() });
        }
        match target.end {
            End::Top => {}
            End::Circle => return Err(WriteError::Circle(parent.node.clone())),
            End::Cut => return Err(WriteError::TooDeep { depth: target.rungs.len() + height }),
        }
        // As many levels down as there are nodes above.
        let depth = target.rungs.len() + height;
        if depth > DEPTH_MAX {
            return Err(WriteError::TooDeep { depth });
        }
        let above = own.map_or(&[][..], |own| &own.rungs[1..]);
        let mut both = above.iter().chain(&target.rungs);
        if let Some(rung) = both.find(|rung| rung.deleting) {
            return Err(WriteError::BeingDeleted(rung.node.clone()));
        }
        if !rules.keeps(Rule::AncestorPathChecks) {
            return Ok(Vec::new());
        }
        // The lowest common ancestor is the first on the one way that is on the other as well.
        let meeting = above.iter().enumerate().find_map(|(at, rung)| Some((at, target.position(&rung.node)?)));
        if let Some((own_below, target_below)) = meeting {
            let own_below = if rules.keeps(Rule::OwnAncestorPath) { own_below } else { 0 };
            if own_below + target_below <= room {
                return Ok(above[..own_below].iter().chain(&target.rungs[..target_below]).collect());
            }
        }
        Ok(target.rungs.iter().collect())
    }
}
