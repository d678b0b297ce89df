//! A table that is damaged at random, compared with its base records, and repaired.
//!
//! No record of the stream tells of the damage: that is how a fault of ours, a lost record or somebody's hand would
//! leave the table.

mod make;
mod totals;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use sapwood_core::audit::{Difference, Kind, Mended, due};
use sapwood_core::fanout::StreamRecord;
use sapwood_core::keys::{ItemKey, Names, Schema};
use sapwood_core::model::{AttributeValue, Item, Settings, UniqueNames, text, with_key};
use sapwood_core::plan::{Rule, Rules};
use sapwood_engine::audit::Audit;
use sapwood_engine::fanout::{self, Fanout};
use sapwood_store::Client;

use super::repairs::{compared, compared_below};
use super::schedule::{Fault, Run, passes_filter};
use crate::fixture::{NoRetries, at_once};
use crate::memory::MemoryTable;
use crate::oracle::{Contents, Oracle};
use crate::own;
use make::is_newer;
pub(super) use totals::damage_totals;
pub use totals::{TotalsDamage, run_totals_damage};

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
    /// An item has a row's key and `_id`, and is none: in a place where no row can be, or with impossible attributes.
    RowForged,
    /// An attribute of ours in a row is gone, or has an impossible value, or the row is another node's.
    RowGarbled,
    /// An attribute of ours in a lineage is gone, or has an impossible value.
    LineageGarbled,
    /// A lineage is a copy of another node's.
    LineageStolen,
    /// A newer handler has written a lineage.
    LineageNewer,
    /// An attribute of ours in a copy is gone, or has an impossible value.
    CopyGarbled,
    /// The sign of a blocked deletion, at a node that isn't being deleted.
    CursorBlocked,
    /// A cursor with impossible attributes.
    CursorGarbled,
    /// A newer handler has written a cursor.
    CursorNewer,
    /// An attribute of ours in a record has an impossible value.
    RecordGarbled,
    /// A record that counts as put back by a repair: a node's, or one of its own.
    RecordPutBack,
    /// A lineage names, as a row that there is or was, an item of the table's owner: with such a row's key, and another
    /// `_id` or none.
    RowOfOwner,
    /// An item of the table's owner has the sort key of a lineage, where no node is.
    LineageOfOwner,
    /// An item of the table's owner has the key of the claim of a node's name.
    ClaimOfOwner,
    /// A record says how its node was put into the trash, and names a parent.
    TrashLeft,
    /// What stands in the place of the mark of a copy is none.
    CopyMarkGarbled,
}

impl Damage {
    /// All kinds of damage.
    pub const ALL: [Self; 30] = [
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
        Self::RowForged,
        Self::RowGarbled,
        Self::LineageGarbled,
        Self::LineageStolen,
        Self::LineageNewer,
        Self::CopyGarbled,
        Self::CursorBlocked,
        Self::CursorGarbled,
        Self::CursorNewer,
        Self::RecordGarbled,
        Self::RecordPutBack,
        Self::RowOfOwner,
        Self::LineageOfOwner,
        Self::ClaimOfOwner,
        Self::TrashLeft,
        Self::CopyMarkGarbled,
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
            Self::RowForged => &[Kind::RowSurplus],
            Self::RowGarbled => &[Kind::RowWrong],
            Self::LineageGarbled | Self::LineageStolen => {
                &[Kind::LineageMissing, Kind::LineageWrong, Kind::LineageRows, Kind::LineageSurplus]
            }
            Self::LineageNewer | Self::CursorNewer => &[Kind::NewerFormat],
            Self::CopyGarbled => &[Kind::CopyWrong, Kind::ReservedKey],
            Self::CursorBlocked => &[Kind::CursorStuck],
            Self::CursorGarbled => &[Kind::CursorStuck, Kind::CursorUnreadable, Kind::ReservedKey],
            Self::RecordGarbled => {
                &[Kind::MarkUnreadable, Kind::TrashUnreadable, Kind::TrashLeft, Kind::LineageRows, Kind::LineageWrong]
            }
            Self::RecordPutBack => &[Kind::RecordPutBack],
            Self::RowOfOwner => &[Kind::LineageRows, Kind::LineageWrong],
            Self::LineageOfOwner | Self::ClaimOfOwner => &[Kind::ReservedKey],
            Self::TrashLeft => &[Kind::TrashLeft],
            Self::CopyMarkGarbled => &[Kind::MarkUnreadable],
        }
    }

    /// True if a newer handler has written something. Whoever mends the rest leaves that as it is.
    pub(super) fn is_newer(self) -> bool {
        matches!(self, Self::LineageNewer | Self::CursorNewer)
    }

    /// True if the base records aren't the same afterwards.
    fn is_of_records(self) -> bool {
        matches!(
            self,
            Self::RecordLost
                | Self::MarkLeft
                | Self::RecordGarbled
                | Self::RecordPutBack
                | Self::TrashLeft
                | Self::CopyMarkGarbled
        )
    }

    /// True if the oracle sees nothing of it, and it is to be named all the same.
    fn is_always_named(self) -> bool {
        matches!(self, Self::RecordPutBack | Self::LineageOfOwner | Self::ClaimOfOwner | Self::CopyMarkGarbled)
    }
}

