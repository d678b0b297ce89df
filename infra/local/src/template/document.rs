//! The template as JSON, with CloudFormation's short tags expanded, and properties that know their path.

use std::fmt::Display;

use serde_json::{Map, Value};

/// Why a template can't run on one machine. `property` is a path from the document's root; values are JSON.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum TemplateError {
    /// The text isn't YAML.
    #[error("the template can't be read as YAML: {0}")]
    Yaml(#[from] serde_yaml_ng::Error),
    /// A required property is missing.
    #[error("{property} is missing")]
    Missing { property: String },
    /// A property has a value of a wrong type or out of range.
    #[error("{property} must be {expected}, it is {found}")]
    Wrong { property: String, expected: String, found: String },
    /// A property refers to a value that only a deployed stack has.
    #[error("{property} refers to {reference}, which has no value on one machine")]
    Unresolved { property: String, reference: String },
    /// A property has a value that isn't supported here.
    #[error("{property} is {value}, which isn't supported here ({supported})")]
    Unsupported { property: String, value: String, supported: &'static str },
    /// The template doesn't have the parameter that a value was given for.
    #[error("the template has no parameter {name}")]
    UnknownParameter { name: String },
    /// The template doesn't have exactly one event source mapping.
    #[error("the template has {found} resources of type AWS::Lambda::EventSourceMapping, exactly one is expected")]
    EventSourceMappings { found: usize },
}

/// Parses the document. `!Ref X` becomes `{"Ref": "X"}`, `!GetAtt A.B` becomes `{"Fn::GetAtt": ["A", "B"]}`, and so on.
pub(super) fn parse(text: &str) -> Result<Value, TemplateError> {
    Ok(long_form(serde_yaml_ng::from_str(text)?))
}

fn long_form(yaml: serde_yaml_ng::Value) -> Value {
    use serde_yaml_ng::Value as Yaml;
    match yaml {
        Yaml::Null => Value::Null,
        Yaml::Bool(b) => Value::Bool(b),
        Yaml::Number(n) => serde_json::to_value(n).unwrap_or(Value::Null),
        Yaml::String(s) => Value::String(s),
        Yaml::Sequence(list) => list.into_iter().map(long_form).collect(),
        Yaml::Mapping(map) => Value::Object(map.into_iter().map(|(k, v)| (key_text(k), long_form(v))).collect()),
        Yaml::Tagged(tagged) => {
            let tag = tagged.tag.to_string();
            let name = match tag.trim_start_matches('!') {
                name @ ("Ref" | "Condition") => name.to_owned(),
                name => format!("Fn::{name}"),
            };
            let mut value = long_form(tagged.value);
            if name == "Fn::GetAtt"
                && let Value::String(dotted) = &value
                && let Some((resource, attribute)) = dotted.split_once('.')
            {
                value = Value::from(vec![resource, attribute]);
            }
            Value::Object(Map::from_iter([(name, value)]))
        }
    }
}

fn key_text(key: serde_yaml_ng::Value) -> String {
    match long_form(key) {
        Value::String(text) => text,
        other => other.to_string(),
    }
}

/// A computed value, and its path from the document's root.
#[derive(Debug, Clone)]
pub(super) struct Property<'a> {
    pub(super) path: String,
    pub(super) value: &'a Value,
}

impl<'a> Property<'a> {
    pub(super) fn at(&self, part: impl Display, value: &'a Value) -> Self {
        let path = if self.path.is_empty() { part.to_string() } else { format!("{}.{part}", self.path) };
        Property { path, value }
    }

    pub(super) fn get(&self, name: &str) -> Option<Self> {
        self.value.get(name).map(|value| self.at(name, value))
    }

    pub(super) fn require(&self, name: &str) -> Result<Self, TemplateError> {
        self.get(name).ok_or_else(|| TemplateError::Missing { property: self.at(name, self.value).path })
    }

    pub(super) fn text(&self) -> Result<String, TemplateError> {
        // CloudFormation accepts scalars as strings.
        plain(self.value).ok_or_else(|| self.wrong("a string"))
    }

    pub(super) fn integer(&self, from: i64, to: i64) -> Result<i64, TemplateError> {
        let number = match self.value {
            Value::String(text) => text.trim().parse().ok(),
            other => other.as_i64(),
        };
        number.filter(|n| (from..=to).contains(n)).ok_or_else(|| self.wrong(format!("a number from {from} to {to}")))
    }

    pub(super) fn boolean(&self) -> Result<bool, TemplateError> {
        let text = plain(self.value).and_then(|text| text.parse().ok());
        text.ok_or_else(|| self.wrong("true or false"))
    }

    pub(super) fn list(&self) -> Result<Vec<Self>, TemplateError> {
        let items = self.value.as_array().ok_or_else(|| self.wrong("a list"))?;
        Ok(items.iter().enumerate().map(|(i, value)| self.at(i, value)).collect())
    }

    pub(super) fn entries(&self) -> Result<Vec<(&'a String, Self)>, TemplateError> {
        let map = self.value.as_object().ok_or_else(|| self.wrong("a map"))?;
        Ok(map.iter().map(|(name, value)| (name, self.at(name, value))).collect())
    }

    pub(super) fn unsupported(&self, supported: &'static str) -> TemplateError {
        TemplateError::Unsupported { property: self.path.clone(), value: self.value.to_string(), supported }
    }

    pub(super) fn wrong(&self, expected: impl Into<String>) -> TemplateError {
        if intrinsic(self.value).is_none() {
            return self.must_be(expected);
        }
        TemplateError::Unresolved { property: self.path.clone(), reference: self.value.to_string() }
    }

    pub(super) fn must_be(&self, expected: impl Into<String>) -> TemplateError {
        TemplateError::Wrong { property: self.path.clone(), expected: expected.into(), found: self.value.to_string() }
    }
}

/// Returns the name and the argument of an intrinsic function in its long form.
pub(super) fn intrinsic(value: &Value) -> Option<(&str, &Value)> {
    let map = value.as_object().filter(|map| map.len() == 1)?;
    let (name, argument) = map.iter().next()?;
    (name == "Ref" || name == "Condition" || name.starts_with("Fn::")).then_some((name, argument))
}

/// Returns a scalar as text, as CloudFormation treats it.
pub(super) fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    }
}
