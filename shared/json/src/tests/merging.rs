use sapwood_core::model::{AttributeValue, Item};
use serde_json::{Value, json};

use crate::{Attributes, MergePatch, read};

fn item(json: &str) -> Item {
    read::<Attributes>(json.as_bytes()).unwrap().0
}

/// Applies a patch to an item.
fn apply(patch: &MergePatch, item: &mut Item) {
    for (name, change) in &patch.0 {
        match change.of(item.get(name)) {
            Some(value) => item.insert(name.clone(), value),
            None => item.remove(name),
        };
    }
}

/// Checks what a patch makes of attributes.
#[track_caller]
fn check(before: &str, patch: &str, after: &str) {
    let patch: MergePatch = read(patch.as_bytes()).unwrap();
    let mut changed = item(before);
    apply(&patch, &mut changed);
    assert_eq!(changed, item(after));
    apply(&patch, &mut changed);
    assert_eq!(changed, item(after), "a patch done twice is done");
}

#[test]
fn the_examples_of_the_rfc_hold() {
    for (before, patch, after) in [
        (r#"{"a":"b"}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#),
        (r#"{"a":"b"}"#, r#"{"b":"c"}"#, r#"{"a":"b","b":"c"}"#),
        (r#"{"a":"b"}"#, r#"{"a":null}"#, r#"{}"#),
        (r#"{"a":"b","b":"c"}"#, r#"{"a":null}"#, r#"{"b":"c"}"#),
        (r#"{"a":["b"]}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#),
        (r#"{"a":"c"}"#, r#"{"a":["b"]}"#, r#"{"a":["b"]}"#),
        (r#"{"a":{"b":"c"}}"#, r#"{"a":{"b":"d","c":null}}"#, r#"{"a":{"b":"d"}}"#),
        (r#"{"a":[{"b":"c"}]}"#, r#"{"a":[1]}"#, r#"{"a":[1]}"#),
        (r#"{"e":null}"#, r#"{"a":1}"#, r#"{"e":null,"a":1}"#),
        (r#"{}"#, r#"{"a":{"bb":{"ccc":null}}}"#, r#"{"a":{"bb":{}}}"#),
    ] {
        check(before, patch, after);
    }
}

#[test]
fn null_deletes_except_in_a_list() {
    check(r#"{"a": 1}"#, r#"{"a": [null, {"b": null}]}"#, r#"{"a": [null, {"b": null}]}"#);
    check(r#"{"a": null}"#, r#"{"a": null}"#, r#"{}"#);
}

#[test]
fn sets_and_binary_are_values_and_other_attributes_keep_their_types() {
    let before = r#"{"s": {"$set": [1, 2]}, "b": {"$binary": "AA=="}, "m": {"$set": 1, "x": 2}, "n": 0.1}"#;
    check(before, r#"{"n": null}"#, r#"{"s": {"$set": [1, 2]}, "b": {"$binary": "AA=="}, "m": {"$set": 1, "x": 2}}"#);
    check(
        before,
        r#"{"s": {"$set": ["x"]}, "b": {"y": 1}, "m": {"$map": {"$set": null}}}"#,
        r#"{"s": {"$set": ["x"]}, "b": {"y": 1}, "m": {"x": 2}, "n": 0.1}"#,
    );
}

/// The pseudo-code of RFC 7396.
fn merged(target: Value, patch: &Value) -> Value {
    let Value::Object(patch) = patch else { return patch.clone() };
    let mut target = if let Value::Object(target) = target { target } else { serde_json::Map::new() };
    for (name, value) in patch {
        match value {
            Value::Null => drop(target.remove(name)),
            value => {
                let old = target.remove(name).unwrap_or(Value::Null);
                target.insert(name.clone(), merged(old, value));
            }
        }
    }
    Value::Object(target)
}

fn any_json() -> impl proptest::strategy::Strategy<Value = Value> {
    use proptest::prelude::*;
    let leaf = prop_oneof![Just(json!(null)), any::<bool>().prop_map(|b| json!(b)), (0..3).prop_map(|n| json!(n))];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(|list| json!(list)),
            proptest::collection::btree_map("[a-c]", inner, 0..4).prop_map(|map| json!(map)),
        ]
    })
}

proptest::proptest! {
    #[test]
    fn any_patch_does_what_the_rfc_says(
        before in proptest::collection::btree_map("[a-c]", any_json(), 0..4),
        patch in proptest::collection::btree_map("[a-c]", any_json(), 0..4),
    ) {
        let (before, patch) = (json!(before), json!(patch));
        let after = merged(before.clone(), &patch);
        check(&before.to_string(), &patch.to_string(), &after.to_string());
    }
}

#[test]
fn an_object_replaces_a_value_that_is_no_map() {
    let mut item = Item::from([("a".to_owned(), AttributeValue::Ss(vec!["x".to_owned()]))]);
    apply(&read::<MergePatch>(br#"{"a": {"b": 1}}"#).unwrap(), &mut item);
    assert_eq!(item, super::attributes(r#"{"a": {"b": 1}}"#).unwrap().0);
}
