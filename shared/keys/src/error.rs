//! Errors of building and parsing keys.

use std::fmt;

/// The part of a key that an [`Error`] is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The part's position in the key, counted from 0; literals count too.
    pub index: usize,
    /// The field's name, in a key declared as a struct.
    pub field: Option<&'static str>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.field {
            Some(field) => write!(f, "part `{field}`"),
            None => write!(f, "part {} (counted from 0)", self.index),
        }
    }
}

/// Why a key can't be built or parsed. A retry doesn't help; the message says what does.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum Error {
    /// The [`Format`](super::Format) can't do this with any parts.
    #[error("the separator {separator:?} can't be used: {why}")]
    Format { separator: String, why: &'static str },

    /// The key or prefix would be empty. DynamoDB wants at least 1 byte (AWS, "Quotas in Amazon DynamoDB").
    #[error("a key has at least 1 byte: give it a part that is not empty")]
    Empty,

    /// A part contains the separator, or ends with the beginning of a separator of several characters. The key would
    /// come apart at another place.
    #[error(
        "{part} would be split by the separator {separator:?}: \
         change the part, choose another separator, or a format that escapes"
    )]
    Separator { part: Place, separator: String },

    /// A part isn't a value of the expected type.
    #[error("{part} is {found:?}, but must be {expected}")]
    Value { part: Place, found: String, expected: String },

    /// A key has more or fewer parts than keys of its kind have.
    #[error("the key has {found} parts, but must have {expected}")]
    Count { found: usize, expected: usize },

    /// The key or prefix is over the format's limit: in UTF-8 bytes, with escapes and separators. It is never cut,
    /// because two keys could become one.
    #[error(
        "the key has {bytes} bytes, over the limit of {bytes_max}: \
         shorten {longest}, the longest with {longest_bytes} bytes"
    )]
    TooLong { bytes: usize, bytes_max: usize, longest: Place, longest_bytes: usize },
}

impl Error {
    /// Returns an [`Error::Value`] for an implementation of [`Part`](super::Part). The key that the part belongs to
    /// fills in which part it is.
    pub fn value(found: impl Into<String>, expected: impl Into<String>) -> Self {
        Self::Value { part: Place::default(), found: found.into(), expected: expected.into() }
    }

    /// Returns the part that the error is about, if it is about one.
    pub fn place(&self) -> Option<Place> {
        match self {
            Self::Separator { part, .. } | Self::Value { part, .. } => Some(*part),
            Self::TooLong { longest, .. } => Some(*longest),
            Self::Format { .. } | Self::Empty | Self::Count { .. } => None,
        }
    }

    /// Returns the error with `place` as the part that it is about.
    pub(super) fn at(mut self, place: Place) -> Self {
        if let Self::Separator { part, .. } | Self::Value { part, .. } | Self::TooLong { longest: part, .. } = &mut self
        {
            *part = place;
        }
        self
    }
}
