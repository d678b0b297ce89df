//! Tables that are damaged at random, compared with their base records, and repaired.
//!
//! `SAPWOOD_SCHEDULES=1000000` runs so many; `SAPWOOD_SEED=17` replays one.

use sapwood_tests::seeds::seeds;
use sapwood_tests::sim::{Profile, Writers, run, run_damage, search};

#[test]
fn whatever_is_damaged_is_named_and_mended_and_nothing_else() {
    let seeds = seeds(20_000);
    let count = seeds.end - seeds.start;
    match search(seeds, |seed| run_damage(seed, None)) {
        Ok(steps) => println!("{count} damaged tables, {steps} steps, all mended"),
        Err(fault) => panic!("{}\nreplay it with SAPWOOD_SEED={}", fault.what.join("\n"), fault.seed),
    }
}

fn schedules(profile: &Profile, usual: u64) {
    let seeds = seeds(usual);
    let (writers, count) = (profile.writers, seeds.end - seeds.start);
    match search(seeds, |seed| run(seed, profile)) {
        Ok(steps) => println!("{writers:?} with repairs: {count} schedules, {steps} steps, no difference"),
        Err(fault) => panic!("{writers:?}: {fault}\nreplay it with SAPWOOD_SEED={}", fault.seed),
    }
}

#[test]
fn repairs_beside_writers_do_no_harm() {
    schedules(&Profile::new(Writers::Any).with_repairs(), 4_000);
}

#[test]
fn repairs_beside_moves_do_no_harm() {
    schedules(&Profile::new(Writers::Moves).with_repairs(), 3_000);
}

#[test]
fn repairs_beside_deletions_do_no_harm() {
    schedules(&Profile::new(Writers::Deletions).with_repairs(), 3_000);
}
