//! Intrinsic functions that have a value without a stack: parameters, and what is computed from them.

use std::collections::BTreeMap;

use regex_lite::Regex;
use serde_json::{Map, Value};

use super::TemplateError;
use super::document::{Path, intrinsic};

/// The deepest nesting of conditions and values. CloudFormation refuses circular conditions, so a template that deploys
/// never comes near the limit.
const DEPTH_MAX: usize = 64;

/// The parameters' values and the conditions.
#[derive(Debug)]
pub(super) struct Scope {
    parameters: BTreeMap<String, Value>,
    conditions: Map<String, Value>,
    mappings: Value,
}

impl Scope {
    /// Gives each parameter its value in `given`, or else its default. Parameters with neither stay unresolved.
    pub(super) fn of(document: &Value, given: &BTreeMap<String, String>) -> Result<Self, TemplateError> {
        let none = Map::new();
        let declared = document.get("Parameters").and_then(Value::as_object).unwrap_or(&none);
        if let Some(name) = given.keys().find(|name| !declared.contains_key(*name)) {
            return Err(TemplateError::UnknownParameter { name: name.clone() });
        }
        let mut parameters = BTreeMap::new();
        for (name, declaration) in declared {
            let value = given.get(name).map(|text| Value::from(text.as_str())).or(declaration.get("Default").cloned());
            let Some(value) = value else { continue };
            if let Some(allowed) = declaration.get("AllowedValues").and_then(Value::as_array)
                && !allowed.iter().any(|one| plain(one) == plain(&value))
            {
                let expected = format!("one of {}", Value::from(allowed.clone()));
                return Err(TemplateError::wrong(&Path::of(&["Parameters", name]), expected, &value));
            }
            let is_list = declaration
                .get("Type")
                .and_then(Value::as_str)
                .is_some_and(|kind| kind == "CommaDelimitedList" || kind.starts_with("List<"));
            let value = if is_list { split(&value) } else { value };
            if let Some(pattern) = declaration.get("AllowedPattern").and_then(Value::as_str) {
                check_pattern(name, pattern, &value)?;
            }
            parameters.insert(name.clone(), value);
        }
        let conditions = document.get("Conditions").and_then(Value::as_object).cloned().unwrap_or_default();
        let mappings = document.get("Mappings").cloned().unwrap_or_default();
        Ok(Scope { parameters, conditions, mappings })
    }

    /// Computes what can be computed in a value, and leaves the rest as it is. Returns `None` for `AWS::NoValue`.
    pub(super) fn resolve(&self, path: &Path, value: &Value) -> Result<Option<Value>, TemplateError> {
        self.value(path, value, 0)
    }

    fn value(&self, path: &Path, value: &Value, depth: usize) -> Result<Option<Value>, TemplateError> {
        if depth > DEPTH_MAX {
            return Err(TemplateError::wrong(path, format!("nested at most {DEPTH_MAX} deep"), value));
        }
        if let Some((name, argument)) = intrinsic(value) {
            return self.function(path, name, argument, value, depth + 1);
        }
        Ok(Some(match value {
            Value::Array(items) => {
                let mut resolved = Vec::with_capacity(items.len());
                for (i, item) in items.iter().enumerate() {
                    resolved.extend(self.value(&path.join(i), item, depth + 1)?);
                }
                Value::Array(resolved)
            }
            Value::Object(map) => {
                let mut resolved = Map::new();
                for (name, item) in map {
                    if let Some(item) = self.value(&path.join(name), item, depth + 1)? {
                        resolved.insert(name.clone(), item);
                    }
                }
                Value::Object(resolved)
            }
            scalar => scalar.clone(),
        }))
    }

