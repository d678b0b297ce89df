//! What seems to be wrong, and since when it has been the same.
//!
//! Rows follow their records, and nobody can ask the table how far the stream is behind. But what goes away by itself tells: a suspect
//! counts only if it has outlived all of these by far.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use sapwood_core::audit::{Difference, Kind, Subject};
use sapwood_core::keys::ItemKey;

/// How long to wait before each look at a suspect. From then on it is looked at as often as the last says.
const LOOKS_AFTER: [Duration; 4] =
    [Duration::from_secs(2), Duration::from_secs(5), Duration::from_secs(10), Duration::from_secs(20)];

/// How many times as long as any suspect that went away by itself another one must last until it counts.
const OUTLIVES: u32 = 3;

/// How many times the settling time what still changes is waited for.
const PATIENCE: u32 = 5;

struct Suspect {
    difference: Difference,
    /// When a strong look first found it with this evidence. None: only a pass has seen it, which reads what may be a moment old.
    since: Option<Instant>,
    /// When it was last found.
    seen: Instant,
}

impl Suspect {
    /// How long it is known to have been the same.
    fn age(&self) -> Option<Duration> {
        Some(self.seen.saturating_duration_since(self.since?))
    }
}

/// The suspects of a table.
pub(super) struct Suspects {
    settle: Duration,
    suspects: BTreeMap<(ItemKey, Kind), Suspect>,
    /// The longest time that a suspect lasted that has gone away, or has changed.
    longest: Duration,
}

impl Suspects {
    /// No suspects yet. One counts after this time at the earliest.
    pub(super) fn new(settle: Duration) -> Self {
        Self { settle, suspects: BTreeMap::new(), longest: Duration::ZERO }
    }

    /// How long a suspect must be the same until it counts.
    pub(super) fn settle(&self) -> Duration {
        self.settle.max(self.longest.saturating_mul(OUTLIVES))
    }

    /// Takes what a pass suspects.
    pub(super) fn take(&mut self, found: Vec<Difference>, now: Instant) {
        for difference in found {
            let key = (difference.key.clone(), difference.kind);
            self.suspects.insert(key, Suspect { difference, since: None, seen: now });
        }
    }

    /// Takes what a strong look at these subjects has found: all that there is to find of them. What has other evidence than before is new.
    pub(super) fn take_again(&mut self, subjects: &BTreeSet<Subject>, found: Vec<Difference>, now: Instant) {
        let there: BTreeSet<(ItemKey, Kind)> = found.iter().map(|one| (one.key.clone(), one.kind)).collect();
        let longest = &mut self.longest;
        self.suspects.retain(|key, suspect| {
            let stays = there.contains(key) || !subjects.contains(&suspect.difference.subject());
            if !stays {
                *longest = (*longest).max(now.saturating_duration_since(suspect.since.unwrap_or(suspect.seen)));
            }
            stays
        });
        for difference in found {
            let key = (difference.key.clone(), difference.kind);
            let known = self.suspects.get(&key);
            let since = match known.map(|known| (known.since, known.difference.evidence == difference.evidence)) {
                Some((Some(since), true)) => since,
                Some((Some(since), false)) => {
                    self.longest = self.longest.max(now.saturating_duration_since(since));
                    now
                }
                Some((None, _)) | None => now,
            };
            self.suspects.insert(key, Suspect { difference, since: Some(since), seen: now });
        }
    }

    /// The subjects to look at again: as long as one of them doesn't count, all of them, because the time after which they count may grow.
    pub(super) fn to_look_at(&self) -> BTreeSet<Subject> {
        if self.suspects.values().all(|suspect| self.counts(suspect)) {
            return BTreeSet::new();
        }
        self.suspects.values().map(|suspect| suspect.difference.subject()).collect()
    }

    fn counts(&self, suspect: &Suspect) -> bool {
        suspect.age().is_some_and(|age| age >= self.settle())
    }

    /// Those that count, and the others.
    pub(super) fn settled(self) -> (Vec<Difference>, Vec<Difference>) {
        let (mut settled, mut moving) = (Vec::new(), Vec::new());
        for suspect in self.suspects.values() {
            let list = if self.counts(suspect) { &mut settled } else { &mut moving };
            list.push(suspect.difference.clone());
        }
        (settled, moving)
    }

    /// How long to wait before a look, from 0. `None` when what still changes is left alone.
    pub(super) fn wait_before(&self, look: usize, begun: Instant, now: Instant) -> Option<Duration> {
        if look > 0 && now.saturating_duration_since(begun) > self.settle() * PATIENCE {
            return None;
        }
        let wait = LOOKS_AFTER.get(look).copied().unwrap_or(LOOKS_AFTER[LOOKS_AFTER.len() - 1]);
        Some(wait.min(self.settle).max(Duration::from_millis(100)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sapwood_core::keys::{Id, NodeRef};

    #[allow(clippy::unwrap_used)]
    fn difference(id: &str, evidence: u64) -> Difference {
        let node = NodeRef::from(Id::new(id).unwrap());
        Difference { key: ItemKey::new(id, "LINEAGE"), kind: Kind::LineageWrong, node, evidence }
    }

    fn seconds(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    #[test]
    #[allow(clippy::disallowed_methods)]
    fn a_suspect_counts_when_it_has_outlived_those_that_went_away() {
        let begun = Instant::now();
        let all: BTreeSet<Subject> = ["a", "b"].map(|id| difference(id, 0).subject()).into();
        let mut suspects = Suspects::new(seconds(5));
        // However long the pass takes, a strong look has to find what it has seen, and find it again.
        suspects.take(vec![difference("a", 1), difference("b", 1)], begun);
        assert_eq!(suspects.to_look_at(), all);
        suspects.take_again(&all, vec![difference("a", 1), difference("b", 1)], begun + seconds(100));
        assert_eq!(suspects.to_look_at(), all);
        // After 4 seconds one of them goes away: the other has to last 12.
        suspects.take_again(&all, vec![difference("a", 1)], begun + seconds(104));
        suspects.take_again(&all, vec![difference("a", 1)], begun + seconds(111));
        assert_eq!(suspects.to_look_at().len(), 1);
        suspects.take_again(&all, vec![difference("a", 1)], begun + seconds(112));
        assert!(suspects.to_look_at().is_empty());
        // Other evidence is another suspect.
        suspects.take_again(&all, vec![difference("a", 2)], begun + seconds(113));
        assert_eq!(suspects.settle(), seconds(39));
        suspects.take_again(&all, vec![difference("a", 2)], begun + seconds(151));
        let (settled, moving) = suspects.settled();
        assert_eq!((settled.len(), moving.len()), (0, 1));
    }

    #[test]
    #[allow(clippy::disallowed_methods)]
    fn what_changes_for_ever_is_left_alone() {
        let begun = Instant::now();
        let suspects = Suspects::new(seconds(5));
        assert_eq!(suspects.wait_before(0, begun, begun), Some(seconds(2)));
        // Each suspect is looked at again at least once.
        assert_eq!(suspects.wait_before(0, begun, begun + seconds(99)), Some(seconds(2)));
        assert_eq!(suspects.wait_before(9, begun, begun + seconds(25)), Some(seconds(5)));
        assert_eq!(suspects.wait_before(9, begun, begun + seconds(26)), None);
    }
}
