//! How far the auditor has come: what it keeps in the table from one run to the next.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::difference::identity_of;
use super::suspects::{Longest, Stage, Suspect, Suspects};
use super::{Difference, Kind, Subject, Trail};
use crate::keys::{Id, ItemKey, NodeRef, Schema, Tenant};
use crate::model::{AttributeValue, FORMAT, FORMAT_ATTRIBUTE, Item, NewerFormat, text, with_key};

/// How far a time may be ahead of the clock that reads it, in seconds: clocks differ. What is further ahead can't be
/// true.
const AHEAD_SECONDS_MAX: u64 = 600;

/// No number of ours is larger. Additions to it don't overflow.
const NUMBER_MAX: u64 = 1 << 53;

/// Most differences of a pass that were left and are remembered, at 8 bytes each. What doesn't fit may be counted more
/// than once.
const LEFT_MAX: usize = 10_000;

/// A position in a part of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    /// The key of the last item that was looked at.
    pub after: ItemKey,
    /// The node whose history the page has begun with: a long one isn't looked at once more for each of its pages.
    pub history: Option<NodeRef>,
}

/// What a pass over the table has found so far. Times are in seconds since 1970.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pass {
    /// The pass's number, from 1.
    pub number: u64,
    /// When it began.
    pub began: u64,
    /// When everything was looked at, and nothing was suspected any more.
    pub ended: Option<u64>,
    /// The number of items that it has seen.
    pub items: u64,
    /// How many nodes and histories were compared besides, because they were written lately ([`super::Trail`]).
    pub recent: u64,
    /// The number of differences that count, one for each node, row without an owner, copy and cursor.
    pub differences: u64,
    /// How many of them were mended and are right now.
    pub healed: u64,
    /// How many of them were left: a repair has changed nothing, or none is wanted.
    pub left: u64,
    /// What changed for as long as the auditor waits: no look can say whether it is right.
    pub restless: u64,
    /// Suspects for which there was no room.
    pub skipped: u64,
    /// Repairs without effect since the last that had one. Where there are many, no handler takes them.
    pub unheeded: u64,
    /// Findings about base records, by their kinds, as the pass has met them.
    pub findings: BTreeMap<Kind, u64>,
}

/// The auditor's state, the item `AUDIT`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
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
    /// All that stood in the table at this time has been compared since, and what was wrong with it is known. In
    /// seconds since 1970.
    pub right_as_of: Option<u64>,
    /// When the newest trail was left that was followed, in seconds since 1970. 0 before the first.
    pub trail_at: u64,
    /// What seems to be wrong.
    pub suspects: Suspects,
    /// What this pass has left as it is, or has given up: hashes of each node, or item. It isn't suspected again in
    /// this pass.
    left: BTreeSet<u64>,
}

/// What is kept in the item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The state.
    pub state: State,
    /// The attributes that can't be true, and were set anew: they are malformed, or tell a time to come.
    pub impossible: Vec<&'static str>,
}

impl State {
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

    /// Seconds since the oldest key was compared: at least as long ago as the first run, if
    /// no pass has ended.
    #[must_use]
    pub fn age(&self, now: u64) -> u64 {
        now.saturating_sub(self.right_as_of.unwrap_or(self.began))
    }

    /// How many differences were found in a million items that were compared, since the last pass began that has ended.
    /// `None` before anything was compared.
    #[must_use]
    pub fn wrong_per_million(&self) -> Option<f64> {
        let last = self.last.as_ref().filter(|last| last.number != self.pass.number);
        let sum = |of: fn(&Pass) -> u64| (of(&self.pass) + last.map_or(0, of)) as f64;
        let compared = sum(|pass| pass.items + pass.recent);
        (compared > 0.0).then(|| sum(|pass| pass.differences) * 1e6 / compared)
    }

    /// Takes the trails that were left since the last ones that were followed. Returns what to look at: first one of
    /// each trail, then another of each.
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

    /// The item.
    #[must_use]
    pub fn item(&self, schema: &Schema) -> Item {
        let mut item = with_key(&schema.audit_key(), schema);
        item.insert(FORMAT_ATTRIBUTE.to_owned(), number(FORMAT));
        item.extend(self.attributes().into_iter().map(|(name, value)| (name.to_owned(), value)));
        item
    }

