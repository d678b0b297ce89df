//! The writes and deletions of a repair.

use std::collections::{BTreeMap, BTreeSet};

use sapwood_core::audit::{Difference, Kind};
use sapwood_core::keys::{ItemKey, NodeRef};
use sapwood_core::model::{BaseNode, Copied, DeletionMark, DeletionMode, Item, Settings, Stored, item_bytes, rows};
use sapwood_engine::subtree::Subtree;
use sapwood_import::cost;
use sapwood_store::{ReadOptions, TableError};
use serde_json::{Value, json};

use super::looked_at::counted;
use crate::connect::TableClient;
use crate::printable::shown;

/// Most nodes that are counted below those whose deletions go on.
const COUNTED_NODES_MAX: usize = 10_000;

/// Most steps up from a node to the one at the top: nodes deeper than rows go are too deep, and still below.
const STEPS_MAX: usize = 1_000;

type Table<'a> = TableClient<'a>;

#[derive(Debug, Default)]
pub(super) struct Plan {
    writes: usize,
    units: u64,
    /// The nodes that are deleted, as far as they were counted: deletions that have stopped go on.
    pub(super) nodes: BTreeSet<NodeRef>,
    /// True if there may be more of them.
    is_cut: bool,
    /// True if revisions are deleted with them.
    revisions: bool,
    /// Rows, lineages, copies, cursors and records that no base record asks for.
    surplus: BTreeMap<Kind, usize>,
    /// Claims of names that are made, and those that are deleted; empty totals that are deleted.
    tidied: BTreeMap<Kind, usize>,
    /// The nodes whose totals are counted anew.
    recounted: usize,
    /// Records that are written, outside of the subtree that is repaired.
    outside: usize,
}

impl Plan {
    /// Returns the plan of mending these differences, `due` first. With `top`, that node and all below it is repaired.
    pub(super) async fn of(
        client: &Table<'_>,
        settings: &Settings,
        faults: &[&Difference],
        due: &[Difference],
        top: Option<&NodeRef>,
    ) -> Result<Self, TableError> {
        let items = records_and_lineages(client, settings, faults.iter().copied()).await?;
        let units = due.iter().map(|difference| units_min(difference, &items, settings)).sum();
        let mut plan = Self { writes: due.len(), units, ..Self::default() };
        for difference in faults {
            let kind = difference.kind;
            if matches!(
                kind,
                Kind::RowSurplus
                    | Kind::LineageSurplus
                    | Kind::CopySurplus
                    | Kind::TotalsLeft
                    | Kind::TotalsAhead
                    | Kind::CursorUnreadable
                    | Kind::RecordPutBack
            ) {
                *plan.surplus.entry(kind).or_default() += 1;
            }
            if let Some(mark) = deletion(difference, &items, settings) {
                plan.count(client, &difference.node, &mark).await?;
            }
        }
        for difference in due.iter().filter(|one| one.kind.is_tidied()) {
            *plan.tidied.entry(difference.kind).or_default() += 1;
        }
        plan.recounted = due.iter().filter(|one| one.kind.is_recounted()).count();
        if let Some(top) = top {
            let written = due.iter().filter(|one| one.kind.is_redriven()).map(|one| one.node.clone()).collect();
            plan.outside = outside(client, settings, top, written).await?;
        }
        Ok(plan)
    }

    /// Counts the nodes that a deletion deletes.
    async fn count(&mut self, client: &Table<'_>, node: &NodeRef, mark: &DeletionMark) -> Result<(), TableError> {
        self.revisions |= mark.revisions;
        self.nodes.insert(node.clone());
        if mark.mode != DeletionMode::Delete {
            return Ok(());
        }
        let mut below = Subtree::new(client, node.clone()).eventually();
        loop {
            let found = below.next().await?;
            if found.is_empty() {
                return Ok(());
            }
            let there = found.into_iter().filter(|found| found.record.is_some());
            self.nodes.extend(there.map(|found| found.node));
            if self.nodes.len() > COUNTED_NODES_MAX {
                self.is_cut = true;
                return Ok(());
            }
        }
    }

