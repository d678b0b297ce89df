//! What the calls share.

use std::fmt;
use std::sync::Arc;

use sapwood::model::Settings;
use sapwood::table::{Deadline, Table};

use crate::source::Source;

/// What the calls share: a table for the time of one request, how it is kept, and where time and names come from.
pub struct State<T> {
    tables: Arc<dyn Fn(Deadline) -> T + Send + Sync>,
    shared: Arc<Shared>,
}

/// The same for every table.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) settings: Settings,
    pub(crate) revisions_mutable: bool,
    pub(crate) source: Source,
}

impl<T: Table> State<T> {
    /// Of a table, as it is to be until a deadline.
    pub fn new(
        tables: impl Fn(Deadline) -> T + Send + Sync + 'static,
        settings: Settings,
        revisions_mutable: bool,
        source: Source,
    ) -> Self {
        Self { tables: Arc::new(tables), shared: Arc::new(Shared { settings, revisions_mutable, source }) }
    }

    pub(crate) fn table(&self, deadline: Deadline) -> T {
        (self.tables)(deadline)
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.shared
    }
}

impl<T> Clone for State<T> {
    fn clone(&self) -> Self {
        Self { tables: self.tables.clone(), shared: self.shared.clone() }
    }
}

impl<T> fmt::Debug for State<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State").field("shared", &self.shared).finish_non_exhaustive()
    }
}
