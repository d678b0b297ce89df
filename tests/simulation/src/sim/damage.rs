//! A table that is damaged at random, compared with its base records, and repaired.
//!
//! No record of the stream tells of the damage: that is how a fault of ours, a lost record or somebody's hand would leave the table.

use std::sync::Arc;

use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use sapwood_core::audit::{Difference, Kind, Mended, due};
use sapwood_core::keys::{ItemKey, Schema};
use sapwood_core::model::{AttributeValue, Item, text, with_key};
use sapwood_core::plan::{Rule, Rules, StreamRecord};
use sapwood_engine::audit::Audit;
use sapwood_engine::fanout::{self, Fanout};
use sapwood_table::Client;

use super::repairs::compared;
use super::schedule::{Fault, Run, passes_filter};
use crate::fixture::{NoRetries, at_once};
use crate::memory::MemoryTable;
use crate::oracle::Contents;
use crate::own;

const IDS: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];
const TOPICS: [&str; 2] = ["Audit", "Log"];

/// Most rounds of repairs. A child can be found wrong only after its parent is right.
const ROUNDS_MAX: usize = 12;

/// What is done to a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// A row is deleted.
    RowLost,
    /// A row has another value.
    RowChanged,
    /// A row of a node stands where the node never was.
    RowInvented,
    /// A lineage is deleted.
    LineageLost,
    /// A lineage names other ancestors.
    LineageChanged,
    /// A lineage says that rows are still to be written.
    LineageUnsettled,
    /// A lineage names, as a row to delete, something that isn't a row of its node.
    LineageLies,
    /// A tombstone stands where a node is.
    LineageBuried,
    /// A node's record is deleted, and nobody was told.
    RecordLost,
    /// A copy is deleted.
    CopyLost,
    /// A copy is of an older revision, or of a newer one than there is.
    CopyChanged,
    /// A copy of a topic that has no revisions.
    CopyInvented,
    /// A cursor that nobody moves on.
    CursorLeft,
    /// A mark of deletion, of which the lineage knows or not.
    MarkLeft,
}

impl Damage {
    /// All kinds of damage.
    pub const ALL: [Self; 14] = [
        Self::RowLost,
        Self::RowChanged,
        Self::RowInvented,
        Self::LineageLost,
        Self::LineageChanged,
        Self::LineageUnsettled,
        Self::LineageLies,
        Self::LineageBuried,
        Self::RecordLost,
        Self::CopyLost,
        Self::CopyChanged,
        Self::CopyInvented,
        Self::CursorLeft,
        Self::MarkLeft,
    ];

    /// The kinds of difference by which the damage is named.
    fn names(self) -> &'static [Kind] {
        match self {
            Self::RowLost => &[Kind::RowMissing],
            Self::RowChanged => &[Kind::RowWrong],
            Self::RowInvented => &[Kind::RowSurplus],
            Self::LineageLost | Self::LineageBuried => &[Kind::LineageMissing],
            Self::LineageChanged => &[Kind::LineageWrong],
            Self::LineageUnsettled | Self::LineageLies => &[Kind::LineageRows],
            Self::RecordLost => &[Kind::LineageSurplus],
            Self::CopyLost => &[Kind::CopyMissing],
            Self::CopyChanged => &[Kind::CopyWrong],
            Self::CopyInvented => &[Kind::CopySurplus],
            Self::CursorLeft => &[Kind::CursorStuck],
            Self::MarkLeft => &[Kind::DeletionStuck],
        }
    }

    /// True if the base records aren't the same afterwards.
    fn is_of_records(self) -> bool {
        matches!(self, Self::RecordLost | Self::MarkLeft)
    }
}

pub(super) struct World {
    pub(super) rng: SmallRng,
    pub(super) table: MemoryTable,
    pub(super) fanout: Fanout,
    queue: Vec<StreamRecord>,
    pub(super) number: u64,
    pub(super) log: Vec<String>,
}

impl World {
    /// An empty table, with this rule broken, if any.
    pub(super) fn new(seed: u64, table: MemoryTable, broken: Option<Rule>) -> Self {
        let rules = broken.map_or_else(Rules::default, Rules::without);
        let fanout = Fanout { settings: own::settings(), rules, ..Fanout::default() };
        let rng = SmallRng::seed_from_u64(seed);
        Self { rng, table, fanout, queue: Vec::new(), number: 0, log: Vec::new() }
    }

    pub(super) fn contents(&self) -> Contents {
        self.table.0.lock().unwrap().contents()
    }

