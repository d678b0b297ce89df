//! Rows that stand already, of nodes that may have more of them than an invocation puts. An earlier delivery of the
//! record may have put some. They are left out, so each delivery goes on where the one before has ended.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::Round;
use crate::keys::ItemKey;
use crate::model::{Item, Row, Shown};
use crate::plan::Rule;
use crate::plan::step::Need;
use crate::request::ReadOptions;

/// About how many bytes of rows are read at a time, as answers have them.
const ROWS_BYTES_MAX: usize = 8 * 1_024 * 1_024;

impl Round<'_> {
    /// Reads the rows of the nodes that have many bytes of them, and leaves out those that stand as they are to be.
    /// Where they can't be read, all are put.
    pub(super) async fn leave_out_standing(&mut self) {
        let mut left = self.heavy_rows();
        let mut standing = BTreeSet::new();
        // The writes before this one of the same rows have ended. What was written since is seen by strong reads alone.
        let options = ReadOptions { strong: true, attributes: None };
        while !left.is_empty() {
            let keys = left.keys().cloned().collect();
            let need = Need { keys, options: options.clone(), bytes_max: Some(ROWS_BYTES_MAX), query: None };
            let Ok(mut read) = self.io.read(need).await else { break };
            let next = std::mem::take(&mut read.left);
            let (later, now): (BTreeMap<_, _>, BTreeMap<_, _>) =
                left.into_iter().partition(|(key, _)| next.contains(key));
            left = later;
            let stands = |row: &Row, shown: &Shown, there: &Item| {
                *there == row.item_of(shown, self.context.schema()) || !self.context.rules.keeps(Rule::StandingRows)
            };
            let is_right = |key: &ItemKey, row: &Row, shown: &Shown| {
                read.item(key).is_ok_and(|there| there.is_some_and(|there| stands(row, shown, there)))
            };
            standing
                .extend(now.into_iter().filter(|(key, (row, shown))| is_right(key, row, shown)).map(|(key, _)| key));
        }
        if !standing.is_empty() {
            self.planned.iter_mut().for_each(|one| one.plan.puts.retain(|row| !standing.contains(&row.key)));
        }
    }

    /// The rows to put of nodes that have many bytes of them, each with what it shows.
    fn heavy_rows(&self) -> BTreeMap<ItemKey, (Row, Arc<Shown>)> {
        let mut heavy = BTreeMap::new();
        for one in self.planned.iter().filter(|one| one.stopped.is_none()) {
            let Some(base) = self.bases.get(&one.node).and_then(Option::as_ref) else { continue };
            let shown = Arc::new(Shown::of(&one.node, base, self.context.settings));
            let bytes: usize = one.plan.puts.iter().map(|row| row.sent_bytes(&shown)).sum();
            if bytes > self.context.limits.heavy_bytes {
                heavy.extend(one.plan.puts.iter().map(|row| (row.key.clone(), (row.clone(), Arc::clone(&shown)))));
            }
        }
        heavy
    }
}
