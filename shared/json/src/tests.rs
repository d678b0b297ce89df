#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods)]

mod merging;
mod reading;
mod round_trips;

use sapwood_core::model::AttributeValue;
use serde_json::value::RawValue;

use super::{Attributes, Fault, JsonError, read};

/// Reads attributes.
fn attributes(json: &str) -> Result<Attributes, JsonError> {
    read(json.as_bytes())
}

/// Reads the value of the attribute `a`.
fn value(json: &str) -> AttributeValue {
    attributes(&format!(r#"{{"a": {json}}}"#)).unwrap().0.remove("a").unwrap()
}

/// Returns the kind and the place of the mistake in a value of the attribute `a`.
fn refused(json: &str) -> (Fault, String) {
    let error = attributes(&format!(r#"{{"a": {json}}}"#)).unwrap_err();
    assert!(!error.to_string().is_empty());
    (error.fault(), error.path().to_owned())
}

/// Writes a value as JSON.
fn written(value: AttributeValue) -> String {
    let json = serde_json::to_string(&Attributes([("a".to_owned(), value)].into())).unwrap();
    let raw: std::collections::BTreeMap<String, Box<RawValue>> = serde_json::from_str(&json).unwrap();
    raw["a"].get().to_owned()
}

fn n(digits: &str) -> AttributeValue {
    AttributeValue::N(digits.to_owned())
}

fn s(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}
