//! Random schedules of several writers of the API, each looked at after every change.
//!
//! `SAPWOOD_SCHEDULES=100000` runs so many; `SAPWOOD_SEED=17` replays one.

use sapwood_core::plan::Rule;
use sapwood_simulation::seeds::seeds;
use sapwood_simulation::sim::{MoveProfile, run_moves, search, shown};

#[test]
fn whatever_is_moved_at_the_same_time_there_is_never_a_cycle_nor_anything_lost_or_half_done() {
    let seeds = seeds(600);
    let count = seeds.end - seeds.start;
    match search(seeds, |seed| run_moves(seed, &MoveProfile::default())) {
        Ok(steps) => println!("{count} schedules, {steps} steps, no difference"),
        Err(fault) => panic!("{fault}\nreplay it with SAPWOOD_SEED={}", fault.seed),
    }
}

#[test]
fn what_a_batch_has_read_before_its_operations_began_does_no_harm() {
    let profile = MoveProfile { batch_max: 4, operations_max: 16, ..MoveProfile::default() };
    let seeds = seeds(600);
    let count = seeds.end - seeds.start;
    match search(seeds, |seed| run_moves(seed, &profile)) {
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

/// Each rule of the moves, broken on purpose, with a seed that shows the cycle that comes of it.
macro_rules! cycles {
    ($($test:ident: $rule:expr, seed $seed:literal;)*) => {$(
        #[test]
        fn $test() {
            let kept = MoveProfile { moves_alone: true, ..MoveProfile::default() };
            let broken = MoveProfile { broken: Some($rule), ..kept.clone() };
            let line = |seed| format!("    {}: {}, seed {seed};", stringify!($test), stringify!($rule));
            let test = concat!("moves::", stringify!($test));
            let fault = shown(test, $seed, |seed| run_moves(seed, &broken), |seed| run_moves(seed, &kept), line);
            assert!(fault.what.iter().any(|what| what.contains("a cycle")), "{fault}");
        }
    )*};
}

cycles! {
    without_any_checks_two_moves_make_a_cycle: Rule::AncestorPathChecks, seed 22;
    without_the_ancestor_path_of_the_moved_node_three_moves_make_a_cycle: Rule::OwnAncestorPath, seed 72862;
}