    fn function(
        &self,
        path: &Path,
        name: &str,
        argument: &Value,
        whole: &Value,
        depth: usize,
    ) -> Result<Option<Value>, TemplateError> {
        let as_it_is = || Ok(Some(whole.clone()));
        match (name, argument) {
            ("Ref", Value::String(name)) if name == "AWS::NoValue" => Ok(None),
            ("Ref", Value::String(name)) => Ok(Some(self.parameters.get(name).unwrap_or(whole).clone())),
            ("Fn::If", Value::Array(parts)) if parts.len() == 3 => {
                let condition = Value::Object(Map::from_iter([("Condition".to_owned(), parts[0].clone())]));
                match self.condition(path, &condition, depth)? {
                    Some(true) => self.value(path, &parts[1], depth),
                    Some(false) => self.value(path, &parts[2], depth),
                    None => as_it_is(),
                }
            }
            ("Fn::FindInMap", Value::Array(parts)) if parts.len() == 3 => {
                let mut found = Some(&self.mappings);
                for part in parts {
                    let name = self.value(path, part, depth)?.as_ref().and_then(plain);
                    found = found.zip(name).and_then(|(map, name)| map.get(name));
                }
                Ok(Some(found.unwrap_or(whole).clone()))
            }
            ("Fn::Sub", Value::String(text)) => Ok(Some(self.substitute(text).map_or(whole.clone(), Value::String))),
            ("Fn::Join", Value::Array(parts)) if parts.len() == 2 => {
                let list = self.value(path, &parts[1], depth)?.unwrap_or_default();
                let texts: Option<Vec<String>> = list.as_array().and_then(|list| list.iter().map(plain).collect());
                match (parts[0].as_str(), texts) {
                    (Some(separator), Some(texts)) => Ok(Some(texts.join(separator).into())),
                    _ => as_it_is(),
                }
            }
            _ => as_it_is(),
        }
    }

    /// Computes a condition. Returns `None` if it depends on a value that only a stack has.
    fn condition(&self, path: &Path, value: &Value, depth: usize) -> Result<Option<bool>, TemplateError> {
        if depth > DEPTH_MAX {
            return Err(TemplateError::wrong(path, format!("nested at most {DEPTH_MAX} deep"), value));
        }
        let all = |parts: &[Value]| -> Result<Vec<Option<bool>>, TemplateError> {
            parts.iter().map(|part| self.condition(path, part, depth + 1)).collect()
        };
        match intrinsic(value) {
            Some(("Condition", Value::String(name))) => match self.conditions.get(name) {
                Some(condition) => self.condition(path, condition, depth + 1),
                None => Err(TemplateError::missing(&Path::of(&["Conditions", name]))),
            },
            Some(("Fn::Equals", Value::Array(sides))) if sides.len() == 2 => {
                let left = self.value(path, &sides[0], depth + 1)?.as_ref().and_then(plain);
                let right = self.value(path, &sides[1], depth + 1)?.as_ref().and_then(plain);
                Ok(left.zip(right).map(|(left, right)| left == right))
            }
            Some(("Fn::Not", Value::Array(parts))) if parts.len() == 1 => {
                Ok(self.condition(path, &parts[0], depth + 1)?.map(|is| !is))
            }
            Some(("Fn::And", Value::Array(parts))) => {
                Ok(all(parts)?.into_iter().try_fold(true, |so_far, one| Some(so_far && one?)))
            }
            Some(("Fn::Or", Value::Array(parts))) => {
                Ok(all(parts)?.into_iter().try_fold(false, |so_far, one| Some(so_far || one?)))
            }
            _ => Err(TemplateError::wrong(path, "a condition", value)),
        }
    }

    /// Replaces `${Name}` with parameters' values and `${!Name}` with `${Name}`. Returns `None` if the text refers to
    /// anything else.
    fn substitute(&self, text: &str) -> Option<String> {
        let mut out = String::new();
        let mut rest = text;
        while let Some(start) = rest.find("${") {
            let (before, after) = rest.split_at(start);
            let end = after.find('}')?;
            let name = &after[2..end];
            out.push_str(before);
            match name.strip_prefix('!') {
                Some(literal) => out.push_str(&format!("${{{literal}}}")),
                None => out.push_str(&plain(self.parameters.get(name)?)?),
            }
            rest = &after[end + 1..];
        }
        out.push_str(rest);
        Some(out)
    }
}

/// Checks a parameter's value, or each value of a list, against its `AllowedPattern`, as CloudFormation does: the
/// pattern describes the whole value.
fn check_pattern(name: &str, pattern: &str, value: &Value) -> Result<(), TemplateError> {
    let path = Path::of(&["Parameters", name]);
    let whole = Regex::new(&format!(r"\A(?:{pattern})\z"));
    let whole = whole.map_err(|_| TemplateError::wrong(&path, "described by a regular expression", &pattern.into()))?;
    let is_allowed = |value: &Value| plain(value).is_none_or(|text| whole.is_match(&text));
    let values = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
    match values.iter().find(|value| !is_allowed(value)) {
        None => Ok(()),
        Some(wrong) => Err(TemplateError::wrong(&path, format!("as its AllowedPattern says, {pattern}"), wrong)),
    }
}

/// Returns a scalar as text, as CloudFormation treats it.
fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    }
}

fn split(value: &Value) -> Value {
    match value {
        Value::String(text) => text.split(',').map(|part| Value::from(part.trim())).collect(),
        other => other.clone(),
    }
}
