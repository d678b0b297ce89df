//! Totals of what is below each node: nodes whose numbers change, that move, go and come back, and a judge who sees
//! every change.
//!
//! The judge knows nothing of how nodes are counted but where that is said. After every write the totals of each node
//! are the sum of what nodes were counted as below it. At rest each node is counted as its lineage and its record say,
//! and the totals are what the rows below their node add up to.

use std::collections::{BTreeMap, BTreeSet};

use rand::RngExt;
use rand::rngs::SmallRng;
use rand::seq::{IndexedRandom, IteratorRandom};
use sapwood_core::fanout::StreamRecord;
use sapwood_core::model::{AttributeValue, DeletionMode, Item, text};

use super::copies::Copying;
use super::requests::Asked;
use super::writers::{BaseWrite, Plan};
use crate::oracle::Contents;

/// The attributes that are added up: one that only these scripts write, and one that nearly all nodes have.
pub(super) const ATTRIBUTES: [&str; 2] = ["size", crate::own::ORDER];

const IDS: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

fn make(id: &str, parent: Option<&str>) -> BaseWrite {
    BaseWrite::Make { id: id.to_owned(), parent: parent.map(str::to_owned) }
}

fn set(id: &str, attribute: &'static str, value: Option<AttributeValue>) -> BaseWrite {
    BaseWrite::Set { id: id.to_owned(), attribute, value }
}

fn size(id: &str, value: Option<AttributeValue>) -> BaseWrite {
    set(id, "size", value)
}

fn number(digits: &str) -> Option<AttributeValue> {
    Some(AttributeValue::N(digits.to_owned()))
}

/// A size: few, so that it is often what it was before. Some can't be added up.
fn any_size(rng: &mut SmallRng) -> Option<AttributeValue> {
    match rng.random_range(0..8) {
        0 => None,
        1 | 2 => number("10"),
        3 | 4 => number("20"),
        5 => number("0.1"),
        6 => number("-3.000000001"),
        _ => {
            let odd = ["0.0000000001", "0.30000000000000004", "-2.0000000015", "1234567890123456789"].map(number);
            odd.into_iter().chain([Some(text("12"))]).choose(rng).unwrap()
        }
    }
}

/// Everything that is done with nodes, on few of them.
pub(super) fn script(rng: &mut SmallRng, writes_max: usize) -> Plan {
    let ids = &IDS[..rng.random_range(2..=IDS.len())];
    let mut settled = Vec::new();
    for (position, id) in ids.iter().enumerate() {
        let parent = ids[..position].choose(rng).filter(|_| rng.random_ratio(5, 6));
        settled.push(match rng.random_range(0..4) {
            0 => BaseWrite::Plain { id: (*id).to_owned(), parent: parent.map(|id| (*id).to_owned()) },
            _ => make(id, parent.copied()),
        });
        settled.push(size(id, any_size(rng)));
    }
    let has_epochs = rng.random_ratio(1, 3);
    let rest = (0..rng.random_range(2..=writes_max.max(2))).map(|n| {
        let (id, other) = (*ids.choose(rng).unwrap(), *ids.choose(rng).unwrap());
        let modes = [None, Some(DeletionMode::Delete), Some(DeletionMode::Adopt), Some(DeletionMode::Detach)];
        let ask = BaseWrite::Ask;
        match rng.random_range(0..24) {
            0..=4 => size(id, any_size(rng)),
            5..=7 => set(id, "parent", Some(text(other))),
            8 => set(id, "parent", None),
            9 | 10 => ask(Asked::Move { id: id.to_owned(), parent: Some(other.to_owned()) }),
            11 => ask(Asked::Rename { id: id.to_owned(), name: u32::try_from(n).unwrap() + 100 }),
            12 => ask(Asked::Create { id: format!("made{n}"), parent: Some(id.to_owned()), made: true }),
            13 => ask(Asked::Create { id: id.to_owned(), parent: Some(other.to_owned()), made: false }),
            14 | 15 => {
                let mode = *modes.choose(rng).unwrap();
                ask(Asked::Delete { id: id.to_owned(), mode, revisions: false })
            }
            16 | 17 => BaseWrite::Delete { id: id.to_owned() },
            18 => BaseWrite::Put { id: id.to_owned(), parent: Some(text(other)), segment: None, name: 7 },
            19 => ask(Asked::Trash { id: id.to_owned() }),
            20 => ask(Asked::Restore { id: id.to_owned(), parent: None }),
            21 => BaseWrite::Together(vec![set(id, "parent", Some(text(other))), size(id, any_size(rng))]),
            22 if has_epochs => BaseWrite::NewEpoch,
            _ => BaseWrite::Copy(Copying::Wait),
        }
    });
    Plan { rest: rest.collect(), settled }
}

