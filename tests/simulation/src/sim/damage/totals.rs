//! Totals that are damaged at random: what they are the sum of, and the epoch that all of them are of.

use std::collections::BTreeSet;

use rand::RngExt;
use rand::rngs::SmallRng;
use rand::seq::{IndexedRandom, IteratorRandom};
use sapwood_core::audit::{Difference, Kind, due};
use sapwood_core::keys::{ItemKey, NodeRef};
use sapwood_core::model::{AttributeValue, Item, Settings, Totals, text, with_key};
use sapwood_core::plan::Rule;
use sapwood_engine::audit::Audit;
use sapwood_store::Client;

use super::World;
use crate::fixture::{NoRetries, at_once};
use crate::memory::Memory;
use crate::sim::schedule::{Fault, Run};
use crate::sim::totals::{ATTRIBUTES, wrong_places};

/// What is done to totals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TotalsDamage {
    /// The epoch is deleted.
    EpochLost,
    /// The epoch has no number, or no format.
    EpochGarbled,
    /// The epoch is an earlier one, or a later one, or the greatest number that there is.
    EpochAltered,
    /// What a node is counted as is deleted.
    CountLost,
    /// A node is counted with other numbers, or below other nodes.
    CountChanged,
    /// A node is counted in an earlier epoch.
    CountEarlier,
    /// A node is counted in a later epoch.
    CountAhead,
    /// A lane is deleted.
    LaneLost,
    /// A lane has other numbers.
    LaneChanged,
    /// A lane has something that nobody can add to.
    LaneGarbled,
    /// A lane of a later epoch.
    LaneAhead,
    /// A lane that nobody reads.
    LaneStray,
    /// The mark of a recount that hasn't ended.
    RecountLeft,
}

impl TotalsDamage {
    const ALL: [Self; 13] = [
        Self::EpochLost,
        Self::EpochGarbled,
        Self::EpochAltered,
        Self::CountLost,
        Self::CountChanged,
        Self::CountEarlier,
        Self::CountAhead,
        Self::LaneLost,
        Self::LaneChanged,
        Self::LaneGarbled,
        Self::LaneAhead,
        Self::LaneStray,
        Self::RecountLeft,
    ];

    /// The kind of difference by which it is named.
    fn name(self) -> Kind {
        match self {
            Self::EpochLost | Self::EpochGarbled | Self::EpochAltered => Kind::EpochWrong,
            Self::CountLost | Self::CountChanged | Self::CountEarlier => Kind::CountWrong,
            Self::CountAhead => Kind::CountAhead,
            Self::LaneLost | Self::LaneChanged | Self::LaneGarbled => Kind::TotalWrong,
            Self::LaneAhead => Kind::TotalsAhead,
            Self::LaneStray => Kind::TotalsLeft,
            Self::RecountLeft => Kind::RecountLeft,
        }
    }
}

