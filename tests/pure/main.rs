//! The suites without a server or a process that need more than the proof may know: the HTTP functions on the simulated
//! table, the local stack's filter, and what is read off the files.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods)]

mod api_reader;
mod api_writer;
mod documents;
mod filter;
mod layout;
