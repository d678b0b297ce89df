//! Each rule of the protocol, broken on purpose: the simulation must find a fault. If it doesn't, it couldn't find one
//! in the product either.
//!
//! Each mutant has a recorded seed that shows its fault. Should the code have changed so that the seed shows nothing
//! any more, the test fails, and `SAPWOOD_HUNT=100000 cargo test -p sapwood-proof mutants -- --nocapture`
//! prints the line to record instead. Rules that schedules meet too seldom have tests of their own in
//! `interleavings.rs`.

use std::collections::BTreeSet;

use sapwood_core::plan::Rule;
use sapwood_simulation::seeds::number;
use sapwood_simulation::sim::{Drill, Profile, Writers, faults, run, shown};

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

fn claims(rule: Rule) -> Profile {
    Profile::new(Writers::Names).without(rule)
}

fn totals(rule: Rule) -> Profile {
    Profile::new(Writers::Totals).without(rule)
}

fn followed(writers: Writers, rule: Rule) -> Profile {
    Profile::new(writers).with_followers().without(rule)
}

fn followed_drill(drill: Drill, rule: Rule) -> Profile {
    Profile::drill(drill).with_followers().without(rule)
}

fn drill(drill: Drill, rule: Rule) -> Profile {
    Profile::drill(drill).without(rule)
}

macro_rules! mutants {
    ($($test:ident: $profile:expr, seed $seed:literal;)*) => {$(
        #[test]
        fn $test() {
            let broken: Profile = $profile;
            let kept = Profile { broken: None, touches_apart: false, silent_413: false, ..broken.clone() };
            let line = |seed| format!("    {}: {}, seed {seed};", stringify!($test), stringify!($profile));
            let test = concat!("mutants::", stringify!($test));
            let fault = shown(test, $seed, |seed| run(seed, &broken), |seed| run(seed, &kept), line);
            println!("{}: {}", stringify!($profile), fault.to_string().chars().take(200).collect::<String>());
        }
    )*

    /// The names of all mutants, as rates.md has them.
    fn names() -> Vec<String> {
        [$(stringify!($profile)),*].map(in_one_line).into()
    }

    /// How often each mutant shows itself, among so many schedules (`SAPWOOD_SCHEDULES`), written into
    /// rates.md.
    #[test]
    #[ignore = "takes minutes: .ci/full rates runs it"]
    fn rates() {
        write_rates(vec![$(($profile, stringify!($profile))),*]);
    }
    };
}

/// Writes the rates of all mutants, or with `SAPWOOD_RATES=missing` of those that have none.
fn write_rates(mutants: Vec<(Profile, &str)>) {
    let schedules = number("SAPWOOD_SCHEDULES").unwrap_or(10_000);
    let known = if std::env::var("SAPWOOD_RATES").is_ok_and(|which| which == "missing") { rows() } else { Vec::new() };
    let row_of = |name: &str| known.iter().find(|row| row.starts_with(&format!("| `{}` |", in_one_line(name))));
    let row = |(profile, name): (Profile, &str)| match row_of(name) {
        Some(row) => format!("{row}\n"),
        None => rate(&profile, name, schedules),
    };
    let mut rows: Vec<String> = mutants.into_iter().map(row).collect();
    rows.sort();
    let ((before, _), rows) = (page(), rows.concat());
    let table = format!("{before}{RATES}\n| broken | schedules of {schedules} that show it |\n|---|--:|\n{rows}");
    std::fs::write(PAGE, table).unwrap();
}

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/rates.md");

/// The text of rates.md before the table, and the table.
fn page() -> (String, String) {
    let text = std::fs::read_to_string(PAGE).unwrap();
    let (before, table) = text.split_once(RATES).unwrap();
    (before.to_owned(), table.to_owned())
}

/// The rows of the table.
fn rows() -> Vec<String> {
    page().1.lines().filter(|line| line.starts_with("| `")).map(str::to_owned).collect()
}