    pub(super) fn json(&self) -> Value {
        let surplus: BTreeMap<&str, usize> = self.surplus.iter().map(|(kind, count)| (kind.as_str(), *count)).collect();
        json!({
            "writes": self.writes, "write_units_min": self.units, "dollars_min": cost::dollars(self.units),
            "nodes_deleted": self.nodes.len(), "nodes_deleted_is_min": self.is_cut,
            "revisions_deleted": self.revisions, "names_claimed": self.of_tidied(Kind::NameUnclaimed),
            "claims_deleted": self.of_tidied(Kind::NameLeft), "empty_totals_deleted": self.of_tidied(Kind::TotalsEmpty),
            "totals_recounted": self.recounted, "surplus_deleted": surplus, "outside": self.outside,
        })
    }

    /// The plan for people, a line for each thing.
    pub(super) fn words(&self, top: Option<&NodeRef>) -> Vec<String> {
        let units = self.units;
        let is_without_rows = self.writes == self.tidied.values().sum::<usize>() + self.recounted;
        let handler = if is_without_rows { "" } else { ", and the handler puts all rows of these nodes again" };
        let mut lines = vec![format!(
            "{}{handler}: at least {}, ${:.2} at the list price of us-east-1",
            counted(self.writes as u64, "write", "writes"),
            counted(units, "write unit", "write units"),
            cost::dollars(units)
        )];
        if !self.nodes.is_empty() {
            let (least, nodes) = (if self.is_cut { "at least " } else { "" }, self.counted_nodes());
            let revisions = if self.revisions { ", with their revisions" } else { "" };
            lines.push(format!(
                "deletes {least}{nodes}{revisions}: deletions that were asked for, and have stopped, go on"
            ));
        }
        lines.extend(self.surplus.iter().map(done_to_items));
        if self.recounted > 0 {
            let nodes = counted(self.recounted as u64, "node", "nodes");
            lines.push(format!(
                "counts the totals of {nodes}, and of those above, anew, and reads the whole table for it"
            ));
        }
        let tidied = [Kind::NameUnclaimed, Kind::NameLeft, Kind::TotalsEmpty];
        let tidied = tidied.into_iter().filter_map(|kind| self.tidied.get_key_value(&kind));
        lines.extend(tidied.map(done_to_items));
        if let Some(top) = top.filter(|_| self.outside > 0) {
            let records = counted(self.outside as u64, "of these records isn't", "of these records aren't");
            lines.push(format!(
                "{records} below `{}`: what is wrong there depends on their nodes",
                shown(top.id.as_str())
            ));
        }
        lines
    }

    fn of_tidied(&self, kind: Kind) -> usize {
        self.tidied.get(&kind).copied().unwrap_or_default()
    }

    fn counted_nodes(&self) -> String {
        counted(self.nodes.len() as u64, "node", "nodes")
    }

    pub(super) fn question(&self) -> String {
        match (self.nodes.len(), self.is_cut) {
            (0, _) => "Repair?".to_owned(),
            (_, false) => format!("Repair, and delete {}?", self.counted_nodes()),
            (_, true) => format!("Repair, and delete at least {}?", self.counted_nodes()),
        }
    }

    /// Leaves what would delete nodes that the plan doesn't tell of.
    pub(super) async fn told(
        &self,
        client: &Table<'_>,
        settings: &Settings,
        due: Vec<Difference>,
    ) -> Result<Vec<Difference>, TableError> {
        let items = records_and_lineages(client, settings, due.iter()).await?;
        let is_told = |one: &Difference| self.nodes.contains(&one.node) || deletion(one, &items, settings).is_none();
        Ok(due.into_iter().filter(is_told).collect())
    }
}

/// Says what is done to the items of a kind of difference.
fn done_to_items((kind, count): (&Kind, &usize)) -> String {
    let (one, many) = match kind {
        Kind::RowSurplus => ("row that no lineage names", "rows that no lineage names"),
        Kind::LineageSurplus => {
            ("lineage without a record, with its rows", "lineages without records, with their rows")
        }
        Kind::CopySurplus => ("copy without a revision", "copies without revisions"),
        Kind::TotalsLeft | Kind::TotalsAhead => ("part of a total of another epoch", "parts of totals of other epochs"),
        Kind::CursorUnreadable => ("cursor that no handler has written", "cursors that no handler has written"),
        Kind::NameUnclaimed => ("name of a node", "names of nodes"),
        Kind::NameLeft => ("claim of a name that its node doesn't have", "claims of names that their nodes don't have"),
        Kind::TotalsEmpty => ("empty total of a node that has gone", "empty totals of nodes that have gone"),
        _ => ("record that a repair has put back", "records that repairs have put back"),
    };
    let verb = if *kind == Kind::NameUnclaimed { "claims" } else { "deletes" };
    format!("{verb} {}", counted(*count as u64, one, many))
}

