//! Reads the parents again once all is written. A child whose parent has moved meanwhile is placed again. A child whose
//! parent was deleted may be a late child.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::stale::remove;
use super::{Parent, Planned, Round};
use crate::fanout::child_action::Child;
use crate::fanout::{LateChild, Placing, Standing};
use crate::keys::{Id, ItemKey, NodeRef};
use crate::model::{BaseNode, Deletion, Placement, Stored, UNDER, Under, has_mark, life_of};
use crate::plan::conditions::still_gone;
use crate::plan::{Failure, Need, Read, Rule};

/// A child whose parent has no lineage.
struct MayBeLate {
    parent: NodeRef,
    child: Child,
    /// The deletion, if a tombstone of the parent says so. If not, the record of a deletion without children may.
    deletion: Option<Deletion>,
}

impl Round<'_> {
    pub(super) async fn confirm(&mut self) -> Result<(), Failure> {
        for one in &self.planned {
            match one.stopped {
                Some(Failure::Again) => _ = self.end.failed.insert(one.node.clone()),
                None if one.plan.again => _ = self.end.again.insert(one.node.clone(), one.placing.clone()),
                Some(Failure::Refused) | None => {}
            }
        }
        if !self.context.rules.keeps(Rule::Confirm) {
            return Ok(());
        }
        self.read = self.io.read(Need::keys(self.keys_to_confirm())).await?;
        let late_children = self.compare();
        if late_children.is_empty() {
            return Ok(());
        }
        let schema = self.context.schema();
        let keys = |MayBeLate { parent, child, .. }: &MayBeLate| {
            [schema.node_key(parent), schema.deleted_key(parent), schema.deleted_key(&child.node)]
        };
        let read = self.io.read(Need::keys(late_children.iter().flat_map(keys))).await?;
        self.take_late_children(late_children, &read).await
    }

    fn keys_to_confirm(&self) -> BTreeSet<ItemKey> {
        let schema = self.context.schema();
        let is_predicted = |parent: &Parent| parent.predicted.is_some() && self.context.rules.keeps(Rule::ConfirmBase);
        let keys = self.confirmed().flat_map(|(_, parent, _)| {
            let base = is_predicted(parent).then(|| schema.node_key(&parent.node));
            std::iter::once(schema.lineage_key(&parent.node)).chain(base)
        });
        keys.collect()
    }

    /// The nodes to confirm, with parents and base records: not those being deleted, which keep their placements.
    fn confirmed(&self) -> impl Iterator<Item = (&Planned, &Parent, &BaseNode)> {
        let is_done = |one: &&Planned| one.stopped.is_none() && one.plan.placed.is_some() && !one.plan.again;
        let placed = self.planned.iter().filter(is_done);
        placed.filter_map(|one| {
            let base = self.bases.get(&one.node)?.as_ref().filter(|base| base.deleting.is_none())?;
            Some((one, one.parent.as_ref()?, base))
        })
    }

    /// A node is placed again if its parent has moved away from where the plan took it to be. A node whose parent was
    /// deleted is a late child if the API has put it under that parent. A node that another client put there waits for
    /// its parent, as orphans do. Returns those that may be late.
    fn compare(&mut self) -> Vec<MayBeLate> {
        let rules = self.context.rules;
        let (mut again, mut failed, mut late_children) = (BTreeMap::new(), BTreeSet::new(), Vec::new());
        for (one, parent, base) in self.confirmed() {
            let Ok(now) = self.read.item(&self.lineage_key(&parent.node)) else {
                failed.insert(one.node.clone());
                continue;
            };
            let now = Stored::read(now, self.context.schema());
            let used = if rules.keeps(Rule::ConfirmAgainstUsed) { &parent.used } else { &parent.read };
            let placed = now.lineage().map(|lineage| &lineage.placement);
            let Ok(is_as_predicted) = self.is_as_predicted(parent) else {
                failed.insert(one.node.clone());
                continue;
            };
            if self.seen_by_children(used.as_ref()) != self.seen_by_children(placed) || !is_as_predicted {
                let likely_parent = Some(parent.node.id.clone());
                again.insert(one.node.clone(), Placing { likely_parent, ..one.placing.clone() });
            } else if one.placing.newest.may_be_of(&base.item) || !rules.keeps(Rule::LateChildAsShown) {
                late_children.extend(self.may_be_late(&one.node, parent, base, &now));
            }
        }
        for one in &mut self.planned {
            if let Some(placing) = again.get_mut(&one.node) {
                let base = self.bases.remove(&one.node).flatten();
                // While a node is being deleted its rows aren't put, so it isn't known what they show.
                let base = base.filter(|base| !one.lacks_rows && !has_mark(Some(&base.item)));
                let stands = base.zip(one.plan.placed.take());
                placing.standing = stands.map(|(base, placement)| Arc::new(Standing { base, placement }));
            }
        }
        self.end.again.extend(again);
        self.end.failed.extend(failed);
        late_children
    }

    /// A child whose parent has this in the place of its lineage, if it may be late.
    fn may_be_late(&self, node: &NodeRef, parent: &Parent, base: &BaseNode, now: &Stored) -> Option<MayBeLate> {
        let rules = self.context.rules;
        let deletion = match now {
            Stored::Tombstone(tombstone) if self.context.counts(tombstone) => {
                let under = Under::read(&base.item).filter(|under| under.parent == parent.node.id);
                let is_named = under.as_ref().is_some_and(|under| under.born.is_some());
                let is_any = !rules.keeps(Rule::TombstoneUnder) || is_named && !rules.keeps(Rule::TombstoneLife);
                let of_any = is_any.then(|| tombstone.deletion.clone());
                of_any.or_else(|| tombstone.deletion_of_late_child(under.as_ref()?, rules))
            }
            Stored::Tombstone(_) | Stored::Absent | Stored::Foreign => None,
            Stored::Lineage(_) | Stored::Malformed | Stored::Newer(_) => return None,
        };
        // The API has seen the parent. One that is there will be placed, and touches its orphans.
        let was_seen = || Under::read(&base.item).is_some_and(|under| under.parent == parent.node.id);
        let may_be = deletion.is_some() || (was_seen() && parent.predicted.is_none());
        let child = || Child { node: node.clone(), base: base.clone() };
        may_be.then(|| MayBeLate { parent: parent.node.clone(), child: child(), deletion })
    }

    /// False if the parent was predicted and has gone: it won't be placed, so nothing tells its children.
    fn is_as_predicted(&self, parent: &Parent) -> Result<bool, Failure> {
        if parent.predicted.is_none() || !self.context.rules.keeps(Rule::ConfirmBase) {
            return Ok(true);
        }
        let key = self.context.schema().node_key(&parent.node);
        let item = self.read.shared(&key)?.cloned();
        Ok(item.is_some_and(|item| BaseNode::read(item, &parent.node, self.context.schema()).is_ok()))
    }

    /// The parts of a parent's placement on which a child's depends: presence, ancestors, path and trash.
    fn seen_by_children<'p>(&self, parent: Option<&'p Placement>) -> (bool, &'p [Id], &'p [String], bool) {
        let rules = self.context.rules;
        let counts_path = self.context.settings.path_rows && rules.keeps(Rule::ConfirmPath);
        (
            parent.is_some() && rules.keeps(Rule::ConfirmPresence),
            parent.map_or(&[], |p| &p.ancestors),
            parent.filter(|_| counts_path).map_or(&[], |p| &p.path),
            parent.is_some_and(|p| p.trash.is_in()) && rules.keeps(Rule::ConfirmTrash),
        )
    }

    /// A late child whose parent exists again is left alone, because the parent's new lineage will touch its orphans.
    /// One that the API has deleted before, and that is back with the same life, is none.
    async fn take_late_children(&mut self, late_children: Vec<MayBeLate>, read: &Read) -> Result<(), Failure> {
        let (schema, rules) = (self.context.schema(), self.context.rules);
        let (mut tasks, mut released) = (Vec::new(), Vec::new());
        for MayBeLate { parent, child, deletion } in late_children {
            let Child { node, base } = &child;
            let keys = [schema.node_key(&parent), schema.deleted_key(&parent), schema.deleted_key(node)];
            let [Ok(record), Ok(of_parent), Ok(deleted)] = keys.each_ref().map(|key| read.item(key)) else {
                self.end.failed.insert(node.clone());
                continue;
            };
            let under = Under::read(&base.item);
            let without = || self.context.deletion_without_children(of_parent, under.as_ref()?);
            let Some(deletion) = deletion.or_else(without) else { continue };
            let has_ended = deleted.is_some_and(|item| life_of(item) == base.born());
            if still_gone(record).is_none() && rules.keeps(Rule::TombstoneGone) {
                continue;
            }
            if has_ended && rules.keeps(Rule::PutBackAfterRestrict) {
                tasks.push(remove(node, base, &[UNDER], schema));
                released.push(node.clone());
            } else {
                self.end.late_children.push(LateChild { child, deletion });
            }
        }
        if tasks.is_empty() {
            return Ok(());
        }
        // A changed node has a record of its own coming, which decides. No retry helps one whose removal is refused.
        let answered = released.into_iter().zip(self.io.all(tasks).await?);
        self.end.failed.extend(answered.filter(|(_, outcome)| *outcome == Err(Failure::Again)).map(|(node, _)| node));
        Ok(())
    }
}
