use std::collections::{BTreeSet, HashMap};

use proptest::collection::{btree_map, btree_set, hash_map, vec};
use proptest::prelude::*;
use sapwood_core::keys::{Id, NodeRef, Tenant, TrashTime, Version};
use sapwood_core::model::{AttributeValue, Trashed};
use sapwood_json::{Attributes, Place, number_text};

use super::fixture::{Checked, gzip, read};
use crate::sources::jsonl;
use crate::{Node, Options, Record, Revision};

fn told(content: &str) -> Vec<String> {
    read("a.jsonl", content, &Options::default()).unwrap()
}

#[test]
fn nodes_and_revisions_are_read_with_their_lines() {
    let content = "{\"id\":\"V\",\"parent\":null,\"attributes\":{\"n\":1}}\r\n\n  \n{\"attributes\":{\"auditor\":\"Padma\"},\"version\":3,\"topic\":\"Audit\",\"node\":\"V\"}\n{\"id\":\"d\",\"parent\":\"V\",\"segment\":\"docs\"}";
    let wanted = [
        r#"1: {"id":"V","attributes":{"n":1}}"#,
        r#"4: {"node":"V","topic":"Audit","version":3,"attributes":{"auditor":"Padma"}}"#,
        r#"5: {"id":"d","parent":"V","segment":"docs"}"#,
    ];
    assert_eq!(told(content), wanted);
    let marked = [b"\xef\xbb\xbf".as_slice(), content.as_bytes()].concat();
    assert_eq!(read("a.jsonl", &marked, &Options::default()).unwrap(), wanted);
    assert_eq!(read("a.jsonl.gz", gzip(&marked), &Options::default()).unwrap(), wanted);
}

#[test]
fn each_bad_line_is_a_fault_and_the_next_is_read() {
    let content = [
        r#"{"id":"a""#,
        r#"["a"]"#,
        r#"{"parent":"a"}"#,
        r#"{"id":""}"#,
        r#"{"id":"a","name":"x"}"#,
        r#"{"id":"a","id":"b"}"#,
        r#"{"id":7.5}"#,
        r#"{"node":"a","topic":"t","version":0}"#,
        r#"{"node":"a","topic":"t","version":"1"}"#,
        r#"{"node":"a","version":1}"#,
        r#"{"id":"a","attributes":{"n":123456789012345678901234567890123456789}}"#,
        r#"{"id":"fine"}"#,
    ];
    assert_eq!(
        told(&content.join("\n")),
        [
            "1: unreadable: the line isn't JSON (EOF while parsing an object at line 1 column 9); write one object a line",
            "2: unreadable: the value must be an object, with `id` for a node or `node` for a revision",
            "3: unreadable: `id`: the field is missing; a node has `id`, and a revision has `node`",
            "4: refused: `id`: the id is empty; give it at least one character",
            "5: unreadable: `name`: the line can't have this field; leave it out (attributes go into `attributes`)",
            "6: unreadable: `id`: the name comes twice; leave one of them out",
            "7: unreadable: `id`: the value must be a string",
            "8: refused: `version`: version 0 is outside 1 to 999999",
            "9: unreadable: `version`: the value must be a whole number",
            "10: unreadable: `topic`: the field is missing; a revision has a topic",
            "11: refused: `attributes.n`: the number has 39 significant digits, and 38 can be kept; round it, or send it as text",
            r#"12: {"id":"fine"}"#,
        ]
    );
}

#[test]
fn ids_may_be_whole_numbers() {
    let content =
        "{\"id\":3}\n{\"id\":12345678901234567890,\"parent\":3}\n{\"node\":-3,\"topic\":\"t\",\"version\":1}\n";
    let wanted = [
        r#"1: {"id":"3"}"#,
        r#"2: {"id":"12345678901234567890","parent":"3"}"#,
        r#"3: {"node":"-3","topic":"t","version":1}"#,
    ];
    assert_eq!(told(content), wanted);
    // The children of a faulty one have no fault of their own.
    let checked = Checked::of("a.jsonl", "{\"id\":3,\"name\":1}\n{\"id\":4,\"parent\":3}\n", &Options::default());
    assert_eq!(checked.faults().len(), 1);
}

