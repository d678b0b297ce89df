//! How far the auditor has come: what it keeps in the table from one run to the next.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::difference::identity_of;
use super::suspects::{Longest, Suspect, Suspects};
use super::{Difference, Kind, Subject, Trail};
use crate::keys::{ItemKey, NodeRef, Schema};
use crate::model::Item;

mod item;
#[cfg(test)]
mod tests;

/// Clocks differ: a time further ahead than this of the clock that reads it, in seconds, can't be true.
const AHEAD_SECONDS_MAX: u64 = 600;

/// Most differences left in a pass that are remembered, at 8 bytes each. Others may be counted more than once.
const LEFT_MAX: usize = 10_000;

/// A position in a part of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    /// The key of the last item that was looked at.
    pub after: ItemKey,
    /// The node whose history the page has begun with: a long one isn't looked at once more for each of its pages.
    pub history: Option<NodeRef>,
}

/// The findings of a pass over the table so far. Times are in seconds since 1970.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pass {
    /// The pass's number, from 1.
    pub number: u64,
    /// When it began.
    pub began: u64,
    /// When everything was looked at, and nothing was suspected any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<u64>,
    /// The number of items that it has seen.
    pub items: u64,
    /// How many nodes and histories were compared besides, because they were written lately ([`super::Trail`]).
    // An older auditor hasn't written it.
    #[serde(default)]
    pub recent: u64,
    /// The number of differences that count, one for each node, row without an owner, copy and cursor.
    pub differences: u64,
    /// How many of them were mended and are right now.
    pub healed: u64,
    /// How many of them were left: a repair has changed nothing, or none is wanted.
    pub left: u64,
    /// The number of differences that changed for as long as the auditor waits.
    pub restless: u64,
    /// Suspects for which there was no room.
    pub skipped: u64,
    /// Repairs without effect since the last that had one. Where there are many, no handler takes them.
    pub unheeded: u64,
    /// Findings about base records, by their kinds, as the pass has met them.
    #[serde(with = "item::findings")]
    pub findings: BTreeMap<Kind, u64>,
}

/// The auditor's state, the item `AUDIT`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditorState {
    /// The number of runs so far. A run saves its state only if no other has saved meanwhile.
    pub runs: u64,
    /// When the first run began, in seconds since 1970.
    pub began: u64,
    /// When the last run saved, in seconds since 1970.
    pub saved: u64,
    /// The pass that is under way, or the last one.
    pub pass: Pass,
    /// The last pass that has ended.
    pub last: Option<Pass>,
    /// Where the scan of the pass goes on; `None` at its beginning.
    pub position: Option<Position>,
    /// True when the scan of the pass is done, and only suspects are left.
    pub scanned: bool,
    /// All that stood in the table at this time, in seconds since 1970, was compared since, and its faults are known.
    pub right_as_of: Option<u64>,
    /// When the newest trail was left that was followed, in seconds since 1970. 0 before the first.
    pub trail_at: u64,
    /// The differences that may count.
    pub suspects: Suspects,
    /// Hashes of the nodes or items that this pass has left or given up, and doesn't suspect again.
    left: BTreeSet<u64>,
}

/// The item, as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The state.
    pub state: AuditorState,
    /// The attributes that can't be true, and were set anew: they are malformed, or tell a time to come.
    pub impossible: Vec<&'static str>,
}

impl AuditorState {
    /// The attribute that counts the runs.
    pub const RUNS: &str = "runs";

    /// The state before the first run.
    #[must_use]
    pub fn new(settle: Duration, now: u64) -> Self {
        Self {
            runs: 0,
            began: now,
            saved: now,
            pass: Pass::default(),
            last: None,
            position: None,
            scanned: true,
            right_as_of: None,
            trail_at: 0,
            suspects: Suspects::endless(settle, Longest::default(), []),
            left: BTreeSet::new(),
        }
    }

