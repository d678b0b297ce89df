//! Each rule of the protocol, broken on purpose: the simulation must find a fault. If it doesn't, it couldn't find one
//! in the product either.
//!
//! A mutant that is rare has a recorded seed that is known to show it; should the code have changed so that it doesn't
//! any more, the search begins anew. `--nocapture` prints each mutant's seed.
//! Two rules that schedules meet too seldom have tests of their own in `interleavings.rs`.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use sapwood_core::plan::Rule;
use sapwood_tests::sim::{Profile, Writers, run};

/// Looks for a seed that shows a fault.
fn hunt(profile: &Profile, from: u64, schedules: u64) -> Option<(u64, String)> {
    let next = AtomicU64::new(from);
    let found = AtomicBool::new(false);
    let mut faults: Vec<(u64, String)> = std::thread::scope(|scope| {
        let look = || {
            let mut mine = None;
            while !found.load(Ordering::Relaxed) {
                let seed = next.fetch_add(1, Ordering::Relaxed);
                if seed >= from + schedules {
                    break;
                }
                if let Err(fault) = run(seed, profile) {
                    found.store(true, Ordering::Relaxed);
                    mine = Some((seed, fault.what.join("; ").chars().take(200).collect()));
                }
            }
            mine
        };
        let threads: Vec<_> = (0..2).map(|_| scope.spawn(look)).collect();
        threads.into_iter().filter_map(|thread| thread.join().unwrap()).collect()
    });
    faults.sort();
    faults.into_iter().next()
}

fn caught(profile: &Profile, recorded: u64, schedules: u64) {
    let fault = run(recorded, profile).err().map(|f| (recorded, f.to_string())).or_else(|| hunt(profile, 0, schedules));
    let name = profile.broken.map_or("touches in an item of their own".to_owned(), |rule| format!("{rule:?}"));
    match fault {
        Some((seed, what)) => println!("{name}: seed {seed}: {what}"),
        None => panic!("{name}: broken, and nothing wrong in {schedules} schedules"),
    }
}

fn any(rule: Rule) -> Profile {
    Profile::new(Writers::Nodes).without(rule)
}

fn moves(rule: Rule) -> Profile {
    Profile::new(Writers::Moves).without(rule)
}

fn flips(rule: Rule) -> Profile {
    Profile::new(Writers::Flips).without(rule)
}

fn revisions(rule: Rule) -> Profile {
    Profile::new(Writers::Revisions).without(rule)
}

fn deletions(rule: Rule) -> Profile {
    Profile::new(Writers::Deletions).without(rule)
}

fn adoptions(rule: Rule) -> Profile {
    Profile::new(Writers::Adoptions).without(rule)
}

fn returns(rule: Rule) -> Profile {
    Profile::new(Writers::Returns).without(rule)
}

fn mixed(rule: Rule) -> Profile {
    Profile::new(Writers::MixedDeletions).without(rule)
}

macro_rules! mutants {
    ($($test:ident: $profile:expr, recorded $seed:expr, schedules $schedules:expr;)*) => {$(
        #[test]
        fn $test() {
            caught(&$profile, $seed, $schedules);
        }
    )*};
}

