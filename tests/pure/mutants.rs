//! Each rule of the protocol, broken on purpose: the simulation must find a fault. If it doesn't, it couldn't find one
//! in the product either.
//!
//! Each mutant has a recorded seed that shows its fault. Should the code have changed so that the seed shows nothing any more,
//! the test fails, and `SAPWOOD_HUNT=100000 cargo test -p sapwood-tests --test pure mutants -- --nocapture` prints the line to
//! record instead. Rules that schedules meet too seldom have tests of their own in `interleavings.rs`.

use sapwood_core::plan::Rule;
use sapwood_tests::seeds::number;
use sapwood_tests::sim::{Profile, Writers, faults, run, shown};

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

fn heirs(rule: Rule) -> Profile {
    Profile::new(Writers::Heirs).without(rule)
}

fn returns(rule: Rule) -> Profile {
    Profile::new(Writers::Returns).without(rule)
}

fn mixed(rule: Rule) -> Profile {
    Profile::new(Writers::MixedDeletions).without(rule)
}

macro_rules! mutants {
    ($($test:ident: $profile:expr, seed $seed:literal;)*) => {$(
        #[test]
        fn $test() {
            let broken: Profile = $profile;
            let kept = Profile { broken: None, touches_apart: false, ..broken.clone() };
            let line = |seed| format!("    {}: {}, seed {seed};", stringify!($test), stringify!($profile));
            let test = concat!("mutants::", stringify!($test));
            let fault = shown(test, $seed, |seed| run(seed, &broken), |seed| run(seed, &kept), line);
            println!("{}: {}", stringify!($profile), fault.to_string().chars().take(200).collect::<String>());
        }
    )*

    /// How often each mutant shows itself, among so many schedules of each profile (`SAPWOOD_SCHEDULES`).
    #[test]
    #[ignore = "takes minutes: .ci/full runs it and prints the table"]
    fn rates() {
        $(rate(stringify!($test), stringify!($profile), $profile);)*
    }
    };
}

fn rate(test: &str, name: &str, broken: Profile) {
    let schedules = number("SAPWOOD_SCHEDULES").unwrap_or(20_000);
    // A run that comes to rest has some hundred steps.
    let count = |profile: &Profile| {
        let profile = Profile { steps_max: 10_000, ..profile.clone() };
        faults(0..schedules, |seed| run(seed, &profile))
    };
    let (usual, races) = (count(&broken), count(&broken.clone().with_races()));
    println!("| `{test}` | `{name}` | {usual} | {races} |");
}

mutants! {
    without_confirming_the_parent_it_ends_wrong: moves(Rule::Confirm), seed 153;
    without_the_intent_rows_are_left_over: any(Rule::Intent), seed 44;
    a_cascade_that_ignores_paths_leaves_wrong_paths: any(Rule::CascadePath), seed 52;
    forgetting_stale_rows_leaves_them: any(Rule::KeepStaleRows), seed 1;
    deleting_before_putting_hides_nodes_from_readers: Profile::new(Writers::Readers).without(Rule::PutFirst), seed 1;
    touches_in_an_item_of_their_own_end_wrong: Profile { touches_apart: true, ..Profile::new(Writers::Moves) }, seed 574;
    a_copy_put_without_condition_can_be_older: revisions(Rule::LatestCondition), seed 2;
    a_copy_without_a_second_look_can_be_stale: revisions(Rule::LatestSecondLook), seed 38974;
    touches_judged_by_the_last_record_lose_a_rename: any(Rule::AllTouches), seed 112;
    touching_with_the_first_sequence_number_can_change_nothing: moves(Rule::NewestSequence), seed 203;
    failing_the_last_record_of_an_item_loses_the_first: any(Rule::FailFirstRecord), seed 4;
    a_cursor_advanced_without_condition_skips_children: moves(Rule::CursorCondition), seed 1315;
    judging_a_batch_by_its_net_change_loses_children: moves(Rule::CascadeAnyChange), seed 19007;
    without_the_rows_pending_mark_rows_are_missing: moves(Rule::RowsPending), seed 5750;
    confirming_ancestors_only_leaves_wrong_paths: moves(Rule::ConfirmPath), seed 17481;
    confirming_against_what_was_read_ends_wrong: flips(Rule::ConfirmAgainstUsed), seed 94931;
    confirming_without_whether_the_parent_is_there_forgets_orphans: any(Rule::ConfirmPresence), seed 235;
    without_the_register_orphans_stay_where_they_are: any(Rule::OrphanRow), seed 0;
    a_node_whose_children_nobody_handles_is_never_deleted: deletions(Rule::ChildActions), seed 2;
    deleting_by_the_lineage_alone_deletes_what_was_created_anew: deletions(Rule::DeletionPresent), seed 430;
    deleting_whoever_is_there_deletes_a_child_that_moved_away: deletions(Rule::ChildCondition), seed 7403;
    a_child_that_changed_meanwhile_is_forgotten: mixed(Rule::ChildAgain), seed 19374;
    adopting_without_the_ancestor_path_makes_cycles: adoptions(Rule::AdoptAncestorPath), seed 4250;
    an_adopter_that_is_deleted_itself_leaves_a_child_behind: heirs(Rule::AdoptOnwards), seed 123;
    a_node_deleted_before_its_last_child_leaves_it_behind: mixed(Rule::FinishLast), seed 59;
    a_node_deleted_whatever_became_of_it_is_missed: deletions(Rule::FinishCondition), seed 39971;
    a_mark_given_again_that_is_taken_for_the_first_leaves_its_node: returns(Rule::FreshMark), seed 6884;
    a_cursor_that_goes_on_for_another_mark_forgets_what_came_in_since: returns(Rule::CursorMark), seed 24488;
    a_mark_that_went_and_is_back_leaves_its_node: returns(Rule::MarkReturned), seed 80;
    a_cursor_that_goes_before_its_node_leaves_the_node: deletions(Rule::FinishFirst), seed 345;
    without_a_tombstone_a_straggler_is_an_orphan: deletions(Rule::Tombstone), seed 108;
    a_tombstone_for_everybody_deletes_another_clients_orphans: mixed(Rule::TombstoneUnder), seed 22;
    children_left_when_another_client_deletes_the_node_are_forgotten: mixed(Rule::TouchRemaining), seed 385;
    a_node_that_stays_after_all_has_old_rows: returns(Rule::UndeletePuts), seed 221;
    a_revision_deleted_whatever_it_is_was_not_asked_for: returns(Rule::RevisionCondition), seed 3375;
    a_write_that_comes_late_sets_a_lineage_back: Profile { limbo: true, ..moves(Rule::LateWrites) }, seed 75;
    a_tombstone_of_another_life_deletes_a_child_of_this_one: mixed(Rule::TombstoneLife), seed 5062;
    a_cursor_started_over_a_newer_one_forgets_children: moves(Rule::CursorStart), seed 6533;
    a_touch_on_a_child_that_is_gone_makes_a_node: mixed(Rule::TouchExists), seed 9;
    a_register_with_more_than_a_page_forgets_orphans: any(Rule::OrphanFallback), seed 339;
    a_cursor_of_another_kind_ends_the_deletion: Profile { outages_max: 3, ..mixed(Rule::CursorAnyKind) }, seed 48;
    ancestors_not_cut_in_a_cycle_include_the_node_itself: any(Rule::CutCycle), seed 0;
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