    fn attributes(&self) -> Vec<(&'static str, AttributeValue)> {
        let mut attributes = vec![
            (Self::RUNS, number(self.runs)),
            ("began", number(self.began)),
            ("saved", number(self.saved)),
            ("pass", self.pass.value()),
            ("scanned", AttributeValue::Bool(self.scanned)),
            ("settle", number(self.suspects.settle_min().as_secs())),
            ("longest", number(self.suspects.longest().lasted.as_secs())),
            ("longest_at", number(self.suspects.longest().at.as_secs())),
            ("suspects", AttributeValue::L(self.suspects.iter().map(suspect_value).collect())),
        ];
        attributes.extend(self.last.as_ref().map(|pass| ("last", pass.value())));
        let left = || self.left.iter().flat_map(|one| one.to_be_bytes()).collect();
        attributes.extend((!self.left.is_empty()).then(|| ("left", AttributeValue::B(left()))));
        attributes.extend(self.right_as_of.map(|at| ("right_as_of", number(at))));
        attributes.extend((self.trail_at > 0).then(|| ("trail_at", number(self.trail_at))));
        if let Some(Position { after, history }) = &self.position {
            attributes.extend([("after_pk", text(&after.pk)), ("after_sk", text(&after.sk))]);
            attributes.extend(history.as_ref().map(|node| ("history", map(node_value(node)))));
        }
        attributes
    }

    /// Reads the item, at this time. What can't be true in it is set anew, because nothing else would mend it: an
    /// auditor that believed it might wait for years. `settle` is how long suspects settle; `None` for whoever only
    /// reads, and takes what the auditor has written.
    ///
    /// # Errors
    /// [`NewerFormat`] if a newer version has written it.
    pub fn read(item: &Item, settle: Option<Duration>, now: u64) -> Result<Kept, NewerFormat> {
        let format = read_number(item.get(FORMAT_ATTRIBUTE));
        if let Some(format) = format.filter(|format| *format > FORMAT) {
            return Err(NewerFormat { format });
        }
        let mut reading = Reading { item, now, impossible: Vec::new() };
        reading.needed(FORMAT_ATTRIBUTE, format, FORMAT);
        let state = reading.state(settle);
        Ok(Kept { state, impossible: reading.impossible })
    }
}

/// Reads a state, and notes what can't be true.
struct Reading<'i> {
    item: &'i Item,
    now: u64,
    impossible: Vec<&'static str>,
}

impl Reading<'_> {
    fn needed<V>(&mut self, name: &'static str, value: Option<V>, otherwise: V) -> V {
        value.unwrap_or_else(|| {
            self.impossible.push(name);
            otherwise
        })
    }

    /// What may be absent, but not malformed.
    fn optional<V>(&mut self, name: &'static str, read: impl Fn(&AttributeValue) -> Option<V>) -> Option<V> {
        let value = self.item.get(name)?;
        let read = read(value);
        if read.is_none() {
            self.impossible.push(name);
        }
        read
    }

    fn number(&mut self, name: &'static str, otherwise: u64) -> u64 {
        self.needed(name, read_number(self.item.get(name)), otherwise)
    }

    fn time(&mut self, name: &'static str) -> u64 {
        self.needed(name, self.item.get(name).and_then(|value| read_time(value, self.now)), self.now)
    }

    fn state(&mut self, settle: Option<Duration>) -> State {
        let now = self.now;
        // An older auditor hasn't written the first three of these.
        let written = self.optional("settle", |value| read_number(Some(value))).unwrap_or_default();
        let longest_at = self.optional("longest_at", |value| read_time(value, now)).unwrap_or(now);
        let left = self.optional("left", read_left).unwrap_or_default();
        let last = self.optional("last", |value| read_pass(value, now));
        let right_as_of = self.optional("right_as_of", |value| read_time(value, now));
        let trail_at = self.optional("trail_at", |value| read_time(value, now)).unwrap_or_default();
        let (runs, began, saved) = (self.number(State::RUNS, 0), self.time("began"), self.time("saved"));
        let longest =
            Longest { lasted: Duration::from_secs(self.number("longest", 0)), at: Duration::from_secs(longest_at) };
        let scanned = match self.item.get("scanned") {
            Some(AttributeValue::Bool(scanned)) => Some(*scanned),
            _ => None,
        };
        let scanned = self.needed("scanned", scanned, false);
        let (known, pass, suspects, position) = self.under_way();
        State {
            runs,
            began,
            saved,
            pass,
            last,
            position,
            scanned: scanned && known,
            right_as_of,
            trail_at,
            suspects: Suspects::endless(settle.unwrap_or(Duration::from_secs(written)), longest, suspects),
            left,
        }
    }

    /// What belongs to the pass that is under way. If anything of it is lost, so are keys that nobody would look at any
    /// more: the next pass begins at once.
    fn under_way(&mut self) -> (bool, Pass, Vec<Suspect>, Option<Position>) {
        let pass = self.item.get("pass").and_then(|value| read_pass(value, self.now));
        let suspects = match self.item.get("suspects") {
            Some(AttributeValue::L(list)) => list.iter().map(|one| read_suspect(one, self.now)).collect(),
            _ => None,
        };
        let position = read_position(self.item);
        match (pass, suspects, position) {
            (Some(pass), Some(suspects), Some(position)) => (true, pass, suspects, position),
            (pass, suspects, position) => {
                let lost =
                    [("pass", pass.is_none()), ("suspects", suspects.is_none()), ("position", position.is_none())];
                self.impossible.extend(lost.into_iter().filter(|(_, is_lost)| *is_lost).map(|(name, _)| name));
                let number = pass.map_or(0, |pass| pass.number);
                (false, Pass { number, ended: Some(0), ..Pass::default() }, suspects.unwrap_or_default(), None)
            }
        }
    }
}

