//! The table in memory, as a client meets it: each request takes a turn, in which others come between, and whoever
//! sends it may die of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use sapwood_simulation::intercept::{Intercept, Observer, Request};
use sapwood_simulation::memory::MemoryTable;
use sapwood_store::{Deadline, RetryPolicy};

/// A table whose requests take turns. Clones share it.
pub(crate) type Turns = Intercept<MemoryTable, Turn>;

/// The turns of a table, or of one invocation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Turn {
    /// The requests so far.
    pub(crate) requests: Arc<AtomicU64>,
    /// The writes until the caller dies; `None` for one that doesn't.
    writes_left: Option<Arc<AtomicU32>>,
}

impl Turn {
    /// The turns of a caller that dies after so many writes. The last is carried out.
    pub(crate) fn dying_after(&self, writes: Option<u32>) -> Self {
        Self { requests: Arc::clone(&self.requests), writes_left: writes.map(|writes| Arc::new(writes.into())) }
    }

    pub(crate) fn is_dead(&self) -> bool {
        self.writes_left.as_ref().is_some_and(|left| left.load(Relaxed) == 0)
    }
}

impl Observer for Turn {
    async fn before(&self, _request: &Request<'_>) {
        tokio::task::yield_now().await;
        if self.is_dead() {
            std::future::pending::<()>().await;
        }
        self.requests.fetch_add(1, Relaxed);
    }

    fn after(&self, request: &Request<'_>) {
        if let Some(left) = self.writes_left.as_ref().filter(|_| !request.is_read()) {
            left.fetch_sub(1, Relaxed);
        }
    }
}

/// How long somebody tries: until a deadline, or, where no time goes by, until it is done. With one policy the module
/// has the handler once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience(pub(crate) Option<Deadline>);

impl RetryPolicy for Patience {
    async fn wait(&self, attempt: u32) -> bool {
        match self.0 {
            Some(deadline) => deadline.wait(attempt).await,
            None => true,
        }
    }

    fn is_within(&self, share: f64) -> bool {
        self.0.is_none_or(|deadline| deadline.is_within(share))
    }
}
