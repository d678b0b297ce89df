//! The template as JSON, with CloudFormation's short tags expanded, and properties that know their path.

use std::fmt;

use serde_json::{Map, Value};

use super::TemplateError;

/// Parses the document. As in CloudFormation, `!Ref X` becomes `{"Ref": "X"}`, `!GetAtt A.B` becomes
/// `{"Fn::GetAtt": ["A", "B"]}`, and so on.
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

/// The path of a property in the document.
#[derive(Debug, Clone, Default)]
pub(super) struct Path(Vec<String>);

impl Path {
    pub(super) fn of(parts: &[&str]) -> Self {
        Path(parts.iter().map(|&part| part.to_owned()).collect())
    }

    pub(super) fn join(&self, part: impl ToString) -> Self {
        let mut parts = self.0.clone();
        parts.push(part.to_string());
        Path(parts)
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("."))
    }
}

/// A resolved value and its path.
#[derive(Debug, Clone)]
pub(super) struct Property<'a> {
    pub(super) path: Path,
    pub(super) value: &'a Value,
}

impl<'a> Property<'a> {
    pub(super) fn get(&self, name: &str) -> Option<Property<'a>> {
        let value = self.value.get(name)?;
        Some(Property { path: self.path.join(name), value })
    }

    pub(super) fn require(&self, name: &str) -> Result<Property<'a>, TemplateError> {
        self.get(name).ok_or_else(|| TemplateError::missing(&self.path.join(name)))
    }

    pub(super) fn text(&self) -> Result<String, TemplateError> {
        match self.value {
            Value::String(text) => Ok(text.clone()),
            // CloudFormation accepts scalars as strings.
            Value::Number(_) | Value::Bool(_) => Ok(self.value.to_string()),
            _ => Err(self.wrong("a string")),
        }
    }

    pub(super) fn integer(&self, from: i64, to: i64) -> Result<i64, TemplateError> {
        let number = match self.value {
            Value::String(text) => text.trim().parse().ok(),
            other => other.as_i64(),
        };
        number.filter(|n| (from..=to).contains(n)).ok_or_else(|| self.wrong(format!("a number from {from} to {to}")))
    }

    pub(super) fn boolean(&self) -> Result<bool, TemplateError> {
        match self.value {
            Value::Bool(b) => Ok(*b),
            Value::String(text) if text == "true" => Ok(true),
            Value::String(text) if text == "false" => Ok(false),
            _ => Err(self.wrong("true or false")),
        }
    }

    pub(super) fn list(&self) -> Result<Vec<Property<'a>>, TemplateError> {
        let items = self.value.as_array().ok_or_else(|| self.wrong("a list"))?;
        Ok(items.iter().enumerate().map(|(i, value)| Property { path: self.path.join(i), value }).collect())
    }

    pub(super) fn entries(&self) -> Result<impl Iterator<Item = (&'a String, Property<'a>)> + use<'a>, TemplateError> {
        let map = self.value.as_object().ok_or_else(|| self.wrong("a map"))?;
        let path = self.path.clone();
        Ok(map.iter().map(move |(name, value)| (name, Property { path: path.join(name), value })))
    }

    pub(super) fn unsupported(&self, supported: &'static str) -> TemplateError {
        TemplateError::Unsupported { property: self.path.to_string(), value: self.value.to_string(), supported }
    }

    fn wrong(&self, expected: impl Into<String>) -> TemplateError {
        match intrinsic(self.value) {
            Some(_) => TemplateError::Unresolved { property: self.path.to_string(), reference: self.value.to_string() },
            None => TemplateError::wrong(&self.path, expected, self.value),
        }
    }
}

/// Returns the name and the argument of an intrinsic function in its long form.
pub(super) fn intrinsic(value: &Value) -> Option<(&str, &Value)> {
    let map = value.as_object().filter(|map| map.len() == 1)?;
    let (name, argument) = map.iter().next()?;
    (name == "Ref" || name == "Condition" || name.starts_with("Fn::")).then_some((name, argument))
}
