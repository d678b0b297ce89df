//! Each rule of the protocol, broken on purpose: the simulation must find a fault. If it doesn't, it couldn't find one
//! in the product either.
//!
//! Each mutant has a recorded seed that shows its fault. Should the code have changed so that the seed shows nothing any more,
//! the test fails, and `SAPWOOD_HUNT=100000 cargo test -p sapwood-tests --test pure mutants -- --nocapture` prints the line to
//! record instead. Rules that schedules meet too seldom have tests of their own in `interleavings.rs`.

use sapwood_core::plan::Rule;
use sapwood_tests::seeds::number;
use sapwood_tests::sim::{Drill, Profile, Writers, faults, run, shown};

fn any(rule: Rule) -> Profile {
    Profile::new(Writers::Nodes).without(rule)
}

fn moves(rule: Rule) -> Profile {
    Profile::new(Writers::Moves).without(rule)
}

fn revisions(rule: Rule) -> Profile {
    Profile::new(Writers::Revisions).without(rule)
}

fn deletions(rule: Rule) -> Profile {
    Profile::new(Writers::Deletions).without(rule)
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

fn drill(drill: Drill, rule: Rule) -> Profile {
    Profile::drill(drill).without(rule)
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

    /// How often each mutant shows itself, among so many schedules (`SAPWOOD_SCHEDULES`), written into docs/protocol.md.
    #[test]
    #[ignore = "takes minutes: .ci/full rates runs it"]
    fn rates() {
        write_rates(vec![$(($profile, stringify!($profile))),*]);
    }
    };
}

fn write_rates(mutants: Vec<(Profile, &str)>) {
    let schedules = number("SAPWOOD_SCHEDULES").unwrap_or(10_000);
    let mut rows: Vec<String> = mutants.into_iter().map(|(profile, name)| rate(&profile, name, schedules)).collect();
    rows.sort();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/protocol.md");
    let text = std::fs::read_to_string(path).unwrap();
    let (before, rest) = text.split_once(RATES).unwrap();
    let (_, after) = rest.split_once("\n\n").unwrap();
    let rows = rows.concat();
    let table =
        format!("{before}{RATES}\n| broken | schedules of {schedules} that show it |\n|---|--:|\n{rows}\n{after}");
    std::fs::write(path, table).unwrap();
}

/// The line before the table of docs/protocol.md.
const RATES: &str = "<!-- .ci/full rates writes this table -->";

fn rate(profile: &Profile, name: &str, schedules: u64) -> String {
    // A run that comes to rest has some hundred steps.
    let profile = Profile { steps_max: 10_000, ..profile.clone() };
    let shown = faults(0..schedules, |seed| run(seed, &profile));
    let name = name.split_whitespace().collect::<Vec<_>>().join(" ");
    format!("| `{name}` | {shown} |\n")
}

