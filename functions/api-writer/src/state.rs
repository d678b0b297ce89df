//! What the calls share.

use sapwood_core::model::Settings;

use crate::source::Source;

/// A table for the time of one request, and what is the same for every request.
pub type State<T> = sapwood_http::state::State<T, Shared>;

/// What is the same for every request.
#[derive(Debug)]
pub struct Shared {
    /// How the table is kept.
    pub settings: Settings,
    /// Whether revisions may be amended and removed.
    pub revisions_mutable: bool,
    /// Where time and names come from.
    pub source: Source,
}
