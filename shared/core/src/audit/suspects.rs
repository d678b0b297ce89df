//! What seems to be wrong, and since when it has been the same.
//!
//! Rows follow their records, and the table doesn't say how far the stream is behind. But what goes away by itself
//! tells: a suspect counts only if it has outlived all of these by far. What goes away because something was mended
//! tells nothing. That is what was mended, and what belongs to such a node, waits for it or lies below it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Difference, Kind, Subject};
use crate::keys::{ItemKey, NodeRef};

/// A suspect counts once it has lasted this many times as long as the longest one that went away by itself.
const OUTLIVES: u32 = 3;

/// Most settling times that a suspect must last: an hour, at 10 minutes each. A longer lag sets off its own alarms.
const SETTLES_MAX: u32 = 6;

/// For how many settling times the auditor remembers how long a suspect lasted: 6 hours, at 10 minutes each.
const REMEMBERS: u32 = 36;

/// The auditor gives up on a suspect that still changes after this many settling times.
const PATIENCE: u32 = 5;

/// How often it is looked at, at least. Looks may be far apart.
const LOOKS_MIN: u32 = 5;

/// Something that seems to be wrong. Times are counted from any moment that stays the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suspect {
    /// The suspected difference.
    pub difference: Difference,
    /// How far it is known.
    pub stage: Stage,
    /// True once it was counted among the differences.
    pub counted: bool,
    /// True once a mend explains that it goes away, or changes.
    pub(super) explained: bool,
    /// When it was first suspected, or mended, or a mend has come to explain it.
    pub(super) first: Duration,
    /// When a strong look first found it with this evidence. `None`: only a pass, whose reads may lag, has seen it.
    pub(super) since: Option<Duration>,
    pub(super) seen: Duration,
    /// How many strong looks have found it.
    pub(super) looks: u32,
}

/// How far a suspect is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// It may go away by itself.
    Suspected,
    /// It counts, and waits for its turn to be mended.
    Confirmed,
    /// It was mended, and the handler may still be at work.
    Mended,
}

impl Suspect {
    fn new(difference: Difference, now: Duration) -> Self {
        Self {
            difference,
            stage: Stage::Suspected,
            counted: false,
            explained: false,
            first: now,
            since: None,
            seen: now,
            looks: 0,
        }
    }

    /// How long it is known to have been the same.
    fn age(&self) -> Option<Duration> {
        Some(self.seen.saturating_sub(self.since?))
    }

    /// True if a strong look has shown what isn't ours to mend. Nothing has to wait for it.
    fn is_plain(&self) -> bool {
        self.since.is_some() && self.difference.kind.is_finding()
    }

    fn key(&self) -> (ItemKey, Kind) {
        (self.difference.key.clone(), self.difference.kind)
    }
}

/// The suspects of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suspects {
    /// How long a suspect must be the same where none goes away by itself.
    pub(super) settle: Duration,
    suspects: BTreeMap<(ItemKey, Kind), Suspect>,
    pub(super) longest: Longest,
    /// True for those of the auditor, which has no end: what it learns has a bound, and is forgotten.
    is_endless: bool,
}

/// The longest time that a suspect lasted that has gone away by itself, or has changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Longest {
    pub(super) lasted: Duration,
    /// When it was last found to have gone.
    pub(super) at: Duration,
}

/// The nodes that have to be mended before a suspect, nearest first.
struct Chain<'s> {
    nodes: Vec<&'s NodeRef>,
    /// The suspect that waits for none, and for which all of them wait in the end.
    first: Option<&'s Suspect>,
}

impl Suspects {
    /// No suspects yet. One counts after this time at the earliest.
    #[must_use]
    pub fn new(settle: Duration) -> Self {
        Self { settle, longest: Longest::default(), suspects: BTreeMap::new(), is_endless: false }
    }

