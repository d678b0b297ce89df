//! The decisions of Sapwood, without a table, a clock or randomness: what the keys are, what the items are, and what has to be
//! written, given what was read.
//!
//! - [`keys`]: the keys of the table; the only home of separators and sort keys.
//! - [`model`]: nodes, revisions, lineages and rows, and how each is an item.
//! - [`request`]: requests to a table and their answers, as values.
//! - [`plan`]: plans, each a state machine that asks for reads and writes and decides what comes next.
//! - [`write`]: the plans of the HTTP API's writes.

pub mod keys;
pub mod model;
pub mod plan;
pub mod request;
pub mod write;
