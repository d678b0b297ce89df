//! What the fan-out has still to do.

use std::sync::Mutex;

use sapwood_core::keys::Version;
use sapwood_core::model::{Latest, Settings, text};
use sapwood_engine::query::{Reader, Status};
use sapwood_simulation::fixture::{Fixture, NoRetries, at_once};
use sapwood_simulation::intercept::{Intercept, Observer, Request};
use sapwood_simulation::oracle::Oracle;
use sapwood_store::Client;

use super::support::*;

fn of(fixture: &Fixture, id: &str) -> Status {
    read(fixture, async |r| r.status(&node(id)).await.unwrap())
}

fn assert_all_up_to_date(fixture: &Fixture, ids: &[&str]) {
    for id in ids {
        let status = of(fixture, id);
        assert!(status.is_up_to_date(), "{id}: {status:?}");
    }
}

#[test]
fn what_is_settled_is_up_to_date_in_three_round_trips() {
    let fixture = small();
    for (id, ancestors) in [("D", 0), ("V", 1), ("W", 1), ("X", 2), ("Y", 3), ("Z", 2)] {
        let (status, usage) = counted(&fixture, async |r| r.status(&node(id)).await.unwrap());
        assert_eq!(status, Status { exists: true, ancestors, missing: 0, stale: 0 }, "{id}");
        assert!(usage.requests <= 3, "{id}: {}", usage.requests);
    }
    let nothing = of(&fixture, "nothing");
    assert!(nothing.is_up_to_date() && !nothing.exists);
}

#[test]
fn what_was_written_and_not_handled_is_not_up_to_date() {
    let mut fixture = small();
    // Made: a lineage, two ancestor rows, and a path row are missing.
    fixture.put_node("N", Some("V"), &[]);
    assert_eq!(of(&fixture, "N"), Status { exists: true, ancestors: 2, missing: 4, stale: 0 });
    // Renamed: its rows say something else.
    fixture.put_node("Y", Some("X"), &[("name", text("new"))]);
    assert_eq!(of(&fixture, "Y"), Status { exists: true, ancestors: 3, missing: 0, stale: 4 });
    // Moved to Z: new rows are missing, old ones are stale, and so is the lineage.
    fixture.put_node("X", Some("Z"), &[("name", text("Folder X")), ("size", number(1))]);
    let moved = of(&fixture, "X");
    assert!(moved.missing > 0 && moved.stale > 0 && moved.ancestors == 3, "{moved:?}");
    // What is below it is known to be out of date as well.
    assert_eq!(of(&fixture, "Y").ancestors, 4);
    // Made a root.
    fixture.put_node("V", None, &[]);
    let root = of(&fixture, "V");
    assert!(root.missing == 1 && root.stale == 3, "root row missing; ancestor row, path row, lineage stale: {root:?}");
    // Deleted.
    fixture.delete_node("Z");
    assert_eq!(of(&fixture, "Z"), Status { exists: false, ancestors: 0, missing: 0, stale: 4 });
    fixture.settle();
    assert_all_up_to_date(&fixture, &["D", "V", "W", "X", "Y", "Z", "N"]);
    assert!(!of(&fixture, "Z").exists);
}

/// The keys that a question asks for, one number for each BatchGetItem.
#[derive(Default)]
struct Keys(Mutex<Vec<usize>>);

impl Observer for Keys {
    async fn before(&self, request: &Request<'_>) {
        let Request::BatchGet(keys) = request else { panic!("{request:?}") };
        self.0.lock().unwrap().push(keys.len());
    }
}

#[test]
fn rows_are_read_only_where_the_lineage_is_right() {
    let mut fixture = Fixture::default();
    fixture.put_node("r", None, &[]);
    fixture.put_node("s", None, &[]);
    for n in 1..=30 {
        fixture.put_node(&format!("n{n}"), Some(&if n == 1 { "r".to_owned() } else { format!("n{}", n - 1) }), &[]);
    }
    fixture.settle();
    let asked = |fixture: &Fixture, id: &str| {
        let table = Intercept { table: fixture.table().clone(), observer: Keys::default() };
        let session = Client::new(&table, &NoRetries, fixture.schema());
        let reader = Reader::new(&session, fixture.settings());
        let status = at_once(reader.status(&node(id))).unwrap();
        let of_status = std::mem::take(&mut *table.observer.0.lock().unwrap());
        assert_eq!(at_once(reader.is_up_to_date(&node(id))).unwrap(), status.is_up_to_date());
        let of_question = std::mem::take(&mut *table.observer.0.lock().unwrap());
        println!("{id}: {status:?}, keys of the status {of_status:?}, of the question alone {of_question:?}");
        (status, of_status, of_question)
    };
    // The node and its lineage; its 30 ancestors; 30 rows and a path row.
    let (status, of_status, of_question) = asked(&fixture, "n30");
    assert!(status.is_up_to_date());
    assert_eq!((of_status, of_question), (vec![2, 30, 31], vec![2, 30, 31]));
    // A node that isn't placed: its parent's lineage tells the way.
    fixture.put_node("new", Some("n29"), &[]);
    let (status, of_status, of_question) = asked(&fixture, "new");
    assert_eq!((status.ancestors, status.missing, status.stale), (30, 32, 0));
    assert_eq!((of_status, of_question), (vec![2, 2, 29], vec![2]));
    // A node that was moved.
    fixture.put_node("n20", Some("s"), &[]);
    let (status, of_status, of_question) = asked(&fixture, "n20");
    assert_eq!((status.ancestors, status.missing, status.stale), (1, 2, 20 + 1 + 1));
    assert_eq!((of_status, of_question), (vec![2, 2], vec![2]));
    // A node below it: only the way up shows that its lineage is stale.
    let (status, of_status, of_question) = asked(&fixture, "n30");
    assert!(status.missing > 0 && status.stale > 0 && status.ancestors == 11, "{status:?}");
    assert_eq!(of_status, of_question);
    assert_eq!(of_status.iter().sum::<usize>(), 2 + 30 + 2);
    // A node that was deleted.
    fixture.delete_node("n25");
    let (status, of_status, of_question) = asked(&fixture, "n25");
    assert_eq!((status.exists, status.missing, status.stale), (false, 0, 25 + 1 + 1));
    assert_eq!((of_status, of_question), (vec![2], vec![2]));
    fixture.settle();
    assert_all_up_to_date(&fixture, &["n20", "n25", "n30", "new"]);
}

