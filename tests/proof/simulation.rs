//! Random schedules of the real fan-out, each held against the oracle.
//!
//! `SAPWOOD_SCHEDULES=1000000` runs so many of each; `SAPWOOD_SEED=17` replays one; both go on from there.

use std::ops::Range;

use sapwood_simulation::seeds::seeds;
use sapwood_simulation::sim::{Drill, Profile, Writers, claims_taken_over, run, search};

fn schedules(profile: &Profile, usual: u64) {
    search_in(seeds(usual), profile);
}

fn search_in(seeds: Range<u64>, profile: &Profile) {
    let writers = profile.writers;
    let count = seeds.end - seeds.start;
    match search(seeds, |seed| run(seed, profile)) {
        Ok(steps) => println!("{writers:?}: {count} schedules, {steps} steps, no difference"),
        Err(fault) => panic!("{writers:?}: {fault}\nreplay it with SAPWOOD_SEED={}", fault.seed),
    }
}

#[test]
fn whatever_is_written_in_whatever_order_the_table_ends_right() {
    schedules(&Profile::new(Writers::Any), 400);
}

#[test]
fn nodes_moved_at_the_same_time_end_right() {
    schedules(&Profile::new(Writers::Moves), 300);
}

#[test]
fn revisions_written_at_the_same_time_end_with_the_newest_copied() {
    schedules(&Profile::new(Writers::Revisions), 150);
}

#[test]
fn a_reader_never_misses_a_node_that_stays_below_an_ancestor() {
    schedules(&Profile::new(Writers::Readers), 150);
}

#[test]
fn nodes_deleted_by_the_api_take_with_them_what_they_should_and_nothing_else() {
    schedules(&Profile::new(Writers::Deletions), 300);
}

#[test]
fn adopted_nodes_never_come_to_be_above_those_who_adopt_them() {
    schedules(&Profile::new(Writers::Adoptions), 150);
}

#[test]
fn children_of_several_nodes_that_go_one_after_the_other_find_an_heir() {
    schedules(&Profile::new(Writers::Heirs), 250);
}

#[test]
fn nodes_deleted_while_other_clients_write_end_right() {
    schedules(&Profile::new(Writers::MixedDeletions), 300);
}

#[test]
fn deletions_that_another_client_takes_back_end_right() {
    schedules(&Profile::new(Writers::Returns), 150);
}

#[test]
fn what_is_put_back_from_copies_stays() {
    schedules(&Profile::new(Writers::Copies), 250);
}

#[test]
fn what_goes_into_the_trash_and_out_of_it_ends_right() {
    schedules(&Profile::new(Writers::Trash), 250);
    schedules(&Profile { limbo: true, ..Profile::new(Writers::Trash) }, 80);
    schedules(&Profile { outages_max: 3, ..Profile::new(Writers::Trash) }, 80);
    schedules(&Profile::new(Writers::Trash).with_repairs(), 80);
}

#[test]
fn no_two_siblings_get_one_name_from_the_api() {
    schedules(&Profile::new(Writers::Names), 250);
    schedules(&Profile::new(Writers::Names).with_races(), 120);
    schedules(&Profile { limbo: true, ..Profile::new(Writers::Names) }, 80);
    schedules(&Profile::new(Writers::Names).with_repairs(), 80);
}

#[test]
fn subtrees_are_copied_once_whatever_becomes_of_them_meanwhile() {
    schedules(&Profile::new(Writers::Subtrees), 150);
    schedules(&Profile::new(Writers::Subtrees).with_races(), 80);
    schedules(&Profile::new(Writers::MixedSubtrees), 120);
    schedules(&Profile { limbo: true, ..Profile::new(Writers::Subtrees) }, 80);
    schedules(&Profile { outages_max: 3, ..Profile::new(Writers::MixedSubtrees) }, 80);
    schedules(&Profile::new(Writers::MixedSubtrees).with_repairs(), 80);
}

/// The first of two commands ends before the other begins its epoch, and dies.
#[test]
fn an_epoch_that_a_second_command_has_begun_is_ended() {
    run(10_081_119, &Profile::new(Writers::Totals)).unwrap();
}

#[test]
fn totals_are_what_was_counted_after_every_write() {
    let totals = || Profile::new(Writers::Totals);
    schedules(&totals(), 80);
    schedules(&totals().with_races(), 80);
    schedules(&Profile { late_max: 12, ..totals() }, 40);
    schedules(&Profile { limbo: true, ..totals() }, 80);
    schedules(&Profile { limbo: true, ..totals().with_races() }, 80);
    schedules(&Profile { outages_max: 3, ..totals() }, 40);
    schedules(&totals().with_repairs(), 40);
    schedules(&totals().with_repairs().with_races(), 40);
    schedules(&Profile { switches_totals: true, ..totals() }, 80);
    schedules(&Profile { switches_totals: true, limbo: true, ..totals().with_races() }, 40);
    for drill in [Drill::CountedThereAndBack, Drill::ComeAndGone] {
        schedules(&Profile { limbo: true, ..Profile::drill(drill) }, 80);
    }
}

#[test]
fn whatever_is_written_totals_end_right() {
    let few = [Writers::Any, Writers::Nodes, Writers::Moves, Writers::Flips, Writers::Tenants, Writers::Deletions];
    let more = [Writers::MixedDeletions, Writers::Adoptions, Writers::Heirs, Writers::Returns, Writers::Copies];
    let rest = [Writers::Trash, Writers::Names, Writers::Subtrees, Writers::MixedSubtrees, Writers::Heavy];
    for writers in few.into_iter().chain(more).chain(rest) {
        schedules(&Profile::new(writers).with_totals(), 24);
        schedules(&Profile { limbo: true, ..Profile::new(writers).with_totals().with_races() }, 20);
    }
    for drill in Drill::ALL {
        schedules(&Profile::drill(drill).with_totals(), 20);
    }
}

