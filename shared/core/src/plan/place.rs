//! Where a node belongs, and the writes that bring it there.

use std::collections::BTreeSet;

use super::{Rule, Rules};
use crate::keys::{DEPTH_MAX, Id, ItemKey, NodeRef};
use crate::model::{BaseNode, Deletion, Item, Lineage, Placement, Row, Settings, Stored, rows};

/// What a plan is made of.
#[derive(Clone, Copy, Debug)]
pub struct PlaceInput<'a> {
    /// The node.
    pub node: &'a NodeRef,
    /// Its base record; `None` where it isn't there or can't be understood.
    pub base: Option<&'a BaseNode>,
    /// Its lineage as it stands.
    pub stored: &'a Stored,
    /// Where its parent stands; `None` where that has no lineage, or the node no parent.
    pub parent: Option<&'a Placement>,
    /// Whether every record of the node in this batch is a touch, so that its attributes haven't changed.
    pub only_touched: bool,
}

/// The writes that bring a node where it belongs, in the order of the fields. None at all where it is there already.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct PlacePlan {
    /// Where the node stands once this is done; `None` where it is gone.
    pub placed: Option<Placement>,
    /// The lineage to write before any row: it names the rows to come, and those to go.
    pub intent: Option<Item>,
    /// The rows to put.
    pub puts: Vec<Item>,
    /// The rows to delete.
    pub deletes: Vec<ItemKey>,
    /// What becomes of the lineage after that.
    pub settle: Settle,
}

/// What becomes of a lineage once the rows are as it says.
#[derive(Clone, Debug, PartialEq, Default)]
pub enum Settle {
    /// It stays as it is.
    #[default]
    Keep,
    /// It is written without what was still to be done.
    Write(Item),
    /// It is deleted: the node is gone.
    Delete,
}

impl PlacePlan {
    /// Whether there is nothing to do.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.intent.is_none() && self.puts.is_empty() && self.deletes.is_empty() && self.settle == Settle::Keep
    }
}

/// Where a node belongs below its parent.
#[must_use]
pub fn placement(
    node: &NodeRef,
    base: &BaseNode,
    parent: Option<&Placement>,
    settings: &Settings,
    rules: Rules,
) -> Placement {
    let Some(parent_id) = &base.parent else {
        return Placement { root: settings.root_rows, ..Placement::default() };
    };
    let above = parent.map_or(&[][..], |p| &p.ancestors);
    let is_self = |id: &&Id| rules.keeps(Rule::CutCycle) && **id == node.id;
    let ancestors: Vec<Id> =
        std::iter::once(parent_id).chain(above).take_while(|id| !is_self(id)).take(DEPTH_MAX).cloned().collect();
    let path = if settings.path_rows {
        let above = parent.map_or(&[][..], |p| &p.path);
        let whole: Vec<&str> = above.iter().map(String::as_str).chain([base.name(node)]).collect();
        let kept = if rules.keeps(Rule::CutPath) { ancestors.len() } else { whole.len() };
        whole[whole.len().saturating_sub(kept)..].iter().map(|&segment| segment.to_owned()).collect()
    } else {
        Vec::new()
    };
    let orphan = rules.keeps(Rule::OrphanRow) && parent.is_none() && !ancestors.is_empty();
    Placement { ancestors, path, root: false, orphan }
}

/// Plans the placing of one node.
#[must_use]
pub fn place(input: &PlaceInput<'_>, settings: &Settings, rules: Rules) -> PlacePlan {
    let PlaceInput { node, base, stored, parent, only_touched } = *input;
    let named = |placement: &Placement| rows(placement, node, &settings.schema);
    let standing: Vec<ItemKey> =
        stored.lineage().map(|l| named(&l.placement).into_iter().map(|row| row.key).collect()).unwrap_or_default();
    let stale_rows = stored.lineage().filter(|_| rules.keeps(Rule::KeepStaleRows)).map_or(&[][..], |l| &l.stale_rows);

    let Some(base) = base else {
        if matches!(stored, Stored::Absent | Stored::Tombstone(_)) {
            return PlacePlan::default();
        }
        let deletes: BTreeSet<ItemKey> = standing.iter().chain(stale_rows).cloned().collect();
        let deletion = stored.lineage().and_then(|lineage| lineage.deleting.as_ref());
        let settle = match deletion.filter(|_| rules.keeps(Rule::Tombstone)) {
            Some(deletion) => Settle::Write(deletion.tombstone(node, settings)),
            None => Settle::Delete,
        };
        return PlacePlan { deletes: deletes.into_iter().collect(), settle, ..PlacePlan::default() };
    };

    let deleting = Deletion::of(node, base);
    if let (Some(deletion), Some(lineage)) = (&deleting, stored.lineage()) {
        return leave(node, deletion, lineage, settings);
    }

    let wanted = placement(node, base, parent, settings, rules);
    let wanted_rows = named(&wanted);
    let wanted_keys: BTreeSet<&ItemKey> = wanted_rows.iter().map(|row| &row.key).collect();
    let deletes: BTreeSet<ItemKey> =
        standing.iter().chain(stale_rows).filter(|key| !wanted_keys.contains(key)).cloned().collect();

    let before = stored.lineage();
    let settled = before.is_some_and(Lineage::is_settled);
    let standing: BTreeSet<&ItemKey> = standing.iter().collect();
    let only_new = only_touched && settled;
    let puts: Vec<&Row> = wanted_rows.iter().filter(|row| !only_new || !standing.contains(&row.key)).collect();

    // A redelivered touch would find the lineage as wanted and put nothing: only this mark tells it to.
    let rows_pending = rules.keeps(Rule::RowsPending)
        && ((only_touched && !puts.is_empty()) || before.is_some_and(|l| l.rows_pending));
    let changed = before.is_none_or(|lineage| lineage.placement != wanted || lineage.deleting != deleting);
    let intent = (changed || !deletes.is_empty()).then(|| Lineage {
        placement: wanted.clone(),
        stale_rows: deletes.iter().cloned().collect(),
        rows_pending,
        deleting: deleting.clone(),
    });
    let unsettled = intent.as_ref().or(before).is_some_and(|lineage| !lineage.is_settled());
    let done = || {
        Lineage { placement: wanted.clone(), deleting: deleting.clone(), ..Lineage::default() }
            .item(node, &settings.schema)
    };

    let keeps_intent = rules.keeps(Rule::Intent);
    PlacePlan {
        puts: puts.into_iter().map(|row| row.item(node, base, settings)).collect(),
        deletes: deletes.into_iter().collect(),
        settle: if unsettled || (intent.is_some() && !keeps_intent) { Settle::Write(done()) } else { Settle::Keep },
        intent: intent.filter(|_| keeps_intent).map(|lineage| lineage.item(node, &settings.schema)),
        placed: Some(wanted),
    }
}

/// A node that is being deleted stays where it stands: its lineage says that it leaves, which is for its children, and no
/// row is computed any more.
fn leave(node: &NodeRef, deletion: &Deletion, lineage: &Lineage, settings: &Settings) -> PlacePlan {
    let placed = Some(lineage.placement.clone());
    if lineage.deleting.as_ref() == Some(deletion) {
        return PlacePlan { placed, ..PlacePlan::default() };
    }
    let deleting = Lineage { deleting: Some(deletion.clone()), ..lineage.clone() };
    PlacePlan { placed, intent: Some(deleting.item(node, &settings.schema)), ..PlacePlan::default() }
}
