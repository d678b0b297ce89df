//! Random schedules of the real fan-out, each held against the oracle.
//!
//! `SAPWOOD_SCHEDULES=1000000` runs so many of each; `SAPWOOD_SEED=17` replays one.

use std::sync::atomic::{AtomicU64, Ordering};

use sapwood_tests::sim::{Profile, Writers, run};

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|value| value.parse().unwrap_or_else(|_| panic!("{name} must be a number")))
}

fn schedules(profile: &Profile, usual: u64) {
    let seeds = match number("SAPWOOD_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("SAPWOOD_SCHEDULES").unwrap_or(usual),
    };
    let next = AtomicU64::new(seeds.start);
    let steps = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds.end {
                        break;
                    }
                    match run(seed, profile) {
                        Ok(run) => steps.fetch_add(run.steps as u64, Ordering::Relaxed),
                        Err(fault) => {
                            panic!("{:?}: {fault}\nreplay it with SAPWOOD_SEED={}", profile.writers, fault.seed)
                        }
                    };
                }
            });
        }
    });
    println!(
        "{:?}: {} schedules, {} steps, no difference",
        profile.writers,
        seeds.end - seeds.start,
        steps.load(Ordering::Relaxed)
    );
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
fn nodes_removed_by_the_api_take_with_them_what_they_should_and_nothing_else() {
    schedules(&Profile::new(Writers::Deletions), 8_000);
}

#[test]
fn adopted_nodes_never_come_to_be_above_those_who_adopt_them() {
    schedules(&Profile::new(Writers::Adoptions), 4_000);
}

#[test]
fn nodes_removed_while_other_clients_write_end_right() {
    schedules(&Profile::new(Writers::MixedDeletions), 8_000);
}

#[test]
fn removals_that_another_client_takes_back_end_right() {
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