#[test]
fn what_reads_see_of_a_transaction_before_the_rest_leaves_nothing_wrong() {
    let torn = |profile: Profile| Profile { torn: true, ..profile };
    let totals = || torn(Profile::new(Writers::Totals));
    schedules(&totals(), 80);
    schedules(&totals().with_repairs(), 80);
    schedules(&totals().with_repairs().with_races(), 80);
    schedules(&Profile { limbo: true, ..totals().with_races() }, 80);
    let few = [Writers::Any, Writers::Deletions, Writers::MixedDeletions, Writers::Adoptions, Writers::Heirs];
    let more = [Writers::Returns, Writers::Copies, Writers::Trash, Writers::Answers, Writers::Names];
    for writers in few.into_iter().chain(more).chain([Writers::Subtrees, Writers::MixedSubtrees]) {
        schedules(&torn(Profile::new(writers)), 40);
        schedules(&torn(Profile::new(writers)).with_races(), 40);
    }
}

#[test]
fn writes_that_come_late_leave_nothing_wrong() {
    schedules(&Profile { limbo: true, ..Profile::new(Writers::Moves) }, 300);
    schedules(&Profile { limbo: true, ..Profile::new(Writers::Deletions) }, 150);
    schedules(&Profile { limbo: true, ..Profile::new(Writers::MixedDeletions) }, 150);
    schedules(&Profile { limbo: true, ..Profile::new(Writers::Revisions) }, 150);
    schedules(&Profile { limbo: true, ..Profile::new(Writers::Copies) }, 80);
    schedules(&Profile { limbo: true, ..Profile::new(Writers::Answers) }, 150);
    schedules(&Profile { limbo: true, torn: true, ..Profile::new(Writers::Answers).with_races() }, 80);
}

#[test]
fn rows_that_do_not_fit_one_request_end_right() {
    for writers in [Writers::Any, Writers::Moves, Writers::MixedDeletions] {
        schedules(&Profile { request_bytes_max: 300, ..Profile::new(writers) }, 120);
    }
}

#[test]
fn rows_that_an_earlier_delivery_has_put_are_left_out_only_if_they_are_right() {
    for writers in Writers::KINDS.into_iter().filter(|writers| *writers != Writers::Deep) {
        schedules(&Profile::new(writers).with_looks(), 80);
    }
    for writers in [Writers::Moves, Writers::Copies, Writers::Trash, Writers::MixedSubtrees, Writers::Heavy] {
        schedules(&Profile::new(writers).with_looks().with_races(), 60);
        schedules(&Profile { limbo: true, ..Profile::new(writers).with_looks() }, 60);
        schedules(&Profile { torn: true, ..Profile::new(writers).with_looks().with_repairs() }, 60);
    }
    for drill in Drill::ALL {
        schedules(&Profile::drill(drill).with_looks(), 30);
    }
}

#[test]
fn nodes_that_are_larger_on_the_wire_than_in_the_table_end_right() {
    schedules(&Profile::new(Writers::Heavy), 120);
    schedules(&Profile::new(Writers::Heavy).with_races(), 40);
}

#[test]
fn what_was_lost_in_an_outage_is_redriven() {
    for writers in [Writers::Any, Writers::Moves, Writers::Revisions, Writers::MixedDeletions, Writers::Returns] {
        schedules(&Profile { outages_max: 3, ..Profile::new(writers) }, 120);
    }
}

#[test]
fn tenants_with_the_same_ids_never_meet() {
    schedules(&Profile::new(Writers::Tenants), 120);
}

#[test]
fn a_chain_deeper_than_ancestors_are_counted_ends_right() {
    let Range { start, end } = seeds(300);
    search_in(start..start + (end - start).div_ceil(Writers::Deep.weight()), &Profile::new(Writers::Deep));
}

#[test]
fn short_sequences_that_are_hard_end_right() {
    for drill in Drill::ALL {
        schedules(&Profile::drill(drill), 40);
    }
}

#[test]
fn what_the_api_answers_is_what_was_done_once() {
    schedules(&Profile::new(Writers::Answers), 80);
    schedules(&Profile::new(Writers::Answers).with_races(), 80);
    schedules(&Profile { limbo: true, ..Profile::new(Writers::Answers) }, 80);
    schedules(&Profile { failure_percent: Some(10), failures_max: 2, ..Profile::drill(Drill::LostCreation) }, 80);
}

#[test]
fn a_claim_is_taken_over_where_its_owner_has_died() {
    let profile = Profile::new(Writers::Answers);
    let taken_over = (0..2_000).find(|seed| claims_taken_over(*seed, &profile).is_ok_and(|taken_over| taken_over > 0));
    println!("first by seed {}", taken_over.expect("no claim is taken over"));
}

#[test]
fn one_after_the_other_until_it_is_the_turn_of_another_all_end_right() {
    for writers in [Writers::Any, Writers::Moves, Writers::Revisions, Writers::Deletions, Writers::MixedDeletions] {
        schedules(&Profile::new(writers).with_races(), 80);
    }
    for writers in [Writers::Adoptions, Writers::Heirs, Writers::Returns, Writers::Copies, Writers::Trash] {
        schedules(&Profile::new(writers).with_races(), 80);
    }
}

#[test]
fn the_same_seed_twice_gives_the_same_run() {
    let all = [Writers::Any, Writers::Moves, Writers::Revisions, Writers::Readers, Writers::Deletions];
    for writers in all {
        for seed in 0..60 {
            let profile = Profile::new(writers);
            assert_eq!(run(seed, &profile).unwrap(), run(seed, &profile).unwrap(), "seed {seed}");
        }
    }
}
