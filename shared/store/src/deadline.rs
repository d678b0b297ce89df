//! The deadline of an invocation, as a retry policy.

use std::time::Duration;

use super::clock::{Instant, now, sleep};
use super::{Backoff, RetryPolicy};

/// The moment after which no request is sent any more.
#[derive(Clone, Copy, Debug)]
pub struct Deadline {
    /// The whole time, of an invocation whose time has shares.
    whole: Option<Duration>,
    end: Instant,
}

const BACKOFF: Backoff = Backoff::new(25, 2_000);

/// How long a request whose connection was cut may still be carried out. It is on its way, or in a queue.
pub const LATE: Duration = Duration::from_secs(2);

impl Deadline {
    /// The deadline of a request, which ends at this moment.
    #[must_use]
    pub fn at(end: Instant) -> Self {
        Self { whole: None, end }
    }

    /// The deadline of an invocation that begins now and has so much time.
    #[must_use]
    pub fn after(left: Duration) -> Self {
        Self { whole: Some(left), end: now() + left }
    }

    /// The moment after which nothing is sent any more.
    #[must_use]
    pub fn end(self) -> Instant {
        self.end
    }

    /// The time that is left.
    #[must_use]
    pub fn left(self) -> Duration {
        self.end.saturating_duration_since(now())
    }
}

impl RetryPolicy for Deadline {
    async fn wait(&self, attempt: u32) -> bool {
        let wait = BACKOFF.jittered(attempt);
        if wait >= self.left() {
            return false;
        }
        sleep(wait).await;
        true
    }

    async fn wait_out(&self) {
        sleep(LATE.min(self.left())).await;
    }

    fn is_within(&self, share: f64) -> bool {
        let left_over = self.whole.unwrap_or_default().mul_f64(1.0 - share);
        self.left() > left_over
    }
}
