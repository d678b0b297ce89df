//! The HTTP API under requests that nobody means well: drawn from a seed, sent over a port of this machine and as
//! events of API Gateway, and held against the contract's document. And that document against the API: each status code
//! that it lists happens.
//!
//! `SAPWOOD_API_FUZZ_SEED` and `SAPWOOD_API_FUZZ_REQUESTS` draw others, and more.

mod bodies;
mod draw;
mod headers;
mod judge;
mod play;
mod schema;
mod statuses;
