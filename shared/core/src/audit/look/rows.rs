//! Compares rows with what records ask for.

use std::collections::BTreeMap;

use super::super::difference::Evidence;
use super::{Difference, Kind, Look, PlacedNode};
use crate::keys::{ItemKey, NodeRef, Schema};
use crate::model::{Item, Row, Shown, Stored, is_row_key, rows, shown_by};
use crate::plan::{Failure, Io, Need};
use crate::request::ReadOptions;

/// About how many bytes of rows are read at a time, as answers have them: numbers take forty times their bytes.
const ROWS_BYTES_MAX: usize = 8 * 1_024 * 1_024;

impl Look<'_> {
    /// Reads the rows of these nodes, and compares them: all at once, or a few at a time where they are large.
    pub(super) async fn look_at_rows(&mut self, io: &Io, placed: Vec<PlacedNode>) -> Result<(), Failure> {
        let (mut left, mut bytes) = (BTreeMap::new(), 0);
        for (position, PlacedNode { node, placement, shown }) in placed.iter().enumerate() {
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
                let PlacedNode { node, shown, .. } = &placed[position];
                let found = self.judge_row_of(node, &row, shown, there)?;
                self.found.extend(found.map(|one| (one, None)));
            }
        }
        // `CountWrong` comes last: repairing a node's rows also recounts the node, but recounting repairs no rows.
        self.found.sort_by_key(|(one, _)| one.kind == Kind::CountWrong);
        Ok(())
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
        // However often the node and its parent move, the row has to be what the record says.
        let judged_from = Evidence::new().and(self.item(&self.schema().node_key(node))?).and(there);
        Ok(Some(Difference::of(kind, row.key.clone(), node, &judged_from)))
    }

    pub(super) fn judge_row(&self, key: &ItemKey, node: &NodeRef) -> Result<Option<Difference>, Failure> {
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
}

/// True if a row may be there: the node's lineage names it.
pub(in crate::audit) fn names(stored: &Stored, key: &ItemKey, node: &NodeRef, schema: &Schema) -> bool {
    stored.lineage().is_some_and(|lineage| {
        let is_stale = || lineage.stale_rows.contains(key) && is_row_key(key, node, schema);
        is_stale() || rows(&lineage.placement, node, schema).iter().any(|row| row.key == *key)
    })
}
