//! The state that the calls share.

use jiff::Timestamp;
use sapwood_core::model::Settings;
use sapwood_http::cursor::CursorKey;
use sapwood_http::wait::Waits;

/// Makes a table for each request, and holds what is the same for all requests.
pub type State<T> = sapwood_http::state::State<T, Shared>;

/// What is the same for all requests.
#[derive(Debug)]
pub struct Shared {
    /// The settings of the table.
    pub settings: Settings,
    /// The key that makes and checks cursors.
    pub cursors: CursorKey,
    /// What this process knows of waiting for the fan-out.
    pub waits: Waits,
}

/// What a process knows of waiting, by the clock of this machine.
#[must_use]
#[allow(clippy::disallowed_methods, reason = "the edge: everything else is handed the time")]
pub fn waits() -> Waits {
    Waits::new(|| u64::try_from(Timestamp::now().as_second()).unwrap_or_default())
}
