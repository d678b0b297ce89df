//! Attributes of every type, and keys.

use std::collections::HashMap;

use sapwood_core::model::{AttributeValue, text};
use sapwood_store::{Condition, ErrorKind, Table};
use sapwood_tests::conformance::Subject;

use super::support::{Requests, get, item, key, n, put, put_one};

/// Lists in lists, so many levels of them.
fn nested(levels: usize) -> AttributeValue {
    (0..levels).fold(text("x"), |inner, _| AttributeValue::L(vec![inner]))
}

pub(crate) async fn every_type_of_value_comes_back_as_it_was_written<S: Subject>(subject: &S) {
    let table = subject.table();
    let map = AttributeValue::M(HashMap::from([
        ("list".to_owned(), AttributeValue::L(vec![n("1"), text("é"), AttributeValue::Null(true)])),
        ("map".to_owned(), AttributeValue::M(HashMap::from([(" ".to_owned(), AttributeValue::L(vec![]))]))),
        ("set".to_owned(), AttributeValue::Ss(vec!["a".into(), "b".into()])),
    ]));
    let key = key("a", "NODE");
    let whole = item(
        &key,
        [
            ("text", text("a\u{0}\n\"\\é\u{FFFD}😀\u{10FFFF}")),
            ("empty text", text("")),
            ("38 digits", n("12345678901234567890123456789012345678")),
            ("-38 digits", n("-99999999999999999999999999999999999999")),
            ("fraction", n("0.12345678901234567890123456789012345678")),
            ("zero", n("0")),
            ("binary", AttributeValue::B(vec![0, 255, 10, 13])),
            ("empty binary", AttributeValue::B(vec![])),
            ("true", AttributeValue::Bool(true)),
            ("false", AttributeValue::Bool(false)),
            ("null", AttributeValue::Null(true)),
            ("empty list", AttributeValue::L(vec![])),
            ("empty map", AttributeValue::M(HashMap::new())),
            ("map", map),
            ("deep", nested(31)),
            ("ñame 😀 #:.", text("names are any text")),
        ],
    );
    put_one(table, &whole).await;
    assert_eq!(get(table, &key).await.as_ref(), Some(&whole));
    table.write_many(&[put(whole.clone())]).await.unwrap();
    assert_eq!(get(table, &key).await.as_ref(), Some(&whole));
    for (name, value) in whole.iter().filter(|(name, _)| *name != "PK" && *name != "SK") {
        assert!(table.set(&key, name, value, &Condition::Exists).await.unwrap().value);
    }
    assert_eq!(get(table, &key).await.as_ref(), Some(&whole));
}

pub(crate) async fn sets_come_back_sorted<S: Subject>(subject: &S) {
    let table = subject.table();
    let texts = |set: &[&str]| AttributeValue::Ss(set.iter().map(|&text| text.to_owned()).collect());
    let numbers = |set: &[&str]| AttributeValue::Ns(set.iter().map(|&number| number.to_owned()).collect());
    let bytes = |set: &[&[u8]]| AttributeValue::Bs(set.iter().map(|bytes| bytes.to_vec()).collect());
    let key = key("a", "NODE");
    // As text, as `sort_sets` has it: any order will do that is always the same.
    let sorted = item(
        &key,
        [
            ("texts", texts(&["B", "a", "b", "é", "\u{FFFD}", "😀"])),
            ("numbers", numbers(&["-1", "10", "2"])),
            ("binaries", bytes(&[&[], &[0], &[0, 1], &[255]])),
            (
                "inside",
                AttributeValue::L(vec![AttributeValue::M(HashMap::from([("set".to_owned(), texts(&["a", "b"]))]))]),
            ),
        ],
    );
    let mixed = item(
        &key,
        [
            ("texts", texts(&["😀", "b", "é", "a", "\u{FFFD}", "B"])),
            ("numbers", numbers(&["2", "-1", "10"])),
            ("binaries", bytes(&[&[255], &[0, 1], &[], &[0]])),
            (
                "inside",
                AttributeValue::L(vec![AttributeValue::M(HashMap::from([("set".to_owned(), texts(&["b", "a"]))]))]),
            ),
        ],
    );
    put_one(table, &mixed).await;
    assert_eq!(get(table, &key).await.as_ref(), Some(&sorted));
    // A condition has no eye for their order either.
    let same = |set| Condition::Is { name: "texts".into(), value: Some(set) };
    for set in [&["a", "B", "b", "é", "\u{FFFD}", "😀"], &["B", "a", "b", "é", "\u{FFFD}", "😀"]] {
        assert!(table.set(&key, "numbers", &n("1"), &same(texts(set))).await.unwrap().value);
    }
    assert!(!table.set(&key, "numbers", &n("1"), &same(texts(&["B", "a"]))).await.unwrap().value);
}

