//! Nodes deleted at once, or marked for the stream.

use sapwood_core::model::{AttributeValue, DeletionMark, DeletionMode, text};
use sapwood_engine::query::{Progress, Work};
use sapwood_engine::write::{Children, Command, Outcome, Refusal};

use super::fixture::{Fixture, Took, id, n, node, under};

fn delete(fixture: &Fixture, of: &str, children: Children, revisions: bool) -> (Took, Result<Outcome, Refusal>) {
    let operation = "operation 1".to_owned();
    fixture.carry_out_counted(&Command::Delete { node: node(of), children, revisions, operation })
}

#[test]
fn a_leaf_is_deleted_at_once_and_a_node_with_children_stays() {
    let fixture = Fixture::default();
    fixture.tree(&[("a", ""), ("b", "a")]);
    fixture.place_all();
    assert!(matches!(delete(&fixture, "a", Children::Restrict, false).1, Err(Refusal::HasChildren)));
    let (took, done) = delete(&fixture, "b", Children::Restrict, false);
    assert_eq!((took.round_trips, took.writes), (2, 1));
    assert_eq!((done.unwrap(), fixture.base("b")), (Outcome::Deleted, None));
    assert!(matches!(delete(&fixture, "b", Children::Restrict, false).1, Err(Refusal::NotFound)));
}

#[test]
fn a_node_whose_rows_have_not_come_is_looked_at_again_for_a_while_and_then_stays() {
    let fixture = Fixture::default();
    fixture.tree(&[("p", ""), ("a", "p")]);
    let restrict = || delete(&fixture, "a", Children::Restrict, false);
    let (took, done) = restrict();
    assert!(matches!(done, Err(Refusal::NotUpToDate)));
    assert_eq!((took.round_trips, took.writes), (9, 0), "1 look and 8 more");
    // It moves, and its rows are where it was.
    fixture.place_all();
    fixture.patch("a", &super::fixture::moved(None)).unwrap();
    assert!(matches!(restrict().1, Err(Refusal::NotUpToDate)));
    // It is created again, and its rows are those of its first life.
    fixture.place_all();
    restrict().1.unwrap();
    fixture.create("a", &under(None, &[])).unwrap();
    assert!(matches!(restrict().1, Err(Refusal::NotUpToDate)));
    fixture.place_all();
    restrict().1.unwrap();
}

#[test]
fn what_was_deleted_before_its_childs_rows_came_is_put_again_by_a_transaction_that_finds_the_cycle() {
    let fixture = Fixture::default();
    fixture.tree(&[("a", "")]);
    fixture.place_all();
    // The rows of b haven't come, nor will they.
    fixture.tree(&[("b", "a")]);
    delete(&fixture, "a", Children::Restrict, false).1.unwrap();
    assert!(matches!(fixture.create("a", &under(Some("b"), &[])), Err(Refusal::Cycle { .. })));
    fixture.create("a", &under(None, &[])).unwrap();
}

#[test]
fn a_deletion_of_more_marks_the_node_and_leaves_an_operation() {
    let fixture = Fixture::default();
    fixture.tree(&[("a", ""), ("b", "a")]);
    fixture.place_all();
    let done = delete(&fixture, "a", Children::With(DeletionMode::Delete), true).1.unwrap();
    let (operation, created_at) =
        ("operation 1".to_owned(), fixture.item("OPERATIONS", "OPERATION#operation 1").unwrap());
    let AttributeValue::S(created_at) = created_at["_created_at"].clone() else { panic!("{created_at:?}") };
    assert_eq!(done, Outcome::Deleting { operation, node: id("a"), mode: DeletionMode::Delete, created_at });
    let deleting = DeletionMark::read(&fixture.base("a").unwrap()).unwrap();
    let wanted =
        DeletionMark { mode: DeletionMode::Delete, operation: "operation 1".to_owned(), revisions: true, mark: None };
    assert_eq!(deleting, wanted);
    let item = fixture.item("OPERATIONS", "OPERATION#operation 1").unwrap();
    assert_eq!((&item["_node"], &item["_created_by"], &item["_expires"]), (&text("a"), &text("anna"), &n(1_604_800)));
    for result in [
        delete(&fixture, "a", Children::With(DeletionMode::Adopt), false).1.map(drop),
        delete(&fixture, "a", Children::Restrict, false).1.map(drop),
        fixture.patch("a", &super::fixture::moved(None)).map(drop),
        fixture.replace("a", &under(None, &[])).map(drop),
        fixture.create("c", &under(Some("a"), &[])).map(drop),
    ] {
        assert!(matches!(result, Err(Refusal::BeingDeleted { id: of, .. }) if of == id("a")));
    }
}

#[test]
fn revisions_that_go_as_well_are_the_streams_work_even_without_children() {
    let fixture = Fixture::default();
    fixture.tree(&[("a", "")]);
    fixture.place_all();
    let done = delete(&fixture, "a", Children::Restrict, true).1.unwrap();
    assert!(matches!(done, Outcome::Deleting { .. }));
    assert_eq!(DeletionMark::read(&fixture.base("a").unwrap()).unwrap().mode, DeletionMode::Adopt);
}

#[test]
fn an_operation_runs_until_nothing_of_it_is_left() {
    let fixture = Fixture::default();
    fixture.tree(&[("a", ""), ("b", "a")]);
    fixture.place_all();
    let progress = || {
        let found = fixture.operation("operation 1").ok();
        found.map(|operation| {
            let Work::Deletion { mode, .. } = operation.work else { panic!("{:?}", operation.work) };
            (operation.node, mode, operation.progress)
        })
    };
    assert_eq!(progress(), None);
    delete(&fixture, "a", Children::With(DeletionMode::Delete), false).1.unwrap();
    assert_eq!(progress(), Some((id("a"), DeletionMode::Delete, Progress::Running)));
    let remove =
        |pk: &str, sk: &str| fixture.memory().lock().unwrap().write(&sapwood_core::keys::ItemKey::new(pk, sk), None);
    remove("a", "NODE");
    assert_eq!(progress().unwrap().2, Progress::Done, "b is there and not marked: it has moved in since");
    remove("b", "NODE");
    assert_eq!(progress().unwrap().2, Progress::Running, "rows of b are left");
    remove("a", "NODE#0001#b");
    assert_eq!(progress().unwrap().2, Progress::Done);
}
