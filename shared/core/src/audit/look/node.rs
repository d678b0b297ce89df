//! Compares a node with what its record asks for, but for its rows.

use std::collections::BTreeSet;

use super::super::difference::Evidence;
use super::{Difference, Facets, Kind, Look, PlacedNode, parent_of};
use crate::fanout::{PlaceInput, PlacePlan, Settle, place};
use crate::keys::{ItemKey, NodeRef};
use crate::model::{
    BaseNode, CopyMark, Cursor, Deletion, Item, Lineage, PUT_BACK, Placement, PlacementInput, Shortfall, Shown, Stored,
    has_unreadable_mark, is_truncated, rows,
};
use crate::plan::{Failure, Rules};

struct Judging<'n, 'r> {
    node: &'n NodeRef,
    facets: &'n Facets<'r>,
    node_key: ItemKey,
    lineage_key: ItemKey,
    found: &'n mut Vec<Difference>,
}

impl Judging<'_, '_> {
    fn of_record(&mut self, kind: Kind, evidence: &Evidence) {
        self.found.push(Difference::of(kind, self.node_key.clone(), self.node, evidence));
    }

    fn of_lineage(&mut self, kind: Kind, evidence: &Evidence) {
        self.found.push(Difference::of(kind, self.lineage_key.clone(), self.node, evidence));
    }

    /// The evidence that the record alone decides.
    fn record(&self) -> Evidence {
        Evidence::new().and(self.facets.base_item)
    }
}

