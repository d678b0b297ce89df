//! What `verify` says of one item that only somebody else than Sapwood can have written so.

use sapwood_core::audit::{Difference, Kind, Mended, Subject};
use sapwood_core::fanout::{PlaceInput, place};
use sapwood_core::model::{AttributeValue, ITEM_BYTES_MAX, Settings, Stored, UniqueNames, item_bytes, text};
use sapwood_core::plan::{Rule, Rules};
use sapwood_engine::audit::Audit;
use sapwood_simulation::fixture::{Fixture, NoRetries, at_once};
use sapwood_simulation::oracle::Oracle;
use sapwood_store::Client;

use super::kinds::{findings, look, node};

/// `c` below `b` below `a`, all right.
fn planted() -> Fixture {
    let mut fixture = Fixture::default();
    for (id, parent) in [("a", None), ("b", Some("a")), ("c", Some("b"))] {
        fixture.put_node(id, parent, &[]);
    }
    fixture.settle();
    for id in ["a", "b", "c"] {
        assert_eq!(findings(&fixture, node(id)), []);
    }
    fixture
}

#[test]
fn a_lineage_that_names_items_of_others_is_named_and_forgets_them() {
    let mut fixture = planted();
    let others = [("b", "LINEAGE"), ("a", "NODE"), ("elsewhere", "v001_Audit")];
    let key = |(pk, sk)| [("PK", pk), ("SK", sk)].map(|(name, value)| (name.to_owned(), text(value)));
    let keys = others.map(|other| AttributeValue::M(key(other).into()));
    fixture.update("c", "LINEAGE", "stale_rows", Some(AttributeValue::L(keys.into())));
    assert!(findings(&fixture, node("c")).contains(&Kind::ForeignRows));
    // Its next write forgets them, and nothing is deleted.
    fixture.put_node("c", Some("b"), &[("name", text("another"))]);
    fixture.settle();
    assert_eq!(findings(&fixture, node("c")), []);
    assert!(others[..2].iter().all(|(pk, sk)| fixture.get(pk, sk).is_some()));
}

#[test]
fn a_mark_that_is_none_is_named_and_deletes_nothing() {
    let mut fixture = planted();
    fixture.update("b", "NODE", "_deleting", Some(text("yes")));
    fixture.settle();
    assert_eq!(findings(&fixture, node("b")), [Kind::MarkUnreadable]);
    assert!(fixture.get("c", "NODE").is_some());
    fixture.update("b", "NODE", "_deleting", None);
    fixture.settle();
    assert_eq!(findings(&fixture, node("b")), []);
}

#[test]
fn what_begins_as_a_row_and_names_a_node_is_found_though_no_row_can_have_its_key() {
    let mut fixture = planted();
    let keys = ["CHILD#zzz#c", "NODE#00010#c", "NODE#x", "LINK#c", "NODES", "children"];
    for sk in keys {
        fixture.put("b", sk, &[("_id", text("c"))]);
    }
    fixture.put("b", "CHILD#theirs", &[("name", text("without a node's id"))]);
    let subject = |sk: &str| Subject::of(&fixture.get("b", sk).unwrap(), fixture.schema());
    for sk in &keys[..4] {
        let subject = subject(sk).unwrap();
        assert_eq!(look(&fixture, subject), [Kind::ReservedKey], "{sk}");
    }
    assert!([keys[4], keys[5], "CHILD#theirs"].iter().all(|sk| subject(sk).is_none()));
}

#[test]
fn a_record_without_room_for_a_touch_is_named_before_a_node_above_moves() {
    let mut fixture = planted();
    let record = fixture.get("c", "NODE").unwrap();
    let room = ITEM_BYTES_MAX - item_bytes(&record) - "filler".len();
    // A touch takes 49 bytes, and those of the parent's id.
    for (free, is_named) in [(0, true), (49, true), (50, false)] {
        fixture.put_node("c", Some("b"), &[("filler", text("x".repeat(room - free)))]);
        let records = fixture.take_records();
        fixture.deliver(&records);
        let named = findings(&fixture, node("c"));
        assert_eq!(named.contains(&Kind::NoRoomForTouch), is_named, "{free}: {named:?}");
    }
}

#[test]
fn an_item_with_a_lineages_key_and_no_format_is_its_owners() {
    let mut fixture = planted();
    fixture.put("mine", "LINEAGE", &[("ancestors", text("of their own"))]);
    assert_eq!(findings(&fixture, node("mine")), [Kind::ReservedKey]);
    // A node that came and went before the handler saw it.
    fixture.put_node("mine", None, &[]);
    fixture.delete_node("mine");
    let records = fixture.take_records();
    fixture.deliver(&records);
    assert!(fixture.get("mine", "LINEAGE").is_some());
    let (node, settings) = (node("mine"), Settings::default());
    let input = PlaceInput {
        node: &node,
        base: None,
        stored: &Stored::Foreign,
        parent: None,
        is_predicted: false,
        standing: None,
        only_touched: false,
        mark_went: None,
        now: 0,
        new_life: "",
    };
    let stays = |rules| place(&input, &settings, rules).is_empty();
    assert!(stays(Rules::default()) && !stays(Rules::without(Rule::OwnLineage)));
}

#[test]
fn an_item_at_the_key_of_a_claim_is_its_owners() {
    let settings = Settings { names: UniqueNames::Exact, ..Settings::default() };
    let mut fixture = Fixture::new(settings, Oracle::default());
    fixture.put_node("a", None, &[]);
    fixture.put_node("b", Some("a"), &[]);
    fixture.settle();
    assert_eq!(findings(&fixture, node("b")), [Kind::NameUnclaimed]);
    let theirs = [("theirs", text("x"))];
    fixture.put("a", "NAME#b", &theirs);
    assert_eq!(findings(&fixture, node("b")), [Kind::ReservedKey]);
    // Whoever finds no claim, and comes to this item, says that the name can't be claimed.
    let settings = fixture.settings();
    let client = Client::new(fixture.table(), &NoRetries, &settings.schema);
    let unclaimed = Difference::unseen(Kind::NameUnclaimed, settings.schema.node_key(&node("b")), node("b"));
    let mended = at_once(Audit::new(&client, settings).mend(unclaimed, "1".to_owned(), Rules::default())).unwrap();
    assert_eq!(mended, Mended::Left);
    assert_eq!(fixture.get("a", "NAME#b").unwrap()["theirs"], text("x"));
}

#[test]
fn what_is_in_the_place_of_the_mark_of_a_copy_and_is_none_is_named() {
    let mut fixture = planted();
    fixture.update("b", "NODE", "_copying", Some(text("yes")));
    fixture.settle();
    assert_eq!(findings(&fixture, node("b")), [Kind::MarkUnreadable]);
}

#[test]
fn a_node_that_another_client_took_out_of_the_trash_is_named_if_the_event_was_lost() {
    let mut fixture = planted();
    fixture.update("b", "NODE", "_trashed", Some(text("yes")));
    let _ = fixture.take_records();
    assert_eq!(findings(&fixture, node("b")), [Kind::TrashLeft]);
    // Any event of the node mends it.
    fixture.update("b", "NODE", "_redriven", Some(text("1")));
    fixture.settle();
    assert_eq!(findings(&fixture, node("b")), []);
    assert!(!fixture.get("b", "NODE").unwrap().contains_key("_trashed"));
}
