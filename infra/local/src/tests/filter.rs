//! Filter patterns with Lambda's semantics.

use crate::filter::{Filter, FilterError, Verdict};
use serde_json::{Value, json};

#[track_caller]
fn check(pattern: Value, passing: &[Value], kept_out: &[Value]) {
    let filter = Filter::new(&[pattern.to_string()]).unwrap();
    for record in passing {
        assert!(filter.passes(record), "{pattern} keeps out {record}");
    }
    for record in kept_out {
        assert!(!filter.passes(record), "{pattern} lets pass {record}");
    }
}

#[test]
fn without_a_pattern_everything_passes() {
    assert!(Filter::new::<String>(&[]).unwrap().passes(&json!({})));
}

#[test]
fn an_exact_value_is_equal_in_type_and_value() {
    check(
        json!({"a": ["x"]}),
        &[json!({"a": "x"})],
        &[json!({"a": "xy"}), json!({"a": "X"}), json!({"b": "x"}), json!({})],
    );
    check(json!({"a": [5]}), &[json!({"a": 5}), json!({"a": 5.0})], &[json!({"a": "5"}), json!({"a": 6})]);
    check(json!({"a": [null]}), &[json!({"a": null})], &[json!({}), json!({"a": ""}), json!({"a": 0})]);
    check(json!({"a": [""]}), &[json!({"a": ""})], &[json!({}), json!({"a": null}), json!({"a": " "})]);
    check(json!({"a": [true]}), &[json!({"a": true})], &[json!({"a": false}), json!({"a": "true"})]);
}

#[test]
fn one_alternative_is_enough_and_every_field_is_needed() {
    check(
        json!({"a": ["x", {"prefix": "y"}], "b": {"c": [1]}}),
        &[json!({"a": "x", "b": {"c": 1}}), json!({"a": "yes", "b": {"c": 1, "d": 2}})],
        &[json!({"a": "x"}), json!({"a": "x", "b": {"c": 2}}), json!({"a": "no", "b": {"c": 1}})],
    );
}

#[test]
fn a_prefix_and_a_suffix_are_of_strings() {
    check(
        json!({"a": [{"prefix": "v0"}]}),
        &[json!({"a": "v0"}), json!({"a": "v01"})],
        &[json!({"a": "v"}), json!({"a": 0})],
    );
    check(json!({"a": [{"suffix": ".png"}]}), &[json!({"a": "x.png"})], &[json!({"a": "png"}), json!({})]);
}

#[test]
fn anything_but_wants_a_value() {
    check(
        json!({"a": [{"anything-but": ["x", 5]}]}),
        &[json!({"a": "y"}), json!({"a": 6}), json!({"a": null})],
        &[json!({"a": "x"}), json!({"a": 5}), json!({}), json!({"b": 1})],
    );
    check(json!({"a": [{"anything-but": "x"}]}), &[json!({"a": "y"})], &[json!({"a": "x"})]);
    check(
        json!({"a": [{"anything-but": {"prefix": "x"}}]}),
        &[json!({"a": "y"}), json!({"a": 1})],
        &[json!({"a": "xy"}), json!({})],
    );
}

#[test]
fn exists_is_about_leaves() {
    check(
        json!({"a": [{"exists": true}]}),
        &[json!({"a": null}), json!({"a": "x"})],
        &[json!({}), json!({"a": {"b": 1}})],
    );
    check(
        json!({"a": [{"exists": false}]}),
        &[json!({}), json!({"a": {"b": 1}})],
        &[json!({"a": null}), json!({"a": 0})],
    );
}

#[test]
fn a_leaf_below_something_missing_does_not_exist() {
    check(
        json!({"dynamodb": {"OldImage": {"name": {"S": [{"exists": false}]}}}}),
        &[json!({"dynamodb": {"Keys": {}}}), json!({"dynamodb": {"OldImage": {"name": {"N": "1"}}}})],
        &[json!({"dynamodb": {"OldImage": {"name": {"S": "x"}}}})],
    );
}

#[test]
fn one_element_of_a_list_must_match_in_whole() {
    check(json!({"a": ["x"]}), &[json!({"a": ["w", "x"]})], &[json!({"a": ["w"]}), json!({"a": []})]);
    check(
        json!({"a": {"b": [1], "c": [2]}}),
        &[json!({"a": [{"b": 0}, {"b": 1, "c": 2}]})],
        &[json!({"a": [{"b": 1}, {"c": 2}]}), json!({"a": []})],
    );
}

#[test]
fn a_record_passes_that_matches_any_pattern() {
    let filter = Filter::new(&[json!({"a": ["x"]}).to_string(), json!({"b": ["y"]}).to_string()]).unwrap();
    assert!(filter.passes(&json!({"a": "x"})));
    assert!(filter.passes(&json!({"b": "y"})));
    assert!(!filter.passes(&json!({"a": "y", "b": "x"})));
}

