//! Siblings in an order, and links: values of any kind, targets of any kind.

use std::collections::BTreeSet;

use sapwood_core::audit::{Kind, Subject};
use sapwood_core::keys::{Id, Names, NodeRef, Schema, Tenant};
use sapwood_core::model::{AttributeValue, Item, Settings, SiblingOrder, text};
use sapwood_engine::audit::Audit;
use sapwood_simulation::fixture::{Fixture, NoRetries, at_once};
use sapwood_simulation::oracle::Oracle;
use sapwood_store::Client;

fn settings(tenants: bool) -> Settings {
    let schema = Schema::new(Names::default(), tenants).unwrap();
    let order = Some(SiblingOrder::by("rank"));
    Settings { schema, order, links: BTreeSet::from(["seen", "tags"].map(str::to_owned)), ..Settings::default() }
}

fn fixture(tenants: bool) -> Fixture {
    let links = vec!["seen".to_owned(), "tags".to_owned()];
    Fixture::new(settings(tenants), Oracle { tenants, order: Some("rank".to_owned()), links, ..Oracle::default() })
}

/// Has everything handled, without the oracle, which knows few values.
fn handle(fixture: &mut Fixture) {
    loop {
        let records = fixture.take_records();
        if records.is_empty() {
            return;
        }
        records.chunks(100).for_each(|batch| fixture.deliver(batch));
    }
}

fn number(digits: &str) -> AttributeValue {
    AttributeValue::N(digits.to_owned())
}

fn list(targets: &[&str]) -> AttributeValue {
    AttributeValue::L(targets.iter().map(|target| text(*target)).collect())
}

/// The ids of the rows whose sort keys begin so, in their order.
fn shown(fixture: &Fixture, pk: &str, prefix: &str) -> Vec<String> {
    fixture.ids(&fixture.query_begins_with(pk, prefix))
}

/// What `verify` finds of a node.
pub(crate) fn findings(fixture: &Fixture, node: NodeRef) -> Vec<Kind> {
    look(fixture, Subject::Node(node))
}

pub(crate) fn look(fixture: &Fixture, subject: Subject) -> Vec<Kind> {
    let settings = fixture.settings();
    let client = Client::new(fixture.table(), &NoRetries, &settings.schema);
    let found = at_once(Audit::new(&client, settings).look([subject].into())).unwrap();
    found.into_iter().map(|difference| difference.kind).collect()
}

pub(crate) fn node(id: &str) -> NodeRef {
    Id::new(id).unwrap().into()
}

#[test]
fn values_of_any_kind_are_in_their_order_and_what_has_none_comes_last_by_id() {
    let long = |last: &str| text(format!("{}{last}", "long ".repeat(2_000)));
    let values: [(&str, Option<AttributeValue>); 24] = [
        ("d1", Some(number("-99999999999999999999999999999999999999"))),
        ("c1", Some(number("-5"))),
        ("b1", Some(number("-4.9"))),
        ("a1", Some(number("-1E-130"))),
        ("z2", Some(number("0"))),
        ("y2", Some(number("1E-130"))),
        ("x2", Some(number("0.1"))),
        ("w2", Some(number("99999999999999999999999999999999999998"))),
        ("v2", Some(number("99999999999999999999999999999999999999"))),
        ("u2", Some(number("9.9E125"))),
        ("t3", Some(text(""))),
        ("s3", Some(text("\u{0}"))),
        ("r3", Some(text("#$%"))),
        ("q3", Some(text("10"))),
        ("p3", Some(text("9"))),
        ("o3", Some(text("Zebra"))),
        // Cut alike, so by their ids.
        ("m3", Some(long("b"))),
        ("n3", Some(long("a"))),
        ("l3", Some(text("zebra"))),
        ("k3", Some(text("é"))),
        ("j3", Some(text("🦓"))),
        ("e4", Some(AttributeValue::Bool(true))),
        ("f4", None),
        ("g4", Some(list(&["a"]))),
    ];
    let mut fixture = fixture(false);
    fixture.put_node("p", None, &[("rank", number("1"))]);
    // In no order.
    for step in [5, 0, 3, 1, 4, 2] {
        for (id, value) in values.iter().skip(step).step_by(6) {
            let rank = value.clone().map(|value| ("rank", value));
            fixture.put_node(id, Some("p"), rank.as_slice());
        }
        handle(&mut fixture);
    }
    let ids: Vec<&str> = values.iter().map(|(id, _)| *id).collect();
    assert_eq!(shown(&fixture, "p", "CHILD#"), ids);
    assert_eq!(shown(&fixture, "ROOTS", "ORDERED#"), ["p"]);
    for (id, _) in values {
        let expected: &[Kind] = if id.ends_with('4') { &[Kind::NoOrder] } else { &[] };
        assert_eq!(findings(&fixture, node(id)), expected, "{id}");
    }
    assert!(fixture.problems.is_empty(), "a node without a value is no problem: {:?}", fixture.problems);
}

