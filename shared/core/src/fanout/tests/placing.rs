//! Placings of nodes that are created, changed, moved and deleted.

use super::drawing::{DRIVE, Tree, check};
use crate::model::{AttributeValue, Item, Settings, text};

#[test]
fn a_created_root_has_a_root_row_and_no_path_row() {
    check(
        "",
        "create D",
        "
        intent root
        put ROOTS ROOT#D
        ",
    );
}

#[test]
fn a_created_node_gets_a_row_under_each_ancestor_and_one_path_row_under_the_root() {
    check(
        DRIVE,
        "create e under d",
        "
        intent d > V > D, path V/d/e
        put d NODE#0001#e
        put V NODE#0002#e
        put D NODE#0003#e
        put D PATH#V#d#e
        ",
    );
}

#[test]
fn a_row_names_its_node_depth_and_parent() {
    let settings = Settings::default();
    let mut tree = Tree::drawn(DRIVE, &settings);
    let plan = tree.happens("set i name=Folder");
    let row = |sk: &str, depth: &str| {
        let own = [("PK", text("D")), ("SK", text(sk)), ("_id", text("i")), ("_parent", text("d"))];
        let rest = [("_depth", AttributeValue::N(depth.to_owned())), ("name", text("Folder")), ("parent", text("d"))];
        own.into_iter().chain(rest).map(|(name, value)| (name.to_owned(), value)).collect::<Item>()
    };
    let below_the_root: Vec<&Item> = plan.puts.iter().filter(|item| item["PK"] == text("D")).collect();
    assert_eq!(below_the_root, [&row("NODE#0003#i", "3"), &row("PATH#V#d#i", "3")]);
}

#[test]
fn a_changed_attribute_is_put_into_every_row_and_the_lineage_is_not_written() {
    check(
        DRIVE,
        "set d name=Folder",
        "
        put V NODE#0001#d name=Folder
        put D NODE#0002#d name=Folder
        put D PATH#V#d name=Folder
        ",
    );
}

#[test]
fn a_removed_attribute_is_removed_from_every_row() {
    check(
        "
        D
          V name=Folder color=red
        ",
        "unset V color",
        "
        put D NODE#0001#V name=Folder
        put D PATH#V name=Folder
        ",
    );
}

#[test]
fn a_record_without_a_change_puts_all_rows_again() {
    check(
        DRIVE,
        "write V",
        "
        put D NODE#0001#V
        put D PATH#V
        ",
    );
}

#[test]
fn a_touch_of_a_settled_node_writes_nothing() {
    check(DRIVE, "touch d", "nothing");
    check(DRIVE, "touch D", "nothing");
}