impl Look<'_> {
    /// Judges all of a node but its rows. Returns where it stands, if they are to be compared.
    pub(super) fn judge_node(
        &self,
        node: &NodeRef,
        found: &mut Vec<Difference>,
    ) -> Result<Option<PlacedNode>, Failure> {
        let (schema, facets) = (self.schema(), self.facets(node)?);
        let (node_key, lineage_key) = (schema.node_key(node), schema.lineage_key(node));
        let mut judging = Judging { node, facets: &facets, node_key, lineage_key, found };
        let evidence = judging.record().and(facets.stored_item);
        if !self.can_be_read(&mut judging, &evidence) {
            return Ok(None);
        }
        let parent = match facets.base.as_ref().and_then(|base| parent_of(node, base)) {
            Some(parent) => self.item(&schema.lineage_key(&parent))?,
            None => None,
        };
        let above = Stored::read(parent, schema);
        if above.check_format().is_err() {
            // This version can't say where the parent stands, and so where the node should.
            judging.of_lineage(Kind::NotCompared, &evidence);
            return Ok(None);
        }
        let (evidence, above) = (evidence.and(parent), above.lineage().map(|lineage| &lineage.placement));
        let plan = self.plan(node, &facets, above);
        let Some(base) = &facets.base else {
            self.judge_gone(&mut judging, &plan, evidence)?;
            return Ok(None);
        };
        if let (Some(deletion), Some(_)) = (Deletion::of(node, base), facets.stored.lineage()) {
            judging.found.extend(self.judge_deletion(node, &facets, &deletion, evidence)?);
            return Ok(None);
        }
        self.judge_record(&mut judging, base, &plan, above, &evidence);
        self.judge_placing(&mut judging, base, plan, evidence)
    }

    /// Judges whether the node's items can be read. Returns false if nothing else of the node counts.
    fn can_be_read(&self, judging: &mut Judging<'_, '_>, evidence: &Evidence) -> bool {
        let Facets { base_item, stored_item, base, stored } = judging.facets;
        if base.as_ref().is_some_and(|base| has_unreadable_mark(&base.item) || CopyMark::is_unreadable(&base.item)) {
            judging.of_record(Kind::MarkUnreadable, evidence);
        }
        if stored.check_format().is_err() {
            judging.of_lineage(Kind::NewerFormat, evidence);
            return false;
        }
        if stored.lineage().is_some_and(|lineage| lineage.names_others(judging.node, self.schema())) {
            judging.of_lineage(Kind::ForeignRows, &Evidence::new().and(*stored_item));
        }
        if base_item.is_some() && base.is_none() {
            judging.of_record(Kind::Unreadable, evidence);
        }
        let is_put_back = base_item.is_some_and(|item| item.contains_key(PUT_BACK));
        if is_put_back {
            judging.of_record(Kind::RecordPutBack, evidence);
        }
        !is_put_back
    }

    /// Judges what a node without a record has left.
    fn judge_gone(&self, judging: &mut Judging<'_, '_>, plan: &PlacePlan, evidence: Evidence) -> Result<(), Failure> {
        if !plan.is_empty() {
            judging.of_lineage(Kind::LineageSurplus, &evidence);
            return Ok(());
        }
        if judging.facets.stored == Stored::Foreign {
            judging.of_lineage(Kind::ReservedKey, &Evidence::new());
        }
        judging.found.extend(self.judge_count(judging.node, None, evidence)?);
        Ok(())
    }

    fn judge_record(
        &self,
        judging: &mut Judging<'_, '_>,
        base: &BaseNode,
        plan: &PlacePlan,
        above: Option<&Placement>,
        evidence: &Evidence,
    ) {
        let record = judging.record();
        if CopyMark::read(&base.item).is_some() {
            // The mark moves with each step, so it is stuck where the record stays as it is.
            judging.of_record(Kind::CopyStuck, &record);
        }
        if base.was_taken_out_of_trash() {
            judging.of_record(Kind::TrashLeft, &record);
        }
        let Some(placed) = &plan.placed else { return };
        if self.settings.totals.as_ref().is_some_and(|totals| totals.left_out(&base.item).next().is_some()) {
            judging.of_record(Kind::TotalLeftOut, &record);
        }
        let wanted = PlacementInput {
            node: judging.node,
            base,
            parent: above,
            settings: self.settings,
            rules: Rules::default(),
        };
        let findings: BTreeSet<Kind> = Shortfall::of(&wanted, placed).filter_map(|one| finding(&one)).collect();
        for kind in findings {
            judging.of_record(kind, evidence);
        }
    }

    /// Judges where the node stands. Returns it, if that is where it belongs.
    fn judge_placing(
        &self,
        judging: &mut Judging<'_, '_>,
        base: &BaseNode,
        plan: PlacePlan,
        evidence: Evidence,
    ) -> Result<Option<PlacedNode>, Failure> {
        let (node, schema) = (judging.node, self.schema());
        let Some(lineage) = judging.facets.stored.lineage() else {
            judging.of_lineage(Kind::LineageMissing, &evidence);
            return Ok(None);
        };
        if plan.intent.is_some() || plan.settle != Settle::Keep {
            let stands = plan.placed.as_ref().is_some_and(|placed| stands_at(lineage, placed));
            judging.of_lineage(if stands { Kind::LineageRows } else { Kind::LineageWrong }, &evidence);
            return Ok(None);
        }
        let Some(placement) = plan.placed else { return Ok(None) };
        let shown = Shown::of(node, base, self.settings);
        if rows(&placement, node, schema).into_iter().any(|row| is_truncated(&row.item_of(&shown, schema))) {
            judging.of_record(Kind::NoRoomForCopies, &judging.record());
        }
        judging.found.extend(self.judge_count(node, Some((base, &placement)), evidence)?);
        Ok(Some(PlacedNode { node: node.clone(), placement, shown }))
    }

    /// A marked node keeps its rows. Its deletion is stuck if its record, its lineage and its cursor don't change.
    fn judge_deletion(
        &self,
        node: &NodeRef,
        facets: &Facets<'_>,
        deletion: &Deletion,
        evidence: Evidence,
    ) -> Result<Option<Difference>, Failure> {
        let schema = self.schema();
        let cursor_item = self.item(&schema.cascade_key(node))?;
        let rests = |item: &Item| Cursor::read(item).is_ok_and(|cursor| cursor.rests(item));
        let says_so = facets.stored.lineage().is_some_and(|lineage| lineage.deleting.as_ref() == Some(deletion));
        // The cursor is a subject of its own.
        if says_so && cursor_item.is_some_and(rests) {
            return Ok(None);
        }
        Ok(Some(Difference::of(Kind::DeletionStuck, schema.node_key(node), node, &evidence.and(cursor_item))))
    }

    /// Returns what the handler would do if the node were touched now: nothing, where all is right.
    fn plan(&self, node: &NodeRef, facets: &Facets<'_>, parent: Option<&Placement>) -> PlacePlan {
        let input = PlaceInput {
            node,
            base: facets.base.as_ref(),
            stored: &facets.stored,
            parent,
            is_predicted: false,
            standing: None,
            only_touched: true,
            mark_went: None,
            now: 0,
            new_life: "",
        };
        place(&input, self.settings, Rules::default())
    }
}

/// True if a lineage has its node where it is to be, whatever else the lineage lacks.
fn stands_at(lineage: &Lineage, placed: &Placement) -> bool {
    let there = &lineage.placement;
    let is_told = there.trash.is_in() == placed.trash.is_in();
    is_told && (&there.ancestors, &there.path) == (&placed.ancestors, &placed.path)
}

/// The kind of a shortfall. `None` for one that the record alone shows, wherever its node stands.
fn finding(shortfall: &Shortfall) -> Option<Kind> {
    Some(match shortfall {
        Shortfall::Orphan => Kind::Orphan,
        Shortfall::OwnParent | Shortfall::BelowItself => Kind::Cycle,
        Shortfall::TooDeep => Kind::TooDeep,
        Shortfall::Path(_) => Kind::PathTooLong,
        Shortfall::Mark => return None,
        Shortfall::Trashed => Kind::TrashUnreadable,
        Shortfall::Unlisted(_) => Kind::TrashUnlisted,
        Shortfall::Touch => Kind::NoRoomForTouch,
        Shortfall::Order { .. } => Kind::NoOrder,
        Shortfall::Links { .. } | Shortfall::Link { .. } => Kind::LinkLeftOut,
    })
}
