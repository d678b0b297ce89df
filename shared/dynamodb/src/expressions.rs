//! Conditions, updates and projections as DynamoDB reads them.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue as SdkValue;
use sapwood_core::keys::Schema;
use sapwood_core::model::AttributeValue;
use sapwood_core::request::{Condition, ReadOptions, Update};

use crate::values::sdk_value;

#[derive(Default)]
pub(crate) struct Expressions {
    names: HashMap<String, String>,
    values: HashMap<String, SdkValue>,
}

impl Expressions {
    pub(crate) fn name(&mut self, name: &str) -> String {
        let placeholder = format!("#n{}", self.names.len());
        self.names.insert(placeholder.clone(), name.to_owned());
        placeholder
    }

    pub(crate) fn value(&mut self, value: SdkValue) -> String {
        let placeholder = format!(":v{}", self.values.len());
        self.values.insert(placeholder.clone(), value);
        placeholder
    }

    pub(crate) fn condition(&mut self, condition: &Condition, partition_key: &str) -> Option<String> {
        Some(match condition {
            Condition::Always => return None,
            Condition::Exists => format!("attribute_exists({})", self.name(partition_key)),
            Condition::Absent => format!("attribute_not_exists({})", self.name(partition_key)),
            Condition::Is { name, value: None } => format!("attribute_not_exists({})", self.name(name)),
            Condition::Is { name, value: Some(value) } => {
                format!("{} = {}", self.name(name), self.value(sdk_value(value.clone())))
            }
            Condition::AbsentOr { name, value } => {
                let (name, value) = (self.name(name), self.value(sdk_value(value.clone())));
                format!("attribute_not_exists({}) OR {name} = {value}", self.name(partition_key))
            }
            Condition::LessThan { name, value } | Condition::AtMost { name, value } => {
                let than = if matches!(condition, Condition::LessThan { .. }) { "<" } else { "<=" };
                let kind = if matches!(value, AttributeValue::N(_)) { "N" } else { "S" };
                let (name, kind) = (self.name(name), self.value(SdkValue::S(kind.to_owned())));
                let value = self.value(sdk_value(value.clone()));
                format!("attribute_not_exists({name}) OR NOT attribute_type({name}, {kind}) OR {name} {than} {value}")
            }
            Condition::All(conditions) => {
                let all: Vec<String> = conditions.iter().filter_map(|one| self.condition(one, partition_key)).collect();
                if all.is_empty() {
                    return None;
                }
                all.iter().map(|one| format!("({one})")).collect::<Vec<_>>().join(" AND ")
            }
        })
    }

    pub(crate) fn update(&mut self, update: &Update) -> Option<String> {
        let set = update
            .set
            .iter()
            .map(|(name, value)| format!("{} = {}", self.name(name), self.value(sdk_value(value.clone()))));
        let set: Vec<String> = set.collect();
        let remove: Vec<String> = update.remove.iter().map(|name| self.name(name)).collect();
        let add = update.add.iter();
        let add: Vec<String> = add
            .map(|(name, more)| format!("{} {}", self.name(name), self.value(SdkValue::N(more.to_string()))))
            .collect();
        let clauses =
            [("SET", set), ("REMOVE", remove), ("ADD", add)].into_iter().filter(|(_, parts)| !parts.is_empty());
        let clauses: Vec<String> = clauses.map(|(verb, parts)| format!("{verb} {}", parts.join(", "))).collect();
        (!clauses.is_empty()).then(|| clauses.join(" "))
    }

    /// The projection always has the key attributes, because callers read an item's key from them.
    pub(crate) fn projection(&mut self, reading: &ReadOptions, schema: &Schema) -> Option<String> {
        let keys = [&schema.names().partition_key, &schema.names().sort_key];
        let wanted = reading.attributes.as_ref()?.iter().filter(|name| !keys.contains(name));
        Some(keys.into_iter().chain(wanted).map(|name| self.name(name)).collect::<Vec<_>>().join(", "))
    }

    pub(crate) fn names(&self) -> Option<HashMap<String, String>> {
        (!self.names.is_empty()).then(|| self.names.clone())
    }

    pub(crate) fn values(&self) -> Option<HashMap<String, SdkValue>> {
        (!self.values.is_empty()).then(|| self.values.clone())
    }
}

pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