#[test]
fn a_moved_nodes_lineage_names_the_stale_rows_before_any_row_is_put_or_deleted() {
    check(
        DRIVE,
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
fn a_move_is_handed_down_by_touches_that_put_only_new_rows() {
    // The row under D keeps its key, and its content as well, because a touch changes no attribute.
    check(
        DRIVE,
        "move V under III; touch d; touch i; touch d",
        "
        intent III > D, path III/V, stale_rows D NODE#0001#V + D PATH#V
        put III NODE#0001#V
        put D NODE#0002#V
        put D PATH#III#V
        delete D NODE#0001#V
        delete D PATH#V
        settle III > D, path III/V

        intent V > III > D, path III/V/d, rows_pending, stale_rows D NODE#0002#d + D PATH#V#d
        put III NODE#0002#d
        put D NODE#0003#d
        put D PATH#III#V#d
        delete D NODE#0002#d
        delete D PATH#V#d
        settle V > III > D, path III/V/d

        intent d > V > III > D, path III/V/d/i, rows_pending, stale_rows D NODE#0003#i + D PATH#V#d#i
        put III NODE#0003#i
        put D NODE#0004#i
        put D PATH#III#V#d#i
        delete D NODE#0003#i
        delete D PATH#V#d#i
        settle d > V > III > D, path III/V/d/i

        nothing
        ",
    );
}

#[test]
fn a_node_moved_to_the_top_becomes_a_root_and_its_subtree_follows() {
    check(
        DRIVE,
        "move V to the top; touch d",
        "
        intent root, stale_rows D NODE#0001#V + D PATH#V
        put ROOTS ROOT#V
        delete D NODE#0001#V
        delete D PATH#V
        settle root

        intent V, path d, rows_pending, stale_rows D NODE#0002#d + D PATH#V#d
        put V PATH#d
        delete D NODE#0002#d
        delete D PATH#V#d
        settle V, path d
        ",
    );
}

#[test]
fn a_root_moved_below_a_node_loses_its_root_row() {
    check(
        "
        C
        D
        ",
        "move D under C",
        "
        intent C, path D, stale_rows ROOTS ROOT#D
        put C NODE#0001#D
        put C PATH#D
        delete ROOTS ROOT#D
        settle C, path D
        ",
    );
}

#[test]
fn a_deleted_node_loses_its_rows_then_its_lineage() {
    check(
        DRIVE,
        "delete d",
        "
        delete D NODE#0002#d
        delete D PATH#V#d
        delete V NODE#0001#d
        delete the lineage
        ",
    );
    check(
        DRIVE,
        "delete D",
        "
        delete ROOTS ROOT#D
        delete the lineage
        ",
    );
}

#[test]
fn a_deletion_that_is_delivered_again_writes_nothing() {
    check(
        "
        D
        ",
        "delete D; delete D",
        "
        delete ROOTS ROOT#D
        delete the lineage
        nothing
        ",
    );
}

#[test]
fn a_changed_segment_moves_only_the_path_row() {
    check(
        DRIVE,
        "set V segment=five; touch d",
        "
        intent D, path five, stale_rows D PATH#V
        put D NODE#0001#V segment=five
        put D PATH#five!V segment=five
        delete D PATH#V
        settle D, path five

        intent V > D, path five/d, rows_pending, stale_rows D PATH#V#d
        put D PATH#five#d
        delete D PATH#V#d
        settle V > D, path five/d
        ",
    );
}

#[test]
fn a_segment_equal_to_the_id_counts_as_none() {
    check(
        DRIVE,
        "set V segment=V",
        "
        put D NODE#0001#V segment=V
        put D PATH#V segment=V
        ",
    );
}

#[test]
fn siblings_of_one_segment_have_a_path_row_each() {
    check(
        "
        NE
          omaha-1 /OMAHA
        ",
        "create omaha-2 under NE; set omaha-2 segment=OMAHA",
        "
        intent NE, path omaha-2
        put NE NODE#0001#omaha-2
        put NE PATH#omaha-2

        intent NE, path OMAHA, stale_rows NE PATH#omaha-2
        put NE NODE#0001#omaha-2 segment=OMAHA
        put NE PATH#OMAHA!omaha-2 segment=OMAHA
        delete NE PATH#omaha-2
        settle NE, path OMAHA
        ",
    );
}

#[test]
fn separators_in_ids_and_segments_are_encoded_only_in_path_rows() {
    check(
        "
        CUSTOMER#1
        ",
        "create ORDER#2 under CUSTOMER#1",
        "
        intent CUSTOMER#1, path ORDER#2
        put CUSTOMER#1 NODE#0001#ORDER#2
        put CUSTOMER#1 PATH#ORDER%232
        ",
    );
}

/// Draws `n0` with `n1` below it, and so on down to this depth.
fn chain(depth: usize) -> String {
    (0..=depth).map(|depth| format!("{}n{depth}\n", "  ".repeat(depth))).collect()
}

/// What is planned for a node that is created under `n<above>` and has rows up to `n<farthest>`.
fn rows_up_to(farthest: usize, above: usize) -> String {
    let ancestors: Vec<String> = (farthest..=above).rev().map(|depth| format!("n{depth}")).collect();
    let path: Vec<String> = (farthest + 1..=above).map(|depth| format!("n{depth}")).chain(["new".to_owned()]).collect();
    let mut lines = vec![format!("intent {}, path {}", ancestors.join(" > "), path.join("/"))];
    lines.extend(ancestors.iter().enumerate().map(|(above, pk)| format!("put {pk} NODE#{:04}#new", above + 1)));
    lines.push(format!("put n{farthest} PATH#{}", path.join("#")));
    lines.join("\n")
}

#[test]
fn depth_98_has_rows_under_every_ancestor() {
    check(&chain(97), "create new under n97", &rows_up_to(0, 97));
}

#[test]
fn depth_99_keeps_the_nearest_98_ancestors_and_a_path_row_under_the_farthest_of_them() {
    check(&chain(98), "create new under n98", &rows_up_to(1, 98));
    check(&chain(99), "create new under n99", &rows_up_to(2, 99));
}