impl Pass {
    fn value(&self) -> AttributeValue {
        let findings = self.findings.iter().map(|(kind, count)| (kind.as_str(), number(*count)));
        let mut attributes = vec![
            ("number", number(self.number)),
            ("began", number(self.began)),
            ("items", number(self.items)),
            ("recent", number(self.recent)),
            ("differences", number(self.differences)),
            ("healed", number(self.healed)),
            ("left", number(self.left)),
            ("restless", number(self.restless)),
            ("skipped", number(self.skipped)),
            ("unheeded", number(self.unheeded)),
            ("findings", map(findings)),
        ];
        attributes.extend(self.ended.map(|at| ("ended", number(at))));
        map(attributes)
    }

    fn read(value: &AttributeValue) -> Option<Self> {
        let AttributeValue::M(map) = value else { return None };
        let Some(AttributeValue::M(findings)) = map.get("findings") else { return None };
        let findings =
            findings.iter().filter_map(|(kind, count)| Some((Kind::parse(kind)?, read_number(Some(count))?)));
        let count = |name: &str| read_number(map.get(name));
        Some(Self {
            number: count("number")?,
            began: count("began")?,
            ended: count("ended"),
            items: count("items")?,
            // An older auditor hasn't written it.
            recent: count("recent").unwrap_or_default(),
            differences: count("differences")?,
            healed: count("healed")?,
            left: count("left")?,
            restless: count("restless")?,
            skipped: count("skipped")?,
            unheeded: count("unheeded")?,
            findings: findings.collect(),
        })
    }
}

/// `None` for what is no position. The beginning is one.
fn read_position(item: &Item) -> Option<Option<Position>> {
    match (item.get("after_pk"), item.get("after_sk"), item.get("history")) {
        (None, None, None) => Some(None),
        (Some(AttributeValue::S(pk)), Some(AttributeValue::S(sk)), history) => {
            let history = match history {
                Some(value) => Some(read_node(value)?),
                None => None,
            };
            Some(Some(Position { after: ItemKey::new(pk, sk), history }))
        }
        _ => None,
    }
}

fn read_left(value: &AttributeValue) -> Option<BTreeSet<u64>> {
    let AttributeValue::B(bytes) = value else { return None };
    let (hashes, rest) = bytes.as_chunks::<8>();
    rest.is_empty().then(|| hashes.iter().map(|hash| u64::from_be_bytes(*hash)).collect())
}

