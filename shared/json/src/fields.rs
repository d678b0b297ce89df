//! Objects with known fields: bodies and parts of them.

use sapwood_core::keys::Id;
use serde_json::value::RawValue;

use super::read::{Members, members, text};
use super::{JsonError, Place};

/// A type that can be read from JSON.
pub trait FromJson: Sized {
    /// The wanted JSON, as an error says it: "an object …".
    const WANTED: &'static str;

    /// Reads the JSON at this place in the body. The error has the place of the mistake.
    fn from_json(raw: &RawValue, at: &Place<'_>) -> Result<Self, JsonError>;
}

/// The fields of an object that haven't been read yet. Those that are left in the end are unknown.
pub struct Fields<'a> {
    members: Members<'a>,
    at: &'a Place<'a>,
}

impl<'a> Fields<'a> {
    /// Reads the members of an object; `wanted` says what the JSON must be. Fails for others, or a name that comes
    /// twice.
    pub fn open(raw: &'a RawValue, at: &'a Place<'a>, wanted: &'static str) -> Result<Self, JsonError> {
        Ok(Self { members: members(raw, at, wanted)?, at })
    }

    /// Reads a field that may be absent. Fails as `read` does.
    pub fn optional<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&RawValue, &Place<'_>) -> Result<T, JsonError>,
    ) -> Result<Option<T>, JsonError> {
        self.members.remove(name).map(|raw| read(raw, &Place::Member(self.at, name))).transpose()
    }

    /// Reads a field that must be there; else the error has the `remedy`. Fails as `read` does.
    pub fn required<T>(
        &mut self,
        name: &str,
        remedy: &'static str,
        read: impl FnOnce(&RawValue, &Place<'_>) -> Result<T, JsonError>,
    ) -> Result<T, JsonError> {
        let missing = || JsonError::Missing { path: Place::Member(self.at, name).to_string(), remedy };
        let raw = self.members.remove(name).ok_or_else(missing)?;
        read(raw, &Place::Member(self.at, name))
    }

    /// The number of fields that haven't been read.
    #[must_use]
    pub fn left(&self) -> usize {
        self.members.len()
    }

    /// Refuses fields that haven't been read.
    pub fn close(self) -> Result<(), JsonError> {
        match self.members.first_key_value() {
            Some((name, _)) => Err(JsonError::Unknown { path: Place::Member(self.at, name).to_string() }),
            None => Ok(()),
        }
    }
}

/// Reads a value of any type. Fails as the type does.
pub fn value<T: FromJson>(raw: &RawValue, at: &Place<'_>) -> Result<T, JsonError> {
    T::from_json(raw, at)
}

/// Reads a value, or null as `None`.
pub fn or_null<T>(
    read: impl FnOnce(&RawValue, &Place<'_>) -> Result<T, JsonError>,
) -> impl FnOnce(&RawValue, &Place<'_>) -> Result<Option<T>, JsonError> {
    |raw, at| if raw.get() == "null" { Ok(None) } else { read(raw, at).map(Some) }
}

/// Reads an id. Fails if the value is no text, or no key can hold it.
pub fn id(raw: &RawValue, at: &Place<'_>) -> Result<Id, JsonError> {
    Id::new(text(raw, at)?).map_err(|source| JsonError::Key { path: at.to_string(), source })
}
