//! Holds an answer until the handler has written the derived rows.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sapwood_core::keys::Tenant;
use sapwood_store::{Backoff, Deadline};

/// The first pause between two looks, and the longest: the fan-out takes some 100 ms on a quiet table.
const BACKOFF: Backoff = Backoff::new(40, 2_000);

/// How much of the time of a request is kept for writing its answer.
const RESERVED: Duration = Duration::from_millis(1_500);

/// After a wait in vain no request of the same tenant waits for this many seconds: the fan-out is behind, and an
/// invocation that waits takes a place that the stream handler may need. Other tenants wait: one node that can't be
/// placed would hold up all of them.
const IN_VAIN_SECONDS: u64 = 10;

/// What a process knows of waiting for the fan-out. Clones share it.
#[derive(Clone)]
pub struct Waits {
    /// The time, in seconds since 1970.
    now: Arc<dyn Fn() -> u64 + Send + Sync>,
    /// For each tenant the time before which none of its requests waits. A time that has passed is removed when another
    /// is added.
    in_vain_until: Arc<Mutex<HashMap<Option<Tenant>, u64>>>,
}

impl fmt::Debug for Waits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waits").finish_non_exhaustive()
    }
}

impl Waits {
    /// Nothing is known yet. `now` returns the time in seconds since 1970.
    pub fn new(now: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        Self { now: Arc::new(now), in_vain_until: Arc::default() }
    }

    fn are_in_vain(&self, tenant: Option<&Tenant>) -> bool {
        let until = self.in_vain_until.lock().unwrap_or_else(PoisonError::into_inner);
        until.get(&tenant.cloned()).is_some_and(|until| (self.now)() < *until)
    }

    /// A wait of this tenant was in vain.
    pub fn ended_in_vain(&self, tenant: Option<&Tenant>) {
        let now = (self.now)();
        let mut until = self.in_vain_until.lock().unwrap_or_else(PoisonError::into_inner);
        until.retain(|_, until| now < *until);
        until.insert(tenant.cloned(), now + IN_VAIN_SECONDS);
    }
}

/// One wait of a request: looks and pauses, until its time is up.
#[derive(Debug)]
pub struct Pauses {
    deadline: Deadline,
    /// What must be left of the request's time: the client's wait and that time are both measured by the deadline, the
    /// only clock here.
    end: Duration,
    pauses: u32,
    /// True if there is a wait, and not only one look.
    waits: bool,
}

impl Pauses {
    /// The wait of a request of this tenant, for so long at most. While waiting is in vain there is one look.
    #[must_use]
    pub fn new(waits: &Waits, tenant: Option<&Tenant>, deadline: Deadline, longest: Duration) -> Self {
        let longest = if waits.are_in_vain(tenant) { Duration::ZERO } else { longest };
        let end = deadline.left().saturating_sub(longest).max(RESERVED);
        Self { deadline, end, pauses: 0, waits: !longest.is_zero() }
    }

    /// Waits before the next look, if it is one for the same again. Returns false if the time is up.
    pub async fn pause(&mut self, waits: bool) -> bool {
        let left = self.deadline.left().saturating_sub(self.end);
        if left.is_zero() {
            return false;
        }
        if waits {
            tokio::time::sleep(BACKOFF.wait(self.pauses).min(left)).await;
            self.pauses += 1;
        }
        true
    }

    /// True if there was a wait, and not only one look.
    #[must_use]
    pub fn has_waited(&self) -> bool {
        self.waits
    }
}
