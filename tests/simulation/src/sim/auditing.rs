//! The auditor on a table that is damaged again and again: a run at a time, with little room, few units, requests that
//! fail, and runs side by side.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::Duration;

use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use sapwood_core::audit::AuditorState;
use sapwood_core::plan::Rule;
use sapwood_engine::announce::announce;
use sapwood_engine::auditor::{Auditor, Clock, Limits, Report};
use sapwood_store::{Client, ErrorKind, TableError};

use super::damage::{Damage, World};
use super::schedule::{Fault, Run};
use super::totals::totals_of;
use crate::fixture::{NoRetries, at_once};
use crate::intercept::{Intercept, Observer, Request};

/// Refuses some requests, as a table does that throttles.
struct Throttles {
    rng: Mutex<SmallRng>,
    percent: u32,
}

impl Observer for Throttles {
    async fn before(&self, _: &Request<'_>) {}

    fn refuses(&self, _: &Request<'_>) -> Option<TableError> {
        let refuses = self.rng.lock().unwrap().random_ratio(self.percent, 100);
        refuses.then(|| TableError::new(ErrorKind::Retry, "throttled"))
    }
}

/// The time from one run to the next, in seconds.
const STEP: u64 = 300;

/// Most runs until what was damaged is mended, and a pass that began afterwards has ended.
const RUNS_MAX: usize = 3_000;

struct Audited {
    world: World,
    limits: Limits,
    percent: u32,
    heals: bool,
    now: u64,
}

impl Audited {
    /// Makes one run; now and then another one begins from the same state and saves too late.
    fn run(&mut self) -> Result<Option<Report>, String> {
        self.now += STEP;
        self.world.number += 1;
        let seed = self.world.rng.random();
        let observer = Throttles { rng: Mutex::new(SmallRng::seed_from_u64(seed)), percent: self.percent };
        let table = Intercept { table: self.world.table.clone(), observer };
        let settings = self.world.fanout.settings.clone();
        let client = Client::new(&table, &NoRetries, &settings.schema);
        let auditor = Auditor::new(&client, &settings, self.limits, self.heals).with(self.world.fanout.rules);
        let pages = std::cell::Cell::new(self.world.rng.random_range(1..6));
        let pace = || pages.replace(pages.get() - 1) > 1;
        let report = at_once(auditor.run(Clock { now: self.now, name: self.world.number * 1_000, pace }));
        // The state couldn't be read or saved: the function was stopped, say.
        let Ok(report) = report else { return Ok(None) };
        if !report.is_saved {
            return Err("nobody else has saved, and this run wasn't saved".to_owned());
        }
        if !self.heals && self.records_waiting() {
            return Err("an auditor that only reports has written something".to_owned());
        }
        if self.percent == 0 && report.ended_by.is_some() {
            return Err(format!("nothing has failed, and the run has: {:?}", report.ended_by));
        }
        Ok(Some(report))
    }

    /// True if the stream has records that are the handler's.
    fn records_waiting(&self) -> bool {
        let stream = &self.world.table.0.lock().unwrap().stream;
        stream.iter().any(|record| super::schedule::passes_filter(&record.key.sk))
    }

    fn state(&self) -> Option<AuditorState> {
        let settings = &self.world.fanout.settings;
        let memory = self.world.table.0.lock().unwrap();
        let kept =
            AuditorState::read(memory.get(&settings.schema.audit_key())?, Some(self.limits.settle), self.now).ok()?;
        Some(kept.state)
    }

    /// Runs until a pass has ended that began after this moment, and all that was confirmed before is settled.
    fn runs_until_right(&mut self, what: &str) -> Result<(), String> {
        let begun = self.now;
        for _ in 0..RUNS_MAX {
            self.run()?;
            // The handler follows, at times late.
            if self.world.rng.random_ratio(2, 3) {
                self.world.settle()?;
            }
            let Some(state) = self.state() else { continue };
            let is_whole = state.right_as_of.is_some_and(|as_of| as_of > begun);
            let Some(last) = state.last.filter(|_| is_whole) else { continue };
            // What was left, or never came to rest, is the next pass's.
            if last.left + last.restless > 0 {
                continue;
            }
            self.world.settle()?;
            let wrong: Vec<String> = self.world.differences().into_iter().chain(self.world.owners_changed()).collect();
            if wrong.is_empty() {
                return Ok(());
            }
            return Err(format!("{what}: a pass has ended, and this is wrong: {}", wrong.join("; ")));
        }
        Err(format!("{what}: no pass has ended well in {RUNS_MAX} runs: {:?}", self.state()))
    }