/// Damages totals. Returns what was done, and the key of what is wrong then; `None` where there is nothing to damage.
pub(in crate::sim) fn damage_totals(memory: &mut Memory, rng: &mut SmallRng) -> Option<(TotalsDamage, ItemKey)> {
    let damage = *TotalsDamage::ALL.choose(rng).unwrap();
    let epoch_key = ItemKey::new("SAPWOOD", "EPOCH");
    let has_copy = memory.get(&ItemKey::new("SAPWOOD", "EPOCH#COPY")).is_some();
    let epoch = memory.get(&epoch_key).map_or(0, number_of);
    let earlier = (epoch + 9_999) % 10_000;
    let later = (epoch + rng.random_range(1..40)) % 10_000;
    let is_count = |item: &Item| matches!(item.get("ancestors"), Some(AttributeValue::L(_)));
    let count = memory.scan(0, 1, None).filter(|(key, item)| key.sk == "COUNTED" && is_count(item)).choose(rng);
    let count = count.map(|(key, item)| (key.clone(), item.clone()));
    let present = format!("TOTALS#{epoch:04}#");
    let is_lane = |key: &ItemKey, item: &Item| key.sk.starts_with(&present) && !item.contains_key("theirs");
    let lane = memory.scan(0, 1, None).filter(|(key, item)| is_lane(key, item)).choose(rng);
    let lane = lane.map(|(key, item)| (key.clone(), item.clone()));
    let (key, item) = match damage {
        TotalsDamage::EpochLost => (has_copy.then_some(epoch_key)?, None),
        TotalsDamage::EpochGarbled => {
            let mut item = memory.get(&epoch_key)?.clone();
            match rng.random_range(0..3) {
                0 => _ = item.remove("epoch"),
                1 => _ = item.insert("epoch".to_owned(), text("2")),
                _ => _ = item.remove("format"),
            }
            (epoch_key, Some(item))
        }
        TotalsDamage::EpochAltered => {
            let mut item = memory.get(&epoch_key).filter(|_| has_copy)?.clone();
            let other = *[earlier, later, 9_999].choose(rng).unwrap();
            item.insert("epoch".to_owned(), number(other));
            (epoch_key, Some(item))
        }
        TotalsDamage::CountLost => (count?.0, None),
        TotalsDamage::CountChanged => {
            let (key, mut item) = count?;
            let Some(AttributeValue::L(mut ancestors)) = item.get("ancestors").cloned() else { return None };
            ancestors.pop()?;
            if rng.random_bool(0.5) {
                let size = [(ATTRIBUTES[0].to_owned(), number(999))];
                item.insert("values".to_owned(), AttributeValue::M(size.into()));
            } else {
                item.insert("ancestors".to_owned(), AttributeValue::L(ancestors));
            }
            (key, Some(item))
        }
        TotalsDamage::CountEarlier | TotalsDamage::CountAhead => {
            let (key, mut item) = count?;
            item.insert("epoch".to_owned(), number(if damage == TotalsDamage::CountEarlier { earlier } else { later }));
            (key, Some(item))
        }
        TotalsDamage::LaneLost => (lane?.0, None),
        TotalsDamage::LaneChanged | TotalsDamage::LaneGarbled | TotalsDamage::RecountLeft => {
            let (key, mut item) = lane?;
            let (name, value) = match damage {
                TotalsDamage::LaneChanged => ("_count", number(rng.random_range(50..60))),
                TotalsDamage::LaneGarbled => ("_count", text("many")),
                _ => ("_recount", text("1234")),
            };
            item.insert(name.to_owned(), value);
            (key, Some(item))
        }
        TotalsDamage::LaneAhead | TotalsDamage::LaneStray => {
            let (key, mut item) = lane?;
            let sk = if damage == TotalsDamage::LaneAhead {
                format!("TOTALS#{later:04}#0{}", rng.random_range(0..4))
            } else {
                format!("{present}{:02}", rng.random_range(4..100))
            };
            item.insert("SK".to_owned(), text(sk.as_str()));
            (ItemKey { sk, ..key }, Some(item))
        }
    };
    memory.write(&key, item);
    // A total is one, of several lanes.
    let wrong = if damage.name() == Kind::TotalWrong { ItemKey { sk: format!("{present}00"), ..key } } else { key };
    Some((damage, wrong))
}

fn number(number: u32) -> AttributeValue {
    AttributeValue::N(number.to_string())
}

fn number_of(item: &Item) -> u32 {
    match item.get("epoch") {
        Some(AttributeValue::N(digits)) => digits.parse().unwrap(),
        _ => 0,
    }
}

impl World {
    /// A table that keeps totals.
    pub(in crate::sim) fn with_totals(seed: u64, broken: Option<Rule>) -> Self {
        let mut world = Self::new(seed, seed % 4 == 3, broken);
        let totals = Some(Totals::of(ATTRIBUTES.map(str::to_owned)));
        world.fanout.settings = Settings { totals, ..world.fanout.settings.clone() };
        world
    }

