//! Rows that stand already, where there are more of them than an invocation may put. An earlier delivery of the record
//! may have put them. They are left out, so each delivery goes on where the one before has ended.

use std::collections::BTreeSet;

use super::Round;
use crate::keys::ItemKey;
use crate::plan::Rule;
use crate::plan::step::{Need, WritesKind};
use crate::request::{ReadOptions, Write};

/// Most bytes of rows, as requests have them, that are looked at at a time. What stands may have twice as many.
const LOOK_BYTES_MAX: usize = 4 * 1_024 * 1_024;

impl Round<'_> {
    /// Leaves out what stands as it is to be, up to the last of the writes of `first`, the node whose record comes
    /// first, if there are many bytes up to there. What comes behind is looked at once its record comes first.
    ///
    /// The look goes through the rows in the order in which they are put: first at one of them, and as long as some
    /// stand, at the next few. It ends early enough for puts, however few units the table has for it. Only rows that
    /// the lineage has named since before this round are looked at: nothing that began before that can delete one.
    pub(super) async fn leave_out_standing(&mut self, writes: &mut Vec<(usize, Write)>, first: usize) {
        let front = writes.iter().rposition(|(owner, _)| *owner == first).map_or(0, |last| last + 1);
        let bytes: usize = writes[..front].iter().map(|(_, write)| write.sent_bytes()).sum();
        if bytes <= self.context.limits.heavy_bytes {
            return;
        }
        let is_named = |owner: usize| self.planned.get(owner).is_some_and(|one| one.plan.is_named);
        let mut ahead: Vec<&(usize, Write)> = writes[..front].iter().filter(|(owner, _)| is_named(*owner)).collect();
        let (mut standing, mut standing_bytes, mut bytes_max) = (BTreeSet::new(), Vec::new(), 0);
        while !ahead.is_empty() {
            let behind = ahead.split_off(within(&ahead, bytes_max));
            let found = self.standing(&ahead).await;
            if found.is_empty() {
                break;
            }
            let stands = ahead.iter().filter(|(_, write)| found.contains(write.key()));
            standing_bytes.extend(stands.map(|(owner, write)| (*owner, write.sent_bytes())));
            standing.extend(found);
            (ahead, bytes_max) = (behind, LOOK_BYTES_MAX);
        }
        for (owner, bytes) in standing_bytes {
            self.planned[owner].standing_bytes += bytes;
        }
        writes.retain(|(_, write)| !standing.contains(write.key()));
    }

    /// Which of these rows stand as they are to be. What can't be read in time doesn't. The writes of earlier
    /// deliveries have ended, and strong reads alone show all of them.
    async fn standing(&self, rows: &[&(usize, Write)]) -> BTreeSet<ItemKey> {
        let need = Need {
            options: ReadOptions { strong: true, attributes: None },
            bytes_max: Some(2 * LOOK_BYTES_MAX),
            time: Some(WritesKind::Meanwhile { ahead: 0 }),
            ..Need::keys(rows.iter().map(|(_, write)| write.key().clone()))
        };
        let Ok(read) = self.io.read(need).await else { return BTreeSet::new() };
        let stands = |write: &Write| {
            let there = read.items.get(write.key());
            there.is_some_and(|there| {
                !self.context.rules.keeps(Rule::StandingRows)
                    || write.item(self.context.schema()).is_some_and(|item| item == **there)
            })
        };
        rows.iter().map(|(_, write)| write).filter(|write| stands(write)).map(|write| write.key().clone()).collect()
    }
}

/// How many of these rows have `bytes_max` bytes in requests: one at least.
fn within(rows: &[&(usize, Write)], bytes_max: usize) -> usize {
    let mut bytes = 0;
    let fits = |(_, write): &&&(usize, Write)| {
        bytes += write.sent_bytes();
        bytes <= bytes_max
    };
    rows.iter().take_while(fits).count().max(1)
}