/// The size of `n` changes and changes back, and perhaps it is elsewhere meanwhile.
pub(super) fn there_and_back(rng: &mut SmallRng) -> (Vec<BaseWrite>, Vec<BaseWrite>) {
    let mut settled = vec![make("x", None), make("y", None), make("p", Some("x")), make("n", Some("p"))];
    settled.push(size("n", number("10")));
    let (there, back) = if rng.random_bool(0.6) {
        (size("n", number("20")), size("n", number("10")))
    } else {
        (set("n", "parent", Some(text("y"))), set("n", "parent", Some(text("p"))))
    };
    let mut rest = vec![there, back];
    if rng.random_bool(0.3) {
        rest.insert(1, set("p", "parent", Some(text("y"))));
    }
    rest.extend(rng.random_bool(0.3).then(|| BaseWrite::Delete { id: "n".to_owned() }));
    (settled, rest)
}

/// `n` comes and goes, perhaps more than once.
pub(super) fn come_and_gone(rng: &mut SmallRng) -> (Vec<BaseWrite>, Vec<BaseWrite>) {
    let settled = vec![make("x", None), make("p", Some("x"))];
    let mut rest = Vec::new();
    for _ in 0..rng.random_range(1..=2) {
        rest.push(make("n", Some("p")));
        rest.extend(rng.random_bool(0.3).then(|| size("n", any_size(rng))));
        rest.extend(rng.random_bool(0.4).then_some(BaseWrite::Copy(Copying::Wait)));
        rest.push(BaseWrite::Delete { id: "n".to_owned() });
    }
    rest.extend(rng.random_bool(0.3).then(|| make("n", Some("x"))));
    (settled, rest)
}

/// Numbers by what they count: billionths, exactly.
pub(super) type Sums = BTreeMap<String, i128>;

/// The totals of a node in an epoch: its partition key, and the epoch.
type Place = (String, String);

/// Who has seen every change of what nodes are counted as, and of totals.
#[derive(Default)]
pub(super) struct Judge {
    counted: BTreeMap<Place, Sums>,
    totals: BTreeMap<Place, Sums>,
    changed: BTreeSet<Place>,
    /// Those that a lane was deleted of once a later epoch had begun: nobody asks for them any more.
    over: BTreeSet<Place>,
    /// The epoch that has begun last.
    epoch: u64,
}

impl Judge {
    /// Sees a change.
    pub(super) fn see(&mut self, record: &StreamRecord) {
        let (pk, sk) = (&record.key.pk, &record.key.sk);
        if sk == "COUNTED" {
            let epoch = |item: &Option<Item>| item.as_ref().map(|item| digits(item, "epoch"));
            let (before, after) = (epoch(&record.old), epoch(&record.new));
            // What was counted in an earlier epoch stays there, and nobody asks for it any more.
            if after.is_none() || before == after {
                self.add(&record.old, pk, -1);
            }
            self.add(&record.new, pk, 1);
        } else if let Some((epoch, _)) = sk.strip_prefix("TOTALS#").and_then(|rest| rest.split_once('#')) {
            let place = (pk.clone(), epoch.trim_start_matches('0').to_owned());
            if record.new.is_none() && place.1.parse().unwrap_or(0) < self.epoch {
                self.over.insert(place.clone());
            }
            for (item, times) in [(&record.old, -1), (&record.new, 1)] {
                let totals = self.totals.entry(place.clone()).or_default();
                item.iter().for_each(|lane| add_lane(totals, lane, times));
            }
            self.changed.insert(place);
        } else if sk == "EPOCH" {
            let begun = record.new.as_ref().and_then(|item| digits(item, "epoch").parse().ok());
            self.epoch = self.epoch.max(begun.unwrap_or(0));
        }
    }