fn map<'a>(attributes: impl IntoIterator<Item = (&'a str, AttributeValue)>) -> AttributeValue {
    AttributeValue::M(attributes.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

fn node_value(node: &NodeRef) -> Vec<(&'static str, AttributeValue)> {
    let tenant = node.tenant.as_ref().map(|tenant| ("tenant", text(tenant.as_str())));
    [("node", text(node.id.as_str()))].into_iter().chain(tenant).collect()
}

fn read_node(value: &AttributeValue) -> Option<NodeRef> {
    let AttributeValue::M(map) = value else { return None };
    let tenant = match map.get("tenant") {
        Some(tenant) => Some(Tenant::new(read_text(Some(tenant))?).ok()?),
        None => None,
    };
    Some(NodeRef { tenant, id: Id::new(read_text(map.get("node"))?).ok()? })
}

fn suspect_value(suspect: &Suspect) -> AttributeValue {
    let Suspect { difference, stage, counted, explained, first, since, seen, looks } = suspect;
    let stage = match stage {
        Stage::Suspected => "suspected",
        Stage::Confirmed => "confirmed",
        Stage::Mended => "mended",
    };
    let mut attributes = node_value(&difference.node);
    attributes.extend([
        ("pk", text(&difference.key.pk)),
        ("sk", text(&difference.key.sk)),
        ("kind", text(difference.kind.as_str())),
        ("evidence", number(difference.evidence)),
        ("stage", text(stage)),
        ("first", number(first.as_secs())),
        ("seen", number(seen.as_secs())),
        ("looks", number(u64::from(*looks))),
    ]);
    attributes.extend(difference.waits_for.as_ref().map(|node| ("waits_for", map(node_value(node)))));
    let flags = [("counted", counted), ("explained", explained)].into_iter().filter(|(_, is_set)| **is_set);
    attributes.extend(flags.map(|(name, _)| (name, AttributeValue::Bool(true))));
    attributes.extend(since.map(|since| ("since", number(since.as_secs()))));
    map(attributes)
}

fn read_suspect(value: &AttributeValue, now: u64) -> Option<Suspect> {
    let AttributeValue::M(attributes) = value else { return None };
    let part = |name: &str| read_text(attributes.get(name));
    let at = |name: &str| read_time(attributes.get(name)?, now).map(Duration::from_secs);
    let difference = Difference {
        key: ItemKey::new(part("pk")?, part("sk")?),
        kind: Kind::parse(part("kind")?)?,
        node: read_node(value)?,
        evidence: read_hash(attributes.get("evidence")?)?,
        waits_for: attributes.get("waits_for").and_then(read_node),
    };
    let stage = match part("stage")? {
        "suspected" => Stage::Suspected,
        "confirmed" => Stage::Confirmed,
        "mended" => Stage::Mended,
        _ => return None,
    };
    let looks = u32::try_from(read_number(attributes.get("looks"))?).ok()?;
    let is_set = |name: &str| attributes.get(name) == Some(&AttributeValue::Bool(true));
    let (counted, explained) = (is_set("counted") || stage != Stage::Suspected, is_set("explained"));
    let (first, since, seen) = (at("first")?, at("since"), at("seen")?);
    if since.is_none() && attributes.contains_key("since") {
        return None;
    }
    Some(Suspect { difference, stage, counted, explained, first, since, seen, looks })
}

fn number(value: u64) -> AttributeValue {
    AttributeValue::N(value.to_string())
}

fn read_text(value: Option<&AttributeValue>) -> Option<&str> {
    match value? {
        AttributeValue::S(text) => Some(text),
        _ => None,
    }
}

fn read_number(value: Option<&AttributeValue>) -> Option<u64> {
    read_hash(value?).filter(|number| *number <= NUMBER_MAX)
}

/// `None` for a time to come, too.
fn read_time(value: &AttributeValue, now: u64) -> Option<u64> {
    read_number(Some(value)).filter(|time| *time <= now.saturating_add(AHEAD_SECONDS_MAX))
}

fn read_pass(value: &AttributeValue, now: u64) -> Option<Pass> {
    let is_past = |time| time <= now.saturating_add(AHEAD_SECONDS_MAX);
    Pass::read(value).filter(|pass| is_past(pass.began) && pass.ended.is_none_or(is_past))
}

fn read_hash(value: &AttributeValue) -> Option<u64> {
    match value {
        AttributeValue::N(digits) => digits.parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;

    const NOW: u64 = 1_000_000;

    fn difference(id: &str) -> Difference {
        let node = NodeRef::from(Id::new(id).unwrap());
        let waits_for = Some(node.clone());
        Difference { key: ItemKey::new(id, "LINEAGE"), kind: Kind::LineageWrong, node, evidence: u64::MAX, waits_for }
    }

    /// A state in the middle of its third pass.
    fn state() -> State {
        let mut state = State::new(Duration::from_secs(600), 5_000);
        state.begin_pass(Duration::ZERO, 6_000);
        state.end_pass(7_000);
        (state.scanned, state.runs, state.saved) = (true, 12, NOW - 60);
        state.end_pass(7_000);
        state.begin_pass(Duration::ZERO, NOW - 900);
        state.suspects.take(vec![difference("a"), difference("b")], Duration::from_secs(NOW - 600));
        let subjects = [difference("a").subject(), difference("b").subject()].into();
        state.suspects.take_again(&subjects, vec![difference("a")], Duration::from_secs(NOW - 300));
        state.suspects.put_mended(difference("m"), Duration::from_secs(NOW - 300));
        state.suspects.explain(&BTreeMap::new(), Duration::from_secs(NOW - 300));
        state.leave(&difference("left"));
        state.give_up(&difference("restless"));
        let history = Some(difference("h").node);
        state.position = Some(Position { after: ItemKey::new("p", "s"), history });
        state
    }

    #[test]
    fn what_is_written_is_read() {
        let (state, schema) = (state(), Schema::default());
        let settle = Some(Duration::from_secs(600));
        let kept = State::read(&state.item(&schema), settle, NOW).unwrap();
        assert_eq!(kept, Kept { state: state.clone(), impossible: Vec::new() });
        assert_eq!(State::read(&state.item(&schema), None, NOW).unwrap().state, state);
        assert!(kept.state.is_left(&difference("left")) && kept.state.is_left(&difference("restless")));
        assert!(!kept.state.is_left(&difference("a")));
    }

    #[test]
    fn whatever_cant_be_true_is_named_and_no_pass_waits_for_it() {
        let (state, schema) = (state(), Schema::default());
        let written = state.item(&schema);
        let bad = [
            number(NOW + AHEAD_SECONDS_MAX + 1),
            number(u64::MAX),
            AttributeValue::N("-1".to_owned()),
            AttributeValue::N("99999999999999999999999999999999999999".to_owned()),
            text("?"),
            AttributeValue::Null(true),
            AttributeValue::B(vec![1]),
            AttributeValue::M([("number".to_owned(), number(1))].into()),
            AttributeValue::L(vec![text("?")]),
        ];
        let is_time = |name: &str| !["format", "runs", "longest", "settle"].contains(&name);
        let keys = [&schema.names().partition_key, &schema.names().sort_key];
        for name in written.keys().filter(|name| !keys.contains(name)) {
            for (at, value) in bad.iter().enumerate().filter(|(at, _)| *at > 0 || is_time(name)) {
                if name.starts_with("after_") && *value == text("?") {
                    continue;
                }
                let mut item = written.clone();
                item.insert(name.clone(), value.clone());
                let Kept { state: mut read, impossible } = State::read(&item, None, NOW).unwrap();
                let named = if name.starts_with("after_") || name == "history" { "position" } else { name };
                assert_eq!(impossible, [named], "{name}: {at}");
                assert!(read.began <= NOW && read.saved <= NOW && read.right_as_of.is_none_or(|at| at <= NOW));
                // What belongs to the pass begins anew, so that no key is passed over.
                if ["pass", "suspects", "position", "scanned"].contains(&named) {
                    let pass = read.pass.number;
                    read.begin_pass(Duration::from_secs(86_400), NOW);
                    let begins_anew = named == "scanned" || read.pass.began == NOW && read.pass.number == pass + 1;
                    assert!(begins_anew && !read.scanned, "{name}: {at}");
                }
            }
        }
        for name in ["format", "runs", "began", "saved", "pass", "scanned", "longest", "suspects", "after_sk"] {
            let mut item = written.clone();
            item.remove(name);
            let named = if name == "after_sk" { "position" } else { name };
            assert_eq!(State::read(&item, None, NOW).unwrap().impossible, [named]);
        }
    }

    #[test]
    fn times_of_a_suspect_or_of_a_pass_to_come_are_impossible_too() {
        let schema = Schema::default();
        let written = state().item(&schema);
        for (part, name) in [("suspects", "first"), ("suspects", "since"), ("suspects", "seen"), ("pass", "ended")] {
            let mut item = written.clone();
            let map = match item.get_mut(part).unwrap() {
                AttributeValue::L(list) => &mut list[0],
                map => map,
            };
            let AttributeValue::M(map) = map else { panic!("{map:?}") };
            map.insert(name.to_owned(), number(NOW + AHEAD_SECONDS_MAX));
            assert_eq!(State::read(&item, None, NOW).unwrap().impossible, [""; 0], "clocks differ: {name}");
            let AttributeValue::M(map) = (match item.get_mut(part).unwrap() {
                AttributeValue::L(list) => &mut list[0],
                map => map,
            }) else {
                panic!("{part}")
            };
            map.insert(name.to_owned(), number(NOW + AHEAD_SECONDS_MAX + 1));
            assert_eq!(State::read(&item, None, NOW).unwrap().impossible, [part], "{name}");
        }
    }

    #[test]
    fn a_newer_state_isnt_read() {
        let mut item = state().item(&Schema::default());
        item.insert(FORMAT_ATTRIBUTE.to_owned(), number(FORMAT + 1));
        assert_eq!(State::read(&item, None, NOW).unwrap_err(), NewerFormat { format: FORMAT + 1 });
    }
}
