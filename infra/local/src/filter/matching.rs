//! How patterns match a record.

use serde_json::Value;

use super::{Alternative, Pattern};

/// Returns true if a part of the record, which may be missing, matches the pattern.
pub(super) fn matches(pattern: &Pattern, found: Option<&Value>) -> bool {
    match (pattern, found) {
        // A single element must match all fields.
        (Pattern::Fields(_), Some(Value::Array(elements))) if !elements.is_empty() => {
            elements.iter().any(|element| matches(pattern, Some(element)))
        }
        // All fields of a missing object are missing, so `exists: false` can still match.
        (Pattern::Fields(fields), found) => {
            fields.iter().all(|(name, inner)| matches(inner, found.and_then(|value| value.get(name))))
        }
        (Pattern::AnyOf(alternatives), found) => {
            let leaves = leaves(found);
            alternatives.iter().any(|alternative| is(alternative, &leaves))
        }
    }
}

/// Returns the values that a leaf pattern is compared with. An object has none: its leaves have longer names.
fn leaves(found: Option<&Value>) -> Vec<&Value> {
    match found {
        None | Some(Value::Object(_)) => Vec::new(),
        Some(Value::Array(elements)) => elements.iter().flat_map(|element| leaves(Some(element))).collect(),
        Some(leaf) => vec![leaf],
    }
}

fn is(alternative: &Alternative, leaves: &[&Value]) -> bool {
    let any = |test: &dyn Fn(&Value) -> bool| leaves.iter().any(|leaf| test(leaf));
    let text_is = |test: &dyn Fn(&str) -> bool| any(&|leaf| leaf.as_str().is_some_and(test));
    match alternative {
        Alternative::Exactly(wanted) => any(&|leaf| same(leaf, wanted)),
        Alternative::Prefix(prefix) => text_is(&|text| text.starts_with(prefix)),
        Alternative::Suffix(suffix) => text_is(&|text| text.ends_with(suffix)),
        Alternative::NoneOf(unwanted) => any(&|leaf| !unwanted.iter().any(|one| same(leaf, one))),
        Alternative::NotPrefix(prefix) => any(&|leaf| !leaf.as_str().is_some_and(|text| text.starts_with(prefix))),
        Alternative::Exists(wanted) => leaves.is_empty() != *wanted,
    }
}

fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        _ => a == b,
    }
}