pub(crate) async fn numbers_come_back_in_one_spelling<S: Subject>(subject: &S) {
    let table = subject.table();
    let key = key("a", "NODE");
    let [large, small] = [format!("1{}", "0".repeat(125)), format!("-0.{}1", "0".repeat(129))];
    for (written, read) in [
        ("007", "7"),
        ("+7", "7"),
        ("-0", "0"),
        ("0.0", "0"),
        ("1.0", "1"),
        ("1.50", "1.5"),
        (".5", "0.5"),
        ("5.", "5"),
        ("1E3", "1000"),
        ("1e+3", "1000"),
        ("12.5e1", "125"),
        ("1E-3", "0.001"),
        ("100E-2", "1"),
        ("0.000001", "0.000001"),
        ("1E125", &large),
        ("-1E-130", &small),
        ("10000000000000000000000000000000000000000", "10000000000000000000000000000000000000000"),
    ] {
        put_one(table, &item(&key, [("n", n(written)), ("s", AttributeValue::Ns(vec![written.to_owned()]))])).await;
        let found = get(table, &key).await.unwrap();
        assert_eq!(found["n"], n(read), "{written}");
        assert_eq!(found["s"], AttributeValue::Ns(vec![read.to_owned()]), "{written}");
        let is = Condition::Is { name: "n".into(), value: Some(n(written)) };
        assert!(table.put(&item(&key, []), &is).await.unwrap().value, "{written}");
    }
}

pub(crate) async fn values_that_dynamodb_has_not_are_refused<S: Subject>(subject: &S) {
    let table = subject.table();
    let key = key("a", "NODE");
    for value in [
        n("five"),
        n(""),
        n("1 "),
        n("NaN"),
        n("123456789012345678901234567890123456789"),
        n("1E126"),
        n("1E-131"),
        AttributeValue::Ss(vec![]),
        AttributeValue::Ns(vec![]),
        AttributeValue::Bs(vec![]),
        AttributeValue::Ss(vec!["a".into(), "a".into()]),
        AttributeValue::Ns(vec!["1".into(), "1.0".into()]),
        AttributeValue::Bs(vec![vec![1], vec![1]]),
        nested(32),
        AttributeValue::Null(false),
        AttributeValue::M(HashMap::from([(String::new(), n("1"))])),
        AttributeValue::L(vec![n("five")]),
    ] {
        let bad = item(&key, [("bad", value.clone())]);
        for error in [
            table.put(&bad, &Condition::Always).await.expect_err(&format!("{value:?}")),
            table.write_many(&[put(bad)]).await.expect_err(&format!("{value:?}")),
            table.set(&key, "bad", &value, &Condition::Always).await.expect_err(&format!("{value:?}")),
        ] {
            assert_eq!(error.kind, ErrorKind::Refuse, "{value:?}: {error}");
        }
    }
    assert_eq!(get(table, &key).await, None);
}

pub(crate) async fn keys_that_look_alike_are_different_keys<S: Subject>(subject: &S) {
    let table = subject.table();
    // The last two look the same: one character, and two.
    let texts =
        ["a", "A", "a ", " a", "a\u{0}", "a\u{0}b", "a\n", "ａ", "a'", "a\"", "a%", "a_", "a\\", "é", "e\u{301}"];
    for pk in texts {
        for sk in texts {
            put_one(table, &item(&key(pk, sk), [("n", text(format!("{pk}|{sk}")))])).await;
        }
    }
    for pk in texts {
        for sk in texts {
            let found = get(table, &key(pk, sk)).await.unwrap();
            assert_eq!(found, item(&key(pk, sk), [("n", text(format!("{pk}|{sk}")))]));
        }
    }
}
