//! Plans as text: a small tree drawn in, what happens to it, and the expected writes out.
//!
//! A tree is drawn by indentation, a node a line: its id, then `/segment`, `name=value` for attributes, and what is
//! special about it: a node that isn't there is drawn as `-id`, one whose lineage isn't there yet is `unplaced`, one
//! whose lineage no handler wrote is `malformed`; `rows_pending` and `stale_rows:pk|sk` stand in its lineage. All else is as
//! if it had settled.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod drawing;
mod orphans_and_cycles;
mod placing;
mod removing;
mod steps;
mod switches;
mod unsettled;
