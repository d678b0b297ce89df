//! The settings that change what rows hold, and rows that are too large.

use std::collections::BTreeSet;

use super::drawing::{DRIVE, Tree, check, check_with};
use crate::keys::{Names, Schema};
use crate::model::{Copied, ITEM_BYTES_MAX, Settings, text};

#[test]
fn without_path_rows_a_lineage_has_no_path() {
    let settings = Settings { path_rows: false, ..Settings::default() };
    check_with(
        &settings,
        DRIVE,
        "move d under III; set d segment=other",
        "
        intent III > D, stale_rows V NODE#0001#d
        put III NODE#0001#d
        put D NODE#0002#d
        delete V NODE#0001#d
        settle III > D

        put III NODE#0001#d segment=other
        put D NODE#0002#d segment=other
        ",
    );
}

#[test]
fn without_root_rows_a_root_has_a_lineage_alone() {
    let settings = Settings { root_rows: false, ..Settings::default() };
    check_with(&settings, "", "create D; set D name=Drive; touch D", "intent nowhere\nnothing\nnothing");
}

#[test]
fn with_no_copied_attributes_rows_hold_only_where_a_node_is() {
    let settings = Settings { copied: Copied::None, ..Settings::default() };
    check_with(
        &settings,
        DRIVE,
        "set V name=Folder",
        "
        put D NODE#0001#V
        put D PATH#V
        ",
    );
}

/// A tree with a node of many attributes.
const MANY: &str = "
    D
      V name=Folder color=red expires=1 GSI1PK=x _rev=7 _id=mine
";

#[test]
fn with_a_list_of_copied_attributes_rows_carry_those() {
    let list = BTreeSet::from(["name", "absent", "_rev", "PK"].map(str::to_owned));
    let settings = Settings { copied: Copied::Only(list), ..Settings::default() };
    check_with(
        &settings,
        MANY,
        "write V",
        "
        put D NODE#0001#V name=Folder
        put D PATH#V name=Folder
        ",
    );
}

#[test]
fn the_ttl_the_never_copied_list_and_our_own_names_are_not_copied() {
    let never_copied = BTreeSet::from(["GSI1PK".to_owned()]);
    let settings = Settings { never_copied, ttl: Some("expires".to_owned()), ..Settings::default() };
    check_with(
        &settings,
        MANY,
        "write V",
        "
        put D NODE#0001#V color=red name=Folder
        put D PATH#V color=red name=Folder
        ",
    );
    let mut tree = Tree::drawn(MANY, &settings);
    let row = &tree.happens("write V").puts[0];
    assert_eq!(row["_id"], text("V"), "a base record's own `_id` isn't copied");
}

#[test]
fn a_row_too_large_with_its_copies_is_written_without_them_and_marked_truncated() {
    // The base record is as large as an item can be. Its rows have attributes of their own, so they have no room for
    // the copy.
    let large = "x".repeat(ITEM_BYTES_MAX - 30);
    let tree = "
        D
          V
    ";
    check(
        tree,
        &format!("set V large={large}"),
        "
        put D NODE#0001#V _truncated=true
        put D PATH#V _truncated=true
        ",
    );
    // A smaller attribute is copied.
    let fits = "x".repeat(1_000);
    check(
        tree,
        &format!("set V large={fits}"),
        &format!(
            "
            put D NODE#0001#V large={fits}
            put D PATH#V large={fits}
            "
        ),
    );
}

#[test]
fn a_path_row_whose_key_would_be_too_long_is_left_out_and_the_other_rows_are_put() {
    let long = "s".repeat(600);
    check(
        &format!(
            "
            D
              V /{long}
            "
        ),
        &format!("create d under V; set d segment={long}; unset d segment"),
        &format!(
            "
            intent V > D, path {long}/d
            put V NODE#0001#d
            put D NODE#0002#d
            put D PATH#{long}#d

            intent V > D, path {long}/{long}, stale_rows D PATH#{long}#d
            put V NODE#0001#d segment={long}
            put D NODE#0002#d segment={long}
            delete D PATH#{long}#d
            settle V > D, path {long}/{long}

            intent V > D, path {long}/d
            put V NODE#0001#d
            put D NODE#0002#d
            put D PATH#{long}#d
            "
        ),
    );
}

#[test]
fn with_tenants_every_row_is_in_its_tenants_partition_and_no_attribute_names_the_tenant() {
    let schema = Schema::new(Names::default(), true).unwrap();
    let settings = Settings { schema, ..Settings::default() };
    check_with(
        &settings,
        DRIVE,
        "create e under V; move e to the top; move e under gone",
        "
        intent V > D, path V/e
        put TENANT#acme#V NODE#0001#e
        put TENANT#acme#D NODE#0002#e
        put TENANT#acme#D PATH#V#e

        intent root, stale_rows TENANT#acme#D NODE#0002#e + TENANT#acme#D PATH#V#e + TENANT#acme#V NODE#0001#e
        put TENANT#acme#ROOTS ROOT#e
        delete TENANT#acme#D NODE#0002#e
        delete TENANT#acme#D PATH#V#e
        delete TENANT#acme#V NODE#0001#e
        settle root

        intent gone, path e, orphan, stale_rows TENANT#acme#ROOTS ROOT#e
        put TENANT#acme#gone NODE#0001#e
        put TENANT#acme#gone PATH#e
        put TENANT#acme#ORPHANS#e ORPHAN#e
        delete TENANT#acme#ROOTS ROOT#e
        settle gone, path e, orphan
        ",
    );
    let mut tree = Tree::drawn(DRIVE, &settings);
    for row in tree.happens("write i").puts {
        assert_eq!((&row["_id"], &row["_parent"]), (&text("i"), &text("d")));
    }
}

#[test]
fn rows_use_the_attribute_names_of_the_table() {
    let [partition_key, sort_key, parent, segment, node] =
        ["pk", "sk", "above", "label", "METADATA"].map(str::to_owned);
    let schema = Schema::new(Names { partition_key, sort_key, parent, segment, node }, false).unwrap();
    let settings = Settings { schema, ..Settings::default() };
    check_with(
        &settings,
        DRIVE,
        "move d under III; set d label=other",
        "
        intent III > D, path III/d, stale_rows D PATH#V#d + V METADATA#0001#d
        put III METADATA#0001#d
        put D METADATA#0002#d
        put D PATH#III#d
        delete D PATH#V#d
        delete V METADATA#0001#d
        settle III > D, path III/d

        intent III > D, path III/other, stale_rows D PATH#III#d
        put III METADATA#0001#d label=other
        put D METADATA#0002#d label=other
        put D PATH#III#other!d label=other
        delete D PATH#III#d
        settle III > D, path III/other
        ",
    );
}
