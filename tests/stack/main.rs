//! The suites that need a running stack: an engine, HTTP, proxies or processes.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods)]

mod api;
mod api_counts;
mod api_fuzz;
mod api_load;
mod api_races;
mod bad_input;
mod conformance;
mod copies;
mod counts;
mod following;
mod growth;
mod imports;
mod lost_answers;
mod memory;
mod metrics;
mod outages;
mod permissions;
mod recipes;
mod retries;
mod stream_events;
mod wire;

/// Counts the bytes that are allocated, for the suite `memory`.
#[global_allocator]
static ALLOCATOR: cap::Cap<std::alloc::System> = cap::Cap::new(std::alloc::System, usize::MAX);