    fn play(&mut self) -> Result<(), String> {
        self.world.populate()?;
        let settings = self.world.fanout.settings.clone();
        let client = Client::new(&self.world.table, &NoRetries, &settings.schema);
        at_once(announce(&client, &settings, "0.1.0")).map_err(|error| error.to_string())?;
        self.runs_until_right("a table that is right")?;
        let state = self.state().ok_or("no state")?;
        if state.pass.differences > 0 {
            return Err(format!("nothing was damaged, and this counted: {:?}", state.pass));
        }
        for _ in 0..3 {
            for _ in 0..self.world.rng.random_range(1..=4) {
                let damage = *Damage::ALL.choose(&mut self.world.rng).unwrap();
                if damage.is_newer() {
                    continue;
                }
                self.world.log.push(format!("{damage:?}"));
                self.world.damage(damage);
                if self.world.rng.random_bool(0.5) {
                    self.run()?;
                }
            }
            self.runs_until_right("after damage")?;
        }
        Ok(())
    }
}

impl Audited {
    /// Damages totals, and rows beside them. No pass makes a total wrong that was right, and none that is wrong stays
    /// untold.
    fn play_totals(&mut self) -> Result<(), String> {
        self.world.populate_totals()?;
        let settings = self.world.fanout.settings.clone();
        let client = Client::new(&self.world.table, &NoRetries, &settings.schema);
        at_once(announce(&client, &settings, "0.1.0")).map_err(|error| error.to_string())?;
        let healthy = totals_of(&self.world.contents());
        let wrong = |world: &World| -> BTreeSet<String> {
            let now = totals_of(&world.contents());
            let places = healthy.keys().chain(now.keys());
            places.filter(|pk| healthy.get(*pk) != now.get(*pk)).cloned().collect()
        };
        for _ in 0..self.world.rng.random_range(1..=3) {
            self.world.damage_totals();
        }
        let before = wrong(&self.world);
        for _ in 0..self.world.rng.random_range(0..=2) {
            let damage = *[Damage::RowLost, Damage::RowChanged].choose(&mut self.world.rng).unwrap();
            self.world.damage(damage);
        }
        let begun = self.now;
        for _ in 0..RUNS_MAX {
            self.run()?;
            self.world.settle()?;
            let Some(state) = self.state() else { continue };
            if state.right_as_of.is_none_or(|as_of| as_of <= begun) {
                continue;
            }
            let after = wrong(&self.world);
            if let Some(worse) = after.difference(&before).next() {
                let now = totals_of(&self.world.contents());
                return Err(format!("{worse} was {:?}, and is {:?}", healthy.get(worse), now.get(worse)));
            }
            let told = state.last.as_ref().map_or(0, |last| last.left + last.restless + last.findings.len() as u64);
            if !after.is_empty() && told == 0 {
                return Err(format!("a pass has ended, tells of nothing, and this is wrong: {after:?}"));
            }
            return Ok(());
        }
        Err(format!("no pass has ended in {RUNS_MAX} runs: {:?}", self.state()))
    }
}

/// Has the auditor look at a table whose totals are damaged, with this rule broken, if any.
///
/// # Errors
/// The [`Fault`], with what was done.
pub fn run_totals_auditor(seed: u64, broken: Option<Rule>) -> Result<Run, Fault> {
    let world = World::with_totals(seed, broken);
    let settle = Duration::from_secs(STEP);
    let limits = Limits { settle, pass_every: Duration::ZERO, page_items_max: 20, ..Limits::default() };
    let mut audited = Audited { world, limits, percent: 0, heals: true, now: 1_000_000 };
    match audited.play_totals() {
        Ok(()) => Ok(Run { steps: audited.world.number as usize, trace: 0 }),
        Err(what) => {
            audited.world.log.push(what);
            Err(Fault { seed, what: audited.world.log })
        }
    }
}

/// Has the auditor mend a table that is damaged again and again.
///
/// # Errors
/// The [`Fault`], with what was done.
pub fn run_auditor(seed: u64) -> Result<Run, Fault> {
    let mut world = World::new(seed, seed % 4 == 3, None);
    let limits = Limits {
        read_units_max: [2.0, 20.0, 500.0][world.rng.random_range(0..3)],
        page_items_max: world.rng.random_range(1..=20),
        suspects_max: world.rng.random_range(20..=40),
        suspects_bytes_max: 30_000,
        repairs_max: world.rng.random_range(1..=5),
        unheeded_max: 10,
        totals_children_max: 100,
        recent_history_bytes_max: 10_000,
        settle: Duration::from_secs(world.rng.random_range(0..=2) * STEP),
        pass_every: Duration::from_secs(world.rng.random_range(0..=3) * STEP),
    };
    let percent = [0, 0, 3, 10][world.rng.random_range(0..4)];
    let mut audited = Audited { world, limits, percent, heals: true, now: 1_000_000 };
    match audited.play() {
        Ok(()) => Ok(Run { steps: audited.world.number as usize, trace: 0 }),
        Err(what) => {
            audited.world.log.push(format!("{:?}, {percent} % of requests fail", audited.limits));
            audited.world.log.push(what);
            Err(Fault { seed, what: audited.world.log })
        }
    }
}
