//! What seems to be wrong, and since when it has been the same.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use sapwood_core::audit::{Difference, Kind, Subject};
use sapwood_core::keys::ItemKey;

/// How long to wait before each look at a suspect. From then on it is looked at as often as the last says.
const LOOKS_AFTER: [Duration; 4] =
    [Duration::from_secs(2), Duration::from_secs(5), Duration::from_secs(15), Duration::from_secs(30)];

/// How many times the settling time a suspect may go on changing.
const PATIENCE: u32 = 5;

struct Suspect {
    difference: Difference,
    /// When it was found with this evidence.
    since: Instant,
}

/// The suspects of a table.
#[derive(Default)]
pub(super) struct Suspects(BTreeMap<(ItemKey, Kind), Suspect>);

impl Suspects {
    /// Takes what a look has found. What has other evidence than before is new.
    pub(super) fn take(&mut self, found: Vec<Difference>, now: Instant) {
        for difference in found {
            let key = (difference.key.clone(), difference.kind);
            match self.0.get(&key) {
                Some(known) if known.difference.evidence == difference.evidence => {}
                _ => _ = self.0.insert(key, Suspect { difference, since: now }),
            }
        }
    }

    /// Takes what a look at these subjects has found: all that there is to find of them.
    pub(super) fn take_again(&mut self, subjects: &BTreeSet<Subject>, found: Vec<Difference>, now: Instant) {
        let there: BTreeSet<(ItemKey, Kind)> = found.iter().map(|one| (one.key.clone(), one.kind)).collect();
        self.0.retain(|key, suspect| there.contains(key) || !subjects.contains(&suspect.difference.subject()));
        self.take(found, now);
    }

    /// The subjects of those that haven't been the same for so long.
    pub(super) fn unsettled(&self, settle: Duration, now: Instant) -> BTreeSet<Subject> {
        let is_young = |suspect: &&Suspect| now.saturating_duration_since(suspect.since) < settle;
        self.0.values().filter(is_young).map(|suspect| suspect.difference.subject()).collect()
    }

    /// Those that have been the same for so long, and the others.
    pub(super) fn settled(self, settle: Duration, now: Instant) -> (Vec<Difference>, Vec<Difference>) {
        let (settled, moving): (Vec<_>, Vec<_>) =
            self.0.into_values().partition(|suspect| now.saturating_duration_since(suspect.since) >= settle);
        let differences = |of: Vec<Suspect>| of.into_iter().map(|suspect| suspect.difference).collect();
        (differences(settled), differences(moving))
    }
}

/// How long to wait before a look, from 0. `None` when what still changes is left alone.
pub(super) fn wait_before(look: usize, settle: Duration, begun: Instant, now: Instant) -> Option<Duration> {
    if now.saturating_duration_since(begun) > settle * PATIENCE + LOOKS_AFTER[0] {
        return None;
    }
    let wait = LOOKS_AFTER.get(look).copied().unwrap_or(LOOKS_AFTER[LOOKS_AFTER.len() - 1]);
    Some(wait.min(settle).max(Duration::from_millis(100)))
}
