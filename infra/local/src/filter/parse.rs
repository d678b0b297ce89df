//! Parsing of patterns.

use serde_json::{Map, Value};

use super::{Alternative, Pattern};

pub(super) fn pattern(text: &str) -> Result<Pattern, FilterError> {
    match serde_json::from_str(text)? {
        Value::Object(fields) => object("", fields),
        _ => Err(FilterError::Shape { field: String::new(), expected: "an object" }),
    }
}

fn object(field: &str, fields: Map<String, Value>) -> Result<Pattern, FilterError> {
    if fields.is_empty() {
        return Err(FilterError::Shape { field: field.to_owned(), expected: "at least one field" });
    }
    let mut parsed = Vec::with_capacity(fields.len());
    for (name, value) in fields {
        let inner = if field.is_empty() { name.clone() } else { format!("{field}.{name}") };
        // `$or` and the like: an operator in the place of a field's name.
        if name.starts_with('$') {
            return Err(FilterError::Operator { field: field.to_owned(), operator: name });
        }
        let pattern = match value {
            Value::Object(fields) => object(&inner, fields)?,
            Value::Array(list) if !list.is_empty() => {
                Pattern::AnyOf(list.into_iter().map(|one| alternative(&inner, one)).collect::<Result<_, _>>()?)
            }
            _ => return Err(FilterError::Shape { field: inner, expected: "an object, or a list of alternatives" }),
        };
        parsed.push((name, pattern));
    }
    Ok(Pattern::Fields(parsed))
}

fn alternative(field: &str, value: Value) -> Result<Alternative, FilterError> {
    let wrong = |expected| FilterError::Shape { field: field.to_owned(), expected };
    let mut operators = match value {
        Value::Object(operators) => operators,
        Value::Array(_) => return Err(wrong("alternatives that aren't lists")),
        exact => return Ok(Alternative::Exactly(exact)),
    };
    let Some((operator, argument)) = operators.iter_mut().next().map(|(name, value)| (name.clone(), value.take()))
    else {
        return Err(wrong("an operator"));
    };
    if operators.len() > 1 {
        return Err(wrong("one operator for each alternative"));
    }
    match (operator.as_str(), argument) {
        ("prefix", Value::String(text)) => Ok(Alternative::Prefix(text)),
        ("suffix", Value::String(text)) => Ok(Alternative::Suffix(text)),
        ("exists", Value::Bool(there)) => Ok(Alternative::Exists(there)),
        ("anything-but", argument) => anything_but(field, argument),
        ("prefix" | "suffix", _) => Err(wrong("a string after prefix and suffix")),
        ("exists", _) => Err(wrong("true or false after exists")),
        _ => Err(FilterError::Operator { field: field.to_owned(), operator }),
    }
}

fn anything_but(field: &str, argument: Value) -> Result<Alternative, FilterError> {
    let wrong = |expected| FilterError::Shape { field: field.to_owned(), expected };
    let plain = |value: &Value| matches!(value, Value::String(_) | Value::Number(_));
    match argument {
        Value::Array(list) if !list.is_empty() && list.iter().all(plain) => Ok(Alternative::NoneOf(list)),
        Value::Object(mut operators) if operators.len() == 1 => match operators.remove("prefix") {
            Some(Value::String(text)) => Ok(Alternative::NotPrefix(text)),
            Some(_) => Err(wrong("a string after prefix")),
            None => {
                let operator = operators.keys().next().cloned().unwrap_or_default();
                Err(FilterError::Operator { field: field.to_owned(), operator: format!("anything-but {operator}") })
            }
        },
        one if plain(&one) => Ok(Alternative::NoneOf(vec![one])),
        _ => Err(wrong("strings, numbers or a prefix after anything-but")),
    }
}

/// Why a filter pattern isn't supported. A field's parts are separated by dots; it is empty for the whole pattern.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum FilterError {
    /// The pattern isn't JSON.
    #[error("the filter pattern isn't JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// A part of the pattern has the wrong shape.
    #[error("filter pattern, {field}: expected {expected}")]
    Shape { field: String, expected: &'static str },
    /// The pattern uses an operator that isn't supported: a user wouldn't notice that it passes everything or nothing.
    #[error(
        "filter pattern, {field}: the operator {operator} isn't understood here (known: exact values, prefix, suffix, \
         anything-but, exists)"
    )]
    Operator { field: String, operator: String },
}
