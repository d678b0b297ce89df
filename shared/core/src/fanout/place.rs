//! Decides where a node belongs, and plans the writes that bring it there.

use std::collections::{BTreeMap, BTreeSet};

use crate::keys::{DEPTH_MAX, Id, ItemKey, NodeRef};
use crate::model::{
    BaseNode, Deletion, ITEM_BYTES_MAX, Item, Lineage, Placement, PlacementInput, Row, Settings, Stored, Tombstone,
    is_row_key, item_bytes, placement_below, rows,
};
use crate::plan::{Rule, Rules};

/// Most bytes of a lineage that names rows to delete. The rest is room for what a deletion adds. Without rows to delete
/// no lineage has as many: 98 ancestors and segments, 100 links and a deletion have about 250 KB at most.
const LINEAGE_BYTES_MAX: usize = ITEM_BYTES_MAX - 4_096;

/// The input of [`place`].
#[derive(Clone, Copy, Debug)]
pub struct PlaceInput<'a> {
    /// The node.
    pub node: &'a NodeRef,
    /// The node's base record; `None` if it doesn't exist or can't be understood.
    pub base: Option<&'a BaseNode>,
    /// The item in the place of the node's lineage.
    pub stored: &'a Stored,
    /// The parent's placement; `None` if the parent has no lineage, or the node has no parent.
    pub parent: Option<&'a Placement>,
    /// True if `parent` is only predicted. The node waits for it among the orphans.
    pub is_predicted: bool,
    /// The placement whose rows an earlier round of this run has put, of the same attributes.
    pub standing: Option<&'a Placement>,
    /// True if every record of the node in the batch is a touch. The node's attributes then haven't changed.
    pub only_touched: bool,
    /// The sequence number of the node's newest record, if a record of the batch took its mark away.
    pub mark_went: Option<&'a str>,
    /// The time in seconds since 1970.
    pub now: u64,
    /// The name of the node's life, if neither its base record nor its lineage has one.
    pub new_life: &'a str,
}

/// The writes that bring a node where it belongs, in the order of the fields; none if it is there already.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct PlacePlan {
    /// The node's placement once the plan is carried out; `None` if the node was deleted.
    pub placed: Option<Placement>,
    /// The lineage to write before any row. It names the rows to put and the rows to delete.
    pub intent: Option<Item>,
    /// The rows to put.
    pub puts: Vec<Row>,
    /// True if the lineage that was read names all of them, so an earlier delivery may have put some.
    pub is_named: bool,
    /// The rows to delete.
    pub deletes: Vec<ItemKey>,
    /// The trees whose followers are told that the node has changed, after the rows and before the last write.
    pub tells: BTreeSet<Id>,
    /// The last write of the lineage, after the rows.
    pub settle: Settle,
    /// True if the node has to be planned again once this is carried out, because there was no room to do all at once.
    pub again: bool,
}

/// The last write of a lineage, after the rows that it names.
#[derive(Clone, Debug, PartialEq, Default)]
pub enum Settle {
    /// The lineage stays as it is.
    #[default]
    Keep,
    /// This item takes the lineage's place: the lineage without stale and pending rows, or a tombstone.
    Write(Item),
    /// The lineage is deleted, because the node was.
    Delete,
}

impl PlacePlan {
    /// True if there is nothing to write.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.intent.is_none() && self.puts.is_empty() && self.deletes.is_empty() && self.settle == Settle::Keep
    }
}

/// Returns where a node belongs.
#[must_use]
pub fn placement(wanted: &PlacementInput<'_>) -> Placement {
    let PlacementInput { node, base, parent, rules, .. } = *wanted;
    let above = parent.map_or(&[][..], |parent| &parent.ancestors);
    let is_self = |id: &&Id| rules.keeps(Rule::CutCycle) && **id == node.id;
    let line = base.parent.iter().flat_map(|parent| std::iter::once(parent).chain(above));
    placement_below(line.take_while(|id| !is_self(id)).take(DEPTH_MAX).cloned().collect(), wanted)
}

