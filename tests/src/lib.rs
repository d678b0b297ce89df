//! What the suites share: running stacks and their clients, and the simulation (`tests/simulation`) under the same
//! names.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that can't go on should say so")]
#![allow(clippy::disallowed_methods, reason = "tests of what runs in real time need a clock")]

pub use sapwood_simulation::{
    fixture, forest, intercept, memory, oracle, own, planted, round_trips, seeds, shapes, sim, unfinished,
};

pub mod api;
pub mod client;
pub mod conformance;
pub mod dynamodb_local;
pub mod engine;
pub mod faults;
pub mod https;
pub mod lines;
pub mod pace;
pub mod running;
pub mod runtime_api;
pub mod serving;
