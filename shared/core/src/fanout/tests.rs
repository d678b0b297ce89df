//! Plans as text. A test draws a small tree, says what happens to it, and compares the planned writes.
//!
//! A tree is drawn by indentation, one node a line: the node's id, then `/segment`, and `name=value` for each
//! attribute. More words say what is special about the node:
//!
//! - `-id` draws a node that doesn't exist,
//! - `unplaced` says that the node has no lineage yet, and `malformed` that no handler wrote its lineage,
//! - `rows_pending` and `stale_rows:pk|sk` stand in its lineage.
//!
//! Everything else is settled.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod deleting;
mod drawing;
mod orphans_and_cycles;
mod placing;
mod steps;
mod switches;
mod unsettled;
pub(crate) mod world;
