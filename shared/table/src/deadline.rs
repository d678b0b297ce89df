//! The deadline of an invocation, as a retry policy.

use std::time::Duration;

use tokio::time::Instant;

use super::RetryPolicy;

/// The moment after which no request is sent any more.
#[derive(Clone, Copy, Debug)]
pub struct Deadline(pub Instant);

/// The first and the longest wait before another attempt: a random time (full jitter) below `first * 2^attempt`, capped
/// ([AWS: exponential backoff and jitter](https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/)).
const FIRST_WAIT: Duration = Duration::from_millis(25);
const LONGEST_WAIT: Duration = Duration::from_secs(2);

impl Deadline {
    /// The time that is left.
    #[must_use]
    #[allow(clippy::disallowed_methods, reason = "a deadline is a moment of the clock; nothing pure knows it")]
    pub fn left(self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }
}

impl RetryPolicy for Deadline {
    async fn wait(&self, attempt: u32) -> bool {
        let longest = FIRST_WAIT.saturating_mul(1 << attempt.min(10)).min(LONGEST_WAIT);
        let wait = longest.mul_f64(fastrand::f64());
        if wait >= self.left() {
            return false;
        }
        tokio::time::sleep(wait).await;
        true
    }
}
