//! The simulation: a simulated table, a deterministic scheduler for the real fan-out, and an oracle that shares no code
//! with the product. It is a crate of its own so that it alone of all tests is compiled with optimisation.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that can't go on should say so")]
#![allow(clippy::disallowed_methods, reason = "a run is told its length and its seed by the environment")]

pub mod fixture;
pub mod forest;
pub mod intercept;
pub mod memory;
pub mod oracle;
pub mod own;
pub mod planted;
pub mod round_trips;
pub mod seeds;
pub mod shapes;
pub mod sim;
pub mod tally;
pub mod unfinished;
