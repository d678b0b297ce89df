//! The event source's filter in `template.yaml`: what the handler must see passes it, what the handler writes never
//! does.
//!
//! Nothing else catches a wrong filter pattern. One that lets too little through loses changes; one that lets a derived
//! row through makes the handler feed itself without end.

use std::collections::BTreeSet;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use sapwood_core::keys::{DEPTH_MAX, Id, Names, Schema, SiblingPlace, SortKey, Version};
use sapwood_local::filter::Filter;
use sapwood_local::template::Template;
use serde_json::{Value, json};

const TEMPLATE: &str = include_str!("../../template.yaml");

fn patterns() -> Vec<String> {
    patterns_with(&[])
}

fn patterns_with(parameters: &[(&str, &str)]) -> Vec<String> {
    let parameters = parameters.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Template::parse_with(TEMPLATE, &parameters).unwrap().event_source.filter_patterns.clone()
}

fn filter() -> Filter {
    Filter::new(&patterns()).unwrap()
}

fn passes(filter: &Filter, sk: &str) -> bool {
    let keys = json!({"PK": {"S": "NODE"}, "SK": {"S": sk}});
    // The rest of the record makes no difference.
    let image = json!({"PK": {"S": "NODE"}, "SK": {"S": sk}, "v001": {"S": "v001_x"}});
    let passes = |change: Value| filter.passes(&json!({"eventName": "INSERT", "dynamodb": change}));
    let alone = passes(json!({ "Keys": keys }));
    assert_eq!(alone, passes(json!({"Keys": keys, "NewImage": image, "OldImage": image})));
    alone
}

#[test]
fn the_templates_pattern_is_the_schemas() {
    assert_is_of(&patterns(), &Schema::default());
}

#[test]
fn the_pattern_follows_the_names_of_the_sort_key_and_of_nodes() {
    let names = Names { sort_key: "range.key-1".to_owned(), node: "METADATA".to_owned(), ..Names::default() };
    let patterns = patterns_with(&[("SortKey", "range.key-1"), ("NodeSortKey", "METADATA")]);
    assert_is_of(&patterns, &Schema::new(names, false).unwrap());
}

#[test]
fn the_longest_names_leave_the_pattern_short_enough() {
    let name = "n".repeat(255);
    assert!(patterns_with(&[("SortKey", &name), ("NodeSortKey", &name)])[0].chars().count() <= 4_096);
}

fn assert_is_of(patterns: &[String], schema: &Schema) {
    assert_eq!(patterns.len(), 1, "one pattern, so that its alternatives are in one place");
    let pattern: Value = serde_json::from_str(&patterns[0]).unwrap();
    let sort_key = schema.names().sort_key.as_str();
    let exact = schema.filter_exact().into_iter().map(Value::from);
    let prefixes = schema.filter_prefixes().into_iter().map(|prefix| json!({ "prefix": prefix }));
    let wanted: BTreeSet<String> = exact.chain(prefixes).map(|alternative| alternative.to_string()).collect();
    let found = pattern["dynamodb"]["Keys"][sort_key]["S"].as_array().unwrap();
    assert_eq!(found.iter().map(Value::to_string).collect::<BTreeSet<_>>(), wanted);
    assert_eq!(found.len(), wanted.len(), "none twice");
    assert_eq!(pattern, json!({"dynamodb": {"Keys": {sort_key: {"S": found}}}}), "and nothing else");
    // AWS: "Filter criteria": 4,096 characters.
    assert!(patterns[0].chars().count() <= 4_096);
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[ -&A-Ca-c0-2_~é]{1,6}", "(NODE|LINEAGE|CASCADE|v001_|va1|v0_)[#_a-z]{0,3}", "\\PC{1,4}"]
}

fn id() -> impl Strategy<Value = Id> {
    text().prop_map(|text| Id::new(text).unwrap())
}

fn sort_key() -> impl Strategy<Value = SortKey> {
    let version =
        prop_oneof![1..=999_u64, 1..=u64::from(Version::MAX)].prop_map(|number| Version::new(number).unwrap());
    prop_oneof![
        Just(SortKey::Node),
        Just(SortKey::Lineage),
        Just(SortKey::Cascade),
        text().prop_map(SortKey::Operation),
        (0..10_000_usize).prop_map(|part| SortKey::Idempotency { part }),
        (0..1_000_000_000_000_000_u64, id()).prop_map(|(stamp, id)| SortKey::Change { stamp, id }),
        (1..=DEPTH_MAX, id()).prop_map(|(depth, id)| SortKey::Ancestor { depth, id }),
        (vec(text(), 1..4), option::of(id())).prop_map(|(segments, id)| SortKey::Path { segments, id }),
        id().prop_map(SortKey::Root),
        id().prop_map(SortKey::Orphan),
        (text(), id()).prop_map(|(text, id)| SortKey::Child { place: SiblingPlace::of_text(&text, &id), id }),
        ("[^#]{1,9}", id()).prop_map(|(attribute, id)| SortKey::Link { attribute, id }),
        (text(), id()).prop_map(|(text, id)| SortKey::OrderedRoot { place: SiblingPlace::of_text(&text, &id), id }),
        (version, text()).prop_map(|(version, topic)| SortKey::Revision { version, topic }),
        text().prop_map(|topic| SortKey::Latest { topic }),
    ]
}

#[test]
fn base_records_lineages_and_cursors_pass_and_derived_rows_never_do() {
    let filter = filter();
    let schema = Schema::default();
    let config = ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() };
    proptest!(config, |(key in sort_key())| {
        let sk = schema.sort_key(&key).unwrap();
        let wanted = matches!(key, SortKey::Node | SortKey::Lineage | SortKey::Cascade | SortKey::Revision { .. });
        prop_assert_eq!(passes(&filter, &sk), wanted, "{}", sk);
    });
}

#[test]
fn every_version_passes() {
    let filter = filter();
    let schema = Schema::default();
    // Every number of digits, and every first digit of each.
    for digits in 1..=6 {
        for first in 1..=9 {
            for number in [first * 10_u64.pow(digits - 1), (first + 1) * 10_u64.pow(digits - 1) - 1] {
                let key = SortKey::Revision { version: Version::new(number).unwrap(), topic: "Audit".to_owned() };
                let sk = schema.sort_key(&key).unwrap();
                assert!(passes(&filter, &sk), "{sk}");
            }
        }
    }
}

#[test]
fn what_belongs_to_the_tables_owner_stays_with_its_owner() {
    let filter = filter();
    for sk in [
        "vacation",
        "v0_Audit",
        "v_x",
        "NODE#0001#a",
        "NODES",
        "ROOT#a",
        "PATH#a",
        "ORPHAN#a",
        "lineage",
        "METADATA",
        "ORDER#v001_x",
    ] {
        assert!(!passes(&filter, sk), "{sk}");
    }
}

#[test]
fn a_record_whose_sort_key_is_no_text_is_kept_out() {
    let filter = filter();
    for sk in [json!({"N": "1"}), json!({"B": "Tk9ERQ=="}), json!(null)] {
        assert!(!filter.passes(&json!({"dynamodb": {"Keys": {"PK": {"S": "a"}, "SK": sk}}})));
    }
    assert!(!filter.passes(&json!({"dynamodb": {"NewImage": {"SK": {"S": "NODE"}}}})));
}
