//! The binary `sapwood`, from outside, with a client that isn't ours.
#![allow(missing_docs, clippy::disallowed_methods, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod audit;
mod backfill;
mod bad_files;
mod damage;
mod dev;
mod moves;
mod passes;
mod round_trip;
mod running;
mod stack;
mod throttled;
mod transfer;