pub(super) struct World {
    pub(super) rng: SmallRng,
    pub(super) table: MemoryTable,
    pub(super) fanout: Fanout,
    queue: Vec<StreamRecord>,
    pub(super) number: u64,
    pub(super) log: Vec<String>,
    /// Items of the table's owner under keys that only look like ours. They stay as they are, whatever happens.
    owners: BTreeMap<ItemKey, Item>,
    /// Items of a newer handler, as long as they are there.
    newer: BTreeSet<ItemKey>,
}

impl World {
    /// An empty table, with tenants or without, and with this rule broken, if any.
    pub(super) fn new(seed: u64, tenants: bool, broken: Option<Rule>) -> Self {
        let rules = broken.map_or_else(Rules::default, Rules::without);
        let schema = Schema::new(Names::default(), tenants).unwrap();
        let names = if seed % 5 == 1 { UniqueNames::Exact } else { UniqueNames::Off };
        let settings = Settings { schema: schema.clone(), names, ..own::settings() };
        let fanout = Fanout { settings, rules, ..Fanout::default() };
        let (rng, table) = (SmallRng::seed_from_u64(seed), MemoryTable(Arc::default(), schema));
        let (owners, newer) = (BTreeMap::new(), BTreeSet::new());
        Self { rng, table, fanout, queue: Vec::new(), number: 0, log: Vec::new(), owners, newer }
    }

    fn schema(&self) -> Schema {
        self.fanout.settings.schema.clone()
    }

    /// The oracle of the table. It sees nothing of its owner's items.
    pub(super) fn differences(&self) -> Vec<String> {
        let mut contents = self.contents();
        let is_left = |((_, sk), item): &(&(String, String), &crate::oracle::Item)| {
            sk == "NODE" && item.contains_key("_trashed") && item.contains_key("parent")
        };
        let left = contents.iter().filter(is_left).map(|((pk, _), _)| format!("{pk} was taken out of the trash"));
        let left: Vec<String> = left.collect();
        contents.retain(|(pk, sk), item| {
            !self.owners.contains_key(&ItemKey::new(pk, sk)) && !self.only_looks_like_ours(pk, sk, item)
        });
        // A lineage that a damage has taken the life from leaves a tombstone without one, which goes after its time all
        // the same.
        let tombstones = contents.iter_mut().filter(|((_, sk), item)| sk == "LINEAGE" && item.contains_key("deleted"));
        for (_, tombstone) in tombstones {
            tombstone.entry("born".to_owned()).or_insert_with(|| text("none"));
        }
        let oracle = Oracle { tenants: self.schema().has_tenants(), ..own::oracle() };
        oracle.differences(&contents).into_iter().chain(left).collect()
    }

    /// What has become of items of the table's owner that nobody may touch.
    pub(super) fn owners_changed(&self) -> Option<String> {
        let contents = self.contents();
        let mut owners = self.owners.iter();
        let changed = owners.find(|(key, item)| {
            contents.get(&(key.pk.clone(), key.sk.clone())) != Some(&(*item).clone().into_iter().collect())
        });
        changed.map(|(key, _)| format!("{key:?} of the table's owner was changed"))
    }

