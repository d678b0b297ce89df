//! Rows that stand already, where there are more of them than an invocation may put. An earlier delivery of the record
//! may have put them. They are left out, so each delivery goes on where the one before has ended.

use std::collections::{BTreeMap, BTreeSet};

use super::Round;
use crate::keys::ItemKey;
use crate::plan::{Need, Rule, WritesKind};
use crate::request::Write;

/// About how many bytes are read at a time, as answers have them. What stands may have more than what is to be put.
const READ_BYTES_MAX: usize = 8 * 1_024 * 1_024;

impl Round<'_> {
    /// Leaves out rows that stand as they are to be, of nodes with many bytes of rows to put; of a node whose record
    /// comes after the first, once it comes first. The look goes through a node's rows in the order of their puts, as
    /// long as some stand, and ends early enough for puts, however few units the table has. Only rows that the lineage
    /// has named since before this round are looked at: nothing that began before can delete one.
    pub(super) async fn leave_out_standing(&mut self, writes: &mut Vec<(usize, Write)>) {
        let mut standing = BTreeSet::new();
        for owner in self.heavy(writes) {
            let rows: Vec<&Write> = writes.iter().filter(|(of, _)| *of == owner).map(|(_, write)| write).collect();
            let mut left = rows.as_slice();
            while !left.is_empty() {
                let (now, later) = left.split_at(within(left, self.context.limits.heavy_bytes));
                let found = self.standing(now).await;
                if found.is_empty() {
                    break;
                }
                standing.extend(found);
                left = later;
            }
        }
        writes.retain(|(owner, write)| {
            let stands = standing.contains(write.key());
            if stands && let Some(one) = self.planned.get_mut(*owner) {
                one.standing_bytes += write.sent_bytes();
            }
            !stands
        });
    }

    /// The nodes with many bytes of rows to put, up to the one whose record comes first, in the order of the writes.
    fn heavy(&self, writes: &[(usize, Write)]) -> Vec<usize> {
        let first = self.first(writes);
        let last = writes.iter().rposition(|(owner, _)| Some(*owner) == first);
        let mut bytes: BTreeMap<usize, usize> = BTreeMap::new();
        for (owner, write) in writes.iter().take(last.map_or(0, |last| last + 1)) {
            *bytes.entry(*owner).or_default() += write.sent_bytes();
        }
        bytes.retain(|owner, bytes| {
            *bytes > self.context.limits.heavy_bytes && self.planned.get(*owner).is_some_and(|one| one.plan.is_named)
        });
        bytes.into_keys().collect()
    }

    /// Returns the rows that stand as they are to be. One that can't be read in time doesn't. The writes of earlier
    /// deliveries have ended, and strong reads alone show all of them.
    async fn standing(&self, rows: &[&Write]) -> Vec<ItemKey> {
        let need = Need {
            bytes_max: Some(READ_BYTES_MAX),
            time: Some(WritesKind::Meanwhile { ahead: 0 }),
            ..Need::keys(rows.iter().map(|write| write.key().clone()))
        };
        let Ok(read) = self.io.read(need).await else { return Vec::new() };
        let stands = |write: &&&Write| {
            read.items.get(write.key()).is_some_and(|there| {
                !self.context.rules.keeps(Rule::StandingRows)
                    || write.item(self.context.schema()).is_some_and(|item| item == **there)
            })
        };
        rows.iter().filter(stands).map(|write| write.key().clone()).collect()
    }
}

/// How many of these rows have `bytes_max` bytes in requests: one at least.
fn within(rows: &[&Write], bytes_max: usize) -> usize {
    let mut bytes = 0;
    let fits = |write: &&&Write| {
        bytes += write.sent_bytes();
        bytes <= bytes_max
    };
    rows.iter().take_while(fits).count().max(1)
}
