//! Random schedules of several writers of the API, each looked at after every change.
//!
//! `SAPWOOD_SCHEDULES=100000` runs so many; `SAPWOOD_SEED=17` replays one.

use std::sync::atomic::{AtomicU64, Ordering};

use sapwood_core::plan::Rule;
use sapwood_tests::sim::{Fault, MoveProfile, run_moves};

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|value| value.parse().unwrap_or_else(|_| panic!("{name} must be a number")))
}

/// Runs schedules on two threads. The steps of all, or the fault of the first that goes wrong.
fn schedules(profile: &MoveProfile, seeds: std::ops::Range<u64>) -> Result<u64, Fault> {
    let (next, steps) = (AtomicU64::new(seeds.start), AtomicU64::new(0));
    let work = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds.end {
                return None;
            }
            match run_moves(seed, profile) {
                Ok(run) => steps.fetch_add(run.steps as u64, Ordering::Relaxed),
                Err(fault) => {
                    next.store(seeds.end, Ordering::Relaxed);
                    return Some(fault);
                }
            };
        }
    };
    let faults: Vec<Fault> = std::thread::scope(|scope| {
        let threads = [scope.spawn(work), scope.spawn(work)];
        threads.into_iter().filter_map(|thread| thread.join().unwrap()).collect()
    });
    faults.into_iter().min_by_key(|fault| fault.seed).map_or(Ok(steps.into_inner()), Err)
}

#[test]
fn whatever_is_moved_at_the_same_time_there_is_never_a_cycle_nor_anything_lost_or_half_done() {
    let seeds = match number("SAPWOOD_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("SAPWOOD_SCHEDULES").unwrap_or(3_000),
    };
    let count = seeds.end - seeds.start;
    match schedules(&MoveProfile::default(), seeds) {
        Ok(steps) => println!("{count} schedules, {steps} steps, no difference"),
        Err(fault) => panic!("{fault}\nreplay it with SAPWOOD_SEED={}", fault.seed),
    }
}

#[test]
fn the_same_seed_twice_gives_the_same_run() {
    let profile = MoveProfile::default();
    for seed in 0..200 {
        assert_eq!(run_moves(seed, &profile).unwrap(), run_moves(seed, &profile).unwrap(), "seed {seed}");
    }
}

/// A rule broken on purpose: a cycle must come of it. The recorded seed is known to show one; should the code have changed
/// so that it doesn't any more, the search begins anew.
fn makes_a_cycle(rule: Rule, recorded: u64) {
    let kept = MoveProfile { moves_alone: true, ..MoveProfile::default() };
    let profile = MoveProfile { broken: Some(rule), ..kept.clone() };
    let fault = match run_moves(recorded, &profile) {
        Err(fault) => fault,
        Ok(_) => match schedules(&profile, 0..100_000) {
            Err(fault) => fault,
            Ok(_) => panic!("{rule:?}: broken, and nothing wrong in 100,000 schedules"),
        },
    };
    println!("{rule:?}: {}", fault.to_string().chars().take(300).collect::<String>());
    assert!(fault.what.iter().any(|what| what.contains("a cycle")), "{rule:?}: {fault}");
    assert!(run_moves(fault.seed, &kept).is_ok(), "{rule:?}: wrong when nothing is broken, too");
}

#[test]
fn without_any_checks_two_moves_make_a_cycle() {
    makes_a_cycle(Rule::AncestorPathChecks, 42);
}

#[test]
fn without_the_way_of_the_moved_node_three_moves_make_a_cycle() {
    makes_a_cycle(Rule::OwnAncestorPath, 51_745);
}