mutants! {
    without_confirming_the_parent_it_ends_wrong: moves(Rule::Confirm), seed 840;
    a_parent_that_was_predicted_and_went_is_still_an_ancestor: drill(Drill::BriefParent, Rule::ConfirmBase), seed 445;
    a_node_below_one_that_never_was_placed_stays_there: drill(Drill::BriefParent, Rule::TouchNeverPlaced), seed 33;
    without_the_intent_rows_are_left_over: any(Rule::Intent), seed 47;
    a_cascade_that_ignores_paths_leaves_wrong_paths: any(Rule::CascadePath), seed 52;
    forgetting_stale_rows_leaves_them: any(Rule::KeepStaleRows), seed 1;
    deleting_before_putting_hides_nodes_from_readers: Profile::new(Writers::Readers).without(Rule::PutFirst), seed 1;
    a_link_that_stands_shows_the_ancestors_of_before: moves(Rule::SameContents), seed 1;
    touches_in_an_item_of_their_own_end_wrong: Profile { touches_apart: true, ..Profile::new(Writers::Moves) }, seed 298;
    a_copy_put_without_condition_can_be_older: revisions(Rule::LatestCondition), seed 2;
    a_copy_without_a_second_look_can_be_stale: drill(Drill::NewestTwo, Rule::LatestSecondLook), seed 256;
    touches_judged_by_the_last_record_lose_a_rename: any(Rule::AllTouches), seed 345;
    touching_with_the_first_sequence_number_can_change_nothing: drill(Drill::Twice, Rule::NewestSequence), seed 2520;
    failing_the_last_record_of_an_item_loses_the_first: any(Rule::FailFirstRecord), seed 247;
    a_cursor_advanced_without_condition_skips_children: drill(Drill::Twice, Rule::CursorCondition), seed 144;
    judging_a_batch_by_its_net_change_loses_children: drill(Drill::ThereAndBack, Rule::CascadeAnyChange), seed 9320;
    without_the_rows_pending_mark_rows_are_missing: any(Rule::RowsPending).with_races(), seed 216;
    confirming_ancestors_only_leaves_wrong_paths: drill(Drill::ThereAndBack, Rule::ConfirmPath), seed 55;
    confirming_against_what_was_read_ends_wrong: Profile { failure_percent: Some(25), late_max: 3, ..drill(Drill::Together, Rule::ConfirmAgainstUsed) }, seed 19829;
    confirming_without_whether_the_parent_is_there_forgets_orphans: any(Rule::ConfirmPresence), seed 502;
    without_the_register_orphans_stay_where_they_are: any(Rule::OrphanRow), seed 5;
    a_node_whose_children_nobody_handles_is_never_deleted: deletions(Rule::ChildActions), seed 2;
    deleting_by_the_lineage_alone_deletes_what_was_created_anew: deletions(Rule::DeletionPresent), seed 30;
    deleting_whoever_is_there_deletes_a_child_that_moved_away: drill(Drill::ChildLeaves, Rule::ChildCondition), seed 124;
    a_child_that_changed_meanwhile_is_forgotten: Profile { late_max: 12, ..heirs(Rule::ChildAgain).with_races() }, seed 185;
    adopting_without_the_ancestor_path_makes_cycles: drill(Drill::HeirBelowStraggler, Rule::AdoptAncestorPath), seed 73;
    an_adopter_that_is_deleted_itself_leaves_a_child_behind: heirs(Rule::AdoptOnwards), seed 1734;
    a_node_deleted_before_its_last_child_leaves_it_behind: mixed(Rule::FinishLast), seed 59;
    a_node_deleted_whatever_became_of_it_is_missed: returns(Rule::FinishCondition).with_races(), seed 836;
    a_mark_given_again_that_is_taken_for_the_first_leaves_its_node: drill(Drill::MarkAgain, Rule::FreshMark), seed 6598;
    a_cursor_that_goes_on_for_another_mark_forgets_what_came_in_since: drill(Drill::MarkAgain, Rule::CursorMark), seed 2172;
    a_mark_that_went_and_is_back_leaves_its_node: returns(Rule::MarkReturned), seed 302;
    a_cursor_that_goes_before_its_node_leaves_the_node: deletions(Rule::FinishFirst), seed 87;
    without_a_tombstone_a_straggler_is_an_orphan: deletions(Rule::Tombstone), seed 141;
    a_tombstone_for_everybody_deletes_another_clients_orphans: mixed(Rule::TombstoneUnder), seed 22;
    children_left_when_another_client_deletes_the_node_are_forgotten: mixed(Rule::TouchRemaining), seed 33;
    a_node_that_stays_after_all_has_old_rows: returns(Rule::UndeletePuts), seed 485;
    a_revision_deleted_whatever_it_is_was_not_asked_for: drill(Drill::MarkAgain, Rule::RevisionCondition), seed 695;
    a_write_that_comes_late_sets_a_lineage_back: Profile { limbo: true, ..moves(Rule::LateWrites) }, seed 8;
    a_tombstone_of_another_life_deletes_a_child_of_this_one: drill(Drill::TwoLives, Rule::TombstoneLife), seed 146;
    a_cursor_started_over_a_newer_one_forgets_children: drill(Drill::Twice, Rule::CursorStart), seed 693;
    a_touch_on_a_child_that_is_gone_makes_a_node: mixed(Rule::TouchExists), seed 7;
    a_register_with_more_than_a_page_forgets_orphans: any(Rule::OrphanFallback), seed 426;
    a_cursor_of_another_kind_ends_the_deletion: Profile { outages_max: 3, ..mixed(Rule::CursorAnyKind) }, seed 3;
    a_redrive_that_leaves_a_cursor_half_way_forgets_children: Profile { outages_max: 3, ..drill(Drill::Twice, Rule::RedriveAnew) }, seed 11;
    a_repair_of_a_node_that_is_gone_makes_one: mixed(Rule::RepairExists).with_repairs(), seed 18;
    a_repair_that_takes_away_whatever_is_there_deletes_a_node: mixed(Rule::RepairTakesOwn).with_repairs(), seed 12517;
    a_node_that_another_client_moves_back_is_taken_for_a_straggler: drill(Drill::AwayAndBack, Rule::UnderOfOthers), seed 1;
    a_subtree_that_is_put_back_is_taken_for_stragglers: drill(Drill::SubtreeBack, Rule::PutBack), seed 0;
    a_leaf_that_is_put_back_is_taken_for_a_straggler: drill(Drill::LeafBack, Rule::PutBackAfterRestrict), seed 8;
    a_straggler_that_is_newer_than_its_record_was_put_back: Profile::new(Writers::Copies).with_races().without(Rule::StragglerAsShown), seed 839;
    a_stale_under_that_is_passed_over_counts_at_the_next_touch: drill(Drill::SubtreeBack, Rule::RemoveUnder), seed 51;
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
