//! Tests of the whole crate. They are unit tests, so that the crate has one test executable: each one links SQLite and
//! the SDK again.
#![allow(clippy::unwrap_used, clippy::panic, clippy::expect_used)]

mod engine;
mod filter;
mod fixture;
mod long_stream;
mod long_table;
mod mapping;
mod template;
