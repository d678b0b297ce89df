//! Random schedules of the real fan-out, each held against the oracle.
//!
//! `SAPWOOD_SCHEDULES=1000000` runs so many of each; `SAPWOOD_SEED=17` replays one; both go on from there.

use sapwood_tests::seeds::seeds;
use sapwood_tests::sim::{Profile, Writers, run, search};

fn schedules(profile: &Profile, usual: u64) {
    let (seeds, writers) = (seeds(usual), profile.writers);
    let count = seeds.end - seeds.start;
    match search(seeds, |seed| run(seed, profile)) {
        Ok(steps) => println!("{writers:?}: {count} schedules, {steps} steps, no difference"),
        Err(fault) => panic!("{writers:?}: {fault}\nreplay it with SAPWOOD_SEED={}", fault.seed),
    }
}

#[test]
fn whatever_is_written_in_whatever_order_the_table_ends_right() {
    schedules(&Profile::new(Writers::Any), 10_000);
}

#[test]
fn nodes_moved_at_the_same_time_end_right() {
    schedules(&Profile::new(Writers::Moves), 8_000);
}

#[test]
fn revisions_written_at_the_same_time_end_with_the_newest_copied() {
    schedules(&Profile::new(Writers::Revisions), 4_000);
}

#[test]
fn a_reader_never_misses_a_node_that_stays_below_an_ancestor() {
    schedules(&Profile::new(Writers::Readers), 4_000);
}

#[test]
fn nodes_deleted_by_the_api_take_with_them_what_they_should_and_nothing_else() {
    schedules(&Profile::new(Writers::Deletions), 8_000);
}

#[test]
fn adopted_nodes_never_come_to_be_above_those_who_adopt_them() {
    schedules(&Profile::new(Writers::Adoptions), 4_000);
}

#[test]
fn nodes_deleted_while_other_clients_write_end_right() {
    schedules(&Profile::new(Writers::MixedDeletions), 8_000);
}

#[test]
fn deletions_that_another_client_takes_back_end_right() {
    schedules(&Profile::new(Writers::Returns), 4_000);
}

#[test]
fn the_same_seed_twice_gives_the_same_run() {
    let all = [Writers::Any, Writers::Moves, Writers::Revisions, Writers::Readers, Writers::Deletions];
    for writers in all {
        for seed in 0..200 {
            let profile = Profile::new(writers);
            assert_eq!(run(seed, &profile).unwrap(), run(seed, &profile).unwrap(), "seed {seed}");
        }
    }
}
