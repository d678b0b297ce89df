//! What the calls share.

use sapwood_core::model::Settings;
use sapwood_http::wait::Waits;

use crate::source::Source;

/// What makes a table for each request, and what is the same for every request.
pub type State<T> = sapwood_http::state::State<T, Shared>;

/// What is the same for every request.
#[derive(Debug)]
pub struct Shared {
    /// How the table is kept.
    pub settings: Settings,
    /// True if revisions may be amended and deleted.
    pub revisions_mutable: bool,
    /// True if nodes may be put into the trash.
    pub trash: bool,
    /// Where time and names come from.
    pub source: Source,
    /// What this process knows of waiting for the fan-out.
    pub waits: Waits,
}
