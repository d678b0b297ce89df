//! A million schedules of each profile: `soak MINUTES [PROFILE|VARIATION]…`. All profiles go forward together, ten
//! thousand schedules at a time. Each such slice is written down in `target/soak.tsv` with the commit that was checked
//! out, so the next call goes on where this one ended. Remove the file after a change of the protocol.
//!
//! `SAPWOOD_SCHEDULES` says how many of each are wanted, in all calls together. The gate has the first seeds, so these
//! begin elsewhere. `SAPWOOD_SEED=10000017 soak 0 'Moves races'` replays one.

#![allow(clippy::expect_used, reason = "a run that can't go on should say so")]
#![allow(clippy::disallowed_methods, reason = "it is told how long it may take, and says how long it took")]

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use sapwood_simulation::seeds::number;
use sapwood_simulation::sim::{Drill, Profile, Writers, run, search};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const TALLY: &str = "target/soak.tsv";
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

/// How many schedules of each profile there were already.
fn tally() -> BTreeMap<String, u64> {
    let mut done = BTreeMap::new();
    for line in fs::read_to_string(TALLY).unwrap_or_default().lines() {
        let (name, rest) = line.split_once('\t').expect("a name");
        let (schedules, _) = rest.split_once('\t').expect("a number of schedules");
        *done.entry(name.to_owned()).or_default() += schedules.parse::<u64>().expect("a number");
    }
    done
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
    let (asked, mut done, mut wrong) = (left.len(), tally(), Vec::new());
    let mut written = OpenOptions::new().create(true).append(true).open(TALLY).expect(TALLY);
    while begun.elapsed() < most {
        let progress = |one: &Soaked| done.get(&one.name).copied().unwrap_or_default() * one.weight;
        left.retain(|one| progress(one) < wanted);
        let Some(index) = (0..left.len()).min_by_key(|index| progress(&left[*index])) else { break };
        let Soaked { name, profile, weight } = &left[index];
        let before = done.entry(name.clone()).or_default();
        let (first, slice, since) = (FIRST_SEED + *before, SLICE / weight, Instant::now());
        match search(first..first + slice, |seed| run(seed, profile)) {
            Ok(_) => {
                *before += slice;
                let seconds = since.elapsed().as_secs_f64();
                writeln!(written, "{name}\t{slice}\t{first}\t{commit}\t{seconds:.1}").expect(TALLY);
            }
            Err(fault) => {
                println!("{name}: {fault}");
                wrong.push(format!("wrong: {name}, seed {}", fault.seed));
                left.remove(index);
            }
        }
    }
    let schedules: u64 = done.values().sum();
    println!("{schedules} schedules of {} profiles; {} profiles aren't at {wanted}", done.len(), left.len());
    wrong.iter().for_each(|wrong| println!("{wrong}"));
    println!("test result: soak. {} passed; {} failed;", asked - wrong.len(), wrong.len());
    if wrong.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