#[test]
fn a_node_changes_its_place_when_its_value_changes_and_only_then() {
    let mut fixture = fixture(false);
    fixture.put_node("p", None, &[]);
    for (id, rank) in [("a", "1"), ("b", "2"), ("c", "3")] {
        fixture.put_node(id, Some("p"), &[("rank", number(rank))]);
    }
    fixture.settle();
    assert_eq!(shown(&fixture, "p", "CHILD#"), ["a", "b", "c"]);
    fixture.update("a", "NODE", "rank", Some(text("last")));
    fixture.update("c", "NODE", "rank", Some(number("-3")));
    fixture.settle();
    assert_eq!(shown(&fixture, "p", "CHILD#"), ["c", "b", "a"]);
    let lineage = fixture.get("a", "LINEAGE");
    fixture.update("a", "NODE", "color", Some(text("red")));
    fixture.settle();
    assert_eq!(fixture.get("a", "LINEAGE"), lineage);
    // A node that moves takes its value along. An orphan is listed where its parent will be.
    fixture.update("a", "NODE", "parent", Some(text("never")));
    fixture.update("b", "NODE", "rank", None);
    fixture.settle();
    assert_eq!(shown(&fixture, "p", "CHILD#"), ["c", "b"]);
    assert_eq!(shown(&fixture, "never", "CHILD#"), ["a"]);
    fixture.delete_node("c");
    fixture.settle();
    assert_eq!(shown(&fixture, "p", "CHILD#"), ["b"]);
}

#[test]
fn a_link_is_an_id_or_a_set_or_a_list_of_ids_and_what_is_none_is_a_finding() {
    let ids = |ids: &[&str]| AttributeValue::Ss(ids.iter().map(|id| (*id).to_owned()).collect());
    let long = "i".repeat(1_015);
    let cases: [(AttributeValue, &[&str], bool); 11] = [
        (text("a"), &["a"], true),
        (text("n"), &["n"], true),
        (ids(&["a", "b#c"]), &["a", "b#c"], true),
        (list(&["b", "a", "b"]), &["a", "b"], true),
        (list(&[]), &[], true),
        (text(""), &[], false),
        (text(&long), &[], false),
        (number("1"), &[], false),
        (list(&["a", "", &long]), &["a"], false),
        (AttributeValue::L(vec![text("a"), number("1")]), &["a"], false),
        (AttributeValue::Ns(vec!["1".to_owned()]), &[], false),
    ];
    for (value, targets, is_right) in cases {
        let mut fixture = fixture(false);
        fixture.put_node("n", None, &[("rank", number("1")), ("tags", value.clone())]);
        fixture.settle();
        for target in ["a", "b", "b#c", "n"] {
            let expected: &[&str] = if targets.contains(&target) { &["n"] } else { &[] };
            assert_eq!(shown(&fixture, target, "LINK#tags#"), expected, "{value:?}, {target}");
        }
        let expected: &[Kind] = if is_right { &[] } else { &[Kind::LinkLeftOut] };
        assert_eq!(
            (findings(&fixture, node("n")).as_slice(), fixture.problems.is_empty()),
            (expected, is_right),
            "{value:?}"
        );
    }
}

#[test]
fn a_node_has_at_most_100_links_with_16_kb_of_targets_and_the_first_by_bytes_count() {
    for (count, bytes, kept) in
        [(0, 3, 0), (1, 3, 1), (100, 3, 100), (101, 3, 100), (20, 1_000, 16), (16, 1_014, 16), (17, 1_014, 16)]
    {
        let targets: Vec<String> = (0..count).map(|n| format!("{n:03}{}", "x".repeat(bytes - 3))).collect();
        let mut fixture = fixture(false);
        // `seen` comes before `tags`.
        let seen = list(&targets.iter().rev().map(String::as_str).collect::<Vec<_>>());
        fixture.put_node("n", None, &[("rank", number("1")), ("seen", seen), ("tags", text("last"))]);
        handle(&mut fixture);
        let linked = targets.iter().filter(|target| !shown(&fixture, target, "LINK#seen#").is_empty());
        let linked: Vec<&String> = linked.collect();
        assert_eq!(linked, targets[..kept].iter().collect::<Vec<_>>(), "{count} of {bytes}");
        let has_all = kept == count && count < 100 && kept * bytes + 4 <= 16 * 1_024;
        assert_eq!(shown(&fixture, "last", "LINK#tags#").len(), usize::from(has_all), "{count} of {bytes}");
        assert_eq!(findings(&fixture, node("n")).is_empty(), has_all, "{count} of {bytes}");
    }
}

