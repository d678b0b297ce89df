//! What the calls share.

use std::fmt;
use std::sync::Arc;

use sapwood::model::Settings;
use sapwood::query::cursor::CursorKey;
use sapwood::table::{Deadline, Table};

/// What the calls share: a table for the time of one request, how it is kept, and the key of cursors.
pub struct State<T> {
    tables: Arc<dyn Fn(Deadline) -> T + Send + Sync>,
    shared: Arc<Shared>,
}

/// The same for every table.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) settings: Settings,
    pub(crate) cursors: CursorKey,
}

impl<T: Table> State<T> {
    /// Of a table, as it is to be until a deadline.
    pub fn new(tables: impl Fn(Deadline) -> T + Send + Sync + 'static, settings: Settings, cursors: CursorKey) -> Self {
        Self { tables: Arc::new(tables), shared: Arc::new(Shared { settings, cursors }) }
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
