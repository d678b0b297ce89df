//! Why a key can't be built.

use thiserror::Error;

use super::SEGMENT_BYTES_MAX;

/// Why a key of the table can't be built. A key is never cut to fit.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum KeyError {
    /// A part that must not be empty is.
    #[error("{part} is empty; give it at least one character")]
    Empty {
        /// Which part of the key.
        part: &'static str,
    },
    /// A part, or the key as a whole, is over its limit.
    #[error("{part} has {bytes} bytes, over its limit of {limit}; shorten it")]
    TooLong {
        /// Which part of the key, or `sort key` or `partition key` for the whole of it.
        part: &'static str,
        /// Its length in bytes of UTF-8.
        bytes: usize,
        /// The most bytes it may have.
        limit: usize,
    },
    /// A part holds a character that would be read as a separator.
    #[error("{part} holds `{separator}`, which separates the parts of this key; leave it out")]
    Separator {
        /// Which part of the key.
        part: &'static str,
        /// The separator.
        separator: char,
    },
    /// A depth outside 1 to 98.
    #[error("depth {depth} is outside 1 to {limit}", limit = super::DEPTH_MAX)]
    Depth {
        /// The depth asked for.
        depth: usize,
    },
    /// A version outside 1 to 999,999.
    #[error("version {version} is outside 1 to {limit}", limit = super::Version::MAX)]
    Version {
        /// The version asked for.
        version: u64,
    },
    /// A path with no segment.
    #[error("a path needs at least one segment")]
    NoSegments,
    /// Tenants are on, and a partition key isn't `TENANT#<tenant>#<id>`; or a node's tenant doesn't fit the switch.
    #[error("with tenants {}, a node {} a tenant", if *.tenants { "on" } else { "off" }, if *.tenants { "needs" } else { "can't have" })]
    Tenancy {
        /// Whether the schema has tenants on.
        tenants: bool,
    },
    /// A name in a [`Schema`](super::Schema) that can't be used.
    #[error("`{name}` can't be the name of the {role}: {reason}")]
    Name {
        /// What it was to name.
        role: &'static str,
        /// The name.
        name: String,
        /// Why not.
        reason: &'static str,
    },
}

/// Checks that a text can be a segment of a path: 1 to [`SEGMENT_BYTES_MAX`] bytes of any characters.
///
/// # Errors
/// [`KeyError::Empty`] or [`KeyError::TooLong`].
pub fn check_segment(segment: &str) -> Result<(), KeyError> {
    bounded("the segment", segment, SEGMENT_BYTES_MAX)
}

/// `text` unless it is empty or longer than `limit` bytes.
pub(super) fn bounded(part: &'static str, text: &str, limit: usize) -> Result<(), KeyError> {
    match text.len() {
        0 => Err(KeyError::Empty { part }),
        bytes if bytes > limit => Err(KeyError::TooLong { part, bytes, limit }),
        _ => Ok(()),
    }
}
