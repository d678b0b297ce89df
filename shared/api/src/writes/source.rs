//! Where the time and new names come from. They are handed in, so that a test can choose both.

use std::sync::Arc;

use jiff::Timestamp;
use sapwood_core::write::{Stamp, Tiebreak};
use uuid::{Builder, Uuid};

/// A moment, as it is written into records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moment {
    /// The time as RFC 3339 in UTC, to the millisecond.
    pub at: String,
    /// The same time in seconds since 1970.
    pub seconds: u64,
    /// The same time in microseconds since 1970.
    pub micros: u64,
}

impl From<Timestamp> for Moment {
    fn from(time: Timestamp) -> Self {
        let seconds = u64::try_from(time.as_second()).unwrap_or_default();
        Self { at: format!("{time:.3}"), seconds, micros: u64::try_from(time.as_microsecond()).unwrap_or_default() }
    }
}

/// Where time and new names come from.
#[derive(Clone)]
pub struct Source {
    now: Arc<dyn Fn() -> Moment + Send + Sync>,
    name: Arc<dyn Fn() -> String + Send + Sync>,
}

impl Source {
    /// A source that calls these functions.
    pub fn new(
        now: impl Fn() -> Moment + Send + Sync + 'static,
        name: impl Fn() -> String + Send + Sync + 'static,
    ) -> Self {
        Self { now: Arc::new(now), name: Arc::new(name) }
    }

    /// The clock of this machine, and UUIDs of version 4: evenly spread, so that no partition gets all new nodes.
    #[must_use]
    #[cfg(not(target_family = "wasm"))]
    #[allow(clippy::disallowed_methods, reason = "the edge: everything else is handed the time")]
    pub fn system() -> Self {
        Self::new(|| Timestamp::now().into(), || Uuid::new_v4().to_string())
    }

    pub(crate) fn now(&self) -> Moment {
        (self.now)()
    }

    /// A new name.
    #[must_use]
    pub fn name(&self) -> String {
        (self.name)()
    }

    /// A new name for an operation: a UUID of version 7, so that operations sort by time. A name that is no UUID stays.
    #[must_use]
    pub fn operation(&self) -> String {
        let name = self.name();
        let Ok(random) = Uuid::parse_str(&name) else { return name };
        let micros = self.now().micros;
        let mut rest = [0; 10];
        rest.copy_from_slice(&random.as_bytes()[6..]);
        // The twelve bits after the milliseconds are a fraction of one (RFC 9562, 6.2).
        let fraction = u16::try_from(micros % 1_000 * 4_096 / 1_000).unwrap_or_default();
        rest[..2].copy_from_slice(&fraction.to_be_bytes());
        Builder::from_unix_timestamp_millis(micros / 1_000, &rest).into_uuid().to_string()
    }

    /// The time so many seconds ago, as [`Moment::at`] has it. What is longer ago than times go back is the first one.
    #[must_use]
    pub fn ago(&self, seconds: u64) -> String {
        let then = self.now().seconds.saturating_sub(seconds);
        let then = i64::try_from(then).ok().and_then(|then| Timestamp::from_second(then).ok());
        Moment::from(then.unwrap_or(Timestamp::UNIX_EPOCH)).at
    }

    /// A stamp for one write, by whom it is done.
    #[must_use]
    pub fn stamp(&self, by: impl Into<String>) -> Stamp {
        let (moment, token) = (self.now(), self.name());
        let tiebreak = Tiebreak::new(moment.micros, &token);
        Stamp { at: moment.at, seconds: moment.seconds, by: by.into(), token, tiebreak }
    }

    pub(crate) fn tiebreak(&self) -> Tiebreak {
        Tiebreak::new(self.now().micros, &self.name())
    }
}
