//! What seems to be wrong, and since when it has been the same.
//!
//! Rows follow their records, and nobody can ask the table how far the stream is behind. But what goes away by itself tells: a suspect
//! counts only if it has outlived all of these by far.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::{Difference, Kind, Subject};
use crate::keys::ItemKey;

/// How many times as long as any suspect that went away by itself another one must last until it counts.
const OUTLIVES: u32 = 3;

/// How many times the settling time what still changes is waited for.
const PATIENCE: u32 = 5;

/// How often it is looked at, at least. Looks may be far apart.
const LOOKS_MIN: u32 = 5;

/// Something that seems to be wrong. Times are counted from any moment that stays the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suspect {
    /// What seems to be wrong.
    pub difference: Difference,
    /// What is known of it.
    pub stage: Stage,
    /// When it was first suspected, or mended.
    pub(super) first: Duration,
    /// When a strong look first found it with this evidence. None: only a pass has seen it, which reads what may be a moment old.
    pub(super) since: Option<Duration>,
    /// When it was last found.
    pub(super) seen: Duration,
    /// How many strong looks have found it.
    pub(super) looks: u32,
}

/// What is known of a suspect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// It may go away by itself.
    Suspected,
    /// It counts, and waits for its turn to be mended.
    Confirmed,
    /// It was mended, and the handler may still be at work.
    Mended,
}

impl Suspect {
    /// How long it is known to have been the same.
    fn age(&self) -> Option<Duration> {
        Some(self.seen.saturating_sub(self.since?))
    }

    /// True if a strong look has shown it, and no other item has a say.
    fn is_plain(&self) -> bool {
        self.since.is_some() && self.difference.kind.is_of_one_item()
    }

    fn key(&self) -> (ItemKey, Kind) {
        (self.difference.key.clone(), self.difference.kind)
    }
}

/// The suspects of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suspects {
    settle: Duration,
    suspects: BTreeMap<(ItemKey, Kind), Suspect>,
    /// The longest time that a suspect lasted that has gone away, or has changed.
    longest: Duration,
}

impl Suspects {
    /// No suspects yet. One counts after this time at the earliest.
    #[must_use]
    pub fn new(settle: Duration) -> Self {
        Self::of(settle, Duration::ZERO, [])
    }

    /// These suspects.
    pub(super) fn of(settle: Duration, longest: Duration, suspects: impl IntoIterator<Item = Suspect>) -> Self {
        Self { settle, longest, suspects: suspects.into_iter().map(|suspect| (suspect.key(), suspect)).collect() }
    }

    /// How long a suspect must be the same until it counts.
    #[must_use]
    pub fn settle(&self) -> Duration {
        self.settle.max(self.longest.saturating_mul(OUTLIVES))
    }

    /// How long what still changes is waited for.
    #[must_use]
    pub fn patience(&self) -> Duration {
        self.settle().saturating_mul(PATIENCE)
    }

    /// The longest time that a suspect lasted that has gone away, or has changed.
    pub(super) fn longest(&self) -> Duration {
        self.longest
    }

    /// The suspects.
    pub fn iter(&self) -> impl Iterator<Item = &Suspect> {
        self.suspects.values()
    }

    /// The number of suspects.
    #[must_use]
    pub fn len(&self) -> usize {
        self.suspects.len()
    }