fn in_one_line(name: &str) -> String {
    name.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn the_table_of_rates_has_every_mutant_and_nothing_else() {
    let named = rows().iter().map(|row| row.split('`').nth(1).unwrap().to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(named, names().into_iter().collect(), "`.ci/full rates` writes the table");
}

/// The line before the table of rates.md.
const RATES: &str = "<!-- .ci/full rates writes this table -->";

fn rate(profile: &Profile, name: &str, schedules: u64) -> String {
    // A run that comes to rest has some hundred steps.
    let profile = Profile { steps_max: profile.steps_max.min(10_000), ..profile.clone() };
    let shown = faults(0..schedules, |seed| run(seed, &profile));
    format!("| `{}` | {shown} |\n", in_one_line(name))
}

mutants! {
    without_confirming_the_parent_it_ends_wrong: moves(Rule::Confirm), seed 840;
    a_parent_that_was_predicted_and_went_is_still_an_ancestor: drill(Drill::BriefParent, Rule::ConfirmBase), seed 492;
    a_node_below_one_that_never_was_placed_stays_there: drill(Drill::BriefParent, Rule::TouchNeverPlaced), seed 9;
    without_the_intent_rows_are_left_over: any(Rule::Intent), seed 47;
    a_cascade_that_ignores_paths_leaves_wrong_paths: any(Rule::CascadePath), seed 52;
    forgetting_stale_rows_leaves_them: any(Rule::KeepStaleRows), seed 1;
    deleting_before_putting_hides_nodes_from_readers: Profile::new(Writers::Readers).without(Rule::PutFirst), seed 1;
    a_link_that_stands_shows_the_ancestors_of_before: moves(Rule::SameContents), seed 1;
    touches_in_an_item_of_their_own_end_wrong: Profile { touches_apart: true, ..Profile::new(Writers::Moves) }, seed 522;
    a_copy_put_without_condition_can_be_older: revisions(Rule::LatestCondition), seed 2;
    a_copy_that_is_not_looked_for_after_a_deletion_can_be_older: Profile { limbo: true, ..Profile::new(Writers::Answers).with_races() }.without(Rule::LatestDeleted), seed 50041882;
    a_copy_without_a_second_look_can_be_stale: drill(Drill::NewestTwo, Rule::LatestSecondLook), seed 90;
    touches_judged_by_the_last_record_lose_a_rename: any(Rule::AllTouches), seed 345;
    touching_with_the_first_sequence_number_can_change_nothing: drill(Drill::Twice, Rule::NewestSequence), seed 712;
    failing_the_last_record_of_an_item_loses_the_first: any(Rule::FailFirstRecord), seed 252;
    a_cursor_advanced_without_condition_skips_children: drill(Drill::Twice, Rule::CursorCondition), seed 245;
    judging_a_batch_by_its_net_change_loses_children: drill(Drill::ThereAndBack, Rule::CascadeAnyChange), seed 331;
    without_the_rows_pending_mark_rows_are_missing: any(Rule::RowsPending).with_races(), seed 216;
    confirming_ancestors_only_leaves_wrong_paths: drill(Drill::ThereAndBack, Rule::ConfirmPath), seed 987;
    confirming_against_what_was_read_ends_wrong: Profile { failure_percent: Some(25), late_max: 3, ..drill(Drill::Together, Rule::ConfirmAgainstUsed) }, seed 10676;
    confirming_without_whether_the_parent_is_there_forgets_orphans: any(Rule::ConfirmPresence), seed 502;
    without_the_register_orphans_stay_where_they_are: any(Rule::OrphanRow), seed 5;
    a_node_whose_children_nobody_handles_is_never_deleted: deletions(Rule::ChildActions), seed 2;
    deleting_by_the_lineage_alone_deletes_what_was_created_anew: deletions(Rule::DeletionPresent), seed 102;
    deleting_whoever_is_there_deletes_a_child_that_moved_away: drill(Drill::ChildLeaves, Rule::ChildCondition), seed 134;
    a_child_that_changed_meanwhile_is_forgotten: Profile { late_max: 12, ..heirs(Rule::ChildAgain).with_races() }, seed 3854;
    adopting_without_the_ancestor_path_makes_cycles: drill(Drill::HeirBelowLateChild, Rule::AdoptAncestorPath), seed 204;
    an_adopter_that_is_deleted_itself_leaves_a_child_behind: heirs(Rule::AdoptOnwards), seed 1734;
    an_adopter_whose_deletion_began_within_a_read_leaves_a_child_behind: heirs(Rule::HeirReadAgain), seed 10145698;
    a_node_deleted_before_its_last_child_leaves_it_behind: mixed(Rule::FinishLast), seed 59;
    a_node_deleted_whatever_became_of_it_is_missed: returns(Rule::FinishCondition).with_races(), seed 88;
    a_mark_given_again_that_is_taken_for_the_first_leaves_its_node: drill(Drill::MarkAgain, Rule::FreshMark), seed 51363;
    a_cursor_that_goes_on_for_another_mark_forgets_what_came_in_since: drill(Drill::MarkAgain, Rule::CursorMark), seed 1668;
    a_mark_that_went_and_is_back_leaves_its_node: returns(Rule::MarkReturned), seed 55;
    a_cursor_that_goes_before_its_node_leaves_the_node: deletions(Rule::FinishFirst), seed 87;
    without_a_tombstone_a_late_child_is_an_orphan: deletions(Rule::Tombstone), seed 585;
    what_comes_in_while_its_parent_is_deleted_is_out_of_sight: deletions(Rule::AdoptAfterRestrict), seed 198;
    what_was_put_under_an_earlier_life_is_out_of_sight: drill(Drill::ChildlessOfOthers, Rule::EarlierLives), seed 7;
    a_tombstone_for_everybody_deletes_another_clients_orphans: mixed(Rule::TombstoneUnder), seed 22;
    children_left_when_another_client_deletes_the_node_are_forgotten: mixed(Rule::TouchRemaining), seed 473;
    a_node_that_stays_after_all_has_old_rows: returns(Rule::UndeletePuts), seed 1007;
    a_revision_deleted_whatever_it_is_was_not_asked_for: drill(Drill::MarkAgain, Rule::RevisionCondition), seed 1180;
    a_write_that_comes_late_sets_a_lineage_back: Profile { limbo: true, ..moves(Rule::LateWrites) }, seed 47;
    a_tombstone_of_another_life_deletes_a_child_of_this_one: drill(Drill::TwoLives, Rule::TombstoneLife), seed 1450;
    a_cursor_started_over_a_newer_one_forgets_children: drill(Drill::Twice, Rule::CursorStart), seed 1252;
    a_touch_on_a_child_that_is_gone_makes_a_node: mixed(Rule::TouchExists), seed 7;
    a_register_with_more_than_a_page_forgets_orphans: any(Rule::OrphanFallback), seed 426;
    a_cursor_of_another_kind_ends_the_deletion: Profile { outages_max: 3, ..mixed(Rule::CursorAnyKind) }, seed 35;
    a_redrive_that_leaves_a_cursor_half_way_forgets_children: Profile { outages_max: 3, ..drill(Drill::Twice, Rule::RedriveAnew) }, seed 14;
    a_redrive_of_a_record_that_is_back_leaves_its_deletion: Profile { outages_max: 3, ..returns(Rule::RedriveReturned) }, seed 54033401;
    a_repair_of_a_node_that_is_gone_makes_one: mixed(Rule::RepairExists).with_repairs(), seed 61;
    a_repair_that_takes_away_whatever_is_there_deletes_a_node: mixed(Rule::RepairTakesOwn).with_repairs(), seed 10158;
    a_node_that_another_client_moves_back_is_taken_for_a_late_child: drill(Drill::AwayAndBack, Rule::UnderOfOthers), seed 1;
    a_subtree_that_is_put_back_is_taken_for_late_children: drill(Drill::SubtreeBack, Rule::PutBack), seed 0;
    a_leaf_that_is_put_back_is_taken_for_a_late_child: drill(Drill::LeafBack, Rule::PutBackAfterRestrict), seed 8;
    a_late_child_that_is_newer_than_its_record_was_put_back: Profile::new(Writers::Copies).with_races().without(Rule::LateChildAsShown), seed 5421;
    a_stale_under_that_is_passed_over_counts_at_the_next_touch: drill(Drill::SubtreeBack, Rule::RemoveUnder), seed 54;
    a_write_that_is_decided_anew_is_carried_out_twice: Profile::new(Writers::Answers).without(Rule::StandsAsRead), seed 1250;
    a_keyed_write_is_refused_and_carried_out_later: Profile { limbo: true, ..Profile::new(Writers::Answers) }.without(Rule::UnknownNotRefused), seed 2200;
    what_was_read_ahead_is_too_old_after_a_lost_answer: Profile { failure_percent: Some(30), ..Profile::new(Writers::Answers) }.without(Rule::ReadAheadForgotten), seed 22140;
    an_import_that_does_not_look_brings_a_node_back: Profile::new(Writers::Answers).without(Rule::ImportLooks), seed 12231;
    a_creation_without_an_answer_brings_a_node_back: Profile { failure_percent: Some(10), failures_max: 2, ..drill(Drill::LostCreation, Rule::CreatedAndDeleted) }, seed 1014;
    a_row_that_stands_and_shows_something_else_is_left_out: Profile::new(Writers::Moves).with_looks().without(Rule::StandingRows), seed 5;
    a_request_that_is_too_large_and_not_halved_stops_the_stream: Profile { silent_413: true, steps_max: 4_000, ..Profile::new(Writers::Heavy) }, seed 15;
    without_confirming_the_trash_a_child_that_comes_in_is_live: drill(Drill::TrashAndBack, Rule::ConfirmTrash), seed 2264;
    a_trash_that_is_not_handed_down_leaves_children_live: drill(Drill::TrashAndBack, Rule::CascadeTrash), seed 0;
    a_move_below_a_root_that_is_trashed_meanwhile_ends_in_the_trash: drill(Drill::TrashedAbove, Rule::TrashedRoot), seed 32;
    what_another_client_has_taken_out_is_back_in_the_trash: drill(Drill::TakenOut, Rule::RemoveTrashed), seed 9;
    a_cycle_that_was_in_the_trash_stays_there: drill(Drill::TrashedCycle, Rule::CutTrash), seed 2;
    a_name_is_taken_although_another_node_has_claimed_it: claims(Rule::ClaimName), seed 11;
    a_claim_is_taken_over_by_two_at_once: drill(Drill::NameTakenOver, Rule::ClaimAsRead), seed 60;
    a_claim_is_taken_over_although_its_node_has_come_back: drill(Drill::NameTakenOver, Rule::HolderLeft), seed 94;
    a_node_that_leaves_its_name_takes_another_nodes_claim_along: claims(Rule::ReleaseOwn), seed 67;
    a_step_that_is_half_done_counts_wrong: Profile::new(Writers::Subtrees).without(Rule::CopyTogether), seed 8;
    a_step_of_before_goes_on_with_a_copy_that_is_over: drill(Drill::CopyUnderWay, Rule::CopyMark), seed 99;
    a_copy_below_its_source_copies_itself: drill(Drill::CopyUnderWay, Rule::CopyOwn), seed 1;
    a_copy_that_was_deleted_is_made_again: drill(Drill::CopyMovedOn, Rule::CopyOnce), seed 1564;
    a_copy_whose_parent_is_gone_hangs_nowhere: Profile::new(Writers::Subtrees).without(Rule::CopyBelow), seed 35;
    a_copy_that_no_record_names_until_it_is_placed_is_done_too_early: Profile::new(Writers::Subtrees).without(Rule::CopyUnplaced), seed 11;
    a_copy_that_counts_as_placed_before_it_is_ends_too_early: Profile::new(Writers::Subtrees).without(Rule::CopyPlaced), seed 0;
    a_copy_keeps_a_name_that_a_sibling_has_claimed: drill(Drill::CopyNamed, Rule::CopyRenamed), seed 13;
    a_copy_that_names_no_life_of_its_parent_is_left: Profile::new(Writers::Subtrees).without(Rule::CopyUnder), seed 0;
    a_node_counted_apart_from_the_totals_leaves_them_wrong: totals(Rule::CountTogether), seed 1;
    a_transaction_whose_answer_was_lost_counts_twice: totals(Rule::CountedAsRead), seed 21;
    a_late_transaction_that_nothing_tells_apart_counts_twice: Profile { limbo: true, ..totals(Rule::CountedName) }, seed 23;
    the_difference_to_what_a_node_was_counted_as_before_counts_twice: totals(Rule::CountedAgain), seed 21;
    without_a_tombstone_a_late_transaction_counts_a_node_that_has_gone: Profile { limbo: true, ..drill(Drill::ComeAndGone, Rule::CountedTombstone) }, seed 1895;
    an_ancestor_that_becomes_the_parent_has_a_child_more: totals(Rule::CountChildren), seed 11;
    a_lane_that_is_overwritten_forgets_other_nodes: totals(Rule::AddToLanes), seed 1;
    followers_told_after_settling_forget_a_node: followed(Writers::Moves, Rule::TellBeforeSettling), seed 17;
    a_node_that_changes_its_depth_while_it_is_listed_is_missed: followed_drill(Drill::AnotherDepth, Rule::TellDepth), seed 10;
    a_requeued_node_that_is_unsettled_is_never_told: followed(Writers::Moves, Rule::TellUnsettled), seed 121;
    a_node_that_comes_out_of_the_trash_with_its_parent_is_never_told: Profile { limbo: true, ..followed_drill(Drill::TrashAndBack, Rule::UnsettledUntilTold) }, seed 1472;
    a_tree_that_is_not_named_never_hears_that_a_node_left: followed(Writers::Moves, Rule::NameLeft), seed 156;
    an_entry_that_is_answered_late_lands_behind_a_cursor: followed(Writers::Nodes, Rule::AnsweredInTime), seed 1282;
    a_follower_who_reads_up_to_now_misses_entries: followed(Writers::Nodes, Rule::StayBehind), seed 9;
    a_row_of_another_tree_is_listed: followed(Writers::Moves, Rule::LookUpListed), seed 4;
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
