//! The binary `sapwood`, from outside, with a client that isn't ours.
#![allow(missing_docs, clippy::disallowed_methods, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod audit;
mod dev;
mod doctor;
mod redrive;
mod running;
mod transfer;