    /// Adds what a node is counted as so many times.
    fn add(&mut self, counted: &Option<Item>, pk: &str, times: i128) {
        let Some(item) = counted else { return };
        let epoch = digits(item, "epoch").trim_start_matches('0').to_owned();
        for (position, ancestor) in texts(item, "ancestors").into_iter().enumerate() {
            let place = (format!("{}{ancestor}", tenant_of(pk)), epoch.clone());
            let sums = self.counted.entry(place.clone()).or_default();
            *sums.entry("_count".to_owned()).or_default() += times * ONE;
            *sums.entry("_children".to_owned()).or_default() += if position == 0 { times * ONE } else { 0 };
            *sums.entry("_left_out".to_owned()).or_default() += times * left_out(item.contains_key("left_out"));
            if let Some(AttributeValue::M(values)) = item.get("values") {
                for (name, value) in values {
                    let AttributeValue::N(digits) = value else { panic!("{name} is no number") };
                    *sums.entry(format!("_sum_{name}")).or_default() += times * billionths(digits).unwrap();
                }
            }
            self.changed.insert(place);
        }
    }

    /// Checks what must hold between two writes.
    pub(super) fn check(&mut self) -> Result<(), String> {
        for place in std::mem::take(&mut self.changed).into_iter().filter(|place| !self.over.contains(place)) {
            let (counted, totals) = (without_zeros(self.counted.get(&place)), without_zeros(self.totals.get(&place)));
            if counted != totals {
                return Err(format!("below {place:?} {counted:?} is counted, and the totals are {totals:?}"));
            }
        }
        Ok(())
    }
}

/// Returns what is wrong with the totals of a table at rest that adds up sizes.
#[must_use]
pub fn wrong_totals(contents: &Contents) -> Vec<String> {
    wrong_places(contents, &ATTRIBUTES[..1]).into_iter().map(|(_, what)| what).collect()
}