    /// The partition of a node, of any tenant.
    fn partition(&mut self, id: &str) -> String {
        let tenant = self.pick(&["x", "y"]);
        if self.schema().has_tenants() { format!("TENANT#{tenant}#{id}") } else { id.to_owned() }
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
                0 => format!("v{:03}_{}", self.rng.random_range(1..5), self.pick(&TOPICS)),
                1 => format!("v{:03}_{}", self.rng.random_range(1..5), "Audit"),
                _ => "NODE".to_owned(),
            };
            let key = ItemKey::new(self.partition(id), key);
            if key.sk == "NODE" && self.rng.random_ratio(4, 5) {
                // Mostly below a node that comes before it, so that there are few cycles.
                let parent = IDS.iter().take_while(|other| **other != id).last().copied();
                let parent = parent.filter(|_| self.rng.random_ratio(9, 10)).unwrap_or_else(|| self.pick(&IDS));
                item.insert("parent".to_owned(), text(parent));
            }
            if key.sk == "NODE" && !item.contains_key("parent") && self.rng.random_ratio(1, 3) {
                let said = [("at", "2026-02-03T04:05:06.789Z"), ("by", "anna"), ("parent", self.pick(&IDS))];
                let said = said.map(|(name, value)| (name.to_owned(), text(value)));
                item.insert("_trashed".to_owned(), AttributeValue::M(said.into()));
            }
            if key.sk == "NODE" && self.rng.random_ratio(1, 4) {
                item.insert("segment".to_owned(), text("named"));
            }
            item.extend(with_key(&key, &self.schema()));
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
        if item.as_ref().is_some_and(is_newer) {
            self.newer.insert(key.clone());
        } else {
            self.newer.remove(key);
        }
        self.write(key, item);
        self.table.0.lock().unwrap().stream.clear();
    }

    /// The items whose sort keys this is true of.
    fn items(&self, is_one: impl Fn(&str) -> bool) -> Vec<(ItemKey, Item)> {
        let items = self.contents().into_iter().filter(|((_, sk), _)| is_one(sk));
        items.map(|((pk, sk), item)| (ItemKey { pk, sk }, item)).collect()
    }

    /// Compares the whole table, as `sapwood verify` does: suspects first, then a second look at each. Returns all that
    /// is found.
    fn verify(&mut self) -> Result<Vec<Difference>, String> {
        let settings = self.fanout.settings.clone();
        let table = self.table.clone();
        let client = Client::new(&table, &NoRetries, &settings.schema);
        let audit = Audit::new(&client, &settings);
        let (segments, size) = (self.rng.random_range(1..=3), self.rng.random_range(1..=30));
        let compared = at_once(compared(&audit, segments, size));
        let (suspects, found, classes) = compared.map_err(|error| error.to_string())?;
        if let (true, Some(lost)) = (found.is_empty(), suspects.first()) {
            return Err(format!("nothing has changed, and a second look doesn't find {lost:?}"));
        }
        let counted = self.counted();
        if classes != counted {
            return Err(format!("the pass has counted {classes:?}, and there are {counted:?}"));
        }
        for key in &self.newer {
            if !found.iter().any(|one| one.key == *key && one.kind == Kind::NewerFormat) {
                return Err(format!("{key:?} is of a newer format, and isn't among {found:?}"));
            }
        }
        // Whoever looks at a part sees nothing that isn't there.
        if self.rng.random_ratio(1, 3) {
            let id = self.pick(&IDS);
            let top = settings.schema.parse_partition(&self.partition(id)).unwrap();
            let below = at_once(compared_below(&client, &settings, top)).map_err(|error| error.to_string())?;
            let is_known =
                |one: &Difference| found.iter().any(|other| (&other.key, other.kind) == (&one.key, one.kind));
            if let Some(other) = below.iter().find(|one| !is_known(one)) {
                return Err(format!("below {id}, this is found: {other:?}, and in the whole table only {found:?}"));
            }
        }
        Ok(found.into_iter().collect())
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
        self.plant_owners();
        let before = self.contents();
        if let Some(wrong) = faults(self.verify()?).first() {
            return Err(format!("nothing was damaged, and this was found: {wrong:?}"));
        }
        let count = [1, 1, 2, 5][self.rng.random_range(0..4)];
        let mut done = Vec::new();
        for _ in 0..count {
            let damage = *Damage::ALL.choose(&mut self.rng).unwrap();
            self.log.push(format!("{damage:?}"));
            done.extend(self.damage(damage).map(|key| (damage, key)));
        }
        let found = self.verify()?;
        let says_so = |one: &Difference| !one.kind.is_finding() || one.kind.is_unjudged();
        if let (Some(wrong), false) = (self.differences().first(), found.iter().any(says_so)) {
            return Err(format!("{wrong}, and this says that nothing is wrong: {found:?}"));
        }
        if let ([(damage, key)], 1) = (&done[..], count) {
            let is_named =
                |difference: &Difference| difference.key == *key && damage.names().contains(&difference.kind);
            let is_different = !self.differences().is_empty() || damage.is_always_named();
            if is_different && !found.iter().any(is_named) {
                return Err(format!("the damage isn't among {found:?}"));
            }
        }
        let mut found = self.without_newer(found)?;
        for _ in 0..ROUNDS_MAX {
            if found.is_empty() {
                break;
            }
            self.repair(found)?;
            self.settle()?;
            found = faults(self.verify()?);
        }
        if let Some(left) = found.first() {
            return Err(format!("left after {ROUNDS_MAX} rounds: {left:?}"));
        }
        let after = self.contents();
        let mut wrong: Vec<String> = self.differences().into_iter().chain(self.owners_changed()).collect();
        if !done.iter().any(|(damage, _)| damage.is_of_records()) && self.records(&before) != self.records(&after) {
            wrong.push("a base record was changed".to_owned());
        }
        if wrong.is_empty() { Ok(()) } else { Err(wrong.join("; ")) }
    }

    /// Repairs beside items of a newer format, which stay as they are; then their handler deletes them.
    fn without_newer(&mut self, found: Vec<Difference>) -> Result<Vec<Difference>, String> {
        let found = faults(found);
        if self.newer.is_empty() {
            return Ok(found);
        }
        self.repair(found)?;
        // Records that name such items are given back until they are lost.
        let _ = self.settle();
        let newer = std::mem::take(&mut self.newer);
        for key in newer {
            if !self.table.0.lock().unwrap().get(&key).is_some_and(is_newer) {
                return Err(format!("{key:?} was of a newer format, and somebody has written it"));
            }
            self.plant(&key, None);
        }
        self.settle()?;
        Ok(faults(self.verify()?))
    }

    /// The base records, without what handler and repairs write into them.
    fn records(&self, contents: &Contents) -> Contents {
        let oracle = own::oracle();
        let is_owners = |pk: &str, sk: &str| self.owners.contains_key(&ItemKey::new(pk, sk));
        let base = contents.iter().filter(|((pk, sk), _)| oracle.is_base(pk, sk) && !is_owners(pk, sk));
        let bare = |item: &crate::oracle::Item| {
            let ours = ["_touched", "_redriven"];
            let theirs = item.iter().filter(|(name, _)| !ours.contains(&name.as_str()));
            theirs.map(|(name, value)| (name.clone(), value.clone())).collect()
        };
        base.map(|(key, item)| (key.clone(), bare(item))).collect()
    }
}

/// What a repair mends.
fn faults(found: Vec<Difference>) -> Vec<Difference> {
    found.into_iter().filter(|difference| !difference.kind.is_finding()).collect()
}

/// Damages a table and repairs it, with this rule broken, if any.
///
/// # Errors
/// The [`Fault`], with what was done.
pub fn run_damage(seed: u64, broken: Option<Rule>) -> Result<Run, Fault> {
    let mut world = World::new(seed, seed % 4 == 3, broken);
    match world.play() {
        Ok(()) => Ok(Run { steps: world.number as usize, trace: 0 }),
        Err(what) => {
            world.log.push(what);
            Err(Fault { seed, what: world.log })
        }
    }
}
