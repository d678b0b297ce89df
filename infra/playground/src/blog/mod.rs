//! The blog's way to keep a tree, by the comparison's own code (tests/comparison). Its client there is the SDK on an
//! engine; here it is one on a table in memory, and all else is the same files.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    dead_code,
    unreachable_pub,
    reason = "files of the comparison: a measurement that can't go on should say so"
)]

pub(crate) mod client;
#[path = "../../../../tests/comparison/src/meter.rs"]
pub(crate) mod meter;
#[path = "../../../../tests/comparison/src/pattern.rs"]
pub(crate) mod pattern;
pub(crate) mod patterns;
#[path = "../../../../tests/comparison/src/workload.rs"]
pub(crate) mod workload;
