use sapwood_core::keys::Schema;
use sapwood_core::model::AttributeValue;

use super::{attributes, n, refused, s, value};
use crate::{Attributes, Fault, JsonError, MergePatch, read};

#[test]
fn numbers_keep_38_digits_and_get_one_spelling() {
    let digits = "1234567890123456789012345678901234567.8";
    for (json, kept) in [
        ("0", "0"),
        ("-0", "0"),
        ("0e999999999999999999999", "0"),
        ("0.000", "0"),
        ("1.50", "1.5"),
        ("-12e-1", "-1.2"),
        ("1E+5", "100000"),
        ("0.0000001", "0.0000001"),
        (digits, digits),
        ("9007199254740993", "9007199254740993"),
        ("99999999999999999999999999999999999999000", "99999999999999999999999999999999999999000"),
    ] {
        assert_eq!(value(json), n(kept), "{json}");
    }
    let largest = format!("{}{}", "9".repeat(38), "0".repeat(88));
    assert_eq!(value("9.9999999999999999999999999999999999999E125"), n(&largest));
    assert_eq!(value("1e-130"), n(&format!("0.{}1", "0".repeat(129))));
    assert_eq!(value("-0.00001e-125"), n(&format!("-0.{}1", "0".repeat(129))));
}

#[test]
fn numbers_that_dynamodb_cant_keep_are_refused_with_their_place() {
    let error = attributes(r#"{"dimensions": {"width": 1.23456789012345678901234567890123456789}}"#).unwrap_err();
    assert_eq!(error, JsonError::Digits { path: "dimensions.width".into(), digits: 39 });
    for number in ["1E126", "1e-131", "-1e126", "1e99999999999999999999", "1e-99999999999999999999"] {
        assert_eq!(
            attributes(&format!(r#"{{"a": [0, {number}]}}"#)).unwrap_err(),
            JsonError::Range { path: "a[1]".into() }
        );
    }
}

#[test]
fn sets_binary_and_maps_are_told_apart() {
    let texts = |set: &[&str]| AttributeValue::Ss(set.iter().map(|&text| text.to_owned()).collect());
    assert_eq!(value(r#"{"$set": ["b", "a", ""]}"#), texts(&["", "a", "b"]));
    assert_eq!(value(r#"{"$set": [2, 1e1]}"#), AttributeValue::Ns(vec!["10".into(), "2".into()]));
    assert_eq!(value(r#"{"$binary": "AAH/"}"#), AttributeValue::B(vec![0, 1, 255]));
    assert_eq!(value(r#"{"$binary": ""}"#), AttributeValue::B(vec![]));
    assert_eq!(
        value(r#"{"$set": [{"$binary": "/w=="}, {"$binary": "AA=="}]}"#),
        AttributeValue::Bs(vec![vec![0], vec![255]])
    );
    let map = |name: &str, value| AttributeValue::M([(name.to_owned(), value)].into());
    assert_eq!(value(r#"{"$map": {"$set": "x"}}"#), map("$set", s("x")));
    assert_eq!(value(r#"{"$map": {"$map": {"$map": {"$x": 1}}}}"#), map("$map", map("$x", n("1"))));
    assert_eq!(value(r#"{"x": 1}"#), map("x", n("1")));
    let two = value(r#"{"$set": 1, "x": null}"#);
    assert_eq!(two, AttributeValue::M([("$set".into(), n("1")), ("x".into(), AttributeValue::Null(true))].into()));
    assert_eq!(attributes(r#"{"$set": 1}"#).unwrap(), Attributes([("$set".to_owned(), n("1"))].into()));
}

#[test]
fn malformed_sets_binary_and_values_are_refused() {
    for (json, place) in [
        (r#"{"$set": []}"#, "a.$set"),
        (r#"{"$set": ["x", 1]}"#, "a.$set[1]"),
        (r#"{"$set": [null]}"#, "a.$set[0]"),
        (r#"{"$set": [[1]]}"#, "a.$set[0]"),
        (r#"{"$set": [{"x": 1}]}"#, "a.$set[0]"),
        (r#"{"$set": ["x", "y", "x"]}"#, "a.$set[2]"),
        (r#"{"$set": [1, 1.0]}"#, "a.$set[1]"),
        (r#"{"$binary": "AA"}"#, "a.$binary"),
        (r#"{"$binary": "A-=="}"#, "a.$binary"),
        (r#"{"$other": 1}"#, "a.$other"),
        (r#"{"x": {"": 1}}"#, "a.x."),
    ] {
        assert_eq!(refused(json), (Fault::Value, place.to_owned()), "{json}");
    }
    for json in [r#"{"$set": "x"}"#, r#"{"$binary": 1}"#, r#"{"$map": 1}"#] {
        assert_eq!(refused(json).0, Fault::Malformed, "{json}");
    }
    assert_eq!(attributes(r#"{"": 1}"#).unwrap_err(), JsonError::EmptyName { path: String::new() });
    let long = "x".repeat(65_536);
    let error = attributes(&format!(r#"{{"{long}": 1}}"#)).unwrap_err();
    assert!(error.path().len() < 100, "the error repeats the start of the name alone");
    assert!(matches!(error, JsonError::LongName { bytes: 65_536, .. }));
}

#[test]
fn a_name_that_comes_twice_is_refused() {
    for json in [r#"{"b": 1, "\u0062": 2}"#, r#"{"c": {"b": 1, "b": 1}}"#, r#"{"c": [{"$map": {"b": 1, "b": 1}}]}"#] {
        assert!(matches!(attributes(json).unwrap_err(), JsonError::Twice { .. }), "{json}");
    }
}

#[test]
fn broken_json_is_malformed() {
    for json in
        ["", "{", "[", "nul", r#"{"a": 01}"#, r#"{"a": .5}"#, r#"{"a": 1} x"#, r#"{"a": "\x"}"#, "{\"a\": \"\u{1}\"}"]
    {
        let error = attributes(json).unwrap_err();
        assert!(matches!(error, JsonError::Syntax { .. }), "{json}: {error}");
    }
    assert_eq!(read::<Attributes>(b"{\"a\": \"\xff\"}").unwrap_err().fault(), Fault::Malformed);
    assert_eq!(attributes(r#"{"a": ["\ud800"]}"#).unwrap_err(), JsonError::NoText { path: "a[0]".into() });
    assert_eq!(attributes(r#"{"a": {"\udc00x": 1}}"#).unwrap_err(), JsonError::NoText { path: "a".into() });
    for json in ["[]", "null", "1", "\"a\""] {
        assert!(matches!(attributes(json).unwrap_err(), JsonError::Type { .. }), "{json}");
    }
}

#[test]
fn nesting_ends_where_dynamodbs_does_and_takes_no_stack() {
    let lists = |levels: usize| format!(r#"{{"a": {}{}}}"#, "[".repeat(levels), "]".repeat(levels));
    assert!(attributes(&lists(31)).is_ok());
    assert!(matches!(attributes(&lists(32)).unwrap_err(), JsonError::Nested { .. }));
    let maps = |levels: usize| format!(r#"{{"a": {}1{}}}"#, r#"{"$map": {"$m": "#.repeat(levels), "}}".repeat(levels));
    assert!(attributes(&maps(31)).is_ok());
    assert!(matches!(attributes(&maps(32)).unwrap_err(), JsonError::Nested { .. }));
    assert!(read::<MergePatch>(maps(31).as_bytes()).is_ok());
    assert!(matches!(read::<MergePatch>(maps(32).as_bytes()).unwrap_err(), JsonError::Nested { .. }));

    // A megabyte of brackets, balanced or not, on a thread with a small stack.
    let hostile = move || {
        assert!(matches!(attributes(&lists(524_000)).unwrap_err(), JsonError::Nested { .. }));
        assert!(matches!(read::<MergePatch>(maps(6_000).as_bytes()).unwrap_err(), JsonError::Nested { .. }));
        assert!(matches!(attributes(&"[".repeat(1_048_576)).unwrap_err(), JsonError::Syntax { .. }));
        assert!(matches!(attributes(&r#"{"a":"#.repeat(200_000)).unwrap_err(), JsonError::Syntax { .. }));
    };
    std::thread::Builder::new().stack_size(256 * 1_024).spawn(hostile).unwrap().join().unwrap();
}

#[test]
fn reserved_names_are_refused() {
    let schema = Schema::default();
    for name in ["_rev", "_", "_anything", "PK", "SK"] {
        let given = attributes(&format!(r#"{{"{name}": 1}}"#)).unwrap();
        for refused in [given.check_node(&schema), given.check_revision(&schema)] {
            let error = refused.unwrap_err();
            assert_eq!((error.fault(), error.path()), (Fault::Reserved, format!("attributes.{name}").as_str()));
            assert!(error.to_string().contains(name));
        }
        let patch: MergePatch = read(format!(r#"{{"{name}": null}}"#).as_bytes()).unwrap();
        assert_eq!(patch.check(&schema).unwrap_err().fault(), Fault::Reserved);
    }
    for name in ["parent", "segment"] {
        let given = attributes(&format!(r#"{{"{name}": 1}}"#)).unwrap();
        assert_eq!(given.check_node(&schema).unwrap_err().fault(), Fault::Reserved);
        assert_eq!(given.check_revision(&schema), Ok(()));
    }
    let deeper = attributes(r#"{"a": {"_rev": 1, "parent": 2}, "id": 1, "pk": 1, "NODE": 1}"#).unwrap();
    assert_eq!(deeper.check_node(&schema), Ok(()));
}
