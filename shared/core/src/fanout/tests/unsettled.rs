//! Placings that an invocation didn't finish because it died.

use super::drawing::{Tree, check};
use crate::model::Settings;

#[test]
fn a_lineage_marked_rows_pending_puts_all_rows_even_for_a_touch() {
    check(
        "
        D
          V
            d name=Folder rows_pending
        ",
        "touch d; touch d",
        "
        put V NODE#0001#d name=Folder
        put D NODE#0002#d name=Folder
        put D PATH#V#d name=Folder
        settle V > D, path V/d
        nothing
        ",
    );
}

#[test]
fn rows_pending_survives_a_second_move_by_touch() {
    check(
        "
        D
          III
          V
            d rows_pending
        ",
        "move V under III; touch d",
        "
        intent III > D, path III/V, stale_rows D NODE#0001#V + D PATH#V
        put III NODE#0001#V
        put D NODE#0002#V
        put D PATH#III#V
        delete D NODE#0001#V
        delete D PATH#V
        settle III > D, path III/V

        intent V > III > D, path III/V/d, rows_pending, stale_rows D NODE#0002#d + D PATH#V#d
        put V NODE#0001#d
        put III NODE#0002#d
        put D NODE#0003#d
        put D PATH#III#V#d
        delete D NODE#0002#d
        delete D PATH#V#d
        settle V > III > D, path III/V/d
        ",
    );
}

#[test]
fn stale_rows_of_an_earlier_placement_are_still_deleted() {
    check(
        "
        D
          V
            d stale_rows:III|NODE#0001#d stale_rows:D|PATH#III#d
        ",
        "touch d; touch d",
        "
        intent V > D, path V/d, rows_pending, stale_rows D PATH#III#d + III NODE#0001#d
        put V NODE#0001#d
        put D NODE#0002#d
        put D PATH#V#d
        delete D PATH#III#d
        delete III NODE#0001#d
        settle V > D, path V/d
        nothing
        ",
    );
}

#[test]
fn a_stale_row_that_is_wanted_again_is_put_and_not_deleted() {
    check(
        "
        D
          III
          V
            d stale_rows:III|NODE#0001#d
        ",
        "move d under III",
        "
        intent III > D, path III/d, stale_rows D PATH#V#d + V NODE#0001#d
        put III NODE#0001#d
        put D NODE#0002#d
        put D PATH#III#d
        delete D PATH#V#d
        delete V NODE#0001#d
        settle III > D, path III/d
        ",
    );
}

#[test]
fn a_node_deleted_in_the_middle_of_a_move_loses_the_rows_of_both_places() {
    check(
        "
        D
          V
            d stale_rows:III|NODE#0001#d
        ",
        "delete d",
        "
        delete D NODE#0002#d
        delete D PATH#V#d
        delete III NODE#0001#d
        delete V NODE#0001#d
        delete the lineage
        ",
    );
}

#[test]
fn a_lineage_that_no_handler_wrote_is_written_anew() {
    check(
        "
        D
          V malformed
        ",
        "touch V",
        "
        intent D, path V, rows_pending
        put D NODE#0001#V
        put D PATH#V
        settle D, path V
        ",
    );
    check(
        "
        D
          V malformed
        ",
        "delete V",
        "delete the lineage",
    );
}

#[test]
fn rows_pending_survives_a_move_by_a_client() {
    // If this invocation dies after the intent, the next record may be a touch, which then has to put all rows.
    check(
        "
        D
          III
          V
            d rows_pending
        ",
        "move d under III",
        "
        intent III > D, path III/d, rows_pending, stale_rows D PATH#V#d + V NODE#0001#d
        put III NODE#0001#d
        put D NODE#0002#d
        put D PATH#III#d
        delete D PATH#V#d
        delete V NODE#0001#d
        settle III > D, path III/d
        ",
    );
}

/// Rows that the lineage doesn't name can be somebody's who deletes them: a repair, which has read that lineage.
#[test]
fn rows_may_stand_already_only_if_the_lineage_that_was_read_names_them() {
    let tree = "
        D
          III
          V
            d stale_rows:III|NODE#0001#d
            n unplaced
        ";
    let is_named = |change: &str| Tree::drawn(tree, &Settings::default()).happens(change).plan.is_named;
    assert!(is_named("write V"), "its contents may have changed");
    assert!(is_named("write d"), "the record of a move is delivered again");
    assert!(!is_named("move V under III"));
    assert!(!is_named("write n"));
}
