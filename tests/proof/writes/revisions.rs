//! Revisions appended, amended and deleted.

use futures::future::join_all;
use sapwood_core::keys::{ItemKey, Schema, Version};
use sapwood_core::model::{AttributeValue, ETag, Item, text};
use sapwood_engine::write::{Command, Precondition, Preconditions, Refusal, Request, Writer};
use sapwood_simulation::memory::Patient;
use sapwood_store::{Action, Client};

use super::fixture::{Fixture, Took, Written, if_absent, if_match, n, run, topic};

fn attributes(value: usize) -> Item {
    Item::from([("value".to_owned(), n(value))])
}

fn append_to(of: &str, name: &str, attributes: Item) -> Command {
    Command::Append { topic: topic(of, name), attributes }
}

fn append(fixture: &Fixture, of: &str, topic: &str) -> (Took, u32) {
    let (took, written) = fixture.carry_out_counted(&append_to(of, topic, attributes(1)));
    (took, Written::from(written.unwrap()).version.unwrap().number())
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
    let command = append_to("a", "Audit", attributes(1));
    let (_, results) = run(join_all(stamps.into_iter().map(|stamp| {
        let (writer, command) = (&writer, &command);
        async move { writer.write(command, &Request::new(stamp)).await }
    })));
    let mut versions: Vec<u32> =
        results.into_iter().map(|written| Written::from(written.unwrap()).version.unwrap().number()).collect();
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
    let full = fixture.carry_out(&append_to("c", "Audit", attributes(1)));
    assert!(matches!(full, Err(Refusal::Key(_))));
}

#[test]
fn a_copy_of_a_revision_that_was_deleted_just_now_is_no_end() {
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
    let result = fixture.carry_out(&append_to("a", &long, Item::new()));
    assert!(matches!(result, Err(Refusal::Key(_))));
    let append = |name: &str| {
        let attributes = Item::from([(name.to_owned(), n(1))]);
        fixture.carry_out(&append_to("a", "T", attributes))
    };
    append("parent").unwrap();
    assert!(matches!(append("_x"), Err(Refusal::ReservedName(_))));
    assert!(matches!(append("PK"), Err(Refusal::ReservedName(_))));
}

#[test]
fn an_append_may_want_the_newest_revision_to_be_the_one_that_is_known() {
    let fixture = Fixture::default();
    let tag = |sk: &str| ETag::of(&fixture.item("a", sk).unwrap(), &Schema::default());
    let append_if = |preconditions| fixture.carry_out_if(&append_to("a", "T", attributes(2)), preconditions);
    assert_eq!(append_if(if_match(ETag::named("x"))), Err(Refusal::PreconditionFailed(Precondition::IfMatch)));
    append_if(if_absent()).unwrap();
    assert_eq!(append_if(if_absent()), Err(Refusal::PreconditionFailed(Precondition::IfNoneMatch)));
    let first = tag("v001_T");
    append_if(if_match(first.clone())).unwrap();
    assert_eq!(append_if(if_match(first)), Err(Refusal::PreconditionFailed(Precondition::IfMatch)), "2 is the newest");
    // Another client changes revision 2 between the look and the write: the transaction checks it.
    let second = tag("v002_T");
    fixture.carry_out_if(&append_to("a", "T", attributes(3)), if_match(second)).unwrap();
    let actions = fixture.transactions.lock().unwrap().last().unwrap().clone();
    let [Action::Put { key: put, .. }, Action::Check { key: check, condition }] = &actions[..] else {
        panic!("{actions:?}")
    };
    assert_eq!((put.sk.as_str(), check.sk.as_str()), ("v003_T", "v002_T"));
    let mut changed = fixture.item("a", "v002_T").unwrap();
    assert!(condition.holds(Some(&changed)));
    changed.insert("value".to_owned(), n(9));
    assert!(!condition.holds(Some(&changed)), "{condition:?}");
}

#[test]
fn a_revision_is_amended_and_deleted_where_it_is() {
    let fixture = Fixture::default();
    append(&fixture, "a", "Audit");
    let first = Version::new(1).unwrap();
    let created_at = fixture.item("a", "v001_Audit").unwrap()["_created_at"].clone();
    let amend = |version: u64, preconditions: Preconditions| {
        let version = Version::new(version).unwrap();
        let command = Command::Amend { topic: topic("a", "Audit"), version, attributes: attributes(2) };
        fixture.carry_out_if(&command, preconditions)
    };
    assert_eq!(amend(2, Preconditions::default()), Err(Refusal::NotFound));
    assert_eq!(amend(1, if_absent()), Err(Refusal::PreconditionFailed(Precondition::IfNoneMatch)));
    amend(1, Preconditions::default()).unwrap();
    let item = fixture.item("a", "v001_Audit").unwrap();
    assert_eq!((&item["value"], &item["_rev"], &item["_created_at"]), (&n(2), &n(2), &created_at));
    let delete = || fixture.carry_out(&Command::DeleteRevision { topic: topic("a", "Audit"), version: first });
    delete().unwrap();
    assert_eq!(delete(), Err(Refusal::NotFound));
}
