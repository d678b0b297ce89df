//! Bodies: objects of known fields.

use sapwood_core::keys::Id;
use serde_json::value::RawValue;

use super::read::{Members, members, string};
use super::{JsonError, Place};

/// What can be read off a body, or off a field of one.
pub trait FromJson: Sized {
    /// What it is, for whoever sends something else: "an object …".
    const WANTED: &'static str;

    /// Reads it; `at` is where in the body it stands.
    ///
    /// # Errors
    /// [`JsonError`] with the place.
    fn from_json(raw: &RawValue, at: &Place<'_>) -> Result<Self, JsonError>;
}

/// The fields of an object, taken one after another; what is left in the end is unknown.
pub(crate) struct Fields<'a> {
    members: Members<'a>,
    at: &'a Place<'a>,
}

impl<'a> Fields<'a> {
    pub(crate) fn open(raw: &'a RawValue, at: &'a Place<'a>, wanted: &'static str) -> Result<Self, JsonError> {
        Ok(Self { members: members(raw, at, wanted)?, at })
    }

    /// A field that may be left out.
    pub(crate) fn optional<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&RawValue, &Place<'_>) -> Result<T, JsonError>,
    ) -> Result<Option<T>, JsonError> {
        self.members.remove(name).map(|raw| read(raw, &Place::Member(self.at, name))).transpose()
    }

    /// A field that must be there; the remedy says how to go on without it.
    pub(crate) fn required<T>(
        &mut self,
        name: &str,
        remedy: &'static str,
        read: impl FnOnce(&RawValue, &Place<'_>) -> Result<T, JsonError>,
    ) -> Result<T, JsonError> {
        let missing = || JsonError::Missing { path: Place::Member(self.at, name).to_string(), remedy };
        let raw = self.members.remove(name).ok_or_else(missing)?;
        read(raw, &Place::Member(self.at, name))
    }

    /// How many are left.
    pub(crate) fn len(&self) -> usize {
        self.members.len()
    }

    /// That there are no others.
    pub(crate) fn close(self) -> Result<(), JsonError> {
        match self.members.first_key_value() {
            Some((name, _)) => Err(JsonError::Unknown { path: Place::Member(self.at, name).to_string() }),
            None => Ok(()),
        }
    }
}

/// A field's value, of whatever type.
pub(crate) fn value<T: FromJson>(raw: &RawValue, at: &Place<'_>) -> Result<T, JsonError> {
    T::from_json(raw, at)
}

/// A value, or null for none.
pub(crate) fn or_null<T>(
    read: impl FnOnce(&RawValue, &Place<'_>) -> Result<T, JsonError>,
) -> impl FnOnce(&RawValue, &Place<'_>) -> Result<Option<T>, JsonError> {
    |raw, at| if raw.get() == "null" { Ok(None) } else { read(raw, at).map(Some) }
}

/// A text.
pub(crate) fn text(raw: &RawValue, at: &Place<'_>) -> Result<String, JsonError> {
    string(raw, at)
}

/// An id that a key can hold.
pub(crate) fn id(raw: &RawValue, at: &Place<'_>) -> Result<Id, JsonError> {
    Id::new(string(raw, at)?).map_err(|source| JsonError::Key { path: at.to_string(), source })
}
