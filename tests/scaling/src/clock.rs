//! A clock for the handler: it moves on when everybody waits. On it a request takes a tick, or a table has little
//! bandwidth.

use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

use sapwood_core::plan::WritesKind;
use sapwood_simulation::intercept::{Observer, Request};
use sapwood_simulation::memory::{Admission, Admitted};
use sapwood_store::{RetryPolicy, Write};

use crate::table::{Partitions, place_of};
use crate::work::mixed;

/// The ticks of an invocation. Where requests wait for bandwidth, a tick is a second.
pub const INVOCATION: u64 = 60;

/// The shares of an invocation in which rows are put while others wait, in which they are put, and in which they are
/// deleted: those of `sapwood_store::Deadline`, which reads a real clock.
const SHARES: [f64; 3] = [0.3, 0.6, 0.8];

/// The clock.
#[derive(Clone, Debug, Default)]
pub struct Clock(Arc<Mutex<(u64, Vec<Waker>)>>);

#[derive(Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Clock {
    /// The ticks so far.
    #[must_use]
    pub fn now(&self) -> u64 {
        self.0.lock().unwrap().0
    }

    /// Waits for so many ticks.
    pub async fn sleep(&self, ticks: u64) {
        let until = self.now() + ticks;
        std::future::poll_fn(|context| {
            let mut clock = self.0.lock().unwrap();
            if clock.0 >= until {
                return Poll::Ready(());
            }
            clock.1.push(context.waker().clone());
            Poll::Pending
        })
        .await;
    }

    /// Runs a future to its end. Whenever all of it waits, a tick passes.
    pub fn run<F: Future>(&self, future: F) -> F::Output {
        let (mut future, woken) = (pin!(future), Arc::new(Woken::default()));
        let waker = Waker::from(Arc::clone(&woken));
        loop {
            if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
                return output;
            }
            if !woken.0.swap(false, Ordering::Relaxed) {
                let mut clock = self.0.lock().unwrap();
                clock.0 += 1;
                // Nobody is always the first.
                let now = clock.0;
                let order = |(n, waker)| (mixed((now << 32) | n as u64), waker);
                let mut waiting: Vec<_> = clock.1.drain(..).enumerate().map(order).collect();
                drop(clock);
                waiting.sort_unstable_by_key(|(order, _)| *order);
                waiting.into_iter().for_each(|(_, waker)| waker.wake());
            }
        }
    }
}

/// Has every request take one tick.
#[derive(Clone, Debug, Default)]
pub struct Latency(pub Clock);

impl Observer for Latency {
    async fn before(&self, _request: &Request<'_>) {
        self.0.sleep(1).await;
    }
}

/// The bandwidth of a table's partitions.
#[derive(Debug)]
pub struct Bandwidth {
    clock: Clock,
    partitions: Partitions,
    units: usize,
    /// The tick, what each partition has left of it, and all that was written.
    left: Mutex<(u64, Vec<usize>, usize)>,
}

impl Bandwidth {
    /// Each of these partitions takes so many units a tick.
    #[must_use]
    pub fn new(clock: &Clock, partitions: &Partitions, units: usize) -> Self {
        let left = Mutex::new((0, vec![units; partitions.count()], 0));
        Self { clock: clock.clone(), partitions: partitions.clone(), units, left }
    }

    /// The units that were written.
    #[must_use]
    pub fn written(&self) -> usize {
        self.left.lock().unwrap().2
    }
}

impl Admission for Bandwidth {
    /// Admits the writes whose partitions have room, and leaves the others unprocessed.
    fn admit(&self, writes: &[Write]) -> Admitted {
        let mut left = self.left.lock().unwrap();
        let now = self.clock.now();
        if left.0 != now {
            (left.0, left.1) = (now, vec![self.units; self.partitions.count()]);
        }
        let has_room = |write: &&Write| {
            let room = &mut left.1[self.partitions.of(&place_of(write.key()))];
            let fits = *room > 0;
            *room -= usize::from(fits);
            fits
        };
        let (done, unprocessed): (Vec<&Write>, Vec<&Write>) = writes.iter().partition(has_room);
        left.2 += done.len();
        Admitted { done: done.into_iter().cloned().collect(), unprocessed: unprocessed.into_iter().cloned().collect() }
    }
}

/// An invocation that began at this tick.
#[derive(Debug)]
pub struct Invocation<'a>(pub &'a Clock, pub u64);

impl RetryPolicy for Invocation<'_> {
    async fn wait(&self, _attempt: u32) -> bool {
        self.0.sleep(1).await;
        self.0.now() < self.1 + INVOCATION
    }

    fn has_time_for(&self, kind: WritesKind) -> bool {
        let share = match kind {
            WritesKind::Meanwhile { .. } => SHARES[0],
            WritesKind::FirstRows => SHARES[1],
            WritesKind::SecondRows | WritesKind::Touches => SHARES[2],
            WritesKind::Lineages => return true,
        };
        ((self.0.now() - self.1) as f64) < INVOCATION as f64 * share
    }
}