/// The same of a table that adds up these attributes, with the partitions that have it.
pub(super) fn wrong_places(contents: &Contents, kept: &[&str]) -> Vec<(String, String)> {
    let item = |pk: &str, sk: &str| contents.get(&(pk.to_owned(), sk.to_owned()));
    let epoch = epoch_of(contents);
    let mut wrong = Vec::new();
    for ((pk, sk), counted) in contents.iter().filter(|((_, sk), _)| sk == "COUNTED") {
        let lineage = item(pk, "LINEAGE").filter(|lineage| lineage.contains_key("ancestors"));
        let is_of_now = digits(counted, "epoch") == epoch;
        if lineage.is_none() && counted.contains_key("ancestors") && is_of_now {
            wrong.push((pk.clone(), format!("{pk} {sk} counts a node that is nowhere")));
        }
    }
    let is_lineage = |sk: &str, item: &Item| sk == "LINEAGE" && item.contains_key("ancestors");
    for ((pk, _), lineage) in contents.iter().filter(|((_, sk), item)| is_lineage(sk, item)) {
        let (ancestors, record) = (texts(lineage, "ancestors"), item(pk, "NODE"));
        let record = record.filter(|_| !ancestors.is_empty());
        let wanted = record.map(|record| values(record, kept)).unwrap_or_default();
        let Some(counted) = item(pk, "COUNTED").filter(|counted| counted.contains_key("ancestors")) else {
            wrong.push((pk.clone(), format!("{pk} isn't counted")));
            continue;
        };
        // Below nothing, nothing is counted, whatever the item says of it.
        let share = Some(counted).filter(|_| !ancestors.is_empty());
        let found = match share.and_then(|share| share.get("values")) {
            Some(AttributeValue::M(map)) => values(&map.clone().into_iter().collect(), kept),
            _ => Sums::new(),
        };
        let is_marked = share.is_some_and(|share| share.contains_key("left_out"))
            == record.is_some_and(|record| is_left_out(record, kept));
        let is_right = texts(counted, "ancestors") == ancestors && found == wanted && is_marked;
        if !is_right || digits(counted, "epoch") != epoch {
            let what = format!("{pk} is counted as {counted:?}, and should be below {ancestors:?} with {wanted:?}");
            wrong.push((pk.clone(), what));
        }
    }
    let (mut below, mut totals): (BTreeMap<&str, Sums>, BTreeMap<&str, Sums>) = (BTreeMap::new(), BTreeMap::new());
    for ((pk, sk), found) in contents {
        if is_lane_of(sk, &epoch) {
            add_lane(totals.entry(pk).or_default(), found, 1);
        }
        let Some((depth, id)) = sk.strip_prefix("NODE#").and_then(|rest| rest.split_once('#')) else { continue };
        let sums = below.entry(pk).or_default();
        *sums.entry("_count".to_owned()).or_default() += ONE;
        *sums.entry("_children".to_owned()).or_default() += if depth == "0001" { ONE } else { 0 };
        let record = item(&format!("{}{id}", tenant_of(pk)), "NODE");
        *sums.entry("_left_out".to_owned()).or_default() +=
            left_out(record.is_some_and(|record| is_left_out(record, kept)));
        for (name, value) in record.map(|record| values(record, kept)).unwrap_or_default() {
            *sums.entry(format!("_sum_{name}")).or_default() += value;
        }
    }
    for pk in below.keys().chain(totals.keys()).collect::<BTreeSet<_>>() {
        let (wanted, found) = (without_zeros(below.get(*pk)), without_zeros(totals.get(*pk)));
        if wanted != found {
            let what = format!("the rows below {pk} add up to {wanted:?}, and its totals are {found:?}");
            wrong.push(((*pk).to_owned(), what));
        }
    }
    wrong
}

/// Returns the nodes that have gone, and whose totals are nothing and still there: a repair has left them.
pub(super) fn empty_totals(contents: &Contents) -> Vec<String> {
    let item = |pk: &str, sk: &str| contents.get(&(pk.to_owned(), sk.to_owned()));
    let epoch = epoch_of(contents);
    let mut totals: BTreeMap<&str, Sums> = BTreeMap::new();
    for ((pk, sk), lane) in contents.iter().filter(|((pk, _), _)| item(pk, "NODE").is_none()) {
        if is_lane_of(sk, &epoch) {
            add_lane(totals.entry(pk).or_default(), lane, 1);
        }
    }
    let empty = totals.into_iter().filter(|(_, sums)| without_zeros(Some(sums)).is_empty());
    empty.map(|(pk, _)| format!("{pk} has gone, and has totals that are nothing")).collect()
}

/// True for a node below itself.
pub(super) fn is_in_cycle(pk: &str, contents: &Contents) -> bool {
    let parent = |pk: &String| match contents.get(&(pk.clone(), "NODE".to_owned()))?.get("parent") {
        Some(AttributeValue::S(parent)) => Some(format!("{}{parent}", tenant_of(pk))),
        _ => None,
    };
    std::iter::successors(parent(&pk.to_owned()), parent).take(contents.len()).any(|above| above == pk)
}

/// What the totals of each partition are.
pub(super) fn totals_of(contents: &Contents) -> BTreeMap<String, Sums> {
    let (epoch, mut totals) = (epoch_of(contents), BTreeMap::<String, Sums>::new());
    for ((pk, _), lane) in contents.iter().filter(|((_, sk), _)| is_lane_of(sk, &epoch)) {
        add_lane(totals.entry(pk.clone()).or_default(), lane, 1);
    }
    let totals = totals.into_iter().map(|(pk, sums)| (pk, without_zeros(Some(&sums))));
    totals.filter(|(_, sums)| !sums.is_empty()).collect()
}

