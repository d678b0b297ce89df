use std::collections::{BTreeSet, HashMap};

use proptest::collection::{btree_map, btree_set, hash_map, vec};
use proptest::prelude::*;
use sapwood_core::model::AttributeValue;

use sapwood_keys::{Decimal, NumberFault};

use super::{attributes, n, value, written};
use crate::{Attributes, MergePatch, read};

fn spelt(text: &str) -> Result<String, NumberFault> {
    Decimal::read(text).map(|number| number.plain())
}

/// A number in the spelling that DynamoDB gives back.
fn number() -> impl Strategy<Value = String> {
    let digits = prop_oneof!["[1-9]", "[1-9][0-9]{0,36}[1-9]", "[1-9][0-9]{36}[1-9]", Just("0".to_owned())];
    (any::<bool>(), digits, -129..=126_i64).prop_map(|(negative, digits, point)| {
        let exponent = point - i64::try_from(digits.len()).unwrap();
        spelt(&format!("{}{digits}e{exponent}", if negative { "-" } else { "" })).unwrap()
    })
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof!["\\$(set|map|binary|x)", "[a-c]", "\\PC{1,8}", "\\$\\PC{0,3}"]
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
    leaf.prop_recursive(6, 40, 5, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(AttributeValue::L),
            hash_map(name(), inner.clone(), 0..4).prop_map(AttributeValue::M),
            hash_map(name(), inner, 1..2).prop_map(AttributeValue::M),
        ]
    })
}

proptest! {
    #[test]
    fn whatever_a_table_holds_comes_back_through_json(item in btree_map(name(), any_value(), 0..5)) {
        let json = serde_json::to_string(&Attributes(item.clone())).unwrap();
        prop_assert_eq!(&attributes(&json).unwrap().0, &item);
        prop_assert_eq!(&serde_json::from_str::<Attributes>(&json).unwrap().0, &item);
    }

    #[test]
    fn a_number_is_written_with_all_its_digits(number in number()) {
        let json = written(n(&number));
        prop_assert_eq!(spelt(&json).unwrap(), number.clone());
        prop_assert!(json.len() <= number.len() && json.len() <= 46, "{}", json);
        prop_assert!(number.len() > 21 || json == number);
    }

    #[test]
    fn any_spelling_of_a_number_has_its_value(digits in "[0-9]{1,30}", fraction in "[0-9]{0,8}", exponent in -60..60_i32) {
        let digits = format!("1{digits}");
        let point = if fraction.is_empty() { String::new() } else { format!(".{fraction}") };
        let kept = spelt(&format!("{digits}{point}e{exponent}")).or_else(|_| spelt("0")).unwrap();
        // The same value in another spelling: all digits as a whole number with an exponent.
        let whole = format!("{digits}{fraction}e{}", exponent - i32::try_from(fraction.len()).unwrap());
        prop_assert_eq!(kept, spelt(&whole).or_else(|_| spelt("0")).unwrap());
    }

    #[test]
    fn no_text_makes_reading_panic(text in "[\\[\\]{}\",:0-9eE.$\\-a-c\\\\ ]{0,60}") {
        let _ = attributes(&text);
        let _ = read::<MergePatch>(text.as_bytes());
        let wrapped = format!("{{\"a\": {text}}}");
        let _ = attributes(&wrapped);
        let _ = read::<MergePatch>(wrapped.as_bytes());
    }
}

#[test]
fn numbers_in_other_spellings_are_written_as_json() {
    for (kept, json) in [("1E+5", "1E+5"), ("-1e-7", "-1e-7"), (".5", "0.5"), ("+7", "7"), ("007", "7"), ("5.", "5")] {
        assert_eq!(written(n(kept)), json);
    }
    let plain = |digits: &str, zeros: usize| format!("{digits}{}", "0".repeat(zeros));
    assert_eq!(written(n(&plain("1", 125))), "1e125");
    assert_eq!(written(n(&plain("-12", 40))), "-1.2e41");
    assert_eq!(written(n(&format!("0.{}5", "0".repeat(129)))), "5e-130");
    assert_eq!(written(n(&plain("1", 20))), plain("1", 20));
    let all_digits = "12345678901234567890123456789012345678";
    assert_eq!(written(n(all_digits)), all_digits);
    assert!(serde_json::to_string(&Attributes([("a".to_owned(), n("NaN"))].into())).is_err());
}

#[test]
fn a_map_is_always_the_same_text() {
    let map = |names: &[&str]| AttributeValue::M(names.iter().map(|&name| (name.to_owned(), n("1"))).collect());
    assert_eq!(written(map(&["c", "a", "b"])), r#"{"a":1,"b":1,"c":1}"#);
    assert_eq!(written(map(&["$a"])), r#"{"$map":{"$a":1}}"#);
    assert_eq!(written(map(&["$a", "$b"])), r#"{"$a":1,"$b":1}"#);
    assert_eq!(written(AttributeValue::M(HashMap::new())), "{}");
    assert_eq!(value("{}"), AttributeValue::M(HashMap::new()));
}
