//! The item `AUDIT`: what of the state is in which attribute, and what of it can be true.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_dynamo::{from_attribute_value, to_attribute_value};

use super::super::suspects::{Longest, Stage, Suspect, Suspects};
use super::super::{Difference, Kind};
use super::{AHEAD_SECONDS_MAX, AuditorState, Kept, Pass, Position};
use crate::keys::{Id, ItemKey, NodeRef, Schema, Tenant};
use crate::model::{AttributeValue, FORMAT, FORMAT_ATTRIBUTE, Item, NewerFormat, with_key};

/// No number of ours is larger, but for hashes. Additions to it don't overflow.
const NUMBER_MAX: u64 = 1 << 53;

impl AuditorState {
    /// The item.
    #[must_use]
    pub fn item(&self, schema: &Schema) -> Item {
        let mut attributes = vec![
            (FORMAT_ATTRIBUTE, value(FORMAT)),
            (Self::RUNS, value(self.runs)),
            ("began", value(self.began)),
            ("saved", value(self.saved)),
            ("pass", value(&self.pass)),
            ("scanned", value(self.scanned)),
            ("settle", value(self.suspects.settle.as_secs())),
            ("longest", value(self.suspects.longest.lasted.as_secs())),
            ("longest_at", value(self.suspects.longest.at.as_secs())),
            ("suspects", value(self.suspects.iter().map(StoredSuspect::of).collect::<Vec<_>>())),
        ];
        attributes.extend(self.last.as_ref().map(|pass| ("last", value(pass))));
        let left = || self.left.iter().flat_map(|hash| hash.to_be_bytes()).collect();
        attributes.extend((!self.left.is_empty()).then(|| ("left", AttributeValue::B(left()))));
        attributes.extend(self.right_as_of.map(|at| ("right_as_of", value(at))));
        attributes.extend((self.trail_at > 0).then(|| ("trail_at", value(self.trail_at))));
        if let Some(Position { after, history }) = &self.position {
            attributes.extend([("after_pk", value(&after.pk)), ("after_sk", value(&after.sk))]);
            attributes.extend(history.as_ref().map(|node| ("history", value(StoredNode::of(node)))));
        }
        let mut item = with_key(&schema.audit_key(), schema);
        item.extend(attributes.into_iter().map(|(name, value)| (name.to_owned(), value)));
        item
    }