    /// Writes base records, with numbers that are added up, and now and then begins the totals anew.
    pub(in crate::sim) fn populate_totals(&mut self) -> Result<(), String> {
        self.populate()?;
        for (key, mut item) in self.items(|sk| sk == "NODE") {
            let size = ["1", "2.5", "0.30000000000000004", "12345678901234567890"].choose(&mut self.rng).unwrap();
            item.insert(ATTRIBUTES[0].to_owned(), AttributeValue::N((*size).to_owned()));
            self.write(&key, Some(item));
        }
        self.settle()?;
        for _ in 0..self.rng.random_range(0..3) {
            self.begin_anew()?;
        }
        // An item of the owner's that only looks like a lane.
        let key = ItemKey::new(self.partition("a"), "TOTALS#2024#01");
        let item: Item = with_key(&key, &self.schema()).into_iter().chain([("theirs".to_owned(), text("7"))]).collect();
        self.write(&key, Some(item.clone()));
        self.table.0.lock().unwrap().stream.clear();
        self.owners.insert(key, item);
        Ok(())
    }

    /// Does what `sapwood backfill --totals` does.
    fn begin_anew(&mut self) -> Result<(), String> {
        self.number += 1;
        let (settings, rules, name) = (self.fanout.settings.clone(), self.fanout.rules, self.number.to_string());
        let table = self.table.clone();
        let client = Client::new(&table, &NoRetries, &settings.schema);
        let audit = Audit::new(&client, &settings);
        let failed = |error: sapwood_store::TableError| error.to_string();
        let epoch = at_once(audit.begin_epoch(&[], &name, rules)).map_err(failed)?.map_err(|no| format!("{no:?}"))?;
        let items = self.items(|sk| sk == "NODE" || sk.starts_with("TOTALS#"));
        for (position, (key, _)) in items.into_iter().enumerate() {
            let node = settings.schema.parse_partition(&key.pk).unwrap();
            let kind = if key.sk == "NODE" { Kind::CountWrong } else { Kind::TotalsLeft };
            let name = format!("{}{position:04}", self.number);
            at_once(audit.mend(Difference::unseen(kind, key, node), name, rules)).map_err(failed)?;
        }
        self.settle()?;
        let is_ended = at_once(audit.end_epoch(epoch, &name, rules)).map_err(failed)?;
        if is_ended { Ok(()) } else { Err("nobody else has begun an epoch, and this one wasn't ended".to_owned()) }
    }

    /// Damages totals, and says so.
    pub(in crate::sim) fn damage_totals(&mut self) -> Option<(TotalsDamage, ItemKey)> {
        let done = damage_totals(&mut self.table.0.lock().unwrap(), &mut self.rng)?;
        self.table.0.lock().unwrap().stream.clear();
        self.log.push(format!("{done:?}: {:?}", self.table.0.lock().unwrap().get(&done.1)));
        Some(done)
    }

    /// The partitions whose totals are wrong, but for those that can't be compared, and what else is left of damage.
    fn wrong(&self, found: &[Difference]) -> Vec<String> {
        let mut contents = self.contents();
        contents.retain(|(pk, sk), _| !self.owners.contains_key(&ItemKey::new(pk, sk)));
        let uncompared = found.iter().filter(|one| one.kind == Kind::TotalNotCompared);
        let uncompared: BTreeSet<&str> = uncompared.map(|one| one.key.pk.as_str()).collect();
        let wrong =
            wrong_places(&contents, &ATTRIBUTES).into_iter().filter(|(pk, _)| !uncompared.contains(pk.as_str()));
        let mut wrong: Vec<String> = wrong.map(|(_, what)| what).collect();
        let said = |sk: &str| contents.get(&("SAPWOOD".to_owned(), sk.to_owned())).map(number_of_stored);
        let (epoch, copy) = (said("EPOCH"), said("EPOCH#COPY"));
        wrong.extend(
            (copy.is_some() && copy != epoch).then(|| format!("the epoch is {epoch:?}, and its copy {copy:?}")),
        );
        let present = format!("TOTALS#{:04}#0", epoch.unwrap_or_default());
        for ((pk, sk), item) in
            contents.iter().filter(|((_, sk), item)| sk.starts_with("TOTALS#") && !item.contains_key("theirs"))
        {
            let is_read = sk.strip_prefix(&present).is_some_and(|lane| ["0", "1", "2", "3"].contains(&lane));
            wrong.extend((!is_read).then(|| format!("nobody reads {pk} {sk}")));
            wrong.extend(item.contains_key("_recount").then(|| format!("{pk} {sk} is marked")));
        }
        wrong
    }

