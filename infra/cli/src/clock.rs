//! The time, and a rate of units a second.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

#[allow(clippy::disallowed_methods, reason = "a person waits for a command; nothing pure knows the time")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// A number of 19 digits that no other repair has: below every sequence number of a stream.
#[allow(clippy::disallowed_methods, reason = "the names of repairs begin with the time")]
pub(crate) fn nanoseconds() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos()
}

/// The time in seconds since 1970.
#[allow(clippy::disallowed_methods, reason = "a person asks how old something is; nothing pure knows the time")]
pub(crate) fn seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// A rate, and when the units that were taken so far are paid.
pub(crate) struct RateLimit {
    units_a_second: Option<f64>,
    paid: Mutex<Instant>,
}

impl RateLimit {
    pub(crate) fn new(units_a_second: Option<f64>) -> Self {
        Self { units_a_second: units_a_second.filter(|rate| *rate > 0.0), paid: Mutex::new(now()) }
    }

    /// Takes units that were used, and returns how long to wait until they are paid.
    pub(crate) fn take(&self, units: f64) -> Duration {
        let Some(rate) = self.units_a_second else { return Duration::ZERO };
        let begun = now();
        let mut paid = self.paid.lock().unwrap_or_else(PoisonError::into_inner);
        *paid = (*paid).max(begun) + Duration::from_secs_f64(units / rate);
        paid.saturating_duration_since(begun)
    }
}
