//! Revisions appended, amended and removed.

use futures::future::join_all;
use sapwood_core::keys::{ItemKey, Version};
use sapwood_core::model::{AttributeValue, Item, text};
use sapwood_engine::write::{Precondition, Request, WriteError, Writer};
use sapwood_table::Client;

use super::fixture::{Fixture, Patient, Took, n, node, run};

fn attributes(value: usize) -> Item {
    Item::from([("value".to_owned(), n(value))])
}

fn append(fixture: &Fixture, of: &str, topic: &str) -> (Took, u32) {
    let (took, written) = fixture
        .counted(async |writer, stamp| writer.append(&node(of), topic, &attributes(1), &Request::new(stamp)).await);
    (took, written.unwrap().version.unwrap().number())
}

fn put(fixture: &Fixture, of: &str, sk: &str, more: &[(&str, AttributeValue)]) {
    let mut item = Item::from([("PK".to_owned(), text(of)), ("SK".to_owned(), text(sk))]);
    item.extend(more.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
    fixture.memory().lock().unwrap().write(&ItemKey::new(of, sk), Some(item));
}

#[test]
fn an_append_takes_two_round_trips_and_one_write() {
    let fixture = Fixture::default();
    assert_eq!(append(&fixture, "a", "Audit"), (Took { round_trips: 2, reads: 2, writes: 1 }, 1));
    assert_eq!(append(&fixture, "a", "Audit"), (Took { round_trips: 2, reads: 2, writes: 1 }, 2));
    assert_eq!(append(&fixture, "a", "Other").1, 1);
    let item = fixture.item("a", "v002_Audit").unwrap();
    assert_eq!((&item["value"], &item["_created_by"]), (&n(1), &text("anna")));
}

#[test]
fn fifty_appends_at_the_same_time_give_fifty_consecutive_revisions() {
    let fixture = Fixture::default();
    let session = Client::new(&fixture.table, &Patient, &fixture.settings.schema);
    let writer = Writer::new(&session, &fixture.settings);
    let stamps: Vec<_> = (0..50).map(|_| fixture.stamp()).collect();
    let (of, same) = (node("a"), attributes(1));
    let (_, results) = run(join_all(stamps.iter().map(|stamp| {
        let (writer, of, same) = (&writer, &of, &same);
        async move { writer.append(of, "Audit", same, &Request::new(stamp)).await }
    })));
    let mut versions: Vec<u32> =
        results.into_iter().map(|written| written.unwrap().version.unwrap().number()).collect();
    versions.sort_unstable();
    assert_eq!(versions, (1..=50).collect::<Vec<_>>());
    assert_eq!(fixture.memory().lock().unwrap().contents().len(), 50);
}

#[test]
fn the_newest_is_found_among_many_topics_and_past_999() {
    let fixture = Fixture::default();
    for number in 1..=60 {
        put(&fixture, "a", &format!("v{number:03}_Other"), &[]);
    }
    assert_eq!(append(&fixture, "a", "New").1, 1, "a topic that there isn't yet");
    assert_eq!(append(&fixture, "a", "New").1, 2, "without a copy");
    put(&fixture, "a", "v007_Rare", &[]);
    put(&fixture, "a", "v0_Rare", &[("_version", n(7))]);
    assert_eq!(append(&fixture, "a", "Rare").1, 8);
    put(&fixture, "a", "v0_Rare", &[("_version", n(3))]);
    assert_eq!(append(&fixture, "a", "Rare").1, 9, "a copy that lags behind a gap");
    put(&fixture, "b", "v999_Audit", &[]);
    assert_eq!(append(&fixture, "b", "Audit").1, 1_000);
    assert_eq!(append(&fixture, "b", "Audit").1, 1_001);
    put(&fixture, "c", "vc999999_Audit", &[]);
    let full = fixture
        .write(async |writer, stamp| writer.append(&node("c"), "Audit", &attributes(1), &Request::new(stamp)).await);
    assert!(matches!(full, Err(WriteError::Key(_))));
}

#[test]
fn a_copy_of_a_revision_that_was_removed_just_now_is_no_end() {
    let fixture = Fixture::default();
    for number in 1..=60 {
        put(&fixture, "a", &format!("v{number:03}_Other"), &[]);
    }
    put(&fixture, "a", "v004_Rare", &[]);
    put(&fixture, "a", "v0_Rare", &[("_version", n(9))]);
    assert_eq!(append(&fixture, "a", "Rare").1, 5);
}

#[test]
fn a_topic_that_no_key_can_hold_is_refused_and_a_revision_may_have_a_parent() {
    let fixture = Fixture::default();
    let long = "x".repeat(1_020);
    let result =
        fixture.write(async |writer, stamp| writer.append(&node("a"), &long, &Item::new(), &Request::new(stamp)).await);
    assert!(matches!(result, Err(WriteError::Key(_))));
    let append = |name: &str| {
        let attributes = Item::from([(name.to_owned(), n(1))]);
        fixture.write(async |writer, stamp| writer.append(&node("a"), "T", &attributes, &Request::new(stamp)).await)
    };
    append("parent").unwrap();
    assert!(matches!(append("_x"), Err(WriteError::ReservedName(_))));
    assert!(matches!(append("PK"), Err(WriteError::ReservedName(_))));
}

#[test]
fn a_revision_is_amended_and_removed_where_it_is() {
    let fixture = Fixture::default();
    append(&fixture, "a", "Audit");
    let first = Version::new(1).unwrap();
    let created_at = fixture.item("a", "v001_Audit").unwrap()["_created_at"].clone();
    let amend = |version: u64, precondition: Precondition<'_>| {
        fixture.write(async |writer, stamp| {
            let request = Request { precondition, ..Request::new(stamp) };
            writer.amend(&node("a"), "Audit", Version::new(version).unwrap(), &attributes(2), &request).await
        })
    };
    assert!(matches!(amend(2, Precondition::None), Err(WriteError::NotFound)));
    assert!(matches!(amend(1, Precondition::Absent), Err(WriteError::PreconditionFailed)));
    amend(1, Precondition::None).unwrap();
    let item = fixture.item("a", "v001_Audit").unwrap();
    assert_eq!((&item["value"], &item["_rev"], &item["_created_at"]), (&n(2), &n(2), &created_at));
    let remove = || {
        fixture
            .write(async |writer, stamp| writer.remove_revision(&node("a"), "Audit", first, &Request::new(stamp)).await)
    };
    remove().unwrap();
    assert!(matches!(remove(), Err(WriteError::NotFound)));
}
