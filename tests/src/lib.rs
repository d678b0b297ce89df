//! What the suites stand on: a simulated table, a deterministic scheduler for the real fan-out, and an oracle that
//! shares no code with the product.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that can't go on should say so")]

pub mod client;
pub mod memory;
pub mod oracle;
pub mod running;
pub mod sim;
pub mod stand;