    /// Reads the item, at this time. What can't be true in it is set anew, because nothing else would mend it: an
    /// auditor that believed it might wait for years. `settle` is how long suspects settle; `None` for whoever only
    /// reads, and takes what the auditor has written.
    ///
    /// # Errors
    /// [`NewerFormat`] if a newer version has written it.
    pub fn read(item: &Item, settle: Option<Duration>, now: u64) -> Result<Kept, NewerFormat> {
        let mut reading = Reading { item, now, impossible: Vec::new() };
        let format = reading.needed(FORMAT_ATTRIBUTE, Reading::number, FORMAT);
        if format > FORMAT {
            return Err(NewerFormat { format });
        }
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
    fn get<V: DeserializeOwned>(&self, name: &str) -> Option<V> {
        read(self.item.get(name)?)
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.get(name).filter(|number| *number <= NUMBER_MAX)
    }

    /// Returns a time that has come.
    fn time(&self, name: &str) -> Option<u64> {
        self.get(name).filter(|time| has_come(*time, self.now))
    }

    fn pass(&self, name: &str) -> Option<Pass> {
        read_map(self.item.get(name)?).filter(|pass: &Pass| pass.can_be_true(self.now))
    }

    fn suspects(&self, name: &str) -> Option<Vec<Suspect>> {
        let stored: Vec<StoredSuspect> = self.get(name)?;
        stored.into_iter().map(|suspect| suspect.read(self.now)).collect()
    }

    fn left(&self, name: &str) -> Option<BTreeSet<u64>> {
        let AttributeValue::B(bytes) = self.item.get(name)? else { return None };
        let (hashes, rest) = bytes.as_chunks::<8>();
        rest.is_empty().then(|| hashes.iter().map(|hash| u64::from_be_bytes(*hash)).collect())
    }

    /// `None` for what is no position. The beginning is one.
    fn position(&self) -> Option<Option<Position>> {
        if ["after_pk", "after_sk", "history"].iter().all(|name| !self.item.contains_key(*name)) {
            return Some(None);
        }
        let (pk, sk): (String, String) = (self.get("after_pk")?, self.get("after_sk")?);
        let history = match self.item.get("history") {
            Some(value) => Some(read_map::<StoredNode>(value)?.read()?),
            None => None,
        };
        Some(Some(Position { after: ItemKey::new(pk, sk), history }))
    }

    fn needed<V>(&mut self, name: &'static str, read: fn(&Self, &str) -> Option<V>, otherwise: V) -> V {
        read(self, name).unwrap_or_else(|| {
            self.impossible.push(name);
            otherwise
        })
    }

    /// Reads an attribute that may be absent, but not malformed.
    fn optional<V>(&mut self, name: &'static str, read: fn(&Self, &str) -> Option<V>) -> Option<V> {
        let value = read(self, name);
        if value.is_none() && self.item.contains_key(name) {
            self.impossible.push(name);
        }
        value
    }

    fn state(&mut self, settle: Option<Duration>) -> AuditorState {
        let now = self.now;
        // An older auditor hasn't written the first three of these.
        let written = self.optional("settle", Self::number).unwrap_or_default();
        let longest_at = self.optional("longest_at", Self::time).unwrap_or(now);
        let left = self.optional("left", Self::left).unwrap_or_default();
        let last = self.optional("last", Self::pass);
        let right_as_of = self.optional("right_as_of", Self::time);
        let trail_at = self.optional("trail_at", Self::time).unwrap_or_default();
        let runs = self.needed(AuditorState::RUNS, Self::number, 0);
        let (began, saved) = (self.needed("began", Self::time, now), self.needed("saved", Self::time, now));
        let lasted = Duration::from_secs(self.needed("longest", Self::number, 0));
        let longest = Longest { lasted, at: Duration::from_secs(longest_at) };
        let scanned = self.needed("scanned", Self::get, false);
        let (known, pass, suspects, position) = self.under_way();
        let suspects = Suspects::endless(settle.unwrap_or(Duration::from_secs(written)), longest, suspects);
        let scanned = scanned && known;
        AuditorState { runs, began, saved, pass, last, position, scanned, right_as_of, trail_at, suspects, left }
    }

    /// Reads the pass under way. If any of it is lost, keys would never be looked at: the next pass begins at once.
    fn under_way(&mut self) -> (bool, Pass, Vec<Suspect>, Option<Position>) {
        match (self.pass("pass"), self.suspects("suspects"), self.position()) {
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
    fn can_be_true(&self, now: u64) -> bool {
        let Self { items, recent, differences, healed, left, restless, skipped, unheeded, .. } = *self;
        let numbers = [self.number, items, recent, differences, healed, left, restless, skipped, unheeded];
        let are_small = numbers.iter().chain(self.findings.values()).all(|number| *number <= NUMBER_MAX);
        are_small && has_come(self.began, now) && self.ended.is_none_or(|ended| has_come(ended, now))
    }
}

/// The findings of a pass, by the words of their kinds. A newer auditor may know others, which are left out.
pub(super) mod findings {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serializer};

    use super::Kind;

    pub(in super::super) fn serialize<S: Serializer>(
        findings: &BTreeMap<Kind, u64>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_map(findings.iter().map(|(kind, count)| (kind.as_str(), count)))
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<BTreeMap<Kind, u64>, D::Error> {
        let words = BTreeMap::<String, u64>::deserialize(deserializer)?;
        Ok(words.into_iter().filter_map(|(word, count)| Some((Kind::parse(&word)?, count))).collect())
    }
}

#[derive(Serialize, Deserialize)]
struct StoredNode {
    node: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tenant: Option<String>,
}

impl StoredNode {
    fn of(node: &NodeRef) -> Self {
        let tenant = node.tenant.as_ref().map(|tenant| tenant.as_str().to_owned());
        Self { node: node.id.as_str().to_owned(), tenant }
    }

    fn read(self) -> Option<NodeRef> {
        let tenant = self.tenant.map(Tenant::new).transpose().ok()?;
        Some(NodeRef { tenant, id: Id::new(self.node).ok()? })
    }
}

#[derive(Serialize, Deserialize)]
struct StoredSuspect {
    #[serde(flatten)]
    node: StoredNode,
    pk: String,
    sk: String,
    kind: String,
    evidence: u64,
    stage: Stage,
    first: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    since: Option<u64>,
    seen: u64,
    looks: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    waits_for: Option<StoredNode>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    counted: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    explained: bool,
}

impl StoredSuspect {
    fn of(suspect: &Suspect) -> Self {
        let Suspect { difference, stage, counted, explained, first, since, seen, looks } = suspect;
        Self {
            node: StoredNode::of(&difference.node),
            pk: difference.key.pk.clone(),
            sk: difference.key.sk.clone(),
            kind: difference.kind.as_str().to_owned(),
            evidence: difference.evidence,
            stage: *stage,
            first: first.as_secs(),
            since: since.map(|since| since.as_secs()),
            seen: seen.as_secs(),
            looks: *looks,
            waits_for: difference.waits_for.as_ref().map(StoredNode::of),
            counted: *counted,
            explained: *explained,
        }
    }

    /// `None` for what no auditor has written, and for times to come.
    fn read(self, now: u64) -> Option<Suspect> {
        let Self { node, pk, sk, kind, evidence, stage, first, since, seen, looks, waits_for, counted, explained } =
            self;
        let waits_for = waits_for.and_then(StoredNode::read);
        let (key, kind, node) = (ItemKey::new(pk, sk), Kind::parse(&kind)?, node.read()?);
        let difference = Difference { key, kind, node, evidence, waits_for };
        let have_come = [Some(first), since, Some(seen)].into_iter().flatten().all(|time| has_come(time, now));
        let [first, seen] = [first, seen].map(Duration::from_secs);
        let (since, counted) = (since.map(Duration::from_secs), counted || stage != Stage::Suspected);
        have_come.then_some(Suspect { difference, stage, counted, explained, first, since, seen, looks })
    }
}

fn has_come(time: u64, now: u64) -> bool {
    time <= now.saturating_add(AHEAD_SECONDS_MAX).min(NUMBER_MAX)
}

fn read<V: DeserializeOwned>(value: &AttributeValue) -> Option<V> {
    from_attribute_value(value.clone()).ok()
}

/// Reads a map. A list in the order of a map's names is none.
fn read_map<V: DeserializeOwned>(value: &AttributeValue) -> Option<V> {
    if matches!(value, AttributeValue::M(_)) { read(value) } else { None }
}

/// Numbers, texts and maps of them are always attributes.
fn value(value: impl Serialize) -> AttributeValue {
    to_attribute_value(value).unwrap_or(AttributeValue::Null(true))
}