/// Plans the placing of one node.
#[must_use]
pub fn place(input: &PlaceInput<'_>, settings: &Settings, rules: Rules) -> PlacePlan {
    let PlaceInput { node, base, stored, parent, is_predicted, mark_went, new_life, .. } = *input;
    let there = There::of(input, settings, rules);
    let Some(base) = base else { return there.removed(input, settings) };
    // Another client's put drops the life from the base record. The lineage has kept it.
    let born = Some(base.born().or(stored.born_now()).unwrap_or(new_life).to_owned());
    let earlier = stored.lives_before(born.as_deref());
    let deleting = Deletion::of(node, base);
    if let (Some(deletion), Some(lineage)) = (&deleting, stored.lineage()) {
        let had_mark = lineage.deleting.as_ref().is_some_and(|before| before.mark == deletion.mark);
        let restarted = mark_went.map(str::to_owned).or_else(|| lineage.restarted.clone()).filter(|_| had_mark);
        let stale_rows = there.stale.iter().map(|key| (*key).clone()).collect();
        let told = lineage.clone();
        let marked =
            Lineage { deleting, born, earlier, restarted, stale_rows, is_altered: false, is_gone: false, ..told };
        let tells = Telling::of(input, Some(&marked), settings, rules).tells;
        let done = Lineage { left: BTreeSet::new(), ..marked.clone() };
        let mut plan = keep_placement(node, lineage, marked, &there.keys().collect(), settings);
        if plan.settle == Settle::Keep && done.left != lineage.left {
            plan.settle = Settle::Write(done.item(node, &settings.schema));
        }
        return PlacePlan { tells, ..plan };
    }
    let mut placement = placement(&PlacementInput { node, base, parent, settings, rules });
    placement.orphan |= is_predicted && rules.keeps(Rule::OrphanRow);
    there.moved(input, Lineage { placement, born, earlier, deleting, ..Lineage::default() }, settings)
}

/// The rows of a node that may be there.
struct There<'a> {
    rows: Vec<Row>,
    /// The rows of earlier placements that the lineage names.
    stale: Vec<&'a ItemKey>,
    rules: Rules,
}

impl<'a> There<'a> {
    fn of(input: &PlaceInput<'a>, settings: &Settings, rules: Rules) -> Self {
        let lineage = input.stored.lineage();
        let is_own = |key: &&ItemKey| is_row_key(key, input.node, &settings.schema) || !rules.keeps(Rule::OwnRows);
        Self {
            rows: lineage.map(|lineage| rows(&lineage.placement, input.node, &settings.schema)).unwrap_or_default(),
            stale: lineage.into_iter().flat_map(|lineage| &lineage.stale_rows).filter(is_own).collect(),
            rules,
        }
    }

    fn keys(&self) -> impl Iterator<Item = &ItemKey> {
        self.rows.iter().map(|row| &row.key)
    }

    /// The rows to delete, if these rows are to stay.
    fn surplus(&self, wanted: &BTreeSet<&ItemKey>) -> BTreeSet<ItemKey> {
        let stale = self.stale.iter().copied().filter(|_| self.rules.keeps(Rule::KeepStaleRows));
        self.keys().chain(stale).filter(|key| !wanted.contains(key)).cloned().collect()
    }

    /// Plans a node without a record: its rows go, and a tombstone stays where it was deleted with a mark. Where a tree
    /// is told of it, the lineage says first that the node has gone.
    fn removed(&self, input: &PlaceInput<'_>, settings: &Settings) -> PlacePlan {
        let PlaceInput { node, stored, now, .. } = *input;
        let is_owners = *stored == Stored::Foreign && self.rules.keeps(Rule::OwnLineage);
        if is_owners || matches!(stored, Stored::Absent | Stored::Tombstone(_)) {
            return PlacePlan::default();
        }
        let tombstone = stored.lineage().filter(|_| self.rules.keeps(Rule::Tombstone)).and_then(|lineage| {
            let (deletion, born, earlier) = (lineage.deleting.clone()?, lineage.born.clone(), lineage.earlier.clone());
            Some(Tombstone { deletion, born, earlier, deleted: now })
        });
        let settle = tombstone.map_or(Settle::Delete, |tombstone| Settle::Write(tombstone.item(node, settings)));
        let deletes = self.surplus(&BTreeSet::new()).into_iter().collect();
        let tells = Telling::of(input, None, settings, self.rules).tells;
        let says_so = !tells.is_empty() && self.rules.keeps(Rule::GoneIntent);
        let intent = stored.lineage().filter(|lineage| says_so && !lineage.is_gone).map(|lineage| {
            let gone = Lineage { left: tells.clone(), is_gone: true, is_altered: false, ..lineage.clone() };
            gone.item(node, &settings.schema)
        });
        PlacePlan { intent, deletes, tells, settle, ..PlacePlan::default() }
    }

