//! Compares what nodes are counted as, and the lanes of their totals, with their records and the present epoch.

use std::collections::BTreeMap;

use super::super::difference::Evidence;
use super::super::epoch::Epochs;
use super::super::recount::{RECOUNT, are_nothing, lane_keys_beside};
use super::{Difference, Kind, Look};
use crate::fanout::{Seen, ToCount};
use crate::keys::{ItemKey, LANES, NodeRef, SortKey};
use crate::model::{Amounts, BaseNode, Epoch, Item, NewerFormat, Placement};
use crate::plan::{Failure, Rules};

impl Look<'_> {
    /// Finds a count that is wrong. An event has a node counted, so one not yet handled is found only once.
    pub(super) fn judge_count(
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
    pub(super) fn epoch(&self, node: &NodeRef) -> Result<Result<Result<Epoch, Difference>, NewerFormat>, Failure> {
        let schema = self.schema();
        let (item, copy) = (self.item(&schema.epoch_key())?, self.item(&schema.epoch_copy_key())?);
        Ok(Epochs::new(item, copy).judge(node, schema))
    }

    /// Finds a lane that isn't read, one with the mark of a recount, and lanes of a gone node that are nothing.
    pub(super) fn judge_lane(&self, key: &ItemKey, node: &NodeRef) -> Result<Option<Difference>, Failure> {
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
}
