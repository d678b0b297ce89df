//! Errors of building keys.

use thiserror::Error;

use super::SEGMENT_BYTES_MAX;

/// Why a key of the table can't be built. A key is never cut to fit.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum KeyError {
    /// A part is empty that must not be.
    #[error("{part} is empty; give it at least one character")]
    Empty { part: &'static str },
    /// A part, or the whole key, has more UTF-8 bytes than it may have.
    #[error("{part} has {bytes} bytes, over its limit of {limit}; shorten it")]
    TooLong { part: &'static str, bytes: usize, limit: usize },
    /// A part contains a separator of the key.
    #[error("{part} holds `{separator}`, which separates the parts of this key; leave it out")]
    Separator { part: &'static str, separator: char },
    /// A depth outside 1 to 98.
    #[error("depth {depth} is outside 1 to {limit}", limit = super::DEPTH_MAX)]
    Depth { depth: usize },
    /// A version outside 1 to 999,999.
    #[error("version {version} is outside 1 to {limit}", limit = super::Version::MAX)]
    Version { version: u64 },
    /// A path has no segment.
    #[error("a path needs at least one segment")]
    NoSegments,
    /// Tenants are on and a partition key isn't `TENANT#<tenant>#<id>`, or a node has a tenant while tenants are off.
    #[error("with tenants {}, a node {} a tenant", if *.tenants { "on" } else { "off" }, if *.tenants { "needs" } else { "can't have" })]
    Tenancy { tenants: bool },
    /// A [`Schema`](super::Schema) can't use a name.
    #[error("`{name}` can't be the name of the {role}: {reason}")]
    Name { role: &'static str, name: String, reason: &'static str },
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