    /// Plans a node whose lineage is to be `done` in the end.
    fn moved(&self, input: &PlaceInput<'_>, done: Lineage, settings: &Settings) -> PlacePlan {
        let (node, before, rules) = (input.node, input.stored.lineage(), self.rules);
        let Telling { tells, left } = Telling::of(input, Some(&done), settings, rules);
        let wanted_rows = rows(&done.placement, node, &settings.schema);
        let deletes = self.surplus(&wanted_rows.iter().map(|row| &row.key).collect());
        let puts = self.lacking(input, wanted_rows, settings);

        // A redelivered touch would find the lineage as wanted and put nothing: only this mark has it put all rows. The
        // mark also tells a client that waits for a move that the rows of more ancestors may not be there yet, where
        // no old row goes (without path rows).
        let is_extended =
            deletes.is_empty() && before.is_some_and(|l| l.placement.ancestors != done.placement.ancestors);
        let is_pending =
            ((input.only_touched || is_extended) && !puts.is_empty()) || before.is_some_and(|l| l.rows_pending);
        // Nor would it tell anyone, where the rows stay as they are: a node comes out of the trash with its parent.
        let is_to_be_told = input.only_touched && done.tree(node).is_some_and(|tree| tells.contains(&tree));
        let rows_pending =
            is_pending && rules.keeps(Rule::RowsPending) || is_to_be_told && rules.keeps(Rule::UnsettledUntilTold);
        let is_same = |lineage: &Lineage| {
            let has_more = lineage.is_altered || lineage.is_gone || lineage.restarted.is_some();
            let same_lives = lineage.born == done.born && lineage.earlier == done.earlier;
            let same_lives = same_lives && left.is_subset(&lineage.left);
            !has_more && lineage.placement == done.placement && lineage.deleting == done.deleting && same_lives
        };
        let intent = (!before.is_some_and(is_same) || !deletes.is_empty()).then(|| Lineage {
            stale_rows: deletes.iter().cloned().collect(),
            rows_pending,
            left: left.clone(),
            ..done.clone()
        });
        let intent_item = intent.as_ref().map(|lineage| lineage.item(node, &settings.schema));
        if let (Some(after), Some(item), Some(before)) = (&intent, &intent_item, before)
            && !deletes.is_empty()
            && !has_room(item)
            && rules.keeps(Rule::RoomForIntent)
        {
            return delete_first(node, before, after, deletes, settings);
        }
        let is_unsettled = intent.as_ref().or(before).is_some_and(|lineage| !lineage.is_settled());
        let keeps_intent = rules.keeps(Rule::Intent);
        let settles = is_unsettled || (intent.is_some() && !keeps_intent);
        PlacePlan {
            puts,
            deletes: deletes.into_iter().collect(),
            settle: if settles { Settle::Write(done.item(node, &settings.schema)) } else { Settle::Keep },
            intent: intent_item.filter(|_| keeps_intent),
            is_named: before.is_some_and(|before| before.placement == done.placement),
            tells,
            placed: Some(done.placement),
            again: false,
        }
    }

    /// Returns the rows that aren't right as they stand. A row is right if it shows the same of the placement. What it
    /// copies is the same wherever these count: where only touches came to a settled lineage, and of an earlier round.
    fn lacking(&self, input: &PlaceInput<'_>, wanted: Vec<Row>, settings: &Settings) -> Vec<Row> {
        let only_new = input.only_touched && input.stored.lineage().is_some_and(Lineage::is_settled);
        let before = input.standing.map(|placement| rows(placement, input.node, &settings.schema)).unwrap_or_default();
        let right: BTreeMap<&ItemKey, &Row> =
            self.rows.iter().filter(|_| only_new).chain(&before).map(|row| (&row.key, row)).collect();
        let is_right = |row: &Row| match right.get(&row.key) {
            Some(there) => *there == row || !self.rules.keeps(Rule::SameContents),
            None => false,
        };
        wanted.into_iter().filter(|row| !is_right(row)).collect()
    }
}

