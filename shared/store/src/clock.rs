//! The clock of deadlines, pauses and stamps: tokio's and the system's. WebAssembly has neither. There the time is
//! given in, and whoever runs a future polls it again as the time goes on.

#[cfg(target_family = "wasm")]
pub use given::{Instant, advance, since_1970, sleep};
#[cfg(not(target_family = "wasm"))]
pub use tokio::time::{Instant, sleep};

/// This moment.
#[must_use]
#[allow(clippy::disallowed_methods, reason = "a deadline is a moment of the clock; nothing pure knows it")]
pub fn now() -> Instant {
    Instant::now()
}

/// The time since 1970.
#[must_use]
#[cfg(not(target_family = "wasm"))]
#[allow(clippy::disallowed_methods, reason = "an entry has the time at which it is sent")]
pub fn since_1970() -> std::time::Duration {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default()
}

#[cfg(target_family = "wasm")]
mod given {
    use std::ops::Add;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
    use std::task::Poll;
    use std::time::Duration;

    static NOW_MS: AtomicU64 = AtomicU64::new(0);

    /// Gives the time, in milliseconds since 1970. It doesn't go back.
    pub fn advance(now_ms: u64) {
        NOW_MS.fetch_max(now_ms, Relaxed);
    }

    /// The time since 1970 that was given last.
    #[must_use]
    pub fn since_1970() -> Duration {
        Duration::from_millis(NOW_MS.load(Relaxed))
    }

    /// A moment.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub struct Instant(Duration);

    impl Instant {
        /// This moment.
        #[must_use]
        pub fn now() -> Self {
            Self(since_1970())
        }

        /// The time since an earlier moment; nothing if it is later.
        #[must_use]
        pub fn saturating_duration_since(&self, earlier: Self) -> Duration {
            self.0.saturating_sub(earlier.0)
        }
    }

    impl Add<Duration> for Instant {
        type Output = Self;

        fn add(self, time: Duration) -> Self {
            Self(self.0.saturating_add(time))
        }
    }

    /// Waits for so long. It wakes nobody: it is ready when it is polled again after that time.
    pub fn sleep(time: Duration) -> impl Future<Output = ()> + Send {
        let end = Instant::now() + time;
        std::future::poll_fn(move |_| if Instant::now() < end { Poll::Pending } else { Poll::Ready(()) })
    }
}