    fn repair_totals(&mut self, found: Vec<Difference>) -> Result<(), String> {
        let (totals, others): (Vec<_>, Vec<_>) = due(found).into_iter().partition(|one| one.kind.is_recounted());
        if !others.is_empty() {
            return self.repair(others);
        }
        self.number += 1;
        let (settings, name) = (self.fanout.settings.clone(), self.number.to_string());
        let client = Client::new(&self.table, &NoRetries, &settings.schema);
        let nodes: BTreeSet<NodeRef> = totals.into_iter().map(|one| one.node).collect();
        let audit = Audit::new(&client, &settings);
        let (settled, pace) = (std::future::ready(()), |_| std::future::ready(()));
        let mended = at_once(audit.recount(nodes, name, self.fanout.rules, 2, settled, pace));
        self.log.push(format!("{:?}", mended.map_err(|error| error.to_string())?));
        Ok(())
    }

    fn play_totals(&mut self) -> Result<(), String> {
        self.populate_totals()?;
        self.plant_owners();
        let before = self.contents();
        let is_mended = |one: &Difference| !one.kind.is_finding() || one.kind.is_recounted();
        let found = self.verify()?;
        if let Some(wrong) = found.iter().find(|one| is_mended(one)) {
            return Err(format!("nothing was damaged, and this was found: {wrong:?}"));
        }
        let count = [1, 1, 2, 5][self.rng.random_range(0..4)];
        let done: Vec<_> = (0..count).filter_map(|_| self.damage_totals()).collect();
        let mut found = self.verify()?;
        let wrong = self.wrong(&found);
        if let (Some(wrong), false) = (wrong.first(), found.iter().any(is_mended)) {
            return Err(format!("{wrong}, and this says that nothing is wrong: {found:?}"));
        }
        if let ([(damage, key)], 1, false) = (&done[..], count, wrong.is_empty())
            && !found.iter().any(|one| one.key == *key && one.kind == damage.name())
            && !found.iter().any(|one| one.kind == Kind::TotalNotCompared && one.key.pk == key.pk)
        {
            return Err(format!("the damage isn't among {found:?}"));
        }
        for _ in 0..super::ROUNDS_MAX {
            if !found.iter().any(is_mended) {
                break;
            }
            self.repair_totals(found.into_iter().filter(is_mended).collect())?;
            self.settle()?;
            found = self.verify()?;
        }
        if let Some(left) = found.iter().find(|one| is_mended(one)) {
            return Err(format!("left: {left:?}"));
        }
        let mut wrong = self.wrong(&found);
        wrong.extend(self.differences());
        let after = self.contents();
        let others = ["COUNTED", "TOTALS#", "EPOCH", "NAME#", "ROOTNAME#"];
        let is_base = |(_, sk): &(String, String)| !others.iter().any(|other| sk.starts_with(other));
        let [before, now] = [&before, &after].map(|contents| {
            let mut records = self.records(contents);
            records.retain(|key, _| is_base(key));
            records
        });
        wrong.extend((before != now).then(|| "a base record was changed".to_owned()));
        for (key, item) in &self.owners {
            if after.get(&(key.pk.clone(), key.sk.clone())) != Some(&item.clone().into_iter().collect()) {
                wrong.push(format!("{key:?} of the table's owner was changed"));
            }
        }
        if wrong.is_empty() { Ok(()) } else { Err(wrong.join("; ")) }
    }
}

fn number_of_stored(item: &crate::oracle::Item) -> u32 {
    number_of(&item.clone().into_iter().collect())
}

/// Damages the totals of a table and repairs them, with this rule broken, if any.
///
/// # Errors
/// The [`Fault`], with what was done.
pub fn run_totals_damage(seed: u64, broken: Option<Rule>) -> Result<Run, Fault> {
    let mut world = World::with_totals(seed, broken);
    match world.play_totals() {
        Ok(()) => Ok(Run { steps: usize::try_from(world.number).unwrap(), trace: 0 }),
        Err(what) => {
            world.log.push(what);
            Err(Fault { seed, what: world.log })
        }
    }
}
