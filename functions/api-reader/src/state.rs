//! The state that the calls share.

use sapwood_core::model::Settings;
use sapwood_http::cursor::CursorKey;

/// Makes a table for each request, and holds what is the same for all requests.
pub type State<T> = sapwood_http::state::State<T, Shared>;

/// What is the same for all requests.
#[derive(Debug)]
pub struct Shared {
    /// The settings of the table.
    pub settings: Settings,
    /// The key that makes and checks cursors.
    pub cursors: CursorKey,
}
