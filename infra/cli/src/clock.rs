//! The time.

use std::time::Instant;

/// This moment.
#[allow(clippy::disallowed_methods, reason = "a person waits for a command; nothing pure knows the time")]
pub(crate) fn now() -> Instant {
    Instant::now()
}