/// The followers who are told of a node.
struct Telling {
    /// The trees whose followers are told.
    tells: BTreeSet<Id>,
    /// Those of them that the node isn't in. The lineage names them until they are told.
    left: BTreeSet<Id>,
}

impl Telling {
    /// Decides by what the lineage says now, and what it is to say: `None` where the node has gone.
    fn of(input: &PlaceInput<'_>, done: Option<&Lineage>, settings: &Settings, rules: Rules) -> Self {
        let (before, after) = (input.stored.lineage(), done.and_then(|done| done.tree(input.node)));
        if !settings.changes {
            return Self { tells: BTreeSet::new(), left: BTreeSet::new() };
        }
        let tree_before = before.and_then(|lineage| lineage.tree(input.node));
        let named = before.into_iter().flat_map(|lineage| &lineage.left).cloned();
        let mut left: BTreeSet<Id> = named.chain(tree_before.clone()).collect();
        left.retain(|tree| Some(tree) != after.as_ref());
        let depth = |lineage: Option<&Lineage>| lineage.map(|lineage| lineage.placement.ancestors.len());
        let is_unsettled = before.is_some_and(|lineage| !lineage.is_settled()) && rules.keeps(Rule::TellUnsettled);
        let is_elsewhere = tree_before != after || depth(before) != depth(done) && rules.keeps(Rule::TellDepth);
        let is_news = !input.only_touched || is_unsettled || is_elsewhere;
        let tells = left.iter().cloned().chain(after.filter(|_| is_news)).collect();
        Self { tells, left: if rules.keeps(Rule::NameLeft) { left } else { BTreeSet::new() } }
    }
}

fn has_room(lineage: &Item) -> bool {
    item_bytes(lineage) <= LINEAGE_BYTES_MAX
}

/// Plans a node whose lineage has no room for the rows of its new placement and those of the ones before together. The
/// old rows are deleted while the old lineage names them. Then the new lineage takes its place, and says that its rows
/// are still to be put. The node is planned again for that. For a moment it has no rows but those that stay.
fn delete_first(
    node: &NodeRef,
    before: &Lineage,
    after: &Lineage,
    deletes: BTreeSet<ItemKey>,
    settings: &Settings,
) -> PlacePlan {
    let item = |lineage: Lineage| lineage.item(node, &settings.schema);
    PlacePlan {
        // A settled lineage says that all of its rows are there. That isn't so from here on.
        intent: before.is_settled().then(|| item(Lineage { rows_pending: true, ..before.clone() })),
        puts: Vec::new(),
        tells: BTreeSet::new(),
        is_named: false,
        deletes: deletes.into_iter().collect(),
        settle: Settle::Write(item(Lineage { stale_rows: Vec::new(), rows_pending: true, ..after.clone() })),
        placed: Some(after.placement.clone()),
        again: true,
    }
}

/// Plans a node that is being deleted, and whose lineage is to be `marked`. It keeps its placement, and no row of it is
/// computed any more. The lineage tells the children:
///
/// - A new mark: it names the mark.
/// - The same mark, which was gone meanwhile: the deletion may have ended, and a copy of the record was put back. The
///   lineage names the record that says so (`restarted`), and its own stream record sets the deletion off again. It
///   goes on naming the mark, because a child that is placed meanwhile may not be looked at again.
///
/// Rows of an earlier placement that the lineage has no room for are deleted first.
fn keep_placement(
    node: &NodeRef,
    lineage: &Lineage,
    marked: Lineage,
    standing: &BTreeSet<&ItemKey>,
    settings: &Settings,
) -> PlacePlan {
    let placed = Some(lineage.placement.clone());
    if marked == *lineage {
        return PlacePlan { placed, ..PlacePlan::default() };
    }
    let item = marked.item(node, &settings.schema);
    if marked.stale_rows.is_empty() || has_room(&item) {
        return PlacePlan { placed, intent: Some(item), ..PlacePlan::default() };
    }
    let deletes = marked.stale_rows.iter().filter(|key| !standing.contains(key)).cloned().collect();
    let settle = Settle::Write(Lineage { stale_rows: Vec::new(), ..marked }.item(node, &settings.schema));
    PlacePlan { placed, deletes, settle, ..PlacePlan::default() }
}
