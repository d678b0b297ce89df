//! The time at which a node was put into the trash, as a part of a key.

use std::sync::Arc;

/// The shape of a time: RFC 3339 in UTC, to the millisecond, `0` for any digit. Such texts sort as the times do.
const SHAPE: &[u8] = b"0000-00-00T00:00:00.000Z";

/// Sorts before all times.
const UNKNOWN: &str = "-";

/// The time at which a node was put into the trash: `2026-02-03T04:05:06.789Z`, or that nobody knows it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TrashTime(Arc<str>);

impl TrashTime {
    /// Reads a time. `None` for a text of another shape. Whether there is such a day isn't checked.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let fits = |(byte, shape): (u8, &u8)| if *shape == b'0' { byte.is_ascii_digit() } else { byte == *shape };
        (text.len() == SHAPE.len() && text.bytes().zip(SHAPE).all(fits)).then(|| Self(text.into()))
    }

    /// The time of a node whose record doesn't say when it was put into the trash. It counts as the longest ago.
    #[must_use]
    pub fn unknown() -> Self {
        Self(UNKNOWN.into())
    }

    /// Reads a time as keys and lineages have it: known or not.
    #[must_use]
    pub fn parse_any(text: &str) -> Option<Self> {
        if text == UNKNOWN { Some(Self::unknown()) } else { Self::parse(text) }
    }

    /// The time as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}
