//! Tests of the function: its settings, the records that it decodes, and the binary itself on a stand-in for Lambda's
//! runtime API.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods)]

mod any_record;
mod config;
mod runtime;
