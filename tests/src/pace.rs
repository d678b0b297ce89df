//! The pace of this machine, for tests that hold a duration: other processes may leave a test a part of a processor.

use std::fs;
use std::time::{Duration, Instant};

/// How many ticks of a processor's time a measurement takes. A tick is 10 ms.
const TICKS: u64 = 5;

/// How many ticks of a processor this thread has had; `None` where the system doesn't say.
fn ticks() -> Option<u64> {
    let stat = fs::read_to_string("/proc/thread-self/stat").ok()?;
    // The second field, a name, can have blanks.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_ascii_whitespace().collect();
    Some(fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?)
}

/// True if no more time has passed than a quiet machine needs at most, or as many times that as this one is slower now.
#[must_use]
pub fn is_within(begun: Instant, most: Duration) -> bool {
    begun.elapsed() < most || begun.elapsed() < most.mul_f64(slowness())
}

/// How many times as long a computation takes as it would alone: 1 on a quiet machine.
#[must_use]
#[allow(clippy::disallowed_methods, reason = "the pace is a time by the clock")]
pub fn slowness() -> f64 {
    let (Some(first), began) = (ticks(), Instant::now()) else { return 1.0 };
    loop {
        let had = ticks().unwrap_or(first + TICKS) - first;
        if had >= TICKS {
            return (began.elapsed().as_secs_f64() * 100.0 / had as f64).max(1.0);
        }
    }
}
