//! The code that the explorer shows for Rust compiles. `.ci/explorer` holds the file equal to what the page shows.
#![allow(dead_code, reason = "to be compiled is all that is asked of it")]

include!("../../../../tests/explorer/asked.rs");
