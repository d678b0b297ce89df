//! The patterns, a file each.

#[path = "../../../../tests/comparison/src/patterns/replication.rs"]
pub(crate) mod replication;
#[path = "../../../../tests/comparison/src/patterns/versions.rs"]
pub(crate) mod versions;