async fn records_and_lineages<'d>(
    client: &Table<'_>,
    settings: &Settings,
    differences: impl Iterator<Item = &'d Difference>,
) -> Result<BTreeMap<ItemKey, Item>, TableError> {
    let schema = &settings.schema;
    let nodes: BTreeSet<&NodeRef> = differences.map(|difference| &difference.node).collect();
    let keys: Vec<ItemKey> = nodes.iter().flat_map(|node| [schema.node_key(node), schema.lineage_key(node)]).collect();
    client.get_all(&keys, &ReadOptions { strong: false, attributes: None }).await
}

/// The deletion that goes on if this is mended.
fn deletion(difference: &Difference, items: &BTreeMap<ItemKey, Item>, settings: &Settings) -> Option<DeletionMark> {
    let schema = &settings.schema;
    match difference.kind {
        Kind::DeletionStuck | Kind::CursorStuck => DeletionMark::read(items.get(&schema.node_key(&difference.node))?),
        Kind::LineageSurplus => {
            let stored = Stored::read(items.get(&schema.lineage_key(&difference.node)), schema);
            Some(stored.lineage()?.deleting.as_ref()?.mark.clone())
        }
        _ => None,
    }
}

/// The least write units that mending a difference takes, what the handler writes included.
fn units_min(difference: &Difference, items: &BTreeMap<ItemKey, Item>, settings: &Settings) -> u64 {
    let (node, schema) = (&difference.node, &settings.schema);
    let record = items.get(&schema.node_key(node)).map_or(1, |item| cost::units(item_bytes(item)));
    let stored = Stored::read(items.get(&schema.lineage_key(node)), schema);
    let rows = stored.lineage().map_or(0, |lineage| rows(&lineage.placement, node, schema).len() as u64);
    // A row is about as large as the record that it copies.
    let row = if settings.copied == Copied::All { record } else { 1 };
    match difference.kind {
        kind if kind.is_redriven() => record + rows * row + u64::from(kind.names_rows()),
        // A transaction of five actions takes two units for each.
        kind if kind.is_recounted() => 10,
        // The record is put and deleted; the handler deletes the rows and the lineage.
        Kind::LineageSurplus => 2 + rows + 1,
        // A transaction of a check and a write takes two units for each.
        Kind::RowSurplus | Kind::NameUnclaimed => 4,
        // The record or a cursor is written; the record, its rows and the lineage are deleted.
        Kind::DeletionStuck => 1 + record + rows + 1,
        _ => 1,
    }
}

/// How many of these nodes are neither `top` nor below it, by their records.
async fn outside(
    client: &Table<'_>,
    settings: &Settings,
    top: &NodeRef,
    nodes: BTreeSet<NodeRef>,
) -> Result<usize, TableError> {
    let schema = &settings.schema;
    let mut parents: BTreeMap<NodeRef, Option<NodeRef>> = BTreeMap::new();
    let mut asked: BTreeSet<NodeRef> = nodes.iter().filter(|node| *node != top).cloned().collect();
    for _ in 0..STEPS_MAX {
        if asked.is_empty() {
            break;
        }
        let keys: Vec<ItemKey> = asked.iter().map(|node| schema.node_key(node)).collect();
        let items = client.get_all(&keys, &ReadOptions { strong: false, attributes: None }).await?;
        for node in std::mem::take(&mut asked) {
            let base =
                items.get(&schema.node_key(&node)).and_then(|item| BaseNode::read(item.clone(), &node, schema).ok());
            let parent = base.and_then(|base| base.parent).map(|parent| node.sibling(parent));
            asked.extend(parent.clone());
            parents.insert(node, parent);
        }
        asked.retain(|node| node != top && !parents.contains_key(node));
    }
    let is_below = |node: &NodeRef| {
        let up = std::iter::successors(Some(node), |node| parents.get(*node).and_then(Option::as_ref));
        up.take(STEPS_MAX).any(|node| node == top)
    };
    Ok(nodes.iter().filter(|node| !is_below(node)).count())
}
