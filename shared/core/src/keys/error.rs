//! Errors of building keys.

use thiserror::Error;

use super::SEGMENT_BYTES_MAX;

/// Why a key of the table can't be built. A key is never cut to fit.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum KeyError {
    /// A part is empty that must not be.
    #[error("{part} is empty; give it at least one character")]
    Empty {
        /// The part of the key.
        part: &'static str,
    },
    /// A part, or the whole key, is over its limit.
    #[error("{part} has {bytes} bytes, over its limit of {limit}; shorten it")]
    TooLong {
        /// The part of the key; `the sort key` or `the partition key` for a whole key.
        part: &'static str,
        /// Its length in UTF-8 bytes.
        bytes: usize,
        /// The most bytes it may have.
        limit: usize,
    },
    /// A part contains a separator of the key.
    #[error("{part} holds `{separator}`, which separates the parts of this key; leave it out")]
    Separator {
        /// The part of the key.
        part: &'static str,
        /// The separator.
        separator: char,
    },
    /// A depth outside 1 to 98.
    #[error("depth {depth} is outside 1 to {limit}", limit = super::DEPTH_MAX)]
    Depth {
        /// The depth.
        depth: usize,
    },
    /// A version outside 1 to 999,999.
    #[error("version {version} is outside 1 to {limit}", limit = super::Version::MAX)]
    Version {
        /// The version.
        version: u64,
    },
    /// A path has no segment.
    #[error("a path needs at least one segment")]
    NoSegments,
    /// Tenants are on and a partition key isn't `TENANT#<tenant>#<id>`, or a node has a tenant while tenants are off.
    #[error("with tenants {}, a node {} a tenant", if *.tenants { "on" } else { "off" }, if *.tenants { "needs" } else { "can't have" })]
    Tenancy {
        /// True if the schema has tenants on.
        tenants: bool,
    },
    /// A [`Schema`](super::Schema) can't use a name.
    #[error("`{name}` can't be the name of the {role}: {reason}")]
    Name {
        /// The use of the name.
        role: &'static str,
        /// The name.
        name: String,
        /// Why it can't be used.
        reason: &'static str,
    },
}

/// Checks that a text has 1 to [`SEGMENT_BYTES_MAX`] bytes, of any characters, as a segment of a path.
pub fn check_segment(segment: &str) -> Result<(), KeyError> {
    bounded("the segment", segment, SEGMENT_BYTES_MAX)
}

/// Checks that a text has 1 to `limit` bytes.
pub(super) fn bounded(part: &'static str, text: &str, limit: usize) -> Result<(), KeyError> {
    match text.len() {
        0 => Err(KeyError::Empty { part }),
        bytes if bytes > limit => Err(KeyError::TooLong { part, bytes, limit }),
        _ => Ok(()),
    }
}
