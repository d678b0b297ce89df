//! A million schedules of each profile: `soak MINUTES [PROFILE|VARIATION]…`. All profiles go forward together, ten
//! thousand schedules at a time. Each such slice is written down in `tests/simulation/soak.tsv` with the commit that
//! was checked out, so the next call goes on where this one ended, on any machine: commit the file. Remove its lines
//! after a change of the protocol.
//!
//! `SAPWOOD_SCHEDULES` says how many of each are wanted, in all calls together. The gate has the first seeds, so these
//! begin elsewhere. `SAPWOOD_SEED=10000017 soak 0 'Moves races'` replays one.

#![allow(clippy::expect_used, reason = "a run that can't go on should say so")]
#![allow(clippy::disallowed_methods, reason = "it is told how long it may take, and says how long it took")]

use std::fs;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use sapwood_simulation::seeds::number;
use sapwood_simulation::sim::{Drill, Profile, Writers, run, search};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const TALLY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/soak.tsv");
const FIRST_SEED: u64 = 10_000_000;
const SLICE: u64 = 10_000;

struct Soaked {
    name: String,
    profile: Profile,
    /// One schedule takes as long as so many others.
    weight: u64,
}

/// The profiles of these names or variations, or all.
fn profiles(wanted: &[String]) -> Vec<Soaked> {
    let mut all = Vec::new();
    let mut add = |variation: &str, name: String, profile: Profile| {
        let name = format!("{name} {variation}");
        if wanted.is_empty() || wanted.iter().any(|one| *one == variation || *one == name) {
            let weight = if profile.writers == Writers::Deep { 100 } else { 1 };
            all.push(Soaked { name, profile, weight });
        }
    };
    for writers in Writers::KINDS {
        let (name, plain) = (format!("{writers:?}"), Profile::new(writers));
        if writers == Writers::Deep {
            add("plain", name, Profile { steps_max: 400_000, ..plain });
            continue;
        }
        add("plain", name.clone(), plain.clone());
        add("races", name.clone(), plain.clone().with_races());
        add("late", name.clone(), Profile { limbo: true, ..plain.clone() });
        add("late-races", name.clone(), Profile { limbo: true, ..plain.clone().with_races() });
        add("torn", name.clone(), Profile { torn: true, ..plain.clone().with_races() });
        add("outages", name.clone(), Profile { outages_max: 3, ..plain.clone() });
        add("repairs", name.clone(), plain.clone().with_repairs());
        add("small-requests", name.clone(), Profile { request_bytes_max: 300, ..plain.clone() });
        if writers == Writers::Totals {
            let switches = Profile { switches_totals: true, limbo: true, ..plain.clone().with_races() };
            add("switches", name.clone(), switches);
        }
        add("totals", name, Profile { limbo: true, ..plain.with_totals().with_races() });
    }
    for drill in Drill::ALL {
        add("drills", format!("{drill:?}"), Profile::drill(drill));
    }
    all
}

/// What was run: for each profile and commit the number of schedules, in the order in which they were run.
#[derive(Default)]
struct Tally(Vec<(String, String, u64)>);

impl Tally {
    fn read() -> Self {
        let lines = fs::read_to_string(TALLY).unwrap_or_default();
        let read = |line: &str| {
            let mut words = line.split('\t').map(str::to_owned);
            let mut next = || words.next().expect("three words in a line");
            (next(), next(), next().parse().expect("a number of schedules"))
        };
        Self(lines.lines().map(read).collect())
    }

    /// How many schedules of a profile there were.
    fn of(&self, name: &str) -> u64 {
        self.0.iter().filter(|(of, ..)| of == name).map(|(.., schedules)| schedules).sum()
    }

    fn add(&mut self, name: &str, commit: &str, schedules: u64) {
        match self.0.iter_mut().find(|(of, at, _)| of == name && at == commit) {
            Some((.., before)) => *before += schedules,
            None => self.0.push((name.to_owned(), commit.to_owned(), schedules)),
        }
        let mut lines: Vec<String> = self.0.iter().map(|(of, at, number)| format!("{of}\t{at}\t{number}\n")).collect();
        lines.sort_by(|a, b| a.split('\t').next().cmp(&b.split('\t').next()));
        fs::write(TALLY, lines.concat()).expect(TALLY);
    }
}

fn commit() -> String {
    let said = Command::new("git").args(["rev-parse", "--short", "HEAD"]).output().expect("git");
    String::from_utf8_lossy(&said.stdout).trim().to_owned()
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(minutes) = arguments.next().and_then(|minutes| minutes.parse().ok()) else {
        eprintln!("soak MINUTES [PROFILE|VARIATION]…");
        return ExitCode::from(2);
    };
    let (begun, most) = (Instant::now(), Duration::from_mins(minutes));
    let (wanted, commit) = (number("SAPWOOD_SCHEDULES").unwrap_or(1_000_000), commit());
    let mut left = profiles(&arguments.collect::<Vec<_>>());
    if let Some(seed) = number("SAPWOOD_SEED") {
        for Soaked { name, profile, .. } in left {
            println!("{name}: {:?}", run(seed, &profile).map_err(|fault| fault.to_string()));
        }
        return ExitCode::SUCCESS;
    }
    let (asked, mut tally, mut wrong) = (left.len(), Tally::read(), Vec::new());
    let mut schedules = 0;
    while begun.elapsed() < most {
        let progress = |one: &Soaked| tally.of(&one.name) * one.weight;
        left.retain(|one| progress(one) < wanted);
        let Some(index) = (0..left.len()).min_by_key(|index| progress(&left[*index])) else { break };
        let Soaked { name, profile, weight } = &left[index];
        let (first, slice) = (FIRST_SEED + tally.of(name), SLICE / weight);
        match search(first..first + slice, |seed| run(seed, profile)) {
            Ok(_) => {
                schedules += slice;
                tally.add(name, &commit, slice);
            }
            Err(fault) => {
                println!("{name}: {fault}");
                wrong.push(format!("wrong: {name}, seed {}", fault.seed));
                left.remove(index);
            }
        }
    }
    println!("{schedules} schedules in this call; {} of {asked} profiles aren't at {wanted}", left.len());
    wrong.iter().for_each(|wrong| println!("{wrong}"));
    let passed = asked - left.len() - wrong.len();
    println!("test result: soak. {passed} passed; {} failed;", wrong.len());
    if wrong.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
