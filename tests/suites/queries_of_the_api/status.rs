//! What the fan-out has still to do.

use sapwood_core::keys::Version;
use sapwood_core::model::{Latest, Settings, text};
use sapwood_engine::query::Status;
use sapwood_tests::oracle::Oracle;
use sapwood_tests::stand::Stand;

use crate::support::*;

fn of(stand: &Stand, id: &str) -> Status {
    read(stand, async |r| r.status(&node(id)).await.unwrap())
}

fn assert_all_up_to_date(stand: &Stand, ids: &[&str]) {
    for id in ids {
        let status = of(stand, id);
        assert!(status.is_up_to_date(), "{id}: {status:?}");
    }
}

#[test]
fn what_is_settled_is_up_to_date_in_three_round_trips() {
    let stand = small();
    for (id, ancestors) in [("D", 0), ("V", 1), ("W", 1), ("X", 2), ("Y", 3), ("Z", 2)] {
        let (status, usage) = counted(&stand, async |r| r.status(&node(id)).await.unwrap());
        assert_eq!(status, Status { is_there: true, ancestors, missing: 0, stale: 0 }, "{id}");
        assert!(usage.requests <= 3, "{id}: {}", usage.requests);
    }
    let nothing = of(&stand, "nothing");
    assert!(nothing.is_up_to_date() && !nothing.is_there);
}

#[test]
fn what_was_written_and_not_handled_is_not_up_to_date() {
    let mut stand = small();
    // Made: a lineage, two ancestor rows, and a path row are missing.
    stand.put_node("N", Some("V"), &[]);
    assert_eq!(of(&stand, "N"), Status { is_there: true, ancestors: 2, missing: 4, stale: 0 });
    // Renamed: its rows say something else.
    stand.put_node("Y", Some("X"), &[("name", text("new"))]);
    assert_eq!(of(&stand, "Y"), Status { is_there: true, ancestors: 3, missing: 0, stale: 4 });
    // Moved to Z: new rows are missing, old ones are stale, and so is the lineage.
    stand.put_node("X", Some("Z"), &[("name", text("Folder X")), ("size", number(1))]);
    let moved = of(&stand, "X");
    assert!(moved.missing > 0 && moved.stale > 0 && moved.ancestors == 3, "{moved:?}");
    // What is below it is known to be out of date as well.
    assert_eq!(of(&stand, "Y").ancestors, 4);
    // Made a root.
    stand.put_node("V", None, &[]);
    let root = of(&stand, "V");
    assert!(root.missing == 1 && root.stale == 3, "root row missing; ancestor row, path row, lineage stale: {root:?}");
    // Deleted.
    stand.delete_node("Z");
    assert_eq!(of(&stand, "Z"), Status { is_there: false, ancestors: 0, missing: 0, stale: 4 });
    stand.settle();
    assert_all_up_to_date(&stand, &["D", "V", "W", "X", "Y", "Z", "N"]);
    assert!(!of(&stand, "Z").is_there);
}

#[test]
fn a_row_taken_away_or_changed_by_somebody_is_told() {
    let mut stand = small();
    stand.delete("D", "NODE#0002#X");
    assert_eq!((of(&stand, "X").missing, of(&stand, "X").stale), (1, 0));
    stand.update("V", "NODE#0001#X", "name", None);
    assert_eq!((of(&stand, "X").missing, of(&stand, "X").stale), (1, 1));
    stand.delete("X", "LINEAGE");
    assert_eq!((of(&stand, "X").missing, of(&stand, "X").stale), (2, 1));
}

#[test]
fn orphans_cycles_and_deep_nodes_come_to_be_up_to_date() {
    let mut stand = Stand::default();
    stand.put_node("orphan", Some("gone"), &[]);
    stand.put_node("below", Some("orphan"), &[("segment", text("s"))]);
    for (id, parent) in [("a", "b"), ("b", "c"), ("c", "a"), ("self", "self"), ("hangs", "a"), ("on-self", "self")] {
        stand.put_node(id, Some(parent), &[("segment", text(format!("segment of {id}")))]);
    }
    stand.put("odd", "NODE", &[("parent", number(1))]);
    stand.put_node("below-odd", Some("odd"), &[]);
    stand.put_node("n0", None, &[]);
    for n in 1..=105 {
        stand.put_node(&format!("n{n}"), Some(&format!("n{}", n - 1)), &[]);
    }
    stand.settle();
    let ids =
        ["gone", "orphan", "below", "a", "b", "c", "self", "hangs", "on-self", "odd", "below-odd", "n0", "n98", "n105"];
    assert_all_up_to_date(&stand, &ids);
    assert_eq!(["a", "hangs", "self", "on-self", "n105"].map(|id| of(&stand, id).ancestors), [2, 3, 0, 1, 98]);
    let (_, usage) = counted(&stand, async |r| r.status(&node("n105")).await.unwrap());
    assert!(usage.requests <= 4, "{}", usage.requests);
    // Where the lineage tells the way wrong it takes a step for each place where it does, no more.
    stand.put_node("n50", Some("n20"), &[]);
    let (status, usage) = counted(&stand, async |r| r.status(&node("n105")).await.unwrap());
    assert!(status.ancestors == 76 && !status.is_up_to_date(), "{status:?}");
    assert!(usage.requests <= 6, "{}", usage.requests);
    stand.settle();
    assert_all_up_to_date(&stand, &ids);
}

#[test]
fn switches_decide_which_rows_there_should_be() {
    let settings = Settings { path_rows: false, root_rows: false, ..Settings::default() };
    let mut stand = Stand::new(settings, Oracle { path_rows: false, root_rows: false, ..Oracle::default() });
    stand.put_node("D", None, &[]);
    stand.put_node("V", Some("D"), &[("segment", text("s"))]);
    stand.settle();
    assert_all_up_to_date(&stand, &["D", "V"]);
    let (switched, _) = read_with(&stand, &Settings::default(), async |r| r.status(&node("V")).await.unwrap());
    assert!(!switched.is_up_to_date(), "with path rows on, one is missing");
    stand.delete_node("D");
    stand.settle();
    assert_all_up_to_date(&stand, &["D", "V"]);
}

#[test]
fn a_topic_is_up_to_date_when_its_copy_is_the_newest() {
    let mut stand = Stand::default();
    let latest = Latest { node: node("D"), topic: "Audit".to_owned() };
    let of = |stand: &Stand, version| {
        read(stand, async |r| r.latest_status(&latest, Version::new(version).unwrap()).await.unwrap())
    };
    assert!(of(&stand, 1).is_up_to_date(), "nothing, and no copy");
    stand.put("D", "v001_Audit", &[("a", number(1))]);
    assert_eq!(of(&stand, 1).missing, 1);
    stand.settle();
    assert!(of(&stand, 1).is_up_to_date());
    stand.put("D", "v001_Audit", &[("a", number(2))]);
    assert_eq!(of(&stand, 1).stale, 1, "amended");
    stand.put("D", "v003_Audit", &[("a", number(3))]);
    assert_eq!(of(&stand, 3).stale, 1);
    stand.settle();
    assert!(of(&stand, 1).is_up_to_date() && of(&stand, 3).is_up_to_date());
    stand.delete("D", "v003_Audit");
    assert_eq!(of(&stand, 3).stale, 1, "the copy is of one that is gone");
    stand.settle();
    assert!(of(&stand, 3).is_up_to_date());
    stand.delete("D", "v001_Audit");
    assert_eq!(of(&stand, 1).stale, 1);
    stand.settle();
    assert!(of(&stand, 1).is_up_to_date() && !of(&stand, 1).is_there);
}
