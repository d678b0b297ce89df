//! The deadline of an invocation, as a retry policy.

use std::time::Duration;

use tokio::time::Instant;

use super::{Backoff, RetryPolicy};
use sapwood_core::plan::WritesKind;

/// The moments after which no request is sent any more.
#[derive(Clone, Copy, Debug)]
pub struct Deadline {
    /// After this moment no row is put any more while other nodes wait for their parents, so that those have time, too.
    meanwhile: Instant,
    /// After this moment no row is put any more, so that those of nodes whose rows are all put can still be deleted.
    first_rows: Instant,
    /// After this moment no row is deleted and nothing is touched, so that writes can be confirmed and cursors saved.
    second_rows: Instant,
    /// After this moment nothing is sent any more.
    end: Instant,
}

const BACKOFF: Backoff = Backoff::new(25, 2_000);

/// How long a request whose connection was cut may still be carried out. It is on its way, or in a queue.
pub const LATE: Duration = Duration::from_secs(2);

/// The shares of an invocation's time for putting and then deleting rows. A choice: deleting and the rest cost less.
const SHARE_FOR_MEANWHILE: f64 = 0.3;
const SHARE_FOR_FIRST_ROWS: f64 = 0.6;
const SHARE_FOR_SECOND_ROWS: f64 = 0.8;

impl Deadline {
    /// The deadline of a request, which ends at this moment.
    #[must_use]
    pub fn at(end: Instant) -> Self {
        Self { meanwhile: end, first_rows: end, second_rows: end, end }
    }

    /// The deadline of an invocation that begins now and has so much time.
    #[must_use]
    #[allow(clippy::disallowed_methods, reason = "a deadline is a moment of the clock; nothing pure knows it")]
    pub fn after(left: Duration) -> Self {
        let now = Instant::now();
        let share = |share| now + left.mul_f64(share);
        Self {
            meanwhile: share(SHARE_FOR_MEANWHILE),
            first_rows: share(SHARE_FOR_FIRST_ROWS),
            second_rows: share(SHARE_FOR_SECOND_ROWS),
            end: now + left,
        }
    }

    /// The moment after which nothing is sent any more.
    #[must_use]
    pub fn end(self) -> Instant {
        self.end
    }

    /// The time that is left.
    #[must_use]
    #[allow(clippy::disallowed_methods, reason = "a deadline is a moment of the clock; nothing pure knows it")]
    pub fn left(self) -> Duration {
        self.end.saturating_duration_since(Instant::now())
    }
}

impl RetryPolicy for Deadline {
    async fn wait(&self, attempt: u32) -> bool {
        let wait = BACKOFF.jittered(attempt);
        if wait >= self.left() {
            return false;
        }
        tokio::time::sleep(wait).await;
        true
    }

    async fn wait_out(&self) {
        tokio::time::sleep(LATE.min(self.left())).await;
    }

    #[allow(clippy::disallowed_methods, reason = "a deadline is a moment of the clock; nothing pure knows it")]
    fn has_time_for(&self, kind: WritesKind) -> bool {
        let end = match kind {
            WritesKind::Meanwhile { .. } => self.meanwhile,
            WritesKind::FirstRows => self.first_rows,
            WritesKind::SecondRows | WritesKind::Touches => self.second_rows,
            WritesKind::Lineages => return true,
        };
        Instant::now() < end
    }
}
