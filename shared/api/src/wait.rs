//! Holds an answer until the handler has written the derived rows.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sapwood_core::keys::{NodeRef, Tenant};
use sapwood_engine::query::{Derived, Reader};
use sapwood_store::clock::{since_1970, sleep};
use sapwood_store::{Backoff, Deadline, RetryPolicy, Table};

/// The first pause between two looks, and the longest: the fan-out takes some 100 ms on a quiet table.
const BACKOFF: Backoff = Backoff::new(40, 2_000);

/// How much of the time of a request is kept for writing its answer.
const RESERVED: Duration = Duration::from_millis(1_500);

/// After a wait in vain no request of the tenant waits for this many seconds: the fan-out is behind, and a waiting
/// invocation takes a place that the stream handler may need.
const IN_VAIN_SECONDS: u64 = 10;

/// How long a request that waits for changes pauses between two looks.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Keeps for each tenant whether waiting for the fan-out is in vain, and for each tree whether waiting for changes
/// is. Clones share it.
#[derive(Clone)]
pub struct Waits {
    /// The time, in seconds since 1970.
    now: Arc<dyn Fn() -> u64 + Send + Sync>,
    /// The time before which no request of a tenant waits for the fan-out, or none for changes of a tree. Past times
    /// are removed when one is added.
    in_vain_until: Arc<Mutex<HashMap<WaitFor, u64>>>,
}

/// What requests wait for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum WaitFor {
    FanOut(Option<Tenant>),
    Changes(NodeRef),
}

impl Waits {
    /// Makes it before any wait. `now` returns the time in seconds since 1970.
    pub fn new(now: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        Self { now: Arc::new(now), in_vain_until: Arc::default() }
    }

    /// Makes it before any wait, with the clock of this machine.
    #[must_use]
    pub fn system() -> Self {
        Self::new(|| since_1970().as_secs())
    }

    pub(crate) fn is_in_vain(&self, wait: &WaitFor) -> bool {
        let until = self.in_vain_until.lock().unwrap_or_else(PoisonError::into_inner);
        until.get(wait).is_some_and(|until| (self.now)() < *until)
    }

    pub(crate) fn was_in_vain(&self, wait: WaitFor) {
        let now = (self.now)();
        let mut until = self.in_vain_until.lock().unwrap_or_else(PoisonError::into_inner);
        until.retain(|_, until| now < *until);
        until.insert(wait, now + IN_VAIN_SECONDS);
    }
}

/// The pauses of one wait, until its time is up.
#[derive(Debug)]
pub struct Pauses {
    deadline: Deadline,
    /// The part of the deadline's time that the wait leaves: the deadline is the only clock here.
    left_over: Duration,
    pauses: u32,
}

impl Pauses {
    /// The pauses of a wait that begins now and takes so long at most.
    #[must_use]
    pub fn lasting(longest: Duration) -> Self {
        Self { deadline: Deadline::after(longest), left_over: Duration::ZERO, pauses: 0 }
    }

    /// The pauses of a wait that takes so long at most, and leaves time for the answer before the deadline.
    #[must_use]
    pub fn within(deadline: Deadline, longest: Duration) -> Self {
        let left_over = deadline.left().saturating_sub(longest).max(RESERVED);
        Self { deadline, left_over, pauses: 0 }
    }

    /// Waits before the next look for changes. Returns false if the time is up.
    pub(crate) async fn pause_for_changes(&mut self) -> bool {
        let is_time = self.deadline.left().saturating_sub(self.left_over) >= LOOK_EVERY;
        if is_time {
            sleep(LOOK_EVERY).await;
        }
        is_time
    }

    /// Waits before the next look, if it looks at the same again (`repeats`). Returns false if the time is up.
    pub async fn pause(&mut self, repeats: bool) -> bool {
        let left = self.deadline.left().saturating_sub(self.left_over);
        if left.is_zero() {
            return false;
        }
        if repeats {
            sleep(BACKOFF.wait(self.pauses).min(left)).await;
            self.pauses += 1;
        }
        true
    }
}

/// Looks until all of this is derived. Returns what isn't when the time is up.
pub async fn missing<'d, T: Table, P: RetryPolicy>(
    derived: &'d [Derived],
    reader: &Reader<'_, T, P>,
    tenant: Option<&Tenant>,
    pauses: &mut Pauses,
) -> Option<&'d Derived> {
    for of in derived {
        let mut watch = of.watch();
        // A read that fails counts as one that came too early.
        while !watch.is_right(reader, tenant).await.unwrap_or(false) {
            if !pauses.pause(!watch.is_cut).await {
                return Some(of);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_wait_goes_on_at_once_after_a_look_that_was_cut_and_ends_in_time() {
        let (mut pauses, mut looks) = (Pauses::lasting(Duration::from_secs(1)), 0);
        while looks < 100_000 && pauses.pause(false).await {
            looks += 1;
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert!((20..100_000).contains(&looks), "{looks} looks");
    }

    #[tokio::test]
    async fn a_wait_pauses_before_it_looks_at_the_same_again() {
        let (mut pauses, mut looks) = (Pauses::lasting(Duration::from_secs(1)), 0);
        while pauses.pause(true).await {
            looks += 1;
        }
        assert!((2..20).contains(&looks), "{looks} looks");
        let mut pauses = Pauses::within(Deadline::after(Duration::from_secs(1)), Duration::from_secs(10));
        assert!(!pauses.pause(true).await, "no time is left for the answer");
    }
}
