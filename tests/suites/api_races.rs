//! Requests that race for the same nodes, over the running stack: a chance each run, 200 runs a kind (or a part of them).
//!
//! `RACE_RUNS` says another number of runs, `RACE_SEED` the seed of all that is chosen: not of the race itself, which is
//! as real as threads and sockets are.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods)]

#[path = "races/moves.rs"]
mod moves;
#[path = "races/once.rs"]
mod once;
#[path = "races/removals.rs"]
mod removals;
#[path = "races/support.rs"]
mod support;