#[test]
fn targets_come_and_go_as_they_like_and_links_show_under_whom_their_nodes_are() {
    let mut fixture = fixture(false);
    fixture.put_node("n", Some("p"), &[("tags", list(&["t", "p"])), ("seen", text("t"))]);
    fixture.settle();
    let ancestors = |fixture: &Fixture, target: &str| {
        let of_one = |row: &Item| row["_ancestors"].clone();
        fixture.query_begins_with(target, "LINK#").iter().map(of_one).collect::<Vec<_>>()
    };
    assert_eq!(ancestors(&fixture, "t"), [list(&["p"]), list(&["p"])]);
    fixture.put_node("p", Some("r"), &[]);
    fixture.put_node("r", None, &[]);
    fixture.put_node("t", Some("r"), &[]);
    fixture.settle();
    assert_eq!(ancestors(&fixture, "t"), [list(&["p", "r"]), list(&["p", "r"])]);
    assert_eq!(ancestors(&fixture, "p"), [list(&["p", "r"])]);
    // A node above moves while the links change.
    fixture.update("n", "NODE", "tags", Some(list(&["u", "t"])));
    fixture.update("p", "NODE", "parent", Some(text("t")));
    fixture.settle();
    assert_eq!((ancestors(&fixture, "t").len(), ancestors(&fixture, "p").len()), (2, 0));
    assert_eq!(ancestors(&fixture, "u"), [list(&["p", "t", "r"])]);
    // The id that went comes back, and has the links that there are to it.
    fixture.delete_node("t");
    fixture.settle();
    fixture.put_node("t", None, &[]);
    fixture.settle();
    assert_eq!(ancestors(&fixture, "t"), [list(&["p", "t"]), list(&["p", "t"])]);
    fixture.delete_node("n");
    fixture.settle();
    assert!(["t", "u", "p"].iter().all(|target| ancestors(&fixture, target).is_empty()));
}

#[test]
fn tenants_link_to_their_own_nodes_alone() {
    let mut fixture = fixture(true);
    fixture.put_node("TENANT#x#n", None, &[("tags", list(&["t", "TENANT#y#t"]))]);
    fixture.settle();
    assert_eq!(shown(&fixture, "TENANT#x#t", "LINK#"), ["n"]);
    assert_eq!(shown(&fixture, "TENANT#x#TENANT#y#t", "LINK#"), ["n"]);
    assert!(shown(&fixture, "TENANT#y#t", "LINK#").is_empty() && shown(&fixture, "t", "LINK#").is_empty());
    assert_eq!(shown(&fixture, "TENANT#x#ROOTS", "ORDERED#"), ["n"]);
    let of_x = NodeRef { tenant: Some(Tenant::new("x").unwrap()), id: Id::new("n").unwrap() };
    assert_eq!(findings(&fixture, of_x), [Kind::NoOrder]);
}

#[test]
fn items_of_the_owner_whose_keys_only_look_like_rows_are_left_alone_and_found() {
    let mut fixture = fixture(false);
    let strange = [
        ("p", "CHILD#sAnna#17"),
        ("p", "LINK#tags#n"),
        ("ROOTS", "ORDERED#n1#x"),
        ("p", "PATH#a"),
        ("p", "NODE#0001#17"),
    ];
    for (pk, sk) in strange {
        fixture.put(pk, sk, &[("mine", text("yes")), ("_id", text("64af00"))]);
    }
    fixture.put_node("p", None, &[("rank", number("1"))]);
    handle(&mut fixture);
    let settings = fixture.settings();
    for (pk, sk) in strange {
        let item = fixture.get(pk, sk).unwrap();
        assert_eq!(item["mine"], text("yes"));
        let subject = Subject::of(&item, &settings.schema).unwrap();
        assert_eq!(look(&fixture, subject), [Kind::ReservedKey], "{sk}");
    }
    fixture.put("p", "CHILD#17", &[("mine", text("yes"))]);
    let no_key_of_a_row = fixture.get("p", "CHILD#17").unwrap();
    assert_eq!(Subject::of(&no_key_of_a_row, &fixture.settings().schema), None);
}
