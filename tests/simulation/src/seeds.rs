//! What a run is told by its environment: how long it is, and the seed that repeats it.

use std::ops::Range;

use rand::SeedableRng;
use rand::rngs::SmallRng;

/// A number of the environment.
///
/// # Panics
/// Where the variable is set to something else.
#[must_use]
pub fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|value| value.parse().unwrap_or_else(|_| panic!("{variable} must be a number")))
}

/// The seeds of a simulation: those below `usual`, or below `SAPWOOD_SCHEDULES` where that is set. `SAPWOOD_SEED` is
/// the first, and alone where `SAPWOOD_SCHEDULES` isn't set.
#[must_use]
pub fn seeds(usual: u64) -> Range<u64> {
    let schedules = number("SAPWOOD_SCHEDULES");
    match number("SAPWOOD_SEED") {
        Some(first) => first..first + schedules.unwrap_or(1),
        None => 0..schedules.unwrap_or(usual),
    }
}

/// Chance, from a seed that the environment may say and that is printed.
#[must_use]
pub fn chance(variable: &str) -> SmallRng {
    let any = std::time::UNIX_EPOCH.elapsed().unwrap().subsec_nanos();
    let seed = number(variable).unwrap_or(any.into());
    println!("{variable}={seed}");
    SmallRng::seed_from_u64(seed)
}
