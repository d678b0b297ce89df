//! The writes of the API, one by one: what they do, what they refuse, and how many requests and round trips they take.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "writes/idempotency.rs"]
mod idempotency;
#[path = "writes/moves.rs"]
mod moves;
#[path = "writes/nodes.rs"]
mod nodes;
#[path = "writes/removals.rs"]
mod removals;
#[path = "writes/revisions.rs"]
mod revisions;
#[path = "writes/stand.rs"]
mod stand;
