//! Where a node belongs, and the writes that bring it there.

use std::collections::BTreeSet;

use super::{Rule, Rules};
use crate::keys::{DEPTH_MAX, Id, ItemKey, NodeRef};
use crate::model::{BaseNode, Departure, Item, Lineage, Placement, Row, Settings, Stored, rows};

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
    let retracting = stored.lineage().filter(|_| rules.keeps(Rule::KeepRetracting)).map_or(&[][..], |l| &l.retracting);

    let Some(base) = base else {
        if matches!(stored, Stored::Absent | Stored::Tombstone(_)) {
            return PlacePlan::default();
        }
        let deletes: BTreeSet<ItemKey> = standing.iter().chain(retracting).cloned().collect();
        let departure = stored.lineage().and_then(|lineage| lineage.leaving.as_ref());
        let settle = match departure.filter(|_| rules.keeps(Rule::Tombstone)) {
            Some(departure) => Settle::Write(departure.tombstone(node, settings)),
            None => Settle::Delete,
        };
        return PlacePlan { deletes: deletes.into_iter().collect(), settle, ..PlacePlan::default() };
    };

    let leaving = Departure::of(node, base);
    if let (Some(departure), Some(lineage)) = (&leaving, stored.lineage()) {
        return leave(node, departure, lineage, settings);
    }

    let wanted = placement(node, base, parent, settings, rules);
    let wanted_rows = named(&wanted);
    let wanted_keys: BTreeSet<&ItemKey> = wanted_rows.iter().map(|row| &row.key).collect();
    let deletes: BTreeSet<ItemKey> =
        standing.iter().chain(retracting).filter(|key| !wanted_keys.contains(key)).cloned().collect();

    let before = stored.lineage();
    let settled = before.is_some_and(Lineage::is_settled);
    let standing: BTreeSet<&ItemKey> = standing.iter().collect();
    let only_new = only_touched && settled;
    let puts: Vec<&Row> = wanted_rows.iter().filter(|row| !only_new || !standing.contains(&row.key)).collect();

    // A redelivered touch would find the lineage as wanted and put nothing: only this mark tells it to.
    let unput = rules.keeps(Rule::Unput) && ((only_touched && !puts.is_empty()) || before.is_some_and(|l| l.unput));
    let changed = before.is_none_or(|lineage| lineage.placement != wanted || lineage.leaving != leaving);
    let intent = (changed || !deletes.is_empty()).then(|| Lineage {
        placement: wanted.clone(),
        retracting: deletes.iter().cloned().collect(),
        unput,
        leaving: leaving.clone(),
    });
    let unsettled = intent.as_ref().or(before).is_some_and(|lineage| !lineage.is_settled());
    let done = || {
        Lineage { placement: wanted.clone(), leaving: leaving.clone(), ..Lineage::default() }
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

/// A node that is being removed stays where it stands: its lineage says that it leaves, which is for its children, and no
/// row is computed any more.
fn leave(node: &NodeRef, departure: &Departure, lineage: &Lineage, settings: &Settings) -> PlacePlan {
    let placed = Some(lineage.placement.clone());
    if lineage.leaving.as_ref() == Some(departure) {
        return PlacePlan { placed, ..PlacePlan::default() };
    }
    let leaving = Lineage { leaving: Some(departure.clone()), ..lineage.clone() };
    PlacePlan { placed, intent: Some(leaving.item(node, &settings.schema)), ..PlacePlan::default() }
}
