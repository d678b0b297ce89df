//! The HTTP API under requests that nobody means well: drawn from a seed, sent over a port of this machine and as events of
//! API Gateway, and held against the contract's document. And that document against the API: each status code that it lists
//! happens.
//!
//! `SAPWOOD_API_FUZZ_SEED` and `SAPWOOD_API_FUZZ_REQUESTS` draw others, and more.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods)]

#[path = "api_fuzz/bodies.rs"]
mod bodies;
#[path = "api_fuzz/draw.rs"]
mod draw;
#[path = "api_fuzz/judge.rs"]
mod judge;
#[path = "api_fuzz/play.rs"]
mod play;
#[path = "api_fuzz/schema.rs"]
mod schema;
#[path = "api_fuzz/statuses.rs"]
mod statuses;