/// The present epoch. One that can't be read is the first.
fn epoch_of(contents: &Contents) -> String {
    let item = contents.get(&("SAPWOOD".to_owned(), "EPOCH".to_owned()));
    let item = item.filter(|item| item.contains_key("format"));
    match item.and_then(|item| item.get("epoch")) {
        Some(AttributeValue::N(digits)) => digits.clone(),
        _ => "0".to_owned(),
    }
}

/// True for one of the four lanes of an epoch.
fn is_lane_of(sk: &str, epoch: &str) -> bool {
    let of = sk.strip_prefix("TOTALS#").and_then(|rest| rest.split_once('#'));
    of.is_some_and(|(of, lane)| of.parse::<u32>() == epoch.parse() && ["00", "01", "02", "03"].contains(&lane))
}

/// What a partition key begins with before an id.
fn tenant_of(pk: &str) -> String {
    // A tenant's name has no `#`.
    let tenant = pk.strip_prefix("TENANT#").and_then(|rest| rest.split_once('#'));
    tenant.map_or(String::new(), |(tenant, _)| format!("TENANT#{tenant}#"))
}

fn without_zeros(sums: Option<&Sums>) -> Sums {
    sums.into_iter().flatten().filter(|(_, sum)| **sum != 0).map(|(name, sum)| (name.clone(), *sum)).collect()
}

/// Adds the numbers of a lane so many times.
fn add_lane(sums: &mut Sums, lane: &Item, times: i128) {
    for (name, value) in lane {
        if let (AttributeValue::N(digits), true) = (value, name != "_writes") {
            *sums.entry(name.clone()).or_default() += times * billionths(digits).unwrap();
        } else if let (AttributeValue::S(_), true) = (value, name == "_count") {
            // What nobody can add to is wrong, whatever it counts as.
            *sums.entry("no number".to_owned()).or_default() += times;
        }
    }
}

const ONE: i128 = 1_000_000_000;

/// The numbers of a record that can be added up, rounded to billionths.
fn values(record: &Item, kept: &[&str]) -> Sums {
    let value = |name: &&str| match record.get(*name) {
        Some(AttributeValue::N(digits)) if is_countable(digits) => Some(rounded(digits)).filter(|value| *value != 0),
        _ => None,
    };
    kept.iter().filter_map(|name| Some(((*name).to_owned(), value(name)?))).collect()
}

/// True for a record with something that should be added up and can't be.
fn is_left_out(record: &Item, kept: &[&str]) -> bool {
    let is_one = |value: &AttributeValue| !matches!(value, AttributeValue::N(digits) if is_countable(digits));
    kept.iter().any(|name| record.get(*name).is_some_and(is_one))
}

fn left_out(is_one: bool) -> i128 {
    if is_one { ONE } else { 0 }
}

/// True for plain digits, of which at most 18 are before the point.
fn is_countable(digits: &str) -> bool {
    digits.split('.').next().unwrap().trim_start_matches('-').len() <= 18
}

/// A number in plain digits.
fn billionths(digits: &str) -> Option<i128> {
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    format!("{whole}{fraction:0<9}").parse().ok().filter(|_| fraction.len() <= 9)
}

/// A number of any digits after the point, rounded, a half away from zero.
fn rounded(digits: &str) -> i128 {
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let tenths: i128 = format!("{whole}{:0<10}", fraction.get(..10).unwrap_or(fraction)).parse().unwrap();
    (tenths + 5 * tenths.signum()) / 10
}

fn digits(item: &Item, name: &str) -> String {
    match item.get(name) {
        Some(AttributeValue::N(digits)) => digits.clone(),
        other => panic!("{name} is {other:?}"),
    }
}

fn texts(item: &Item, name: &str) -> Vec<String> {
    let Some(AttributeValue::L(list)) = item.get(name) else { return Vec::new() };
    list.iter().map(|one| if let AttributeValue::S(text) = one { text.clone() } else { panic!("{one:?}") }).collect()
}
