//! The time.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// This moment.
#[allow(clippy::disallowed_methods, reason = "a person waits for a command; nothing pure knows the time")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// A number of 19 digits that no other repair has: below every sequence number of a stream.
#[allow(clippy::disallowed_methods, reason = "the names of repairs begin with the time")]
pub(crate) fn nanoseconds() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos()
}
