//! A million schedules of each profile: `soak MINUTES [PROFILE|VARIATION]…`. All profiles go forward together, ten
//! thousand schedules at a time. Each such slice is written down in `tests/simulation/soak.tsv` with the commit that
//! was checked out, so the next call goes on where this one ended, on any machine: commit the file. Once a seed has
//! another trace than before, because of a change of the protocol, the lines before that count no more: remove them.
//!
//! `SAPWOOD_SCHEDULES` says how many of each are wanted, in all calls together. The gate has the first seeds, so these
//! begin elsewhere. `SAPWOOD_SEED=10000017 soak 0 'Moves races'` replays one.

#![allow(clippy::expect_used, reason = "a run that can't go on should say so")]
#![allow(clippy::disallowed_methods, reason = "it is told how long it may take, and says how long it took")]

use std::process::ExitCode;
use std::time::{Duration, Instant};

use sapwood_simulation::seeds::number;
use sapwood_simulation::sim::{Drill, Profile, Writers, run, search};
use sapwood_simulation::tally::{self, checked_out};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const TALLY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/soak.tsv");
const FIRST_SEED: u64 = 10_000_000;
const SLICE: u64 = 10_000;

struct Soaked {
    name: String,
    profile: Profile,
}

/// The profiles of these names or variations, or all.
fn profiles(wanted: &[String]) -> Vec<Soaked> {
    let mut all = Vec::new();
    let mut add = |variation: &str, name: String, profile: Profile| {
        let name = format!("{name} {variation}");
        if wanted.is_empty() || wanted.iter().any(|one| *one == variation || *one == name) {
            all.push(Soaked { name, profile });
        }
    };
    for writers in Writers::KINDS {
        let (name, plain) = (format!("{writers:?}"), Profile::new(writers));
        if writers == Writers::Deep {
            add("plain", name, plain);
            continue;
        }
        add("plain", name.clone(), plain.clone());
        add("races", name.clone(), plain.clone().with_races());
        add("late", name.clone(), Profile { limbo: true, ..plain.clone() });
        add("late-races", name.clone(), Profile { limbo: true, ..plain.clone().with_races() });
        add("torn", name.clone(), Profile { torn: true, ..plain.clone().with_races() });
        add("outages", name.clone(), Profile { outages_max: 3, ..plain.clone() });
        add("repairs", name.clone(), plain.clone().with_repairs());
        add("looks", name.clone(), plain.clone().with_looks());
        add("small-requests", name.clone(), Profile { request_bytes_max: 300, ..plain.clone() });
        if writers == Writers::Totals {
            let switches = Profile { switches_totals: true, limbo: true, ..plain.clone().with_races() };
            add("switches", name.clone(), switches);
        }
        let followed = plain.clone().with_followers();
        add("followers", name.clone(), followed.clone());
        add("late-followers", name.clone(), Profile { limbo: true, ..followed.clone().with_races() });
        let switched = Profile { switches_feeds: true, limbo: true, ..followed.clone() };
        add("switched-followers", name.clone(), switched);
        add("repair-followers", name.clone(), followed.with_repairs());
        add("totals", name, Profile { limbo: true, ..plain.with_totals().with_races() });
    }
    for drill in Drill::ALL {
        add("drills", format!("{drill:?}"), Profile::drill(drill));
        add("torn-drills", format!("{drill:?}"), Profile { torn: true, limbo: true, ..Profile::drill(drill) });
        let followed = Profile::drill(drill).with_followers();
        add("followed-drills", format!("{drill:?}"), Profile { limbo: true, ..followed });
        add("outage-drills", format!("{drill:?}"), Profile { outages_max: 2, repairs_max: 2, ..Profile::drill(drill) });
    }
    all
}

/// What was run: the profile, the commit, the first seed, and the number of schedules.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Line {
    name: String,
    first: u64,
    schedules: u64,
    commit: String,
}

struct Tally(Vec<Line>);

impl Tally {
    fn read() -> Self {
        let line = |[name, first, schedules, commit]: [String; 4]| {
            let (first, schedules) = (tally::number(&first), tally::number(&schedules));
            Line { name, first, schedules, commit }
        };
        Self(tally::read(TALLY).into_iter().map(line).collect())
    }

    fn lines<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Line> {
        self.0.iter().filter(move |line| line.name == name)
    }

    /// How many schedules of a profile there were.
    fn of(&self, name: &str) -> u64 {
        self.lines(name).map(|line| line.schedules).sum()
    }

    /// The first seed of a profile after all that were run.
    fn next(&self, name: &str) -> u64 {
        self.lines(name).map(|line| line.first + line.schedules).max().unwrap_or(FIRST_SEED)
    }

    /// Adds to what is in the file now: another call may have added to it.
    fn add(name: &str, first: u64, schedules: u64, commit: &str) -> Self {
        let mut tally = Self::read();
        let is_before =
            |line: &&mut Line| line.name == name && line.commit == commit && line.first + line.schedules == first;
        match tally.0.iter_mut().find(is_before) {
            Some(line) => line.schedules += schedules,
            None => tally.0.push(Line { name: name.to_owned(), first, schedules, commit: commit.to_owned() }),
        }
        tally.0.sort();
        let words = |Line { name, first, schedules, commit }: &Line| {
            [name.clone(), first.to_string(), schedules.to_string(), commit.clone()]
        };
        tally::write(TALLY, tally.0.iter().map(words));
        tally
    }
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(minutes) = arguments.next().and_then(|minutes| minutes.parse().ok()) else {
        eprintln!("soak MINUTES [PROFILE|VARIATION]…");
        return ExitCode::from(2);
    };
    let (begun, most) = (Instant::now(), Duration::from_mins(minutes));
    let (wanted, commit) = (number("SAPWOOD_SCHEDULES").unwrap_or(1_000_000), checked_out());
    let mut left = profiles(&arguments.collect::<Vec<_>>());
    if let Some(seed) = number("SAPWOOD_SEED") {
        for Soaked { name, profile } in left {
            println!("{name}: {:?}", run(seed, &profile).map_err(|fault| fault.to_string()));
        }
        return ExitCode::SUCCESS;
    }
    let (asked, mut tally, mut wrong) = (left.len(), Tally::read(), Vec::new());
    let mut schedules = 0;
    while begun.elapsed() < most {
        let progress = |one: &Soaked| tally.of(&one.name) * one.profile.writers.weight();
        left.retain(|one| progress(one) < wanted);
        let Some(index) = (0..left.len()).min_by_key(|index| progress(&left[*index])) else { break };
        let Soaked { name, profile } = &left[index];
        let (first, slice) = (tally.next(name), SLICE / profile.writers.weight());
        match search(first..first + slice, |seed| run(seed, profile)) {
            Ok(_) => {
                schedules += slice;
                tally = Tally::add(name, first, slice, &commit);
            }
            Err(fault) => {
                println!("{name}: {fault}");
                wrong.push(format!("wrong: {name}, seed {}", fault.seed));
                left.remove(index);
            }
        }
    }
    left.retain(|one| tally.of(&one.name) * one.profile.writers.weight() < wanted);
    println!("{schedules} schedules in this call; {} of {asked} profiles aren't at {wanted}", left.len());
    wrong.iter().for_each(|wrong| println!("{wrong}"));
    let passed = asked - left.len() - wrong.len();
    println!("test result: soak. {passed} passed; {} failed;", wrong.len());
    if wrong.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