#[test]
fn keys_decide_where_a_pattern_asks_for_nothing_else() {
    let keys = json!({"PK": {"S": "a"}, "SK": {"S": "NODE"}});
    let judge = |patterns: &[Value]| {
        let patterns: Vec<String> = patterns.iter().map(Value::to_string).collect();
        Filter::new(&patterns).unwrap().judge(&keys)
    };
    let on_keys = |sk: &str| json!({"dynamodb": {"Keys": {"SK": {"S": [sk]}}}});
    let on_image = json!({"dynamodb": {"NewImage": {"n": {"N": ["1"]}}}});
    let on_both = |sk: &str| json!({"dynamodb": {"Keys": {"SK": {"S": [sk]}}, "OldImage": {"n": {"N": ["1"]}}}});
    let on_event = json!({"eventName": ["INSERT"]});
    assert_eq!(judge(&[]), Verdict::Passes);
    assert_eq!(judge(&[on_keys("NODE")]), Verdict::Passes);
    assert_eq!(judge(&[on_keys("LINEAGE")]), Verdict::Rejected);
    assert_eq!(judge(std::slice::from_ref(&on_image)), Verdict::AsksForMore);
    assert_eq!(judge(&[on_both("NODE")]), Verdict::AsksForMore);
    assert_eq!(judge(&[on_both("LINEAGE")]), Verdict::Rejected);
    assert_eq!(judge(std::slice::from_ref(&on_event)), Verdict::AsksForMore);
    assert_eq!(judge(&[json!({"dynamodb": [{"exists": false}]})]), Verdict::AsksForMore);
    assert_eq!(judge(&[json!({"dynamodb": {"Keys": [{"exists": true}]}})]), Verdict::Rejected);
    assert_eq!(judge(&[on_event, on_keys("NODE")]), Verdict::Passes);
    assert_eq!(judge(&[on_image, on_keys("LINEAGE")]), Verdict::AsksForMore);
}

/// Random patterns over few names and texts, and random records: what the keys say is what the whole record says.
/// `SAPWOOD_SEED` replays a run.
#[test]
fn what_the_keys_say_is_what_the_record_says() {
    const TEXTS: [&str; 4] = ["a", "b", "ab", ""];
    fn part(random: &mut fastrand::Rng) -> Value {
        let text = TEXTS[random.usize(..4)];
        let one = [
            json!(text),
            json!({"prefix": text}),
            json!({"suffix": text}),
            json!({"anything-but": [text]}),
            json!({"exists": random.bool()}),
        ];
        json!({ ["S", "N"][random.usize(..2)]: [one[random.usize(..5)]] })
    }
    fn some(random: &mut fastrand::Rng, names: &[&str], value: impl Fn(&mut fastrand::Rng) -> Value) -> Value {
        let chosen = names.iter().filter(|_| random.bool()).copied().collect::<Vec<_>>();
        let chosen = if chosen.is_empty() { vec![names[random.usize(..names.len())]] } else { chosen };
        chosen.into_iter().map(|name| (name.to_owned(), value(random))).collect()
    }
    let seed = std::env::var("SAPWOOD_SEED").map_or_else(|_| fastrand::u64(..), |seed| seed.parse().unwrap());
    println!("SAPWOOD_SEED={seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let mut seen = [0; 3];
    for _ in 0..5_000 {
        let patterns: Vec<String> = (0..=random.usize(..2))
            .map(|_| {
                let parts = &["Keys", "Keys", "NewImage", "OldImage"][..1 + random.usize(..4)];
                let images = some(&mut random, parts, |random| some(random, &["PK", "SK"], part));
                let mut pattern = json!({ "dynamodb": images });
                if random.u8(..4) == 0 {
                    pattern["eventName"] = json!(["INSERT"]);
                }
                pattern.to_string()
            })
            .collect();
        let value = |random: &mut fastrand::Rng| json!({ "S": TEXTS[random.usize(..4)] });
        let keys = json!({"PK": value(&mut random), "SK": value(&mut random)});
        let image = some(&mut random, &["PK", "SK"], value);
        let name = if random.bool() { "INSERT" } else { "MODIFY" };
        let record = json!({"eventName": name, "dynamodb": {"Keys": keys, "NewImage": image}});
        let filter = Filter::new(&patterns).unwrap();
        let passes = filter.passes(&record);
        let verdict = filter.judge(&keys);
        match verdict {
            Verdict::Passes => assert!(passes, "{patterns:?} {record}"),
            Verdict::Rejected => assert!(!passes, "{patterns:?} {record}"),
            Verdict::AsksForMore => {}
        }
        seen[verdict as usize] += 1;
    }
    assert!(seen.iter().all(|times| *times > 100), "{seen:?}");
}

#[test]
fn an_operator_that_is_not_understood_is_refused_by_name() {
    for (pattern, named) in [
        (json!({"a": [{"numeric": [">", 1]}]}), "numeric"),
        (json!({"a": [{"wildcard": "x*"}]}), "wildcard"),
        (json!({"a": {"b": [{"equals-ignore-case": "x"}]}}), "equals-ignore-case"),
        (json!({"a": [{"anything-but": {"suffix": "x"}}]}), "anything-but suffix"),
        (json!({"$or": [{"a": ["x"]}, {"b": ["y"]}]}), "$or"),
    ] {
        match Filter::new(&[pattern.to_string()]) {
            Err(FilterError::Operator { operator, .. }) => assert_eq!(operator, named),
            other => panic!("{pattern}: {other:?}"),
        }
    }
}

#[test]
fn a_pattern_of_the_wrong_shape_is_refused() {
    for pattern in ["[]", "5", "{}", r#"{"a": "x"}"#, r#"{"a": []}"#, r#"{"a": [["x"]]}"#, r#"{"a": [{}]}"#] {
        assert!(matches!(Filter::new(&[pattern]), Err(FilterError::Shape { .. })), "{pattern}");
    }
    for pattern in
        [r#"{"a": [{"prefix": 5}]}"#, r#"{"a": [{"exists": "yes"}]}"#, r#"{"a": [{"prefix": "x", "suffix": "y"}]}"#]
    {
        assert!(matches!(Filter::new(&[pattern]), Err(FilterError::Shape { field, .. }) if field == "a"), "{pattern}");
    }
    assert!(matches!(Filter::new(&["{"]), Err(FilterError::Json(_))));
}
