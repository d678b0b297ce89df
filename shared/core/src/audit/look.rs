//! Compares nodes, rows and cursors with what they should be.

use std::collections::{BTreeMap, BTreeSet};

use super::difference::Evidence;
use super::epoch::Epochs;
use super::recount::{RECOUNT, are_nothing, lane_keys_beside};
use super::subject::is_newer_memory;
use super::{Difference, Kind, Subject};
use crate::fanout::{PlaceInput, PlacePlan, Seen, Settle, ToCount, place};
use crate::keys::{ItemKey, LANES, NodeRef, Schema, SortKey};
use crate::model::{
    Amounts, BaseNode, CopyMark, Cursor, CursorError, Deletion, Epoch, Item, NameClaim, NewerFormat, PUT_BACK,
    Placement, Row, Settings, Shortfall, Shown, Stored, Wanted, has_mark, has_unreadable_mark, held_name, holds_name,
    is_row_key, is_truncated, rows, shown_by,
};
use crate::plan::{Failure, Io, Need, Plan, Read, Rules};
use crate::request::ReadOptions;

/// The plan that looks at these nodes, rows and cursors. [`look_at_history`](super::look_at_history) looks at
/// histories, and [`look_at_totals`](super::look_at_totals) at totals. What is known already isn't read again.
///
/// The first look reads what may be a moment old (`strong` is false), at half the units. What it finds has to be looked
/// at again with strong reads and nothing known.
pub fn look<'a>(
    settings: &'a Settings,
    subjects: BTreeSet<Subject>,
    known: &'a BTreeMap<ItemKey, Item>,
    strong: bool,
) -> Plan<'a, Vec<Difference>> {
    let look = Look { settings, subjects, strong, known, read: Read::default(), found: Vec::new() };
    Plan::new(|io| look.carry_out(io))
}

/// A look at some nodes, rows and cursors.
struct Look<'a> {
    settings: &'a Settings,
    subjects: BTreeSet<Subject>,
    strong: bool,
    known: &'a BTreeMap<ItemKey, Item>,
    read: Read,
    found: Vec<Found>,
}

/// About how many bytes of rows are read at a time, as answers have them, where they should have more together. A row
/// of many numbers has forty times as many as in the table, and a node some 200 rows.
const ROWS_BYTES_MAX: usize = 8 * 1_024 * 1_024;

/// A difference, and the node whose lineage decides whether it is one.
type Found = (Difference, Option<NodeRef>);

/// Where a node stands, and what its rows are to show.
struct Standing {
    node: NodeRef,
    placement: Placement,
    shown: Shown,
}

/// What a node's items say.
struct Facets<'r> {
    base_item: Option<&'r Item>,
    stored_item: Option<&'r Item>,
    base: Option<BaseNode>,
    stored: Stored,
}

/// The claim of a name.
struct Claimed<'r> {
    key: ItemKey,
    item: Option<&'r Item>,
    /// The node that it names.
    claimant: Option<NodeRef>,
}

impl<'a> Look<'a> {
    async fn carry_out(mut self, io: Io) -> Result<Vec<Difference>, Failure> {
        self.read(&io, self.own_keys()).await?;
        self.read(&io, self.named_keys()?).await?;
        self.read(&io, self.claimants()?).await?;
        let (found, placed) = self.judge()?;
        self.found = found;
        self.look_at_rows(&io, placed).await?;
        let deciding = self.deciding();
        if !deciding.is_empty() {
            // What seems wrong may be so only because another node stands wrong: that node is judged first.
            let schema = self.schema();
            let keys = deciding.iter().flat_map(|node| [schema.node_key(node), schema.lineage_key(node)]);
            self.read(&io, keys.collect()).await?;
            self.read(&io, self.parents_of_deciding()?).await?;
        }
        self.decided()
    }

    /// Reads these items, but those that are known.
    async fn read(&mut self, io: &Io, keys: BTreeSet<ItemKey>) -> Result<(), Failure> {
        let is_known = |key: &ItemKey| self.known.contains_key(key) || self.read.items.contains_key(key);
        let keys = keys.into_iter().filter(|key| !is_known(key)).collect();
        let need = Need { keys, options: ReadOptions { strong: self.strong, attributes: None }, ..Need::default() };
        self.read.extend(io.read(need).await?);
        Ok(())
    }

