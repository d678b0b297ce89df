//! The items that only the handler writes and reads back, and their format.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::{BTreeMap, BTreeSet};

use super::{
    AttributeValue, BaseNode, Cursor, CursorError, CursorUse, Deletion, DeletionMark, DeletionMode, FORMAT, FORMAT_MAX,
    Heir, InTrash, Item, Lineage, NewerFormat, Placement, PutBy, Settings, Stored, Tombstone, Trashed, Under,
    is_row_key, rows, text, times_written_next,
};
use crate::keys::{Id, ItemKey, NodeRef, Schema, SiblingPlace, TrashTime};

fn id(id: &str) -> Id {
    Id::new(id).unwrap()
}

fn number(digits: &str) -> AttributeValue {
    AttributeValue::N(digits.to_owned())
}

fn texts<const N: usize>(list: [&str; N]) -> AttributeValue {
    AttributeValue::L(list.into_iter().map(text).collect())
}

fn map<const N: usize>(values: [(&str, AttributeValue); N]) -> AttributeValue {
    AttributeValue::M(item(values).into_iter().collect())
}

fn item<const N: usize>(attributes: [(&str, AttributeValue); N]) -> Item {
    attributes.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn deletion() -> Deletion {
    let mark = DeletionMark {
        mode: DeletionMode::Adopt,
        operation: "operation 1".to_owned(),
        revisions: true,
        mark: Some("mark 1".to_owned()),
    };
    Deletion { mark, heir: Some(Heir { id: id("D"), born: Some("life 1".to_owned()) }) }
}

fn deleting() -> AttributeValue {
    map([
        ("mode", text("adopt")),
        ("operation", text("operation 1")),
        ("revisions", AttributeValue::Bool(true)),
        ("mark", text("mark 1")),
        ("heir", text("D")),
        ("heir_born", text("life 1")),
    ])
}

fn lineage() -> Lineage {
    Lineage {
        placement: Placement {
            ancestors: vec![id("W"), id("D")],
            path: vec!["W".to_owned(), "V".to_owned()],
            order: Some(SiblingPlace::of_text("a b", &id("V"))),
            links: BTreeMap::from([
                ("tags".to_owned(), vec![id("a"), id("b#c")]),
                ("supplier".to_owned(), vec![id("S")]),
            ]),
            ..Placement::default()
        },
        born: Some("life 2".to_owned()),
        earlier: vec!["life 0".to_owned(), "life 1".to_owned()],
        stale_rows: vec![ItemKey::new("D", "PATH#V")],
        rows_pending: true,
        deleting: Some(deletion()),
        restarted: Some("12".to_owned()),
        left: BTreeSet::new(),
        is_gone: false,
        is_altered: false,
    }
}

fn lineage_item() -> Item {
    lineage().item(&NodeRef::from(id("V")), &Schema::default())
}

fn tombstone() -> Tombstone {
    Tombstone {
        deletion: deletion(),
        born: Some("life 2".to_owned()),
        earlier: vec!["life 1".to_owned()],
        deleted: 1_794_631_800,
    }
}

fn tombstone_item() -> Item {
    tombstone().item(&NodeRef::from(id("V")), &Settings::default())
}

fn cursor() -> Cursor {
    let position = CursorUse::Revisions("mark 1".to_owned());
    Cursor { sequence: format!("{:0>40}", 12_345), after: Some("v003_Audit".to_owned()), position, blocked: false }
}

fn cursor_item() -> Item {
    cursor().item(&NodeRef::from(id("V")), &Schema::default())
}

fn stored(item: &Item) -> Stored {
    Stored::read(Some(item), &Schema::default())
}

fn with_format(mut item: Item, format: Option<AttributeValue>) -> Item {
    match format {
        Some(format) => item.insert("format".to_owned(), format),
        None => item.remove("format"),
    };
    item
}

#[test]
fn a_lineage_is_altered_if_no_handler_writes_it_so() {
    let (node, schema) = (NodeRef::from(id("V")), Schema::default());
    let plain =
        Lineage { placement: Placement { path: vec!["V".to_owned()], ..Placement::default() }, ..Lineage::default() };
    let mut altered = 0;
    for written in [lineage_item(), plain.item(&node, &schema)] {
        let more = [
            ("stale_rows", AttributeValue::L(Vec::new())),
            ("rows_pending", AttributeValue::Bool(false)),
            ("orphan", AttributeValue::Bool(false)),
            ("links", AttributeValue::M(BTreeMap::new().into_iter().collect())),
            ("mine", text("x")),
            ("format", number("1")),
            ("format", number("2")),
        ];
        for lacks in written.keys().map(Some).chain([None]) {
            for (name, value) in more.iter().map(Some).chain([None]).map(|one| one.cloned().unwrap_or(("V", text(""))))
            {
                let mut item = written.clone();
                lacks.map(|name| item.remove(name));
                if name != "V" {
                    item.insert(name.to_owned(), value);
                }
                if let Stored::Lineage(read) = stored(&item) {
                    // What is read of it is written as it is, with the key that it was asked for by.
                    let keyed = item.contains_key("PK") && item.contains_key("SK");
                    let is_as_written = read.item(&node, &schema) == item;
                    assert!(!keyed || read.is_altered != is_as_written, "{lacks:?} {name}: {item:?}");
                    altered += usize::from(read.is_altered);
                }
            }
        }
    }
    assert!(altered > 20, "{altered}");
}

#[test]
fn a_lineage_that_names_trees_to_tell_is_unsettled_and_older_handlers_refuse_it() {
    let (node, schema) = (NodeRef::from(id("V")), Schema::default());
    let settled = Lineage { stale_rows: Vec::new(), rows_pending: false, ..lineage() };
    assert!(settled.is_settled() && settled.tree(&node) == Some(id("D")));
    let left = Lineage { left: BTreeSet::from([id("E"), id("F")]), ..settled.clone() };
    let gone = Lineage { is_gone: true, ..settled };
    for (lineage, attribute, value) in [(&left, "left", texts(["E", "F"])), (&gone, "gone", AttributeValue::Bool(true))]
    {
        let written = lineage.item(&node, &schema);
        assert_eq!((&written[attribute], &written["format"]), (&value, &number("5")));
        assert_eq!(stored(&written), Stored::Lineage(lineage.clone()));
        assert!(!lineage.is_settled());
    }
    assert_eq!((left.tree(&node), gone.tree(&node)), (Some(id("D")), None));
}

#[test]
fn a_lineage_reads_back_as_it_was_written() {
    let row = map([("PK", text("D")), ("SK", text("PATH#V"))]);
    let expected = item([
        ("PK", text("V")),
        ("SK", text("LINEAGE")),
        ("format", number("2")),
        ("born", text("life 2")),
        ("order", text("sa%20b")),
        ("links", map([("supplier", texts(["S"])), ("tags", texts(["a", "b#c"]))])),
        ("ancestors", texts(["W", "D"])),
        ("path", texts(["W", "V"])),
        ("root", AttributeValue::Bool(false)),
        ("stale_rows", AttributeValue::L(vec![row])),
        ("rows_pending", AttributeValue::Bool(true)),
        ("deleting", deleting()),
        ("restarted", text("12")),
        ("earlier", texts(["life 0", "life 1"])),
    ]);
    assert_eq!(lineage_item(), expected);
    assert_eq!(stored(&expected), Stored::Lineage(lineage()));
    // Handlers of format 1 know all that is in a lineage of format 1.
    let plain = Placement { order: None, links: BTreeMap::new(), ..lineage().placement };
    let plain = Lineage { placement: plain, ..lineage() }.item(&NodeRef::from(id("V")), &Schema::default());
    assert_eq!(plain["format"], number("1"));
    for (trash, said) in [
        (InTrash::Top(TrashTime::unknown()), text("-")),
        (InTrash::Top(TrashTime::parse("2026-02-03T04:05:06.789Z").unwrap()), text("2026-02-03T04:05:06.789Z")),
        (InTrash::Below, AttributeValue::Bool(true)),
    ] {
        let trashed = Lineage { placement: Placement { trash, ..lineage().placement }, ..lineage() };
        let item = trashed.item(&NodeRef::from(id("V")), &Schema::default());
        assert_eq!((&item["format"], &item["trash"]), (&number("3"), &said));
        assert_eq!(stored(&item), Stored::Lineage(trashed));
    }
    assert!(!plain.contains_key("order") && !plain.contains_key("links"));
}

#[test]
fn a_tombstone_reads_back_as_it_was_written() {
    let expected = item([
        ("PK", text("V")),
        ("SK", text("LINEAGE")),
        ("format", number("1")),
        ("born", text("life 2")),
        ("earlier", texts(["life 1"])),
        ("deleted", number("1794631800")),
        ("deleting", deleting()),
        ("_expires", number("1795841400")),
    ]);
    assert_eq!(tombstone_item(), expected);
    assert_eq!(stored(&expected), Stored::Tombstone(tombstone()));
}

#[test]
fn a_cursor_reads_back_as_it_was_written() {
    let expected = item([
        ("PK", text("V")),
        ("SK", text("CASCADE")),
        ("format", number("1")),
        ("sequence", text(format!("{:0>40}", 12_345))),
        ("after", text("v003_Audit")),
        ("revisions", text("mark 1")),
    ]);
    assert_eq!(cursor_item(), expected);
    assert_eq!(Cursor::read(&expected), Ok(cursor()));
}

#[test]
fn what_a_newer_version_has_written_is_told_from_what_nobody_has() {
    for (digits, format) in [("6", 6), ("18446744073709551615", u64::MAX)] {
        for written in [lineage_item(), tombstone_item(), item([("PK", text("V")), ("SK", text("LINEAGE"))])] {
            let stored = stored(&with_format(written, Some(number(digits))));
            assert_eq!(stored, Stored::Newer(format));
            assert_eq!(stored.check_format(), Err(NewerFormat { format }));
            assert_eq!(stored.lineage(), None);
        }
        let newer = Cursor::read(&with_format(cursor_item(), Some(number(digits))));
        assert_eq!(newer, Err(CursorError::Newer(NewerFormat { format })));
    }
    let message = NewerFormat { format: 6 }.to_string();
    let expected = "this item has the table format 6, and this version of the handler knows up to 5; deploy the version that \
                    wrote it, or a newer one";
    assert_eq!(message, expected);
}

#[test]
fn without_a_format_an_item_is_its_owners() {
    assert_eq!((FORMAT, FORMAT_MAX), (1, 5));
    let odd = [
        None,
        Some(number("0")),
        Some(number("-2")),
        Some(number("1.5")),
        Some(number("18446744073709551616")),
        Some(text("2")),
        Some(AttributeValue::Null(true)),
    ];
    for format in odd {
        for written in [lineage_item(), tombstone_item()] {
            let stored = stored(&with_format(written, format.clone()));
            assert_eq!(stored, Stored::Foreign, "{format:?}");
            assert_eq!(stored.check_format(), Ok(()));
        }
        let read = Cursor::read(&with_format(cursor_item(), format.clone()));
        assert_eq!(read, Err(CursorError::Malformed), "{format:?}");
    }
    let no_lineage = with_format(item([("ancestors", text("nonsense"))]), Some(number("1")));
    assert_eq!(stored(&no_lineage), Stored::Malformed);
    assert_eq!(Stored::read(None, &Schema::default()).check_format(), Ok(()));
}

/// Every row that a placement can name has a key that is the node's, whatever the ids, segments and places are.
#[test]
fn the_rows_of_a_node_have_its_keys_and_no_others_do() {
    use proptest::prelude::*;
    let schema = Schema::default();
    let some_text = prop_oneof![".{1,6}", "[#!%$a]{1,4}", Just("i".repeat(1_014))].prop_map(|text: String| {
        let end = (0..=text.len().min(1_014)).rev().find(|end| text.is_char_boundary(*end)).unwrap();
        text[..end].to_owned()
    });
    let texts = proptest::collection::vec(some_text.clone(), 1..4);
    proptest!(|(ids in texts, path in proptest::collection::vec(some_text.clone(), 0..4), node in some_text.clone(),
        other in some_text, value in ".{0,300}", is_root in any::<bool>())| {
        let id = |text: &String| Id::new(text).unwrap();
        let (node, other) = (NodeRef::from(id(&node)), NodeRef::from(id(&other)));
        let ancestors: Vec<Id> = ids.iter().map(id).collect();
        let placement = Placement {
            links: [("tags".to_owned(), ancestors.clone())].into(),
            order: Some(SiblingPlace::of_text(&value, &node.id)),
            ancestors: if is_root { Vec::new() } else { ancestors },
            path,
            root: is_root,
            orphan: !is_root,
            trash: if is_root { InTrash::Top(TrashTime::unknown()) } else { InTrash::Below },
        };
        for row in rows(&placement, &node, &schema) {
            prop_assert!(is_row_key(&row.key, &node, &schema), "{:?}", row.key);
            prop_assert!(node == other || !is_row_key(&row.key, &other, &schema), "{:?} of {other:?}", row.key);
        }
    });
    let (node, key) = (NodeRef::from(id("d")), ItemKey::new);
    for (pk, sk) in [
        ("d", "NODE"),
        ("d", "LINEAGE"),
        ("d", "v001_Audit"),
        ("d", "v0_Audit"),
        ("d", "ORDER#1"),
        ("V", "NODE#0001#x"),
        ("V", "LINK#tags#x#d"),
        ("V", "ROOT#d"),
        ("ROOTS", "ORPHAN#d"),
        ("ORPHANS#x", "ORPHAN#d"),
        ("V", "TRASH#-#d"),
        ("TRASH", "TRASH#yesterday#d"),
        ("", "NODE#0001#d"),
    ] {
        assert!(!is_row_key(&key(pk, sk), &node, &schema), "{pk} {sk}");
    }
}

#[test]
fn no_lineage_names_rows_of_others_or_more_than_it_has_room_for() {
    let schema = Schema::default();
    let node = NodeRef::from(id("d"));
    let lineage = |name: &str, value: AttributeValue| {
        let mut item = Lineage::default().item(&node, &schema);
        item.insert(name.to_owned(), value);
        Stored::read(Some(&item), &schema)
    };
    let malformed = [
        lineage("links", map([("x#y", texts(["a"]))])),
        lineage("links", map([("", texts(["a"]))])),
        lineage("ancestors", AttributeValue::L(vec![text("a"); 99])),
        lineage("path", texts(["a", ""])),
    ];
    assert_eq!(malformed, [Stored::Malformed, Stored::Malformed, Stored::Malformed, Stored::Malformed]);
    assert_eq!(lineage("born", text("x".repeat(257))).born(), None);
    assert_eq!(lineage("born", text("x".repeat(256))).born().map(str::len), Some(256));
}

/// A base record below `p`, as the API has written it so often.
fn put_by_the_api(times: usize, parent: &str) -> Item {
    item([
        ("parent", text(parent)),
        ("_born", text("life 1")),
        ("_rev", number(&times.to_string())),
        ("_write", text(format!("write {times}"))),
        ("_under", Under { parent: id(parent), born: Some("life of it".to_owned()) }.value()),
    ])
}

fn put_by(old: Option<&Item>, new: Option<&Item>) -> PutBy {
    PutBy::of(old, new, &Schema::default())
}

#[test]
fn what_the_api_and_operations_put_somewhere_says_so() {
    let first = put_by_the_api(1, "p");
    assert_eq!(put_by(None, Some(&first)), PutBy::Us);
    assert_eq!(put_by(Some(&first), Some(&put_by_the_api(2, "q"))), PutBy::Us);
    let mut renamed = put_by_the_api(2, "p");
    renamed.insert("name".to_owned(), text("another"));
    assert_eq!(put_by(Some(&first), Some(&renamed)), PutBy::Nobody);
    let mut adopted = first.clone();
    adopted.insert("parent".to_owned(), text("h"));
    adopted.insert("_under".to_owned(), Under { parent: id("h"), born: None }.value());
    adopted.insert("_rev".to_owned(), number("2"));
    assert_eq!(put_by(Some(&first), Some(&adopted)), PutBy::Us);
    // Another client has put a number there that has no next one.
    let mut largest = first.clone();
    largest.insert("_rev".to_owned(), number(&usize::MAX.to_string()));
    let mut next = adopted.clone();
    next.insert("_rev".to_owned(), number(&times_written_next(Some(&largest)).to_string()));
    assert_eq!(put_by(Some(&largest), Some(&next)), PutBy::Us);
    // Without `_under` nothing says who has put it there, and nothing can be stale.
    assert_eq!(put_by(Some(&first), Some(&item([("parent", text("q"))]))), PutBy::Us);
}

#[test]
fn what_another_client_puts_somewhere_has_a_stale_under() {
    let (first, third) = (put_by_the_api(1, "p"), put_by_the_api(3, "q"));
    let mut moved = first.clone();
    moved.insert("parent".to_owned(), text("q"));
    let mut adopted = first.clone();
    adopted.insert("parent".to_owned(), text("h"));
    adopted.insert("_under".to_owned(), Under { parent: id("h"), born: None }.value());
    adopted.insert("_rev".to_owned(), number("2"));
    let mut away = adopted.clone();
    away.insert("parent".to_owned(), text("p"));
    away.remove("_under");
    let mut again = adopted.clone();
    again.insert("parent".to_owned(), text("r"));
    again.insert("_under".to_owned(), Under { parent: id("r"), born: None }.value());
    again.insert("_rev".to_owned(), number("3"));
    let mut another_life = put_by_the_api(4, "p");
    another_life.insert("_born".to_owned(), text("life 2"));
    let mut imported = first.clone();
    imported.remove("_born");
    let changes = [
        (None, Some(&imported), &imported), // a copy of what was imported, and moved by the API once
        (Some(&first), Some(&moved), &moved), // an UpdateItem of the parent
        (Some(&moved), Some(&first), &first), // … and back
        (Some(&third), Some(&first), &first), // an old copy over what is there
        (Some(&third), Some(&another_life), &another_life), // … of another life
        (Some(&adopted), Some(&first), &first), // … from before an adoption
        (None, Some(&third), &third),       // a copy of what the API has written several times
        (None, Some(&adopted), &adopted),   // … of what was adopted
        (Some(&again), Some(&adopted), &adopted), // … of what was adopted once more since
        (Some(&away), Some(&adopted), &adopted), // … of what another client has moved back from where it was adopted
        (Some(&first), None, &first),       // it goes, and may be back when the handler looks
    ];
    for (old, new, stale) in changes {
        let PutBy::Others(under) = put_by(old, new) else { panic!("{old:?} to {new:?}") };
        assert!(under.is_of(stale) && !under.is_of(&put_by_the_api(1, "elsewhere")), "{stale:?}");
    }
    let PutBy::Others(under) = put_by(Some(&first), None) else { panic!() };
    let mut again = first;
    again.insert("_born".to_owned(), text("life 2"));
    assert!(!under.is_of(&again), "another life, put below the same parent");
}

#[test]
fn a_lineage_that_has_more_of_anything_than_a_handler_writes_is_none() {
    let list = |count: usize| AttributeValue::L(vec![text("x"); count]);
    let long = |bytes: usize| map([("tags", AttributeValue::L(vec![text("i".repeat(bytes)); 17]))]);
    let wide = |count: usize| {
        AttributeValue::M((0..count).map(|number| (format!("a{number}"), AttributeValue::L(Vec::new()))).collect())
    };
    let cases = [
        ("path", list(98), list(99)),
        ("links", map([("tags", list(100))]), map([("tags", list(60)), ("more", list(41))])),
        ("links", long(900), long(1_000)),
        ("links", wide(100), wide(101)),
        ("links", AttributeValue::M([("a".repeat(1_024), list(1))].into()), {
            AttributeValue::M([("a".repeat(1_025), list(1))].into())
        }),
        ("restarted", text("9".repeat(40)), text("9".repeat(41))),
        ("restarted", text("9"), text("9".repeat(39) + "x")),
        ("restarted", text("9"), number("9")),
    ];
    let node = NodeRef::from(id("d"));
    for (attribute, most, more) in cases {
        let stored = |value: AttributeValue| {
            let mut item = Lineage::default().item(&node, &Schema::default());
            item.insert(attribute.to_owned(), value);
            Stored::read(Some(&item), &Schema::default())
        };
        assert!(matches!(stored(most), Stored::Lineage(_)), "{attribute}");
        assert_eq!(stored(more), Stored::Malformed, "{attribute}");
    }
}

#[test]
fn what_a_record_says_of_the_trash_reads_back_and_whatever_else_is_there_counts_as_being_there() {
    let schema = Schema::default();
    let node = NodeRef::from(id("V"));
    let at = TrashTime::parse("2026-02-03T04:05:06.789Z").unwrap();
    let trashed =
        Trashed { at, by: Some("anna".to_owned()), parent: Some(id("D")), born: Some("life of D".to_owned()) };
    let record = |value: AttributeValue| item([("PK", text("V")), ("SK", text("NODE")), ("_trashed", value)]);
    let written = record(trashed.value());
    assert_eq!(Trashed::read(&written), Some(trashed.clone()));
    assert!(!Trashed::is_malformed(&written));
    let base = BaseNode::read(written.clone(), &node, &schema).unwrap();
    assert_eq!((base.trashed.as_ref(), base.was_taken_out_of_trash()), (Some(&trashed), false));
    // Whoever writes a parent takes the node out.
    let mut taken_out = written;
    taken_out.insert("parent".to_owned(), text("E"));
    let base = BaseNode::read(taken_out, &node, &schema).unwrap();
    assert_eq!((base.trashed.as_ref(), base.was_taken_out_of_trash()), (None, true));

    let unknown = Trashed { at: TrashTime::unknown(), by: None, parent: None, born: None };
    let map = |said: &[(&str, AttributeValue)]| {
        AttributeValue::M(said.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect())
    };
    for odd in [
        AttributeValue::Bool(true),
        text("yesterday"),
        map(&[]),
        map(&[("at", text("yesterday"))]),
        map(&[("at", number("1")), ("by", AttributeValue::Null(true)), ("parent", text(""))]),
        map(&[("by", text("b".repeat(2_049))), ("parent", text("p".repeat(1_015)))]),
        map(&[("born", text("l".repeat(257)))]),
    ] {
        assert_eq!(Trashed::read(&record(odd.clone())), Some(unknown.clone()), "{odd:?}");
        assert!(Trashed::is_malformed(&record(odd)));
    }
    // A name that no row of the trash has room for is left out, or the API's own write would be a finding.
    let nobody = Trashed { by: None, ..trashed.clone() };
    let long = record(Trashed { by: Some("b".repeat(2_049)), ..trashed }.value());
    assert_eq!((Trashed::read(&long), Trashed::is_malformed(&long)), (Some(nobody), false));
}

#[test]
fn a_number_has_the_same_size_however_it_is_spelt() {
    let bytes = |digits: &str| super::item_bytes(&item([("n", AttributeValue::N(digits.to_owned()))]));
    let zeros = "0".repeat(125);
    for [plain, other] in
        [[&*format!("1{zeros}"), "1e125"], [&*format!("-0.{zeros}12"), "-12E-127"], ["1500", "1.5e+3"]]
    {
        assert!(bytes(plain).abs_diff(bytes(other)) <= 1, "{plain} {other}");
    }
    assert_eq!(bytes("1e125"), bytes("1"));
}
