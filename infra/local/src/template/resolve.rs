//! Intrinsic functions that have a value without a stack: parameters, and what is computed from them.

use std::collections::BTreeMap;

use regex_lite::Regex;
use serde_json::{Map, Value};

use super::TemplateError;
use super::document::{Property, intrinsic, plain};

/// The most conditions that lead from one to the next. CloudFormation refuses circular ones.
const DEPTH_MAX: usize = 64;

#[derive(Debug, Default)]
pub(super) struct Scope {
    parameters: BTreeMap<String, Value>,
    /// `None` for a condition that depends on a value that only a stack has.
    conditions: BTreeMap<String, Option<bool>>,
    mappings: Value,
}

impl Scope {
    /// Gives each parameter its value in `given`, or else its default. Parameters with neither stay unresolved.
    pub(super) fn of(document: &Value, given: &BTreeMap<String, String>) -> Result<Self, TemplateError> {
        let none = Map::new();
        let section = |name: &str| document.get(name).and_then(Value::as_object).unwrap_or(&none);
        if let Some(name) = given.keys().find(|name| !section("Parameters").contains_key(*name)) {
            return Err(TemplateError::UnknownParameter { name: name.clone() });
        }
        let mappings = document.get("Mappings").cloned().unwrap_or_default();
        let mut scope = Self { mappings, ..Self::default() };
        for (name, declaration) in section("Parameters") {
            let given = given.get(name).map(|text| Value::from(text.as_str()));
            if let Some(value) = given.or(declaration.get("Default").cloned()) {
                scope.parameters.insert(name.clone(), checked(name, declaration, value)?);
            }
        }
        let conditions = section("Conditions");
        for (name, condition) in conditions {
            let is_met = scope.condition(conditions, condition, 0)?;
            scope.conditions.insert(name.clone(), is_met);
        }
        Ok(scope)
    }

    /// Computes what can be computed in a value, and leaves the rest as it is. Returns `None` for `AWS::NoValue`.
    pub(super) fn value(&self, value: &Value) -> Option<Value> {
        if let Some((name, argument)) = intrinsic(value) {
            return self.function(name, argument).unwrap_or_else(|| Some(value.clone()));
        }
        Some(match value {
            Value::Array(items) => items.iter().filter_map(|item| self.value(item)).collect(),
            Value::Object(map) => {
                map.iter().filter_map(|(name, item)| Some((name.clone(), self.value(item)?))).collect()
            }
            scalar => scalar.clone(),
        })
    }

    /// Computes a function. Returns `None` if it can't be computed here.
    fn function(&self, name: &str, argument: &Value) -> Option<Option<Value>> {
        match (name, argument.as_array().map(Vec::as_slice)) {
            ("Ref", _) if argument == "AWS::NoValue" => Some(None),
            ("Ref", _) => self.parameters.get(argument.as_str()?).cloned().map(Some),
            ("Fn::If", Some([Value::String(condition), yes, no])) => {
                let is_met = self.conditions.get(condition).copied()??;
                Some(self.value(if is_met { yes } else { no }))
            }
            ("Fn::FindInMap", Some(parts)) => {
                let mut found = &self.mappings;
                for part in parts {
                    found = found.get(plain(&self.value(part)?)?)?;
                }
                Some(Some(found.clone()))
            }
            ("Fn::Sub", _) => Some(Some(self.substitute(argument.as_str()?)?.into())),
            ("Fn::Join", Some([Value::String(separator), list])) => {
                let texts: Option<Vec<String>> = self.value(list)?.as_array()?.iter().map(plain).collect();
                Some(Some(texts?.join(separator).into()))
            }
            _ => None,
        }
    }

    /// Computes a condition. Returns `None` if it depends on a value that only a stack has.
    fn condition(&self, all: &Map<String, Value>, value: &Value, depth: usize) -> Result<Option<bool>, TemplateError> {
        let part = |part: &Value| self.condition(all, part, depth + 1);
        let Some((name, argument)) = intrinsic(value) else { return Ok(None) };
        if depth > DEPTH_MAX {
            return Err(Property { path: "Conditions".to_owned(), value: argument }.wrong("conditions without circles"));
        }
        Ok(match (name, argument.as_array().map(Vec::as_slice)) {
            ("Condition", _) => match argument.as_str().and_then(|name| all.get(name)) {
                Some(condition) => part(condition)?,
                None => None,
            },
            ("Fn::Equals", Some([left, right])) => {
                let [left, right] = [left, right].map(|side| self.value(side).as_ref().and_then(plain));
                left.zip(right).map(|(left, right)| left == right)
            }
            ("Fn::Not", Some([one])) => part(one)?.map(|is_met| !is_met),
            ("Fn::And" | "Fn::Or", Some(parts)) => {
                let parts = parts.iter().map(part).collect::<Result<Option<Vec<bool>>, TemplateError>>()?;
                parts.map(|parts| if name == "Fn::And" { !parts.contains(&false) } else { parts.contains(&true) })
            }
            _ => None,
        })
    }

    /// Replaces `${Name}` with parameters' values and `${!Name}` with `${Name}`. `None` if the text refers to others.
    fn substitute(&self, text: &str) -> Option<String> {
        let mut parts = text.split("${");
        let mut out = parts.next()?.to_owned();
        for part in parts {
            let (name, rest) = part.split_once('}')?;
            match name.strip_prefix('!') {
                Some(literal) => out.push_str(&format!("${{{literal}}}")),
                None => out.push_str(&plain(self.parameters.get(name)?)?),
            }
            out.push_str(rest);
        }
        Some(out)
    }
}

/// Returns a parameter's value or list of values, if the declaration allows it. A pattern describes the whole value.
fn checked(name: &str, declaration: &Value, value: Value) -> Result<Value, TemplateError> {
    let text = |field: &str| declaration.get(field).and_then(Value::as_str);
    let wrong = |value: &Value, expected: String| {
        Err(TemplateError::Wrong { property: format!("Parameters.{name}"), expected, found: value.to_string() })
    };
    if let Some(allowed) = declaration.get("AllowedValues").and_then(Value::as_array)
        && !allowed.iter().any(|one| plain(one) == plain(&value))
    {
        return wrong(&value, format!("one of {}", Value::from(allowed.clone())));
    }
    let is_list = text("Type").is_some_and(|kind| kind == "CommaDelimitedList" || kind.starts_with("List<"));
    let value = match &value {
        Value::String(text) if is_list => text.split(',').map(|part| Value::from(part.trim())).collect(),
        _ => value,
    };
    let Some(pattern) = text("AllowedPattern") else { return Ok(value) };
    let Ok(whole) = Regex::new(&format!(r"\A(?:{pattern})\z")) else {
        return wrong(&pattern.into(), "described by a regular expression".to_owned());
    };
    let values = value.as_array().map_or(std::slice::from_ref(&value), Vec::as_slice);
    match values.iter().find(|value| plain(value).is_some_and(|text| !whole.is_match(&text))) {
        None => Ok(value),
        Some(one) => wrong(one, format!("as its AllowedPattern says, {pattern}")),
    }
}
