//! The blog's way to keep a tree, by the comparison's own code (tests/comparison), with its client on tables in memory.
#![allow(clippy::unwrap_used, clippy::panic, dead_code, unreachable_pub, reason = "files of the comparison")]

#[path = "../../../tests/comparison/src/memory_client.rs"]
pub(crate) mod client;
#[path = "../../../tests/comparison/src/meter.rs"]
pub(crate) mod meter;
#[path = "../../../tests/comparison/src/pattern.rs"]
pub(crate) mod pattern;
#[path = "../../../tests/comparison/src/patterns"]
pub(crate) mod patterns {
    pub(crate) mod replication;
    pub(crate) mod versions;
}
#[path = "../../../tests/comparison/src/workload.rs"]
pub(crate) mod workload;