    /// Counts a difference that is left as it is, and doesn't suspect it again in this pass.
    pub fn leave(&mut self, difference: &Difference) {
        self.pass.left += 1;
        self.remember(difference);
    }

    /// Counts a suspect that still changes, and doesn't suspect it again in this pass.
    pub fn give_up(&mut self, difference: &Difference) {
        self.pass.restless += 1;
        self.remember(difference);
    }

    fn remember(&mut self, difference: &Difference) {
        if self.left.len() < LEFT_MAX {
            self.left.insert(difference.identity());
        }
    }

    /// True for what this pass has left, or has given up.
    #[must_use]
    pub fn is_left(&self, difference: &Difference) -> bool {
        self.left.contains(&difference.identity())
    }

    /// Takes out the suspects that are to be mended now, and before them those that wait for a node which this pass has
    /// left, or has given up: to mend these below such a node would be no use.
    pub fn take_due(&mut self) -> (Vec<Suspect>, Vec<Suspect>) {
        let left = &self.left;
        let waits_in_vain =
            |one: &Difference| one.waits_for.as_ref().is_some_and(|node| left.contains(&identity_of(node)));
        let due = self.suspects.take_due(waits_in_vain);
        due.into_iter().partition(|suspect| waits_in_vain(&suspect.difference))
    }

    /// Begins the next pass, if the last one has ended and this time has gone by since it began.
    pub fn begin_pass(&mut self, every: Duration, now: u64) {
        let is_over = self.pass.number == 0 || self.pass.ended.is_some();
        let is_due = self.pass.number == 0 || now.saturating_sub(self.pass.began) >= every.as_secs();
        if is_over && is_due {
            self.pass = Pass { number: self.pass.number + 1, began: now, ..Pass::default() };
            (self.position, self.scanned) = (None, false);
            self.suspects.forget();
            self.left.clear();
        }
    }

    /// Ends the pass if nothing of it is left. Returns how many seconds it took.
    pub fn end_pass(&mut self, now: u64) -> Option<u64> {
        if self.pass.ended.is_some() || !self.scanned || !self.suspects.is_empty() {
            return None;
        }
        self.pass.ended = Some(now);
        self.last = Some(self.pass.clone());
        if self.pass.skipped == 0 {
            self.right_as_of = Some(self.pass.began);
        }
        Some(now.saturating_sub(self.pass.began))
    }

    /// Seconds since the oldest key was compared; if no pass has ended, since the first run at least.
    #[must_use]
    pub fn age(&self, now: u64) -> u64 {
        now.saturating_sub(self.right_as_of.unwrap_or(self.began))
    }

    /// Differences in a million compared items, since the last pass that has ended began. `None` before any comparison.
    #[must_use]
    pub fn wrong_per_million(&self) -> Option<f64> {
        let last = self.last.as_ref().filter(|last| last.number != self.pass.number);
        let sum = |of: fn(&Pass) -> u64| (of(&self.pass) + last.map_or(0, of)) as f64;
        let compared = sum(|pass| pass.items + pass.recent);
        (compared > 0.0).then(|| sum(|pass| pass.differences) * 1e6 / compared)
    }

    /// Takes the trails left since those followed last. Returns the subjects: one of each trail, then another of each.
    pub fn follow<'i>(
        &mut self,
        trails: impl IntoIterator<Item = &'i Item>,
        schema: &Schema,
        now: u64,
    ) -> Vec<Subject> {
        let since = self.trail_at;
        let mut subjects = Vec::new();
        for (at, of_trail) in trails.into_iter().filter_map(|item| Trail::read(item, schema)) {
            // A time far ahead can't be true, and would hide all others.
            if at > since && at <= now.saturating_add(AHEAD_SECONDS_MAX) {
                self.trail_at = self.trail_at.max(at);
                subjects.extend(of_trail.into_iter().enumerate());
            }
        }
        subjects.sort();
        let mut known = BTreeSet::new();
        subjects.into_iter().map(|(_, subject)| subject).filter(|subject| known.insert(subject.clone())).collect()
    }
}
