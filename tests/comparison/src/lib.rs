//! Counts what Sapwood, and the patterns that people use today, ask of the same engine for the same changes and
//! questions, and writes docs/decide/benchmarks.md. The patterns are those of the documents that Sapwood comes from.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a measurement that can't go on should say so"
)]

pub mod cases;
pub mod client;
pub mod document;
pub mod growth;
pub mod lag;
pub mod meter;
pub mod pattern;
pub mod patterns;
#[cfg(feature = "plots")]
pub mod plot;
pub mod postgres;
pub mod rightness;
pub mod workload;
