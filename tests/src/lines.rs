//! An output that keeps what is written, and the log of one thread. Unit tests of `sapwood-telemetry` and
//! `sapwood-http` have this file as a module, because they can't depend on this crate.
#![allow(clippy::unwrap_used)]

use std::io::{Result, Write};
use std::sync::{Arc, LazyLock, Mutex};

use sapwood_telemetry::log;
use tracing::Dispatch;
use tracing::level_filters::LevelFilter;
use tracing::subscriber::DefaultGuard;

/// The lines that were written. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Lines(Arc<Mutex<Vec<u8>>>);

/// A subscriber of nothing. Beside a single subscriber, a call site that another thread meets first stays silent if
/// that thread has none (tracing-core 0.1, `Rebuilder::JustOne`).
static SILENT: LazyLock<Dispatch> =
    LazyLock::new(|| Dispatch::new(tracing_subscriber::fmt().with_max_level(LevelFilter::OFF).finish()));

impl Lines {
    /// Returns the lines that this thread logs at a level until the guard is dropped.
    #[must_use]
    pub fn logged(level: Option<&str>) -> (Self, DefaultGuard) {
        LazyLock::force(&SILENT);
        let lines = Self::default();
        let writer = lines.clone();
        let guard = tracing::subscriber::set_default(log::subscriber(level, move || writer.clone()));
        (lines, guard)
    }

    /// Returns what was written.
    ///
    /// # Panics
    ///
    /// Panics if what was written isn't UTF-8.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }

    /// Takes what was written since this was last called.
    ///
    /// # Panics
    ///
    /// Panics if what was written isn't UTF-8.
    #[must_use]
    pub fn take(&self) -> String {
        String::from_utf8(std::mem::take(&mut *self.0.lock().unwrap())).unwrap()
    }
}

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}
