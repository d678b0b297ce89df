//! Keeps to a rate of units a second.

use std::fmt::Write;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::ProgressState;

use crate::clock::now;

/// A rate, and when the units that were taken so far are paid.
pub(crate) struct Pace {
    units_a_second: Option<f64>,
    paid: Mutex<Instant>,
}

impl Pace {
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

/// How many of what a bar counts are done in a second, for people: indicatif's own `per_sec` has four decimals.
pub(crate) fn per_second(state: &ProgressState, to: &mut dyn Write) {
    // A bar that can't be drawn isn't missed.
    let _ = write!(to, "{:.0}/s", state.per_sec());
}