    pub(super) fn endless(settle: Duration, longest: Longest, suspects: impl IntoIterator<Item = Suspect>) -> Self {
        let suspects = suspects.into_iter().map(|suspect| (suspect.key(), suspect)).collect();
        Self { settle, longest, suspects, is_endless: true }
    }

    /// How long a suspect must be the same until it counts.
    #[must_use]
    pub fn settle(&self) -> Duration {
        let outlives = self.longest.lasted.saturating_mul(OUTLIVES);
        let most = if self.is_endless { self.settle.saturating_mul(SETTLES_MAX) } else { Duration::MAX };
        self.settle.max(outlives.min(most))
    }

    /// How long what still changes is waited for.
    #[must_use]
    pub fn patience(&self) -> Duration {
        self.settle().saturating_mul(PATIENCE)
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
            let suspect = Suspect::new(difference, now);
            self.suspects.entry(suspect.key()).or_insert(suspect);
        }
    }

    /// Takes all that a strong look at these subjects has found. A difference with other evidence than before is new.
    /// Returns those gone, but for a node that was mended or counted and is wrong in another way now.
    pub fn take_again(&mut self, subjects: &BTreeSet<Subject>, found: Vec<Difference>, now: Duration) -> Vec<Suspect> {
        let there: BTreeSet<(ItemKey, Kind)> = found.iter().map(|one| (one.key.clone(), one.kind)).collect();
        let gone = self
            .suspects
            .extract_if(.., |key, suspect| !there.contains(key) && subjects.contains(&suspect.difference.subject()));
        let mut gone: Vec<Suspect> = gone.map(|(_, suspect)| suspect).collect();
        for suspect in &gone {
            self.went(suspect, now);
        }
        for difference in found {
            let new = Suspect { since: Some(now), looks: 1, ..Suspect::new(difference, now) };
            let was_otherwise = |one: &Suspect| {
                one.difference.identity() == new.difference.identity() && (one.counted || one.stage == Stage::Mended)
            };
            let known = self.suspects.get(&new.key()).cloned();
            let known = known.or_else(|| gone.iter().position(was_otherwise).map(|at| gone.swap_remove(at)));
            let Some(known) = known else {
                self.suspects.insert(new.key(), new);
                continue;
            };
            let is_same =
                known.difference.kind == new.difference.kind && known.difference.evidence == new.difference.evidence;
            if !is_same && known.since.is_some() {
                self.went(&known, now);
            }
            let since = known.since.filter(|_| is_same).or(Some(now));
            let stage = if is_same || known.stage == Stage::Mended { known.stage } else { Stage::Suspected };
            let suspect =
                Suspect { difference: new.difference, stage, since, seen: now, looks: known.looks + 1, ..known };
            self.suspects.insert(suspect.key(), suspect);
        }
        gone
    }

    /// Learns from a suspect that has gone away, or has changed: others may last as long. A suspect
    /// that a mend removed teaches nothing, and of a time without a look at most the settling time counts. A finding
    /// says nothing of the lag: its owner ends it. Totals seem wrong as long as something below them is.
    fn went(&mut self, suspect: &Suspect, now: Duration) {
        let kind = suspect.difference.kind;
        if suspect.stage == Stage::Mended || suspect.explained || kind.is_finding() || kind.is_recounted() {
            return;
        }
        let unseen = now.saturating_sub(suspect.seen).min(self.settle);
        let lasted = suspect.age().unwrap_or_default() + unseen;
        if lasted >= self.longest.lasted {
            self.longest = Longest { lasted, at: now };
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

    /// True if all suspects count. Else all have to be looked at again, as the time after which they count may grow.
    #[must_use]
    pub fn all_count(&self) -> bool {
        self.iter().all(|suspect| self.counts(suspect))
    }

    /// The suspects that have lasted for the settling time at least, and don't count yet: they wait for others, or
    /// others went away by themselves after a time that isn't much shorter.
    pub fn unconfirmed(&self) -> impl Iterator<Item = &Suspect> {
        self.iter()
            .filter(|suspect| suspect.stage == Stage::Suspected && suspect.age().is_some_and(|age| age >= self.settle))
    }

    /// Takes out those that count.
    pub fn take_settled(&mut self) -> Vec<Suspect> {
        self.take_out(|all, suspect| all.counts(suspect))
    }

    /// Takes out those that were mended, and count all the same.
    pub fn take_unheeded(&mut self) -> Vec<Suspect> {
        self.take_out(|all, suspect| suspect.stage == Stage::Mended && all.counts(suspect))
    }

    /// Takes out those that count and wait for no other node, or wait in vain: of nodes in a circle one goes first.
    pub(super) fn take_due(&mut self, waits_in_vain: impl Fn(&Difference) -> bool) -> Vec<Suspect> {
        self.take_out(|all, suspect| {
            let Difference { kind, node, waits_for, .. } = &suspect.difference;
            let is_in_circle = || kind.names_rows() && all.chain(suspect).nodes.contains(&node);
            all.counts(suspect) && (waits_for.is_none() || waits_in_vain(&suspect.difference) || is_in_circle())
        })
    }

    /// Takes out those that still change, long after they were first suspected, with those that wait for them.
    pub fn take_restless(&mut self, now: Duration) -> Vec<Suspect> {
        let patience = self.patience();
        let restless = |suspect: &Suspect| {
            let is_long = now.saturating_sub(suspect.first) > patience && suspect.looks >= LOOKS_MIN;
            suspect.stage != Stage::Confirmed && is_long
        };
        self.take_out(|all, suspect| restless(all.chain(suspect).first.unwrap_or(suspect)))
    }

    fn take_out(&mut self, which: impl Fn(&Self, &Suspect) -> bool) -> Vec<Suspect> {
        let taken: Vec<_> = self.iter().filter(|suspect| which(self, suspect)).map(Suspect::key).collect();
        taken.iter().filter_map(|key| self.suspects.remove(key)).collect()
    }

    /// The suspects that say where nodes stand, or which rows they have: others may wait for these nodes.
    fn deciding(&self) -> impl Iterator<Item = &Suspect> {
        self.iter().filter(|suspect| suspect.difference.kind.names_rows())
    }

    fn chain<'s>(&'s self, suspect: &'s Suspect) -> Chain<'s> {
        let mut chain = Chain { nodes: Vec::new(), first: None };
        let mut at = suspect;
        while let Some(node) = at.difference.waits_for.as_ref().filter(|node| !chain.nodes.contains(node)) {
            chain.nodes.push(node);
            let Some(next) = self.deciding().find(|other| other.difference.node == *node) else { return chain };
            at = next;
        }
        chain.first = Some(at).filter(|at| at.difference.waits_for.is_none());
        chain
    }

    /// The nodes whose suspects a mend under way may explain: those that lie below a node that was mended. Whoever
    /// knows what lies above them tells [`Suspects::explain`].
    #[must_use]
    pub fn unexplained(&self) -> BTreeSet<NodeRef> {
        if self.mended().is_empty() {
            return BTreeSet::new();
        }
        let unexplained = self.iter().filter(|suspect| suspect.stage != Stage::Mended && !suspect.explained);
        unexplained.map(|suspect| suspect.difference.node.clone()).collect()
    }

    /// Learns which suspects the mends under way explain: what belongs to a node that was mended, waits for it, or lies
    /// below it, by these ancestors of each node. Nothing is known of a node that isn't named here.
    pub fn explain(&mut self, ancestors: &BTreeMap<NodeRef, BTreeSet<NodeRef>>, now: Duration) {
        let mended = self.mended();
        if mended.is_empty() {
            return;
        }
        let is_explained = |suspect: &&Suspect| {
            let node = &suspect.difference.node;
            let waits = || self.chain(suspect).nodes.into_iter().any(|node| mended.contains(node));
            let lies_below = || ancestors.get(node).is_none_or(|above| !above.is_disjoint(&mended));
            mended.contains(node) || waits() || lies_below()
        };
        let unexplained = self.iter().filter(|suspect| suspect.stage != Stage::Mended && !suspect.explained);
        let explained: Vec<_> = unexplained.filter(is_explained).map(Suspect::key).collect();
        for key in explained {
            if let Some(suspect) = self.suspects.get_mut(&key) {
                (suspect.explained, suspect.first, suspect.looks) = (true, now, 0);
            }
        }
    }

    fn mended(&self) -> BTreeSet<NodeRef> {
        let mended = self.iter().filter(|suspect| suspect.stage == Stage::Mended);
        mended.map(|suspect| suspect.difference.node.clone()).collect()
    }

    /// Puts a suspect back that waits for its turn.
    pub fn put_back(&mut self, suspect: Suspect) {
        self.suspects.insert(suspect.key(), suspect);
    }

    /// Puts a suspect back that was mended just now.
    pub fn put_mended(&mut self, difference: Difference, now: Duration) {
        self.put_back(Suspect { stage: Stage::Mended, counted: true, ..Suspect::new(difference, now) });
    }

    /// Forgets how long suspects lasted that went away.
    pub fn forget(&mut self) {
        self.longest = Longest::default();
    }

    /// Forgets it, if it was learned too long ago.
    pub fn forget_old(&mut self, now: Duration) {
        if self.is_endless && now.saturating_sub(self.longest.at) > self.settle.saturating_mul(REMEMBERS) {
            self.forget();
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
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
    fn a_finding_counts_after_one_look_and_holds_nothing_up() {
        for kind in Kind::ALL.into_iter().filter(|kind| kind.is_finding()) {
            a_finding_counts_after_one_look(kind);
        }
    }

    fn a_finding_counts_after_one_look(kind: Kind) {
        let finding = |evidence| Difference { kind, ..difference("a", evidence) };
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

    fn node(id: &str) -> NodeRef {
        difference(id, 0).node
    }

    fn waiting(id: &str, waits_for: &str) -> Difference {
        let kind = Kind::LineageWrong;
        Difference { kind, waits_for: Some(node(waits_for)), ..difference(id, 1) }
    }

    fn subjects(suspects: &Suspects) -> BTreeSet<Subject> {
        suspects.iter().map(|suspect| suspect.difference.subject()).collect()
    }

    #[test]
    fn what_a_mend_explains_teaches_nothing() {
        let mut suspects = Suspects::new(seconds(5));
        let of_the_node =
            Difference { kind: Kind::RowSurplus, key: ItemKey::new("x", "NODE#0001#a"), ..difference("a", 1) };
        let others = vec![waiting("b", "a"), waiting("c", "b"), of_the_node, difference("below", 1)];
        let found = [vec![difference("a", 1), difference("beside", 1)], others].concat();
        let all: BTreeSet<Subject> = found.iter().map(Difference::subject).collect();
        suspects.take_again(&all, found.clone(), seconds(0));
        suspects.take_again(&all, found.clone(), seconds(8));
        assert!(suspects.unexplained().is_empty(), "nothing was mended");
        suspects.put_mended(difference("a", 1), seconds(8));
        let above = |id: &str| match id {
            "below" => ["between", "a"].map(node).into(),
            _ => BTreeSet::new(),
        };
        let read = suspects.unexplained().into_iter().map(|node| (node.clone(), above(node.id.as_str()))).collect();
        suspects.explain(&read, seconds(8));
        assert_eq!(suspects.unexplained(), ["beside"].map(node).into());
        suspects.take_again(&all, vec![difference("beside", 1)], seconds(100));
        assert_eq!((suspects.settle(), suspects.len()), (seconds(5), 1));
        // What isn't explained has gone by itself. (Of the time without a look 5 seconds count.)
        suspects.take_again(&all, vec![], seconds(200));
        assert_eq!(suspects.settle(), seconds(3 * 105));
    }

    #[test]
    fn of_what_cant_be_read_nobody_knows_so_that_it_teaches_nothing() {
        let mut suspects = Suspects::new(seconds(5));
        suspects.put_mended(difference("a", 1), seconds(0));
        suspects.take_again(&BTreeSet::new(), vec![difference("unread", 1)], seconds(0));
        suspects.explain(&BTreeMap::new(), seconds(0));
        suspects.take_again(&subjects(&suspects), vec![], seconds(50));
        assert_eq!(suspects.settle(), seconds(5));
    }

    #[test]
    fn what_an_auditor_learns_has_a_bound_and_is_forgotten() {
        let mut suspects = Suspects::endless(seconds(10), Longest::default(), []);
        let all: BTreeSet<Subject> = [difference("a", 0).subject()].into();
        for now in [0, 1_000, 1_001] {
            let found = if now > 1_000 { vec![] } else { vec![difference("a", 1)] };
            suspects.take_again(&all, found, seconds(now));
        }
        assert_eq!(suspects.settle(), seconds(60));
        suspects.forget_old(seconds(1_001 + 360));
        assert_eq!(suspects.settle(), seconds(60));
        suspects.forget_old(seconds(1_001 + 361));
        assert_eq!(suspects.settle(), seconds(10));
    }

    #[test]
    fn what_waits_for_a_suspect_has_its_turn_after_it_and_is_given_up_with_it() {
        let mut suspects = Suspects::new(seconds(10));
        let found = vec![difference("a", 1), waiting("b", "a"), waiting("c", "b")];
        let all: BTreeSet<Subject> = found.iter().map(Difference::subject).collect();
        for now in 0..=6 {
            suspects.take_again(&all, found.clone(), seconds(now * 10));
        }
        let ids = |taken: &[Suspect]| taken.iter().map(|one| one.difference.node.id.to_string()).collect::<Vec<_>>();
        let due = suspects.take_due(|_| false);
        assert_eq!(ids(&due), ["a"]);
        // It waits for its turn, and so do the others, however long that takes.
        let [first] = due.try_into().unwrap();
        suspects.put_back(Suspect { stage: Stage::Confirmed, ..first });
        assert_eq!((suspects.unconfirmed().count(), suspects.take_restless(seconds(1_000)).len()), (2, 0));
        // Only if it is given up they are.
        suspects.take_again(&all, vec![difference("a", 2), waiting("b", "a"), waiting("c", "b")], seconds(70));
        assert_eq!(ids(&suspects.take_restless(seconds(10_000))), ["a", "b", "c"]);
    }

    #[test]
    fn of_a_circle_somebody_is_the_first_and_what_lies_below_it_waits() {
        let mut suspects = Suspects::new(seconds(10));
        let found = vec![waiting("a", "b"), waiting("b", "a"), waiting("c", "b")];
        let all: BTreeSet<Subject> = found.iter().map(Difference::subject).collect();
        for now in [0, 10] {
            suspects.take_again(&all, found.clone(), seconds(now));
        }
        let due = suspects.take_due(|_| false);
        assert_eq!(due.iter().map(|one| one.difference.node.id.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(suspects.len(), 1);
    }

    #[test]
    fn a_node_that_is_wrong_in_another_way_after_its_mend_isnt_healed_and_isnt_counted_anew() {
        let mut suspects = Suspects::new(seconds(10));
        suspects.put_mended(difference("a", 1), seconds(0));
        let rows = Difference { kind: Kind::RowMissing, key: ItemKey::new("x", "NODE#0001#a"), ..difference("a", 2) };
        let gone = suspects.take_again(&subjects(&suspects), vec![rows], seconds(10));
        assert!(gone.is_empty());
        assert!(suspects.iter().all(|one| one.counted && one.stage == Stage::Mended));
        assert_eq!(suspects.take_again(&subjects(&suspects), vec![], seconds(20)).len(), 1);
    }
}