#[test]
fn a_line_in_another_encoding_is_a_fault() {
    let content = b"{\"id\":\"a\"}\n{\"id\":\"caf\xe9\"}\n{\"id\":\"b\"}\n";
    let told = read("a.jsonl", content, &Options::default()).unwrap();
    assert_eq!(
        told[1],
        "2: unreadable: byte 11 isn't UTF-8; convert the file, for example with `iconv -f ISO-8859-1 -t UTF-8`"
    );
    assert_eq!((told[0].as_str(), told[2].as_str()), (r#"1: {"id":"a"}"#, r#"3: {"id":"b"}"#));
}

#[test]
fn a_line_over_the_limit_is_skipped() {
    let line = |bytes: usize| format!(r#"{{"id":"{}"}}"#, "x".repeat(bytes - 9));
    let content = format!("{}\n{}\n{}\n", line(9 << 20), line(2 << 20), r#"{"id":"b"}"#);
    let told = told(&content);
    assert_eq!(told[0], "1: unreadable: the line has 9437185 bytes, over the limit of 8388608; make it shorter");
    assert!(told[1].starts_with("2: refused: `id`: the id has 2097143 bytes, over its limit of 1014"), "{}", told[1]);
    assert_eq!(told[2], r#"3: {"id":"b"}"#);
}

#[test]
fn a_compressed_file_that_is_cut_off_is_read_as_far_as_it_goes() {
    let content: String = (0..20_000).map(|n| format!("{{\"id\":\"{}\"}}\n", n * 7_919 % 20_011)).collect();
    let whole = gzip(content.as_bytes());
    let told = read("a.jsonl.gz", &whole[..whole.len() / 2], &Options::default()).unwrap();
    let last = told.last().unwrap();
    assert!(told.len() > 1_000 && last.ends_with("the compressed file is cut off; copy it again"), "{last}");
    assert!(told[..told.len() - 1].iter().all(|line| !line.contains("unreadable")));
}

#[test]
fn a_record_may_name_its_tenant() {
    let options = Options { tenant: Some(Tenant::new("acme").unwrap()), ..Options::default() };
    let content = "{\"id\":\"a\"}\n{\"id\":\"b\",\"tenant\":\"other\"}\n{\"id\":\"c\",\"tenant\":\"a#b\"}";
    assert_eq!(
        read("a.jsonl", content, &options).unwrap(),
        [
            r#"1: {"tenant":"acme","id":"a"}"#,
            r#"2: {"tenant":"other","id":"b"}"#,
            "3: refused: `tenant`: the tenant holds `#`, which separates the parts of this key; leave it out"
        ]
    );
}

/// A number in the spelling that DynamoDB gives back.
fn number() -> impl Strategy<Value = String> {
    let digits = prop_oneof!["[1-9]", "[1-9][0-9]{0,36}[1-9]", "[1-9][0-9]{36}[1-9]", Just("0".to_owned())];
    (any::<bool>(), digits, -129..=126_i64).prop_map(|(negative, digits, point)| {
        let exponent = point - i64::try_from(digits.len()).unwrap();
        number_text(&format!("{}{digits}e{exponent}", if negative { "-" } else { "" }), &Place::Body).unwrap()
    })
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof!["\\$(set|map|binary|number|x)", "[a-c]", "\\PC{1,8}", "(id|node|parent)"]
}

fn set<T>(values: BTreeSet<T>) -> Vec<T> {
    values.into_iter().collect()
}

fn any_value() -> impl Strategy<Value = AttributeValue> {
    let leaf = prop_oneof![
        Just(AttributeValue::Null(true)),
        any::<bool>().prop_map(AttributeValue::Bool),
        any::<String>().prop_map(AttributeValue::S),
        number().prop_map(AttributeValue::N),
        vec(any::<u8>(), 0..9).prop_map(AttributeValue::B),
        btree_set(any::<String>(), 1..4).prop_map(|values| AttributeValue::Ss(set(values))),
        btree_set(number(), 1..4).prop_map(|values| AttributeValue::Ns(set(values))),
        btree_set(vec(any::<u8>(), 0..3), 1..4).prop_map(|values| AttributeValue::Bs(set(values))),
    ];
    leaf.prop_recursive(5, 30, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(AttributeValue::L),
            hash_map(name(), inner, 0..3).prop_map(|map: HashMap<_, _>| AttributeValue::M(map)),
        ]
    })
}

prop_compose! {
    fn node_ref()(tenant in proptest::option::of("[^#]{1,9}"), id in ".{1,40}") -> NodeRef {
        NodeRef { tenant: tenant.map(|name| Tenant::new(name).unwrap()), id: Id::new(id).unwrap() }
    }
}

fn any_record() -> impl Strategy<Value = Record> {
    let attributes = || btree_map(name(), any_value(), 0..5).prop_map(Attributes);
    let optional = || proptest::option::of(".{1,20}");
    let trashed = (any::<bool>(), optional(), optional()).prop_map(|(is_timed, by, parent)| Trashed {
        at: TrashTime::parse("2026-02-03T04:05:06.789Z").filter(|_| is_timed).unwrap_or_else(TrashTime::unknown),
        by,
        parent: parent.map(|id| Id::new(id).unwrap()),
        born: None,
    });
    let place = (optional(), optional(), proptest::option::of(trashed));
    let node = (node_ref(), place, attributes()).prop_map(|(node, (parent, segment, trashed), attributes)| {
        Record::Node(Node { node, parent: parent.map(|id| Id::new(id).unwrap()), segment, trashed, attributes })
    });
    let revision =
        (node_ref(), ".{0,20}", 1..=999_999_u64, attributes()).prop_map(|(node, topic, version, attributes)| {
            Record::Revision(Revision { node, topic, version: Version::new(version).unwrap(), attributes })
        });
    prop_oneof![node, revision]
}

proptest! {
    #[test]
    fn what_was_written_is_read_as_it_was(record in any_record()) {
        let line = jsonl::write(&record).unwrap();
        prop_assert!(!line.contains('\n'));
        prop_assert_eq!(jsonl::read(&line, None), Ok(record));
    }

    #[test]
    fn no_line_makes_reading_panic(line in "[\\[\\]{}\",:0-9eE.$\\-a-d\\\\ ]{0,60}") {
        let _ = jsonl::read(&line, None);
    }
}
