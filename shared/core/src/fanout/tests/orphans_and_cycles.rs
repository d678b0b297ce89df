//! Parents that don't exist, have no lineage yet, or are below the node itself.

use super::drawing::{DRIVE, check};

#[test]
fn children_of_a_deleted_node_become_orphans_below_it() {
    check(
        DRIVE,
        "delete V; touch d; touch i",
        "
        delete D NODE#0001#V
        delete D PATH#V
        delete the lineage

        intent V, path d, orphan, rows_pending, stale_rows D NODE#0002#d + D PATH#V#d
        put V PATH#d
        put ORPHANS#9 ORPHAN#d
        delete D NODE#0002#d
        delete D PATH#V#d
        settle V, path d, orphan

        intent d > V, path d/i, rows_pending, stale_rows D NODE#0003#i + D PATH#V#d#i
        put V PATH#d#i
        delete D NODE#0003#i
        delete D PATH#V#d#i
        settle d > V, path d/i
        ",
    );
}

#[test]
fn a_node_whose_parent_does_not_exist_has_rows_below_it_and_is_registered() {
    check(
        "",
        "create d under V",
        "
        intent V, path d, orphan
        put V NODE#0001#d
        put V PATH#d
        put ORPHANS#9 ORPHAN#d
        ",
    );
}

#[test]
fn a_child_of_a_parent_without_a_lineage_is_an_orphan() {
    check(
        "
        D
          V unplaced
        ",
        "create d under V",
        "
        intent V, path d, orphan
        put V NODE#0001#d
        put V PATH#d
        put ORPHANS#9 ORPHAN#d
        ",
    );
}

#[test]
fn an_orphan_is_placed_below_its_parent_as_soon_as_that_is_created() {
    check(
        "
        D
        -V
          d
        ",
        "create V under D; touch d",
        "
        intent D, path V
        put D NODE#0001#V
        put D PATH#V

        intent V > D, path V/d, rows_pending, stale_rows ORPHANS#9 ORPHAN#d + V PATH#d
        put D NODE#0002#d
        put D PATH#V#d
        delete ORPHANS#9 ORPHAN#d
        delete V PATH#d
        settle V > D, path V/d
        ",
    );
}

#[test]
fn an_orphan_whose_parent_is_created_as_a_root_keeps_its_rows_and_loses_its_orphan_row() {
    check(
        "
        -V
          d
        ",
        "create V; touch d",
        "
        intent root
        put ROOTS ROOT#V

        intent V, path d, stale_rows ORPHANS#9 ORPHAN#d
        delete ORPHANS#9 ORPHAN#d
        settle V, path d
        ",
    );
}

#[test]
fn a_node_that_is_its_own_parent_has_neither_ancestors_nor_a_root_row() {
    // The lineage is written all the same, so that the node's children aren't orphans.
    check("", "create a under a", "intent nowhere");
    check(
        DRIVE,
        "move V under V; touch d",
        "
        intent stale_rows D NODE#0001#V + D PATH#V
        delete D NODE#0001#V
        delete D PATH#V
        settle nowhere

        intent V, path d, rows_pending, stale_rows D NODE#0002#d + D PATH#V#d
        put V PATH#d
        delete D NODE#0002#d
        delete D PATH#V#d
        settle V, path d
        ",
    );
}

#[test]
fn a_cycle_is_cut_before_the_node_itself_and_comes_to_rest() {
    check(
        "
        a
          b
            c
        ",
        "move a under c; touch b; touch c; touch a; touch b",
        "
        intent c > b, path c/a, stale_rows ROOTS ROOT#a
        put c NODE#0001#a
        put b NODE#0002#a
        put b PATH#c#a
        delete ROOTS ROOT#a
        settle c > b, path c/a

        intent a > c, path a/b, rows_pending, stale_rows a PATH#b
        put c NODE#0002#b
        put c PATH#a#b
        delete a PATH#b
        settle a > c, path a/b

        nothing
        nothing
        nothing
        ",
    );
}

#[test]
fn a_node_whose_base_record_cant_be_understood_is_placed_nowhere() {
    check(
        DRIVE,
        "set V parent=; touch d",
        "
        delete D NODE#0001#V
        delete D PATH#V
        delete the lineage

        intent V, path d, orphan, rows_pending, stale_rows D NODE#0002#d + D PATH#V#d
        put V PATH#d
        put ORPHANS#9 ORPHAN#d
        delete D NODE#0002#d
        delete D PATH#V#d
        settle V, path d, orphan
        ",
    );
}
