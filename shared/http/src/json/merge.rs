//! Merge patches (RFC 7396).

use std::collections::{BTreeMap, HashMap};

use sapwood_core::keys::Schema;
use sapwood_core::model::{AttributeValue, Item};
use serde_json::value::RawValue;

use super::names::{self, Record};
use super::read::{NESTED_MAX, Object, below, check_name, members, object, value};
use super::{FromJson, JsonError, Place};

/// What a merge patch does to the attributes it names; all others keep value and type.
///
/// As the RFC has it, null removes, an object merges into the map that is there, and whatever else takes the place of what
/// is there. So a patch can't set an attribute to NULL; a PUT can. Within a list null is NULL, since lists are replaced as
/// a whole. `{"$set": …}` and `{"$binary": …}` are values; the names in `{"$map": {…}}` merge as they stand.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MergePatch(pub BTreeMap<String, Change>);

/// What becomes of one attribute.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// It goes.
    Remove,
    /// It gets this value.
    Set(AttributeValue),
    /// It is a map, or becomes one, and this is done to what is in it.
    Merge(MergePatch),
}

impl MergePatch {
    /// Does it.
    pub fn apply(&self, item: &mut Item) {
        for (name, change) in &self.0 {
            let old = item.remove(name);
            if let Some(new) = change.apply(old) {
                item.insert(name.clone(), new);
            }
        }
    }

    /// Whether a node can have these attributes changed.
    ///
    /// # Errors
    /// [`JsonError::Reserved`] for a name that isn't the user's to give, or to remove.
    pub fn check(&self, schema: &Schema) -> Result<(), JsonError> {
        names::check(self.0.keys(), Record::Node, schema)
    }

    fn read(members: BTreeMap<String, &RawValue>, at: &Place<'_>, levels: usize) -> Result<Self, JsonError> {
        let mut changes = BTreeMap::new();
        for (name, raw) in members {
            let at = Place::Member(at, &name);
            check_name(&name, &at)?;
            let change = Change::read(raw, &at, levels)?;
            changes.insert(name, change);
        }
        Ok(Self(changes))
    }
}

impl FromJson for MergePatch {
    const WANTED: &'static str = "an object of attributes (null removes one; name each that is to go)";

    fn from_json(raw: &RawValue, at: &Place<'_>) -> Result<Self, JsonError> {
        Self::read(members(raw, at, Self::WANTED)?, at, NESTED_MAX)
    }
}

impl Change {
    fn read(raw: &RawValue, at: &Place<'_>, levels: usize) -> Result<Self, JsonError> {
        match raw.get().as_bytes().first() {
            Some(b'n') => Ok(Self::Remove),
            Some(b'{') => match object(raw, at)? {
                Object::Binary(bytes) => Ok(Self::Set(AttributeValue::B(bytes))),
                Object::Set(set) => Ok(Self::Set(set)),
                Object::Map(members) => MergePatch::read(members, at, below(levels, at)?).map(Self::Merge),
            },
            _ => value(raw, at, levels).map(Self::Set),
        }
    }

    fn apply(&self, old: Option<AttributeValue>) -> Option<AttributeValue> {
        match self {
            Self::Remove => None,
            Self::Set(value) => Some(value.clone()),
            Self::Merge(MergePatch(changes)) => {
                let mut map = if let Some(AttributeValue::M(map)) = old { map } else { HashMap::new() };
                for (name, change) in changes {
                    let old = map.remove(name);
                    if let Some(new) = change.apply(old) {
                        map.insert(name.clone(), new);
                    }
                }
                Some(AttributeValue::M(map))
            }
        }
    }
}
