//! Keeps to a rate of units a second.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::clock::now;

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
        let mut paid = self.paid.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        *paid = (*paid).max(begun) + Duration::from_secs_f64(units / rate);
        paid.saturating_duration_since(begun)
    }
}