mutants! {
    without_confirming_the_parent_it_ends_wrong: moves(Rule::Confirm), recorded 153, schedules 20_000;
    without_the_intent_rows_are_left_over: any(Rule::Intent), recorded 44, schedules 20_000;
    a_cascade_that_ignores_paths_leaves_wrong_paths: any(Rule::CascadePath), recorded 52, schedules 20_000;
    forgetting_what_was_being_retracted_leaves_rows: any(Rule::KeepStaleRows), recorded 1, schedules 20_000;
    deleting_before_putting_hides_nodes_from_readers: Profile::new(Writers::Readers).without(Rule::PutFirst), recorded 1, schedules 20_000;
    touches_in_an_item_of_their_own_end_wrong: Profile { touches_apart: true, ..Profile::new(Writers::Moves) }, recorded 574, schedules 40_000;
    a_copy_put_without_condition_can_be_older: revisions(Rule::LatestCondition), recorded 2, schedules 40_000;
    a_copy_without_a_second_look_can_be_stale: revisions(Rule::LatestSecondLook), recorded 38974, schedules 40_000;
    touches_judged_by_the_last_record_lose_a_rename: any(Rule::AllTouches), recorded 173, schedules 100_000;
    touching_with_the_first_sequence_number_can_change_nothing: moves(Rule::NewestSequence), recorded 203, schedules 100_000;
    failing_the_last_record_of_an_item_loses_the_first: any(Rule::FailFirstRecord), recorded 4, schedules 100_000;
    a_cursor_advanced_without_condition_skips_children: moves(Rule::CursorCondition), recorded 685, schedules 100_000;
    judging_a_batch_by_its_net_change_loses_children: moves(Rule::CascadeAnyChange), recorded 19007, schedules 100_000;
    without_the_rows_pending_mark_rows_are_missing: moves(Rule::RowsPending), recorded 3443, schedules 100_000;
    confirming_ancestors_only_leaves_wrong_paths: moves(Rule::ConfirmPath), recorded 17481, schedules 100_000;
    confirming_against_what_was_read_ends_wrong: flips(Rule::ConfirmAgainstUsed), recorded 94931, schedules 100_000;
    confirming_without_whether_the_parent_is_there_forgets_orphans: any(Rule::ConfirmPresence), recorded 235, schedules 100_000;
    without_the_register_orphans_stay_where_they_are: any(Rule::OrphanRow), recorded 0, schedules 20_000;
    a_removed_node_whose_children_nobody_releases_never_goes: deletions(Rule::ChildActions), recorded 1, schedules 20_000;
    releasing_by_the_lineage_alone_removes_what_was_created_anew: deletions(Rule::DeletionPresent), recorded 80, schedules 100_000;
    releasing_whoever_is_there_removes_who_has_moved_away: deletions(Rule::ChildCondition), recorded 3334, schedules 100_000;
    a_child_that_changed_while_it_was_released_is_forgotten: mixed(Rule::ChildAgain), recorded 1002457, schedules 100_000;
    adopting_without_the_way_up_makes_cycles: adoptions(Rule::AdoptAncestorPath), recorded 5891, schedules 100_000;
    an_adopter_that_is_gone_itself_leaves_a_child_behind: deletions(Rule::AdoptOnwards), recorded 3265, schedules 100_000;
    a_node_deleted_before_its_last_child_is_released_leaves_it_behind: mixed(Rule::FinishLast), recorded 171, schedules 100_000;
    a_node_deleted_whatever_became_of_it_is_missed: deletions(Rule::FinishCondition), recorded 47032, schedules 100_000;
    a_mark_given_again_that_is_taken_for_the_first_leaves_its_node: returns(Rule::FreshMark), recorded 31098, schedules 100_000;
    a_cursor_that_goes_on_for_another_mark_forgets_what_came_in_since: returns(Rule::CursorMark), recorded 21987, schedules 100_000;
    a_cursor_that_goes_before_its_node_leaves_the_node: deletions(Rule::FinishFirst), recorded 273, schedules 100_000;
    without_a_tombstone_a_late_child_is_an_orphan: deletions(Rule::Tombstone), recorded 50, schedules 100_000;
    a_tombstone_for_everybody_removes_another_clients_orphans: mixed(Rule::TombstoneUnder), recorded 17, schedules 100_000;
    a_tombstone_beside_its_node_removes_what_was_created_anew: deletions(Rule::TombstoneGone), recorded 23081, schedules 100_000;
    children_left_when_another_client_deletes_the_node_are_forgotten: mixed(Rule::TouchRemaining), recorded 155, schedules 100_000;
    a_node_that_stays_after_all_has_old_rows: returns(Rule::UndeletePuts), recorded 195, schedules 100_000;
    a_revision_deleted_whatever_it_is_was_not_asked_for: returns(Rule::RevisionCondition), recorded 3375, schedules 100_000;
    ancestors_not_cut_in_a_cycle_include_the_node_itself: any(Rule::CutCycle), recorded 0, schedules 20_000;
}

#[test]
fn a_path_not_cut_in_a_cycle_never_comes_to_rest() {
    // A run has some hundred steps; the path grows with each, so there is no waiting for the usual bound.
    let profile = Profile { steps_max: 4_000, ..any(Rule::CutPath) };
    let rests =
        |seed: &u64| !run(*seed, &profile).is_err_and(|fault| fault.to_string().contains("doesn't come to rest"));
    let seed = (0..200).find(|seed| !rests(seed));
    let seed = seed.expect("broken, and every schedule comes to rest");
    assert!(run(seed, &Profile { broken: None, ..profile }).is_ok(), "it doesn't come to rest when nothing is broken");
}
