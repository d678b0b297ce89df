//! Writes as the steps that they take. A test draws a small table and compares what a write reads and writes, one step
//! a line, and what it comes to.
#![allow(clippy::unwrap_used, clippy::panic)]

mod documents;
mod importing;
mod moves;
mod names;
mod order_keys;
mod prefetch;
mod spots;
mod steps;
mod unanswered;