    /// True if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.suspects.is_empty()
    }

    /// Takes what a pass suspects. What is suspected already stays as it is.
    pub fn take(&mut self, found: Vec<Difference>, now: Duration) {
        for difference in found {
            let suspect = Suspect { difference, stage: Stage::Suspected, first: now, since: None, seen: now, looks: 0 };
            self.suspects.entry(suspect.key()).or_insert(suspect);
        }
    }

    /// Takes what a strong look at these subjects has found: all that there is to find of them. What has other evidence than before is new.
    /// Returns what has gone away.
    pub fn take_again(&mut self, subjects: &BTreeSet<Subject>, found: Vec<Difference>, now: Duration) -> Vec<Suspect> {
        let there: BTreeSet<(ItemKey, Kind)> = found.iter().map(|one| (one.key.clone(), one.kind)).collect();
        let gone = self
            .suspects
            .extract_if(.., |key, suspect| !there.contains(key) && subjects.contains(&suspect.difference.subject()));
        let gone: Vec<Suspect> = gone.map(|(_, suspect)| suspect).collect();
        for suspect in &gone {
            self.went(suspect, now);
        }
        for difference in found {
            let new =
                Suspect { difference, stage: Stage::Suspected, first: now, since: Some(now), seen: now, looks: 1 };
            let Some(known) = self.suspects.get(&new.key()).cloned() else {
                self.suspects.insert(new.key(), new);
                continue;
            };
            let is_same = known.difference.evidence == new.difference.evidence;
            if !is_same && known.since.is_some() {
                self.went(&known, now);
            }
            let since = known.since.filter(|_| is_same).or(Some(now));
            let stage = if is_same || known.stage == Stage::Mended { known.stage } else { Stage::Suspected };
            self.suspects
                .insert(new.key(), Suspect { since, stage, first: known.first, looks: known.looks + 1, ..new });
        }
        gone
    }

    /// Learns from a suspect that has gone away, or has changed: others may last as long. What was mended didn't go by itself, and of a
    /// time in which nobody looked at most the settling time counts. What one item says by itself its owner has changed.
    fn went(&mut self, suspect: &Suspect, now: Duration) {
        if suspect.stage != Stage::Mended && !suspect.difference.kind.is_of_one_item() {
            let unseen = now.saturating_sub(suspect.seen).min(self.settle);
            self.longest = self.longest.max(suspect.age().unwrap_or_default() + unseen);
        }
    }

    /// True if this is suspected already.
    #[must_use]
    pub fn contains(&self, difference: &Difference) -> bool {
        self.suspects.contains_key(&(difference.key.clone(), difference.kind))
    }

    /// The subjects of all suspects that are to be looked at again.
    #[must_use]
    pub fn subjects(&self) -> BTreeSet<Subject> {
        self.iter().filter(|suspect| !suspect.is_plain()).map(|suspect| suspect.difference.subject()).collect()
    }

    /// True if a suspect has been the same for long enough. What has counted once does until it changes.
    #[must_use]
    pub fn counts(&self, suspect: &Suspect) -> bool {
        let has_settled = || suspect.age().is_some_and(|age| age >= self.settle());
        suspect.stage == Stage::Confirmed || suspect.is_plain() || has_settled()
    }

    /// True if all suspects count. As long as one of them doesn't, all of them have to be looked at again, because the time after which
    /// they count may grow.
    #[must_use]
    pub fn all_count(&self) -> bool {
        self.iter().all(|suspect| self.counts(suspect))
    }

    /// Takes out those that count.
    pub fn take_settled(&mut self) -> Vec<Suspect> {
        let settled: Vec<_> = self.iter().filter(|suspect| self.counts(suspect)).map(Suspect::key).collect();
        settled.iter().filter_map(|key| self.suspects.remove(key)).collect()
    }

    /// Takes out those that still change, long after they were first suspected.
    pub fn take_restless(&mut self, now: Duration) -> Vec<Suspect> {
        let patience = self.patience();
        let restless = |suspect: &Suspect| {
            let is_long = now.saturating_sub(suspect.first) > patience && suspect.looks >= LOOKS_MIN;
            suspect.stage != Stage::Confirmed && is_long
        };
        self.suspects.extract_if(.., |_, suspect| restless(suspect)).map(|(_, suspect)| suspect).collect()
    }

    /// Puts a suspect back that waits for its turn.
    pub fn put_back(&mut self, suspect: Suspect) {
        self.suspects.insert(suspect.key(), suspect);
    }

    /// Puts a suspect back that was mended just now.
    pub fn put_mended(&mut self, difference: Difference, now: Duration) {
        self.put_back(Suspect { difference, stage: Stage::Mended, first: now, since: None, seen: now, looks: 0 });
    }

    /// Forgets how long suspects lasted that went away.
    pub fn forget(&mut self) {
        self.longest = Duration::ZERO;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::{Id, NodeRef};

    #[allow(clippy::unwrap_used)]
    fn difference(id: &str, evidence: u64) -> Difference {
        let node = NodeRef::from(Id::new(id).unwrap());
        Difference { key: ItemKey::new(id, "LINEAGE"), kind: Kind::LineageWrong, node, evidence, waits_for: None }
    }

    fn seconds(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    #[test]
    fn a_suspect_counts_when_it_has_outlived_those_that_went_away() {
        let all: BTreeSet<Subject> = ["a", "b"].map(|id| difference(id, 0).subject()).into();
        let mut suspects = Suspects::new(seconds(5));
        // However long the pass takes, a strong look has to find what it has seen, and find it again.
        suspects.take(vec![difference("a", 1), difference("b", 1)], seconds(0));
        assert_eq!(suspects.subjects(), all);
        suspects.take_again(&all, vec![difference("a", 1), difference("b", 1)], seconds(100));
        assert!(!suspects.all_count());
        // After 4 seconds one of them goes away: the other has to last 12.
        let gone = suspects.take_again(&all, vec![difference("a", 1)], seconds(104));
        assert_eq!(gone.len(), 1);
        suspects.take_again(&all, vec![difference("a", 1)], seconds(111));
        assert!(!suspects.all_count());
        suspects.take_again(&all, vec![difference("a", 1)], seconds(112));
        assert!(suspects.all_count());
        // Other evidence is another suspect.
        suspects.take_again(&all, vec![difference("a", 2)], seconds(113));
        assert_eq!(suspects.settle(), seconds(39));
        suspects.take_again(&all, vec![difference("a", 2)], seconds(151));
        assert!(suspects.take_settled().is_empty());
        suspects.take_again(&all, vec![difference("a", 2)], seconds(152));
        assert_eq!(suspects.take_settled().len(), 1);
        assert!(suspects.is_empty());
    }

    #[test]
    fn what_one_item_says_counts_after_one_look_and_holds_nothing_up() {
        let finding = |evidence| Difference { kind: Kind::NoOrder, ..difference("a", evidence) };
        let all: BTreeSet<Subject> = [finding(0).subject()].into();
        let mut suspects = Suspects::new(seconds(60));
        suspects.take(vec![finding(1)], seconds(0));
        assert!(!suspects.all_count());
        assert_eq!(suspects.subjects(), all);
        suspects.take_again(&all, vec![finding(1)], seconds(30));
        assert!(suspects.all_count() && suspects.subjects().is_empty());
        // Other suspects aren't held up by an owner who gives values to nodes.
        suspects.take_again(&all, vec![finding(2)], seconds(50));
        suspects.take_again(&all, vec![], seconds(500));
        assert_eq!(suspects.settle(), seconds(60));
    }

    #[test]
    fn a_time_in_which_nobody_looked_says_nothing() {
        let all: BTreeSet<Subject> = [difference("a", 0).subject()].into();
        let mut suspects = Suspects::new(seconds(10));
        suspects.take(vec![difference("a", 1)], seconds(0));
        suspects.take_again(&all, vec![difference("a", 1)], seconds(3));
        suspects.take_again(&all, vec![], seconds(1_000_000));
        assert_eq!(suspects.settle(), seconds(30));
    }

    #[test]
    fn what_was_mended_says_nothing_of_what_goes_by_itself() {
        let all: BTreeSet<Subject> = [difference("a", 0).subject()].into();
        let mut suspects = Suspects::new(seconds(5));
        suspects.put_mended(difference("a", 1), seconds(0));
        suspects.take_again(&all, vec![difference("a", 2)], seconds(50));
        let gone = suspects.take_again(&all, vec![], seconds(90));
        assert_eq!(gone[0].stage, Stage::Mended);
        assert_eq!(suspects.settle(), seconds(5));
    }

    #[test]
    fn what_changes_for_ever_is_given_up() {
        let all: BTreeSet<Subject> = [difference("a", 0).subject()].into();
        let mut suspects = Suspects::new(seconds(10));
        suspects.take(vec![difference("a", 0)], seconds(0));
        for look in 1..=20 {
            suspects.take_again(&all, vec![difference("a", look)], seconds(look));
        }
        assert!(suspects.take_restless(seconds(50)).is_empty());
        assert_eq!(suspects.take_restless(seconds(51)).len(), 1);
        // However far apart the looks are, there are some.
        suspects.take(vec![difference("a", 0)], seconds(0));
        for look in 1..=4 {
            suspects.take_again(&all, vec![difference("a", look)], seconds(look * 100));
            assert!(suspects.take_restless(seconds(look * 100)).is_empty());
        }
    }
}
