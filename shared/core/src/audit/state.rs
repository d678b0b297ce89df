//! How far the auditor has come: what it keeps in the table from one run to the next.

use std::collections::BTreeMap;
use std::time::Duration;

use super::suspects::{Stage, Suspect, Suspects};
use super::{Difference, Kind};
use crate::keys::{Id, ItemKey, NodeRef, Schema, Tenant};
use crate::model::{AttributeValue, FORMAT, FORMAT_ATTRIBUTE, Item, NewerFormat, text, text_of, with_key};

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
    /// The number of differences that count, one for each node, row without an owner, copy and cursor.
    pub differences: u64,
    /// How many of them were mended and are right now.
    pub healed: u64,
    /// How many of them were left: a repair has changed nothing, or none is wanted.
    pub left: u64,
    /// What changed for as long as the auditor waits: nobody can say whether it is right.
    pub restless: u64,
    /// Suspects for which there was no room.
    pub skipped: u64,
    /// Repairs without effect since the last that had one. Where there are many nobody handles them.
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
    /// All that stood in the table at this time has been compared since, and what was wrong with it is known. In seconds since 1970.
    pub right_as_of: Option<u64>,
    /// What seems to be wrong.
    pub suspects: Suspects,
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
            suspects: Suspects::new(settle),
        }
    }

    /// Begins the next pass, if the last one has ended and this time has gone by since it began.
    pub fn begin_pass(&mut self, every: Duration, now: u64) {
        let is_over = self.pass.number == 0 || self.pass.ended.is_some();
        let is_due = self.pass.number == 0 || now.saturating_sub(self.pass.began) >= every.as_secs();
        if is_over && is_due {
            self.pass = Pass { number: self.pass.number + 1, began: now, ..Pass::default() };
            (self.position, self.scanned) = (None, false);
            self.suspects.forget();
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

    /// How old the oldest key is that nobody has looked at since, in seconds: at least as long ago as the first run, if no pass has ended.
    #[must_use]
    pub fn age(&self, now: u64) -> u64 {
        now.saturating_sub(self.right_as_of.unwrap_or(self.began))
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
            ("longest", number(self.suspects.longest().as_secs())),
            ("suspects", AttributeValue::L(self.suspects.iter().map(suspect_value).collect())),
        ];
        attributes.extend(self.last.as_ref().map(|pass| ("last", pass.value())));
        attributes.extend(self.right_as_of.map(|at| ("right_as_of", number(at))));
        if let Some(Position { after, history }) = &self.position {
            attributes.extend([("after_pk", text(&after.pk)), ("after_sk", text(&after.sk))]);
            attributes.extend(history.as_ref().map(|node| ("history", map(node_value(node)))));
        }
        attributes
    }

    /// Reads the item. `None` for an item that no auditor has written: the audit then begins anew.
    ///
    /// # Errors
    /// [`NewerFormat`] if a newer version has written it.
    pub fn read(item: &Item, settle: Duration) -> Result<Option<Self>, NewerFormat> {
        let format = read_number(item.get(FORMAT_ATTRIBUTE));
        if let Some(format) = format.filter(|format| *format > FORMAT) {
            return Err(NewerFormat { format });
        }
        Ok(format.and_then(|_| Self::of(item, settle)))
    }

    fn of(item: &Item, settle: Duration) -> Option<Self> {
        let position = match (text_of(item, "after_pk"), text_of(item, "after_sk")) {
            (Some(pk), Some(sk)) => {
                Some(Position { after: ItemKey::new(pk, sk), history: item.get("history").and_then(read_node) })
            }
            _ => None,
        };
        let Some(AttributeValue::L(suspects)) = item.get("suspects") else { return None };
        let suspects: Vec<Suspect> = suspects.iter().map(read_suspect).collect::<Option<_>>()?;
        let longest = Duration::from_secs(read_number(item.get("longest"))?);
        Some(Self {
            runs: read_number(item.get(Self::RUNS))?,
            began: read_number(item.get("began"))?,
            saved: read_number(item.get("saved"))?,
            pass: Pass::read(item.get("pass")?)?,
            last: item.get("last").and_then(Pass::read),
            position,
            scanned: item.get("scanned") == Some(&AttributeValue::Bool(true)),
            right_as_of: read_number(item.get("right_as_of")),
            suspects: Suspects::of(settle, longest, suspects),
        })
    }
}

impl Pass {
    fn value(&self) -> AttributeValue {
        let findings = self.findings.iter().map(|(kind, count)| (kind.as_str(), number(*count)));
        let mut attributes = vec![
            ("number", number(self.number)),
            ("began", number(self.began)),
            ("items", number(self.items)),
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
    let Suspect { difference, stage, first, since, seen, looks } = suspect;
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
    attributes.extend(since.map(|since| ("since", number(since.as_secs()))));
    map(attributes)
}

fn read_suspect(value: &AttributeValue) -> Option<Suspect> {
    let AttributeValue::M(attributes) = value else { return None };
    let part = |name: &str| read_text(attributes.get(name));
    let at = |name: &str| read_number(attributes.get(name)).map(Duration::from_secs);
    let difference = Difference {
        key: ItemKey::new(part("pk")?, part("sk")?),
        kind: Kind::parse(part("kind")?)?,
        node: read_node(value)?,
        evidence: read_number(attributes.get("evidence"))?,
        waits_for: attributes.get("waits_for").and_then(read_node),
    };
    let stage = match part("stage")? {
        "suspected" => Stage::Suspected,
        "confirmed" => Stage::Confirmed,
        "mended" => Stage::Mended,
        _ => return None,
    };
    let looks = u32::try_from(read_number(attributes.get("looks"))?).ok()?;
    Some(Suspect { difference, stage, first: at("first")?, since: at("since"), seen: at("seen")?, looks })
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
    match value? {
        AttributeValue::N(digits) => digits.parse().ok(),
        _ => None,
    }
}
