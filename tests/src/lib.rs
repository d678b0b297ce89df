//! What the suites share: a simulated table, a deterministic scheduler for the real fan-out, running stacks, and an oracle that
//! shares no code with the product.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that can't go on should say so")]
#![allow(clippy::disallowed_methods, reason = "tests of what runs in real time need a clock")]

pub mod api;
pub mod client;
pub mod conformance;
pub mod dynamodb_local;
pub mod engine;
pub mod faults;
pub mod fixture;
pub mod forest;
pub mod https;
pub mod intercept;
pub mod lines;
pub mod memory;
pub mod oracle;
pub mod round_trips;
pub mod running;
pub mod runtime_api;
pub mod seeds;
pub mod serving;
pub mod sim;
pub mod unfinished;
