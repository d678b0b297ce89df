//! What a caller says of a node: all of it, or what is to change.

use std::collections::{BTreeMap, HashMap};

use super::WriteError;
use sapwood_core::keys::{Id, Schema, check_segment};
use sapwood_core::model::{AttributeValue, Item, is_reserved};

/// All that a caller says of a node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Content {
    /// Its parent; a root has none.
    pub parent: Option<Id>,
    /// Its name inside a path, where that isn't the id.
    pub segment: Option<String>,
    /// The caller's own attributes.
    pub attributes: Item,
}

/// What is to change in a node (RFC 7396). What isn't named stays as it is, in value and type.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Patch {
    /// The parent: a new one, or none (a root).
    pub parent: Option<Option<Id>>,
    /// The segment: a new one, or none.
    pub segment: Option<Option<String>>,
    /// Whether all attributes go first (`"attributes": null`).
    pub clear: bool,
    /// The attributes.
    pub attributes: BTreeMap<String, ValueChange>,
}

/// What becomes of a value.
#[derive(Clone, Debug, PartialEq)]
pub enum ValueChange {
    /// It goes.
    Remove,
    /// Another takes its place.
    Set(AttributeValue),
    /// A map, of which some values change. What is no map counts as an empty one.
    Merge(BTreeMap<String, ValueChange>),
}

impl Content {
    pub(super) fn check(&self, schema: &Schema) -> Result<(), WriteError> {
        self.segment.iter().try_for_each(|segment| check_segment(segment))?;
        check_names(self.attributes.keys(), is_free, schema)
    }
}

impl Patch {
    pub(super) fn check(&self, schema: &Schema) -> Result<(), WriteError> {
        self.segment.iter().flatten().try_for_each(|segment| check_segment(segment))?;
        check_names(self.attributes.keys(), is_free, schema)
    }

    /// What the attributes that are the caller's own become. `None`: that one goes.
    pub(super) fn changes(&self, before: &Item, schema: &Schema) -> BTreeMap<String, Option<AttributeValue>> {
        let own = |name: &&String| is_free(name, schema);
        let cleared = before.keys().filter(own).filter(|_| self.clear).map(|name| (name.clone(), None));
        let mut changes: BTreeMap<_, _> = cleared.collect();
        for (name, change) in &self.attributes {
            let value = before.get(name).filter(|_| !self.clear);
            changes.insert(name.clone(), change.of(value));
        }
        changes.retain(|name, value| before.get(name) != value.as_ref());
        changes
    }
}

impl ValueChange {
    /// What becomes of a value.
    #[must_use]
    pub fn of(&self, value: Option<&AttributeValue>) -> Option<AttributeValue> {
        let changes = match self {
            Self::Remove => return None,
            Self::Set(value) => return Some(value.clone()),
            Self::Merge(changes) => changes,
        };
        let mut map = match value {
            Some(AttributeValue::M(map)) => map.clone(),
            _ => HashMap::new(),
        };
        for (name, change) in changes {
            match change.of(map.get(name)) {
                Some(value) => map.insert(name.clone(), value),
                None => map.remove(name),
            };
        }
        Some(AttributeValue::M(map))
    }
}

/// Returns true if a caller can give a node an attribute of this name.
fn is_free(name: &str, schema: &Schema) -> bool {
    let names = schema.names();
    !is_reserved(name, schema) && *name != names.parent && *name != names.segment
}

/// Checks that a revision can have these attributes. A revision's `parent` is a name like any other.
pub(super) fn check_revision(attributes: &Item, schema: &Schema) -> Result<(), WriteError> {
    check_names(attributes.keys(), |name, schema| !is_reserved(name, schema), schema)
}

fn check_names<'a>(
    mut names: impl Iterator<Item = &'a String>,
    is_free: impl Fn(&str, &Schema) -> bool,
    schema: &Schema,
) -> Result<(), WriteError> {
    names.find(|name| !is_free(name, schema)).map_or(Ok(()), |name| Err(WriteError::ReservedName(name.clone())))
}
