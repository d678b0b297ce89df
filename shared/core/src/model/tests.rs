//! The items that only the handler writes and reads back, and their format.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use super::{
    AttributeValue, Cursor, CursorError, Deletion, DeletionMark, DeletionMode, FORMAT, FORMAT_MAX, Heir, Item, Lineage,
    NewerFormat, Placement, Position, Settings, Stored, Tombstone, text,
};
use crate::keys::{Id, ItemKey, NodeRef, Schema, SiblingPlace};

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
        stale_rows: vec![ItemKey::new("D", "PATH#V")],
        rows_pending: true,
        deleting: Some(deletion()),
        restarted: Some("12".to_owned()),
    }
}

fn lineage_item() -> Item {
    lineage().item(&NodeRef::from(id("V")), &Schema::default())
}

fn tombstone() -> Tombstone {
    Tombstone { deletion: deletion(), born: Some("life 2".to_owned()), deleted: 1_794_631_800 }
}

fn tombstone_item() -> Item {
    tombstone().item(&NodeRef::from(id("V")), &Settings::default())
}

fn cursor() -> Cursor {
    let position = Position::Revisions("mark 1".to_owned());
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
    ]);
    assert_eq!(lineage_item(), expected);
    assert_eq!(stored(&expected), Stored::Lineage(lineage()));
    // Handlers of format 1 know all that is in a lineage of format 1.
    let plain = Placement { order: None, links: BTreeMap::new(), ..lineage().placement };
    let plain = Lineage { placement: plain, ..lineage() }.item(&NodeRef::from(id("V")), &Schema::default());
    assert_eq!(plain["format"], number("1"));
    assert!(!plain.contains_key("order") && !plain.contains_key("links"));
}

#[test]
fn a_tombstone_reads_back_as_it_was_written() {
    let expected = item([
        ("PK", text("V")),
        ("SK", text("LINEAGE")),
        ("format", number("1")),
        ("born", text("life 2")),
        ("deleted", number("1794631800")),
        ("deleting", deleting()),
        ("_expires", number("1795236600")),
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
    for (digits, format) in [("3", 3), ("18446744073709551615", u64::MAX)] {
        for written in [lineage_item(), tombstone_item(), item([("PK", text("V")), ("SK", text("LINEAGE"))])] {
            let stored = stored(&with_format(written, Some(number(digits))));
            assert_eq!(stored, Stored::Newer(format));
            assert_eq!(stored.check_format(), Err(NewerFormat { format }));
            assert_eq!(stored.lineage(), None);
        }
        let newer = Cursor::read(&with_format(cursor_item(), Some(number(digits))));
        assert_eq!(newer, Err(CursorError::Newer(NewerFormat { format })));
    }
    let message = NewerFormat { format: 3 }.to_string();
    let expected = "this item has the table format 3, and this version of the handler knows up to 2; deploy the version that \
                    wrote it, or a newer one";
    assert_eq!(message, expected);
}

#[test]
fn without_the_known_format_an_item_is_malformed() {
    assert_eq!((FORMAT, FORMAT_MAX), (1, 2));
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
            assert_eq!(stored, Stored::Malformed, "{format:?}");
            assert_eq!(stored.check_format(), Ok(()));
        }
        let read = Cursor::read(&with_format(cursor_item(), format.clone()));
        assert_eq!(read, Err(CursorError::Malformed), "{format:?}");
    }
    let no_lineage = with_format(item([("ancestors", text("nonsense"))]), Some(number("1")));
    assert_eq!(stored(&no_lineage), Stored::Malformed);
    assert_eq!(Stored::read(None, &Schema::default()).check_format(), Ok(()));
}