#[test]
fn a_row_taken_away_or_changed_by_somebody_is_told() {
    let mut fixture = small();
    fixture.delete("D", "NODE#0002#X");
    assert_eq!((of(&fixture, "X").missing, of(&fixture, "X").stale), (1, 0));
    fixture.update("V", "NODE#0001#X", "name", None);
    assert_eq!((of(&fixture, "X").missing, of(&fixture, "X").stale), (1, 1));
    // Without a lineage there are no rows: all that there should be are missing, and none is read.
    fixture.delete("X", "LINEAGE");
    assert_eq!((of(&fixture, "X").missing, of(&fixture, "X").stale), (4, 0));
}

#[test]
fn orphans_cycles_and_deep_nodes_come_to_be_up_to_date() {
    let mut fixture = Fixture::default();
    fixture.put_node("orphan", Some("gone"), &[]);
    fixture.put_node("below", Some("orphan"), &[("segment", text("s"))]);
    for (id, parent) in [("a", "b"), ("b", "c"), ("c", "a"), ("self", "self"), ("hangs", "a"), ("on-self", "self")] {
        fixture.put_node(id, Some(parent), &[("segment", text(format!("segment of {id}")))]);
    }
    fixture.put("odd", "NODE", &[("parent", number(1))]);
    fixture.put_node("below-odd", Some("odd"), &[]);
    fixture.put_node("n0", None, &[]);
    for n in 1..=105 {
        fixture.put_node(&format!("n{n}"), Some(&format!("n{}", n - 1)), &[]);
    }
    fixture.settle();
    let ids =
        ["gone", "orphan", "below", "a", "b", "c", "self", "hangs", "on-self", "odd", "below-odd", "n0", "n98", "n105"];
    assert_all_up_to_date(&fixture, &ids);
    assert_eq!(["a", "hangs", "self", "on-self", "n105"].map(|id| of(&fixture, id).ancestors), [2, 3, 0, 1, 98]);
    let (_, usage) = counted(&fixture, async |r| r.status(&node("n105")).await.unwrap());
    assert!(usage.requests <= 4, "{}", usage.requests);
    // Where the lineage tells the way wrong it takes a step for each place where it does, no more.
    fixture.put_node("n50", Some("n20"), &[]);
    let (status, usage) = counted(&fixture, async |r| r.status(&node("n105")).await.unwrap());
    assert!(status.ancestors == 76 && !status.is_up_to_date(), "{status:?}");
    assert!(usage.requests <= 6, "{}", usage.requests);
    fixture.settle();
    assert_all_up_to_date(&fixture, &ids);
}

#[test]
fn switches_decide_which_rows_there_should_be() {
    let settings = Settings { path_rows: false, root_rows: false, ..Settings::default() };
    let mut fixture = Fixture::new(settings, Oracle { path_rows: false, root_rows: false, ..Oracle::default() });
    fixture.put_node("D", None, &[]);
    fixture.put_node("V", Some("D"), &[("segment", text("s"))]);
    fixture.settle();
    assert_all_up_to_date(&fixture, &["D", "V"]);
    let (switched, _) = read_with(&fixture, &Settings::default(), async |r| r.status(&node("V")).await.unwrap());
    assert!(!switched.is_up_to_date(), "with path rows on, one is missing");
    fixture.delete_node("D");
    fixture.settle();
    assert_all_up_to_date(&fixture, &["D", "V"]);
}

#[test]
fn a_topic_is_up_to_date_when_its_copy_is_the_newest() {
    let mut fixture = Fixture::default();
    let latest = Latest { node: node("D"), topic: "Audit".to_owned() };
    let of = |fixture: &Fixture, version| {
        read(fixture, async |r| r.latest_status(&latest, Version::new(version).unwrap()).await.unwrap())
    };
    assert!(of(&fixture, 1).is_up_to_date(), "nothing, and no copy");
    fixture.put("D", "v001_Audit", &[("a", number(1))]);
    assert_eq!(of(&fixture, 1).missing, 1);
    fixture.settle();
    assert!(of(&fixture, 1).is_up_to_date());
    fixture.put("D", "v001_Audit", &[("a", number(2))]);
    assert_eq!(of(&fixture, 1).stale, 1, "amended");
    fixture.put("D", "v003_Audit", &[("a", number(3))]);
    assert_eq!(of(&fixture, 3).stale, 1);
    fixture.settle();
    assert!(of(&fixture, 1).is_up_to_date() && of(&fixture, 3).is_up_to_date());
    fixture.delete("D", "v003_Audit");
    assert_eq!(of(&fixture, 3).stale, 1, "the copy is of one that is gone");
    fixture.settle();
    assert!(of(&fixture, 3).is_up_to_date());
    fixture.delete("D", "v001_Audit");
    assert_eq!(of(&fixture, 1).stale, 1);
    fixture.settle();
    assert!(of(&fixture, 1).is_up_to_date() && !of(&fixture, 1).exists);
}