    fn item(&self, key: &ItemKey) -> Result<Option<&Item>, Failure> {
        self.known.get(key).map_or_else(|| self.read.item(key), |item| Ok(Some(item)))
    }

    fn schema(&self) -> &'a Schema {
        &self.settings.schema
    }

    /// The items of each subject itself.
    fn own_keys(&self) -> BTreeSet<ItemKey> {
        let schema = self.schema();
        let keys = |subject: &Subject| match subject {
            Subject::Node(node) if self.settings.totals.is_some() => {
                let own = [schema.node_key(node), schema.lineage_key(node), schema.counted_key(node)];
                own.into_iter().chain([schema.epoch_key(), schema.epoch_copy_key()]).collect()
            }
            Subject::Node(node) => vec![schema.node_key(node), schema.lineage_key(node)],
            Subject::Lane { key, node } if self.settings.totals.is_some() => {
                let lanes = lane_keys_beside(key, node, schema).into_iter().map(|(_, key)| key);
                let own = [key.clone(), schema.epoch_key(), schema.epoch_copy_key(), schema.node_key(node)];
                lanes.chain(own).collect()
            }
            Subject::Row { key, node } => vec![key.clone(), schema.lineage_key(node)],
            Subject::Remembered { key, .. } if *key == schema.epoch_key() => {
                vec![schema.epoch_key(), schema.epoch_copy_key()]
            }
            Subject::Foreign { key, .. } | Subject::Remembered { key, .. } => vec![key.clone()],
            Subject::Claim { key, node } if self.settings.names.is_on() => vec![key.clone(), schema.node_key(node)],
            Subject::Cursor(node) => vec![schema.cascade_key(node), schema.node_key(node)],
            Subject::Claim { .. } | Subject::Lane { .. } | Subject::Totals(_) | Subject::History(_) => Vec::new(),
        };
        self.subjects.iter().flat_map(keys).collect()
    }

    /// The items that the subjects are compared with.
    fn named_keys(&self) -> Result<BTreeSet<ItemKey>, Failure> {
        let schema = self.schema();
        let mut keys = BTreeSet::new();
        for subject in &self.subjects {
            let Subject::Node(node) = subject else { continue };
            let facets = self.facets(node)?;
            let Some(base) = &facets.base else { continue };
            keys.extend(parent_of(node, base).map(|parent| schema.lineage_key(&parent)));
            keys.extend(base.deleting.is_some().then(|| schema.cascade_key(node)));
            keys.extend(held_name(node, facets.base_item, self.settings).map(|(claim, _)| claim));
        }
        Ok(keys)
    }

    /// The records of the nodes that have claimed the names of the subjects.
    fn claimants(&self) -> Result<BTreeSet<ItemKey>, Failure> {
        let mut keys = BTreeSet::new();
        for subject in self.subjects.iter().filter(|_| self.settings.names.is_on()) {
            let Subject::Node(node) = subject else { continue };
            let Some(claim) = self.claim(node)? else { continue };
            keys.extend(claim.claimant.map(|claimant| self.schema().node_key(&claimant)));
        }
        Ok(keys)
    }

    /// The claim of the name that a node has.
    fn claim(&self, node: &NodeRef) -> Result<Option<Claimed<'_>>, Failure> {
        let record = self.item(&self.schema().node_key(node))?;
        let Some((key, _)) = held_name(node, record, self.settings) else { return Ok(None) };
        let item = self.item(&key)?;
        let claimant = item.and_then(NameClaim::node_in).map(|id| node.sibling(id));
        Ok(Some(Claimed { key, item, claimant }))
    }

    /// A name that nobody has claimed, or a sibling who has it.
    fn judge_name(&self, node: &NodeRef) -> Result<Option<Difference>, Failure> {
        let Some(Claimed { key, item, claimant }) = self.claim(node)? else { return Ok(None) };
        if claimant.as_ref() == Some(node) {
            return Ok(None);
        }
        if item.is_some() && claimant.is_none() {
            // What the item holds is its owner's.
            return Ok(Some(Difference::of(Kind::ReservedKey, key, node, &Evidence::new())));
        }
        let other = match &claimant {
            Some(claimant) => self.item(&self.schema().node_key(claimant))?,
            None => None,
        };
        let is_held = claimant
            .is_some_and(|claimant| held_name(&claimant, other, self.settings).is_some_and(|(held, _)| held == key));
        let kind = if is_held { Kind::NameClash } else { Kind::NameUnclaimed };
        let node_key = self.schema().node_key(node);
        let evidence = Evidence::new().and(self.item(&node_key)?).and(item).and(other);
        Ok(Some(Difference::of(kind, node_key, node, &evidence)))
    }

    fn judge_claim(&self, key: &ItemKey, node: &NodeRef) -> Result<Option<Difference>, Failure> {
        let item = self.item(key)?;
        if item.and_then(NameClaim::node_in).as_ref() != Some(&node.id) {
            return Ok(None);
        }
        let record = self.item(&self.schema().node_key(node))?;
        if holds_name(node, record, key, self.settings) {
            return Ok(None);
        }
        Ok(Some(Difference::of(Kind::NameLeft, key.clone(), node, &Evidence::new().and(item).and(record))))
    }

    fn facets(&self, node: &NodeRef) -> Result<Facets<'_>, Failure> {
        let schema = self.schema();
        let base_item = self.item(&schema.node_key(node))?;
        let stored_item = self.item(&schema.lineage_key(node))?;
        let base = base_item.and_then(|item| BaseNode::read(item.clone(), node, schema).ok());
        Ok(Facets { base_item, stored_item, base, stored: Stored::read(stored_item, schema) })
    }

    /// Judges all but rows. Returns what is wrong, and the nodes that stand where they belong.
    fn judge(&self) -> Result<(Vec<Found>, Vec<Standing>), Failure> {
        let (mut found, mut placed) = (Vec::new(), Vec::new());
        for subject in &self.subjects {
            match subject {
                Subject::Node(node) => {
                    let mut of_node = Vec::new();
                    placed.extend(self.judge_node(node, &mut of_node)?);
                    if self.settings.names.is_on() {
                        of_node.extend(self.judge_name(node)?);
                    }
                    if of_node.is_empty() {
                        continue;
                    }
                    let parent = self.parent(node)?;
                    found.extend(of_node.into_iter().map(|one| {
                        let above = parent.clone().filter(|_| depends_on_parent(one.kind));
                        (one, above)
                    }));
                }
                Subject::Row { key, node } => {
                    found.extend(self.judge_row(key, node)?.map(|one| (one, Some(node.clone()))));
                }
                Subject::Foreign { key, node } => {
                    let is_owners = |item: &Item| {
                        shown_by(item, key, self.schema()).is_none() && NameClaim::node_in(item).is_none()
                    };
                    let is_there = self.item(key)?.is_some_and(is_owners);
                    // What the item holds is its owner's.
                    let one = || Difference::of(Kind::ReservedKey, key.clone(), node, &Evidence::new());
                    found.extend(is_there.then(|| (one(), None)));
                }
                Subject::Claim { key, node } if self.settings.names.is_on() => {
                    found.extend(self.judge_claim(key, node)?.map(|one| (one, None)));
                }
                Subject::Lane { key, node } if self.settings.totals.is_some() => {
                    found.extend(self.judge_lane(key, node)?.map(|one| (one, None)));
                }
                Subject::Cursor(node) => found.extend(self.judge_cursor(node)?.map(|one| (one, None))),
                Subject::Remembered { key, node } if *key == self.schema().epoch_key() => {
                    if self.settings.totals.is_some()
                        && let Ok(Err(wrong)) = self.epoch(node)?
                    {
                        found.push((wrong, None));
                    }
                }
                Subject::Remembered { key, node } => {
                    let newer = self.item(key)?.filter(|item| is_newer_memory(item, key, self.schema()));
                    let one =
                        |item| Difference::of(Kind::NewerFormat, key.clone(), node, &Evidence::new().and(Some(item)));
                    found.extend(newer.map(|item| (one(item), None)));
                }
                Subject::Claim { .. } | Subject::Lane { .. } | Subject::Totals(_) | Subject::History(_) => {}
            }
        }
        Ok((found, placed))
    }

    /// Reads the rows of these nodes, and compares them: all at once, or a few at a time where they are large.
    async fn look_at_rows(&mut self, io: &Io, placed: Vec<Standing>) -> Result<(), Failure> {
        let (mut left, mut bytes) = (BTreeMap::new(), 0);
        for (position, Standing { node, placement, shown }) in placed.iter().enumerate() {
            for row in rows(placement, node, self.schema()) {
                bytes += row.sent_bytes(shown);
                left.insert(row.key.clone(), (position, row));
            }
        }
        let options = ReadOptions { strong: self.strong, attributes: None };
        while !left.is_empty() {
            let is_known = |key: &ItemKey| self.known.contains_key(key) || self.read.items.contains_key(key);
            let keys = left.keys().filter(|key| !is_known(key)).cloned().collect();
            let bytes_max = (bytes > ROWS_BYTES_MAX).then_some(ROWS_BYTES_MAX);
            let mut read = io.read(Need { keys, options: options.clone(), bytes_max, ..Need::default() }).await?;
            let next = std::mem::take(&mut read.left);
            let (later, now): (BTreeMap<_, _>, BTreeMap<_, _>) =
                left.into_iter().partition(|(key, _)| next.contains(key));
            left = later;
            for (key, (position, row)) in now {
                let there = if is_known(&key) { self.item(&key)? } else { read.item(&key)? };
                let Standing { node, shown, .. } = &placed[position];
                let found = self.judge_row_of(node, &row, shown, there)?;
                self.found.extend(found.map(|one| (one, None)));
            }
        }
        // One write mends all of a node. That for rows counts the node as well, and the other way round it doesn't.
        self.found.sort_by_key(|(one, _)| one.kind == Kind::CountWrong);
        Ok(())
    }

    /// The parent that a node's record names.
    fn parent(&self, node: &NodeRef) -> Result<Option<NodeRef>, Failure> {
        Ok(self.facets(node)?.base.as_ref().and_then(|base| parent_of(node, base)))
    }

    /// The nodes that decide whether something is wrong.
    fn deciding(&self) -> BTreeSet<NodeRef> {
        self.found.iter().filter_map(|(_, above)| above.clone()).collect()
    }

    fn parents_of_deciding(&self) -> Result<BTreeSet<ItemKey>, Failure> {
        let mut keys = BTreeSet::new();
        for node in self.deciding() {
            keys.extend(self.parent(&node)?.map(|parent| self.schema().lineage_key(&parent)));
        }
        Ok(keys)
    }

    /// A child of a node that stands wrong may be right once that node is mended. To place it anew below a lineage that
    /// is lost or wrong would take its whole subtree along, and back again. Nor is a row surplus whose node is only to
    /// be placed. So what depends on such a node waits for it, and the node is reported with it.
    fn decided(&mut self) -> Result<Vec<Difference>, Failure> {
        let mut wrong = BTreeMap::new();
        for node in self.deciding() {
            let mut found = Vec::new();
            self.judge_node(&node, &mut found)?;
            wrong.extend(found.into_iter().find(|one| one.kind.names_rows()).map(|one| (node, one)));
        }
        let mut found = std::mem::take(&mut self.found);
        let mut deciding = BTreeSet::new();
        for (difference, above) in &mut found {
            // What a node's children are depends on where it stands alone.
            let decides = |one: &Difference| one.kind.is_of_placing() || difference.kind == Kind::RowSurplus;
            let wrong_above = above.take().filter(|above| wrong.get(above).is_some_and(decides));
            deciding.extend(wrong_above.clone());
            difference.waits_for = wrong_above;
        }
        let is_reported = |node: &NodeRef| found.iter().any(|(one, _)| one.kind.names_rows() && one.node == *node);
        let unreported: Vec<Difference> =
            deciding.iter().filter(|node| !is_reported(node)).filter_map(|node| wrong.remove(node)).collect();
        Ok(unreported.into_iter().chain(found.into_iter().map(|(difference, _)| difference)).collect())
    }

    /// Judges all of a node but its rows. Returns where it stands, if they are to be compared.
    fn judge_node(&self, node: &NodeRef, found: &mut Vec<Difference>) -> Result<Option<Standing>, Failure> {
        let schema = self.schema();
        let facets = self.facets(node)?;
        let (node_key, lineage_key) = (schema.node_key(node), schema.lineage_key(node));
        let evidence = Evidence::new().and(facets.base_item).and(facets.stored_item);
        if facets
            .base
            .as_ref()
            .is_some_and(|base| has_unreadable_mark(&base.item) || CopyMark::is_unreadable(&base.item))
        {
            found.push(Difference::of(Kind::MarkUnreadable, node_key.clone(), node, &evidence));
        }
        if facets.stored.check_format().is_err() {
            found.push(Difference::of(Kind::NewerFormat, lineage_key, node, &evidence));
            return Ok(None);
        }
        if facets.stored.lineage().is_some_and(|lineage| lineage.names_others(node, schema)) {
            let evidence = Evidence::new().and(facets.stored_item);
            found.push(Difference::of(Kind::ForeignRows, lineage_key.clone(), node, &evidence));
        }
        if facets.base_item.is_some() && facets.base.is_none() {
            found.push(Difference::of(Kind::Unreadable, node_key.clone(), node, &evidence));
        }
        if facets.base_item.is_some_and(|item| item.contains_key(PUT_BACK)) {
            // Nothing else of the node counts, because the record goes.
            found.push(Difference::of(Kind::RecordPutBack, node_key, node, &evidence));
            return Ok(None);
        }
        let parent = match facets.base.as_ref().and_then(|base| parent_of(node, base)) {
            Some(parent) => self.item(&schema.lineage_key(&parent))?,
            None => None,
        };
        let above = Stored::read(parent, schema);
        if above.check_format().is_err() {
            // This version can't say where the parent stands, and so where the node should.
            found.push(Difference::of(Kind::NotCompared, lineage_key, node, &evidence));
            return Ok(None);
        }
        let evidence = evidence.and(parent);
        let above = above.lineage().map(|lineage| lineage.placement.clone());
        let plan = self.plan(node, &facets, above.as_ref());
        let Some(base) = &facets.base else {
            if plan.is_empty() {
                let is_owners = facets.stored == Stored::Foreign;
                found.extend(is_owners.then(|| Difference::of(Kind::ReservedKey, lineage_key, node, &Evidence::new())));
                found.extend(self.judge_count(node, None, evidence)?);
            } else {
                found.push(Difference::of(Kind::LineageSurplus, lineage_key, node, &evidence));
            }
            return Ok(None);
        };
        if let (Some(deletion), Some(_)) = (Deletion::of(node, base), facets.stored.lineage()) {
            found.extend(self.judge_deletion(node, &facets, &deletion, evidence)?);
            return Ok(None);
        }
        if CopyMark::read(&base.item).is_some() {
            // The mark moves with each step, so it is stuck where the record stays as it is.
            let evidence = Evidence::new().and(facets.base_item);
            found.push(Difference::of(Kind::CopyStuck, node_key.clone(), node, &evidence));
        }
        if base.was_taken_out_of_trash() {
            let evidence = Evidence::new().and(facets.base_item);
            found.push(Difference::of(Kind::TrashLeft, node_key.clone(), node, &evidence));
        }
        if let Some(placed) = &plan.placed {
            let rules = Rules::default();
            let wanted = Wanted { node, base, parent: above.as_ref(), settings: self.settings, rules };
            if self.settings.totals.as_ref().is_some_and(|totals| totals.left_out(&base.item).next().is_some()) {
                let judged_from = Evidence::new().and(facets.base_item);
                found.push(Difference::of(Kind::TotalLeftOut, node_key.clone(), node, &judged_from));
            }
            let findings: BTreeSet<Kind> = Shortfall::of(&wanted, placed).filter_map(|one| finding(&one)).collect();
            found.extend(findings.into_iter().map(|kind| Difference::of(kind, node_key.clone(), node, &evidence)));
        }
        if facets.stored.lineage().is_none() {
            found.push(Difference::of(Kind::LineageMissing, lineage_key, node, &evidence));
        } else if plan.intent.is_some() || plan.settle != Settle::Keep {
            let stands = facets.stored.lineage().zip(plan.placed.as_ref()).is_some_and(|(lineage, placed)| {
                let there = &lineage.placement;
                let is_told = there.trash.is_in() == placed.trash.is_in();
                is_told && (&there.ancestors, &there.path) == (&placed.ancestors, &placed.path)
            });
            let kind = if stands { Kind::LineageRows } else { Kind::LineageWrong };
            found.push(Difference::of(kind, lineage_key, node, &evidence));
        } else if let Some(placed) = &plan.placed {
            let shown = Shown::of(node, base, self.settings);
            let mut wanted = rows(placed, node, schema).into_iter().map(|row| row.item_of(&shown, schema));
            if wanted.any(|wanted| is_truncated(&wanted)) {
                let evidence = Evidence::new().and(facets.base_item);
                found.push(Difference::of(Kind::NoRoomForCopies, node_key, node, &evidence));
            }
            found.extend(self.judge_count(node, Some((base, placed)), evidence)?);
            return Ok(plan.placed.map(|placement| Standing { node: node.clone(), placement, shown }));
        }
        Ok(None)
    }

    /// What a node that stands where it belongs is counted as in the totals of its ancestors, or one that has gone. An
    /// event of the node has it counted, so a node that the handler hasn't come to yet is found once and not again.
    fn judge_count(
        &self,
        node: &NodeRef,
        placed: Option<(&BaseNode, &Placement)>,
        evidence: Evidence,
    ) -> Result<Option<Difference>, Failure> {
        let Some(totals) = &self.settings.totals else { return Ok(None) };
        let schema = self.schema();
        let key = schema.counted_key(node);
        let (item, epoch) = (self.item(&key)?, self.item(&schema.epoch_key())?);
        let evidence = evidence.and(item).and(epoch);
        let newer = |_| Difference::of(Kind::NotCompared, schema.lineage_key(node), node, &evidence);
        let seen = match self.epoch(node)? {
            Ok(Err(wrong)) => return Ok(Some(wrong)),
            Ok(Ok(epoch)) => Seen::read(item, epoch),
            Err(error) => Err(error),
        };
        let seen = match seen {
            Ok(seen) => seen,
            Err(error) => return Ok(Some(newer(error))),
        };
        let kind = match placed {
            _ if seen.is_ahead() => Some(Kind::CountAhead),
            Some((base, placed)) => {
                let share = totals.share(placed.ancestors.clone(), &base.item);
                ToCount::of(Some(share), seen, Rules::default()).map(|_| Kind::CountWrong)
            }
            None => seen.has_share().then_some(Kind::CountSurplus),
        };
        Ok(kind.map(|kind| Difference::of(kind, key, node, &evidence)))
    }

    /// The present epoch, or what is wrong with it.
    fn epoch(&self, node: &NodeRef) -> Result<Result<Result<Epoch, Difference>, NewerFormat>, Failure> {
        let schema = self.schema();
        let (item, copy) = (self.item(&schema.epoch_key())?, self.item(&schema.epoch_copy_key())?);
        Ok(Epochs::new(item, copy).judge(node, schema))
    }

    /// A part of a total that nobody reads, or that has the mark of a recount, or one of several that together are
    /// nothing, of a node that has gone.
    fn judge_lane(&self, key: &ItemKey, node: &NodeRef) -> Result<Option<Difference>, Failure> {
        let schema = self.schema();
        let (item, epoch) = (self.item(key)?, self.item(&schema.epoch_key())?);
        let Some(SortKey::Totals { epoch: of_lane, lane }) = schema.parse_sort_key(&key.sk) else { return Ok(None) };
        let (is_lane, of_lane) = (|item: &&Item| Amounts::is_lane(item, schema), Epoch(of_lane));
        // A newer version's epoch is said of the node.
        let (Some(item), Ok(now)) = (item.filter(is_lane), self.epoch(node)?) else { return Ok(None) };
        let now = match now {
            Ok(now) => now,
            Err(wrong) => return Ok(Some(wrong)),
        };
        let of = |kind, evidence: &Evidence| Ok(Some(Difference::of(kind, key.clone(), node, evidence)));
        if of_lane.is_after(now) {
            return of(Kind::TotalsAhead, &Evidence::new().and(epoch).and(Some(item)));
        }
        if of_lane != now || lane >= LANES {
            return of(Kind::TotalsLeft, &Evidence::new().and(epoch));
        }
        if let Some(mark) = item.get(RECOUNT) {
            return of(Kind::RecountLeft, &Evidence::new().part(&format!("{mark:?}")));
        }
        let record = self.item(&schema.node_key(node))?;
        let mut lanes = BTreeMap::new();
        for (_, key) in lane_keys_beside(key, node, schema) {
            lanes.extend(self.item(&key)?.filter(is_lane).map(|lane| (key, lane)));
        }
        let evidence = lanes.values().fold(Evidence::new(), |evidence, lane| evidence.and(Some(*lane)));
        // All of them are deleted together, so one of them stands for all.
        let is_empty = record.is_none() && lanes.keys().next() == Some(key) && are_nothing(lanes.values().copied());
        Ok(is_empty.then(|| Difference::of(Kind::TotalsEmpty, key.clone(), node, &evidence)))
    }

    /// What the handler would do if the node were touched now: nothing, where all is right.
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

    /// A row that is missing, or that shows something else.
    fn judge_row_of(
        &self,
        node: &NodeRef,
        row: &Row,
        shown: &Shown,
        there: Option<&Item>,
    ) -> Result<Option<Difference>, Failure> {
        if there == Some(&row.item_of(shown, self.schema())) {
            return Ok(None);
        }
        let kind = if there.is_none() { Kind::RowMissing } else { Kind::RowWrong };
        // Where the node and its parent stand may change all the time. The row has to be what the record says all the
        // same.
        let judged_from = Evidence::new().and(self.item(&self.schema().node_key(node))?).and(there);
        Ok(Some(Difference::of(kind, row.key.clone(), node, &judged_from)))
    }

    /// A node that is being deleted keeps its rows as they are. It is deleted as soon as its children and revisions are
    /// done, so it is stuck if neither its record nor its lineage nor its cursor changes.
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

    fn judge_row(&self, key: &ItemKey, node: &NodeRef) -> Result<Option<Difference>, Failure> {
        let schema = self.schema();
        // Another client may have put something else there since.
        let is_row = |item: &&Item| shown_by(item, key, schema).as_ref() == Some(node);
        let Some(item) = self.item(key)?.filter(is_row) else { return Ok(None) };
        let stored_item = self.item(&schema.lineage_key(node))?;
        let stored = Stored::read(stored_item, schema);
        if names(&stored, key, node, schema) {
            return Ok(None);
        }
        // No lineage names it, whatever else the lineage says. This version can't tell what a newer one names.
        let kind = if stored.check_format().is_err() { Kind::NotCompared } else { Kind::RowSurplus };
        Ok(Some(Difference::of(kind, key.clone(), node, &Evidence::new().and(Some(item)))))
    }

    fn judge_cursor(&self, node: &NodeRef) -> Result<Option<Difference>, Failure> {
        let schema = self.schema();
        let key = schema.cascade_key(node);
        let Some(item) = self.item(&key)? else { return Ok(None) };
        let base = self.item(&schema.node_key(node))?;
        let kind = match Cursor::read(item) {
            // Without a deletion the sign of a blocked one is a leftover.
            Ok(cursor) if cursor.rests(item) && has_mark(base) => Kind::DeletionBlocked,
            Ok(_) => Kind::CursorStuck,
            Err(CursorError::Malformed) if Cursor::is_ours(item) => Kind::CursorUnreadable,
            Err(CursorError::Malformed) => Kind::ReservedKey,
            Err(CursorError::Newer(_)) => Kind::NewerFormat,
        };
        Ok(Some(Difference::of(kind, key, node, &Evidence::new().and(Some(item)))))
    }
}

/// True for what may be wrong only because the node's parent is.
fn depends_on_parent(kind: Kind) -> bool {
    kind.names_rows() || matches!(kind, Kind::Orphan | Kind::Cycle | Kind::TooDeep | Kind::PathTooLong)
}

fn parent_of(node: &NodeRef, base: &BaseNode) -> Option<NodeRef> {
    base.parent.as_ref().filter(|parent| **parent != node.id).map(|parent| node.sibling(parent.clone()))
}

/// True if a row may be there: the node's lineage names it.
pub(super) fn names(stored: &Stored, key: &ItemKey, node: &NodeRef, schema: &Schema) -> bool {
    stored.lineage().is_some_and(|lineage| {
        let is_stale = || lineage.stale_rows.contains(key) && is_row_key(key, node, schema);
        is_stale() || rows(&lineage.placement, node, schema).iter().any(|row| row.key == *key)
    })
}

/// What a shortfall is named. `None` for what the record alone shows, wherever its node stands.
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