    fn write(&self, key: &ItemKey, item: Option<Item>) {
        self.table.0.lock().unwrap().write(key, item);
    }

    fn pick(&mut self, of: &[&'static str]) -> &'static str {
        of.choose(&mut self.rng).unwrap()
    }

    /// Writes base records as any client would.
    pub(super) fn populate(&mut self) -> Result<(), String> {
        for _ in 0..self.rng.random_range(8..=24) {
            self.number += 1;
            let id = self.pick(&IDS);
            let mut item = own::attributes(u32::try_from(self.number).unwrap());
            let key = match self.rng.random_range(0..10) {
                0 => ItemKey::new(id, format!("v{:03}_{}", self.rng.random_range(1..5), self.pick(&TOPICS))),
                1 => ItemKey::new(id, format!("v{:03}_{}", self.rng.random_range(1..5), "Audit")),
                _ => ItemKey::new(id, "NODE"),
            };
            if key.sk == "NODE" && self.rng.random_ratio(4, 5) {
                // Mostly below a node that comes before it, so that there are few cycles.
                let parent = IDS.iter().take_while(|other| **other != id).last().copied();
                let parent = parent.filter(|_| self.rng.random_ratio(9, 10)).unwrap_or_else(|| self.pick(&IDS));
                item.insert("parent".to_owned(), text(parent));
            }
            if key.sk == "NODE" && self.rng.random_ratio(1, 4) {
                item.insert("segment".to_owned(), text("named"));
            }
            item.extend(with_key(&key, &Schema::default()));
            let item = Some(item).filter(|_| self.rng.random_ratio(19, 20));
            self.write(&key, item);
        }
        self.settle()
    }

    pub(super) fn settle(&mut self) -> Result<(), String> {
        for _ in 0..10_000 {
            let new = std::mem::take(&mut self.table.0.lock().unwrap().stream);
            self.queue.extend(new.into_iter().filter(|record| passes_filter(&record.key.sk)));
            if self.queue.is_empty() {
                return Ok(());
            }
            self.number += 1;
            let size = self.rng.random_range(1..=10).min(self.queue.len());
            let batch: Vec<StreamRecord> = self.queue.drain(..size).collect();
            let name = format!("run{}", self.number);
            let run = fanout::Run { name: &name, now: 1_000_000 + self.number };
            let report = at_once(self.fanout.run(&self.table, &NoRetries, run, &batch));
            if !report.failed.is_empty() {
                return Err(format!("records failed: {:?}", report.problems));
            }
        }
        Err("the table doesn't come to rest".to_owned())
    }

    /// Changes an item without a record of it.
    fn plant(&mut self, key: &ItemKey, item: Option<Item>) {
        self.log.push(format!("{} {}: {item:?}", key.pk, key.sk));
        self.write(key, item);
        self.table.0.lock().unwrap().stream.clear();
    }

    /// The items whose sort keys this is true of.
    fn items(&self, is_one: impl Fn(&str) -> bool) -> Vec<(ItemKey, Item)> {
        let items = self.contents().into_iter().filter(|((_, sk), _)| is_one(sk));
        items.map(|((pk, sk), item)| (ItemKey { pk, sk }, item)).collect()
    }

    /// Damages the table. Returns the key of what is wrong then; none where there is nothing to damage.
    pub(super) fn damage(&mut self, damage: Damage) -> Option<ItemKey> {
        let is_row = |sk: &str| ["NODE#", "PATH#", "ROOT#", "ORPHAN#"].iter().any(|prefix| sk.starts_with(prefix));
        let one_of = |world: &mut Self, is_one: &dyn Fn(&str) -> bool| {
            let mut items = world.items(is_one);
            items.retain(|(_, item)| !item.contains_key("deleted"));
            items.choose(&mut world.rng).cloned()
        };
        match damage {
            Damage::RowLost => {
                let (key, _) = one_of(self, &is_row)?;
                self.plant(&key, None);
                Some(key)
            }
            Damage::RowChanged => {
                let (key, mut item) = one_of(self, &|sk| is_row(sk) && !sk.starts_with("ORPHAN#"))?;
                item.insert("name".into(), text("changed"));
                self.plant(&key, Some(item));
                Some(key)
            }
            Damage::RowInvented => {
                let (row, item) = one_of(self, &|sk| sk.starts_with("NODE#"))?;
                let key = ItemKey { pk: self.pick(&IDS).to_owned(), ..row };
                if self.table.0.lock().unwrap().get(&key).is_some() {
                    return None;
                }
                let item = item.into_iter().chain(with_key(&key, &Schema::default())).collect();
                self.plant(&key, Some(item));
                Some(key)
            }
            Damage::LineageLost => {
                let (key, _) = one_of(self, &|sk| sk == "LINEAGE")?;
                self.plant(&key, None);
                Some(key)
            }
            Damage::LineageChanged => {
                let (key, mut item) = one_of(self, &|sk| sk == "LINEAGE")?;
                let others = AttributeValue::L(vec![text("x"), text("y")]);
                item.insert("ancestors".into(), others);
                self.plant(&key, Some(item));
                Some(key)
            }
            Damage::LineageUnsettled => {
                let (key, mut item) = one_of(self, &|sk| sk == "LINEAGE")?;
                item.insert("rows_pending".into(), AttributeValue::Bool(true));
                self.plant(&key, Some(item));
                Some(key)
            }
            Damage::LineageLies => {
                let (key, mut item) = one_of(self, &|sk| sk == "LINEAGE")?;
                let (other, _) = one_of(self, &|_| true).filter(|(other, _)| !other.sk.ends_with(&key.pk))?;
                let named = with_key(&other, &Schema::default()).into_iter().collect();
                item.insert("stale_rows".into(), AttributeValue::L(vec![AttributeValue::M(named)]));
                self.plant(&key, Some(item));
                Some(key)
            }
            Damage::LineageBuried => {
                let (key, mut item) = one_of(self, &|sk| sk == "LINEAGE")?;
                for name in ["ancestors", "path", "root", "orphan", "order", "links", "rows_pending", "stale_rows"] {
                    item.remove(name);
                }
                let deleting = [
                    ("mode", text("delete")),
                    ("operation", text("an old one")),
                    ("revisions", AttributeValue::Bool(false)),
                ];
                let deleting = deleting.map(|(name, value)| (name.to_owned(), value)).into();
                item.insert("format".into(), AttributeValue::N("1".into()));
                item.insert("deleting".into(), AttributeValue::M(deleting));
                item.insert("deleted".into(), AttributeValue::N("1000000".into()));
                item.insert("_expires".into(), AttributeValue::N("2209600".into()));
                self.plant(&key, Some(item));
                Some(key)
            }
            Damage::RecordLost => {
                let (key, _) = one_of(self, &|sk| sk == "NODE")?;
                self.plant(&key, None);
                Some(ItemKey { sk: "LINEAGE".into(), ..key })
            }
            Damage::CopyLost => {
                let (key, _) = one_of(self, &|sk| sk.starts_with("v0_"))?;
                self.plant(&key, None);
                Some(key)
            }
            Damage::CopyChanged => {
                let (key, mut item) = one_of(self, &|sk| sk.starts_with("v0_"))?;
                item.insert("_version".into(), AttributeValue::N(self.pick(&["0", "9"]).into()));
                self.plant(&key, Some(item));
                Some(key)
            }
            Damage::CopyInvented => {
                let key = ItemKey::new(self.pick(&IDS), "v0_Nothing");
                let mut item = with_key(&key, &Schema::default());
                item.insert("_version".into(), AttributeValue::N("3".into()));
                self.plant(&key, Some(item));
                Some(key)
            }
            Damage::CursorLeft => {
                let (lineage, _) = one_of(self, &|sk| sk == "LINEAGE")?;
                let key = ItemKey { sk: "CASCADE".into(), ..lineage };
                let mut item = with_key(&key, &Schema::default());
                item.insert("format".into(), AttributeValue::N("1".into()));
                item.insert("sequence".into(), text(format!("{:0>40}", 7)));
                self.plant(&key, Some(item));
                Some(key)
            }
            Damage::MarkLeft => {
                let (key, mut item) = one_of(self, &|sk| sk == "NODE")?;
                let mark = [
                    ("mode", text(self.pick(&["delete", "adopt", "detach"]))),
                    ("operation", text("lost")),
                    ("revisions", AttributeValue::Bool(self.rng.random_bool(0.5))),
                ];
                let mark: std::collections::HashMap<String, AttributeValue> =
                    mark.map(|(name, value)| (name.to_owned(), value)).into();
                let heir = item.get("parent").filter(|parent| **parent != text(&key.pk)).cloned();
                item.insert("_deleting".into(), AttributeValue::M(mark.clone()));
                self.plant(&key, Some(item));
                let lineage_key = ItemKey { sk: "LINEAGE".into(), ..key.clone() };
                let lineage = self.table.0.lock().unwrap().get(&lineage_key).cloned();
                if let (Some(mut lineage), true) = (lineage, self.rng.random_bool(0.5)) {
                    let heir = heir.map(|heir| ("heir".to_owned(), heir));
                    lineage.insert("deleting".into(), AttributeValue::M(mark.into_iter().chain(heir).collect()));
                    self.plant(&lineage_key, Some(lineage));
                }
                Some(key)
            }
        }
    }

    /// Compares the whole table, as `sapwood verify` does: suspects first, then a second look at each.
    fn verify(&mut self) -> Result<Vec<Difference>, String> {
        let settings = self.fanout.settings.clone();
        let client = Client::new(&self.table, &NoRetries, &settings.schema);
        let audit = Audit::new(&client, &settings);
        let (segments, size) = (self.rng.random_range(1..=3), self.rng.random_range(1..=30));
        let compared = at_once(compared(&audit, segments, size));
        let (suspects, found) = compared.map_err(|error| error.to_string())?;
        if let (true, Some(lost)) = (found.is_empty(), suspects.first()) {
            return Err(format!("nothing has changed, and a second look doesn't find {lost:?}"));
        }
        Ok(found.into_iter().filter(|difference| !difference.kind.is_finding()).collect())
    }

    fn repair(&mut self, differences: Vec<Difference>) -> Result<(), String> {
        let settings = self.fanout.settings.clone();
        let client = Client::new(&self.table, &NoRetries, &settings.schema);
        let audit = Audit::new(&client, &settings);
        for difference in due(differences) {
            self.number += 1;
            let said = format!("{} {} {}", difference.kind.as_str(), difference.key.pk, difference.key.sk);
            let mended = at_once(audit.mend(difference, self.number.to_string(), self.fanout.rules));
            let mended = mended.map_err(|error| error.to_string())?;
            self.log.push(format!("{said}: {mended:?}"));
            if mended == Mended::Left {
                return Err("a fault was left".to_owned());
            }
        }
        Ok(())
    }

    fn play(&mut self) -> Result<(), String> {
        self.populate()?;
        let before = self.contents();
        if let Some(wrong) = self.verify()?.first() {
            return Err(format!("nothing was damaged, and this was found: {wrong:?}"));
        }
        let count = [1, 1, 2, 5][self.rng.random_range(0..4)];
        let mut done = Vec::new();
        for _ in 0..count {
            let damage = *Damage::ALL.choose(&mut self.rng).unwrap();
            self.log.push(format!("{damage:?}"));
            done.extend(self.damage(damage).map(|key| (damage, key)));
        }
        let mut found = self.verify()?;
        if let ([(damage, key)], 1) = (&done[..], count) {
            let is_named =
                |difference: &Difference| difference.key == *key && damage.names().contains(&difference.kind);
            if self.contents() != before && !found.iter().any(is_named) {
                return Err(format!("the damage isn't among {found:?}"));
            }
        }
        for _ in 0..ROUNDS_MAX {
            if found.is_empty() {
                break;
            }
            self.repair(found)?;
            self.settle()?;
            found = self.verify()?;
        }
        if let Some(left) = found.first() {
            return Err(format!("left after {ROUNDS_MAX} rounds: {left:?}"));
        }
        let after = self.contents();
        let mut wrong = own::oracle().differences(&after);
        if !done.iter().any(|(damage, _)| damage.is_of_records()) && records(&before) != records(&after) {
            wrong.push("a base record was changed".to_owned());
        }
        if wrong.is_empty() { Ok(()) } else { Err(wrong.join("; ")) }
    }
}

/// The base records, without what handler and repairs write into them.
fn records(contents: &Contents) -> Contents {
    let oracle = own::oracle();
    let base = contents.iter().filter(|((pk, sk), _)| oracle.is_base(pk, sk));
    let bare = |item: &Item| {
        let ours = ["_touched", "_redriven"];
        item.iter().filter(|(name, _)| !ours.contains(&name.as_str())).map(|(n, v)| (n.clone(), v.clone())).collect()
    };
    base.map(|(key, item)| (key.clone(), bare(item))).collect()
}

/// Damages a table and repairs it, with this rule broken, if any.
///
/// # Errors
/// The [`Fault`], with what was done.
pub fn run_damage(seed: u64, broken: Option<Rule>) -> Result<Run, Fault> {
    let table = MemoryTable(Arc::default(), Schema::default());
    let mut world = World::new(seed, table, broken);
    match world.play() {
        Ok(()) => Ok(Run { steps: world.number as usize, trace: 0 }),
        Err(what) => {
            world.log.push(what);
            Err(Fault { seed, what: world.log })
        }
    }
}
