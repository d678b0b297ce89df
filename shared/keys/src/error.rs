//! Why a key was not built, or not understood.

use std::fmt;

/// Which part of a key an [`Error`] is about.
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

/// Why a key was not built, or not understood. Trying again doesn't help: the message
/// says what would.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The [`Format`](super::Format) can't do what was asked, whatever the parts are.
    #[error("the separator {separator:?} won't do: {why}")]
    Format {
        /// The format's separator.
        separator: String,
        /// What is wrong with it, and what would be right.
        why: &'static str,
    },

    /// The key or prefix would be empty, which DynamoDB refuses: minimum 1 byte (AWS,
    /// "Quotas in Amazon DynamoDB").
    #[error("a key has at least 1 byte: give it a part that is not empty")]
    Empty,

    /// A part has the separator in it, or ends with the beginning of a separator of
    /// several characters, so that the key would come apart elsewhere.
    #[error(
        "{part} would be split by the separator {separator:?}: \
         change the part, choose another separator, or a format that escapes"
    )]
    Separator {
        /// The part at fault.
        part: Place,
        /// The format's separator.
        separator: String,
    },

    /// A part is no value of the kind that belongs there.
    #[error("{part} is {found:?}, but must be {expected}")]
    Value {
        /// The part at fault.
        part: Place,
        /// What it is.
        found: String,
        /// What belongs there.
        expected: String,
    },

    /// A key has more or fewer parts than its kind.
    #[error("the key has {found} parts, but must have {expected}")]
    Count {
        /// How many parts it has.
        found: usize,
        /// How many it must have.
        expected: usize,
    },

    /// The key or prefix is over the format's limit. It is not cut: two keys could
    /// become one.
    #[error(
        "the key has {bytes} bytes, over the limit of {bytes_max}: \
         shorten {longest}, the longest with {longest_bytes} bytes"
    )]
    TooLong {
        /// Its length in UTF-8 bytes, escapes and separators included.
        bytes: usize,
        /// The limit in bytes.
        bytes_max: usize,
        /// The longest part.
        longest: Place,
        /// Its length in bytes, escapes included.
        longest_bytes: usize,
    },
}

impl Error {
    /// An [`Error::Value`] for a [`Part`](super::Part) to return; which part it is gets
    /// filled in by the key it belongs to.
    pub fn value(found: impl Into<String>, expected: impl Into<String>) -> Self {
        Self::Value { part: Place::default(), found: found.into(), expected: expected.into() }
    }

    /// The part that the error is about, if it is about one.
    pub fn place(&self) -> Option<Place> {
        match self {
            Self::Separator { part, .. } | Self::Value { part, .. } => Some(*part),
            Self::TooLong { longest, .. } => Some(*longest),
            Self::Format { .. } | Self::Empty | Self::Count { .. } => None,
        }
    }

    /// The same error, about the part at `place`.
    pub(super) fn at(mut self, place: Place) -> Self {
        if let Self::Separator { part, .. } | Self::Value { part, .. } | Self::TooLong { longest: part, .. } = &mut self
        {
            *part = place;
        }
        self
    }
}
