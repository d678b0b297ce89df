//! The binary `sapwood`, from outside, with a client that isn't ours.
#![allow(missing_docs, clippy::disallowed_methods, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod audit;
mod dev;
mod doctor;
mod formats;
mod nodes;
mod redrive;
mod running;
mod shell;
mod transfer;
mod under;
