//! The function: its settings, its start, and the binary itself on a stand-in for Lambda's runtime API.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods)]

mod config;
mod runtime;
mod start;
