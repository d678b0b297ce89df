//! Requests that race for the same nodes, over the running stack.
//!
//! `RACE_RUNS` says how often each kind is run: 200 in the gate. Of itself `cargo test` makes 50, since without
//! optimisation the SDK and the HTTP libraries take some 10 ms of a core for each call, and 200 take two minutes of two
//! cores. `RACE_SEED` says the seed of all that is chosen: not of the race itself, which is as real as threads and
//! sockets.

mod childless;
mod deletions;
mod moves;
mod once;
mod order;
mod support;
