//! The state that the calls of a function share.

use std::fmt;
use std::sync::Arc;

use sapwood_store::Deadline;

/// Makes a table for each request, and holds what is the same for all requests.
pub struct State<T, S> {
    tables: Arc<dyn Fn(Deadline) -> T + Send + Sync>,
    shared: Arc<S>,
}

impl<T, S> State<T, S> {
    /// Makes the state. `tables` returns the table that a request may use until a deadline.
    pub fn new(tables: impl Fn(Deadline) -> T + Send + Sync + 'static, shared: S) -> Self {
        Self { tables: Arc::new(tables), shared: Arc::new(shared) }
    }

    /// Returns the table for a request with this deadline.
    pub fn table(&self, deadline: Deadline) -> T {
        (self.tables)(deadline)
    }

    /// Returns what is the same for all requests.
    pub fn shared(&self) -> &S {
        &self.shared
    }
}

impl<T, S> Clone for State<T, S> {
    fn clone(&self) -> Self {
        Self { tables: self.tables.clone(), shared: self.shared.clone() }
    }
}

impl<T, S: fmt::Debug> fmt::Debug for State<T, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State").field("shared", &self.shared).finish_non_exhaustive()
    }
}
