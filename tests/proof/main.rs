//! The proof: the real plans on the simulated table, in random schedules, in chosen ones and in every order; and each
//! rule, broken. It links no SDK, no embedded engine and no web server, so that little is compiled for a rule and its
//! mutant.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods)]

mod auditor;
mod below;
mod damage;
mod early;
mod exhaustive;
mod findings;
mod fixtures;
mod following;
mod heavy;
mod history;
mod hostile_items;
mod interleavings;
mod kinds;
mod moves;
mod mutants;
mod newer_format;
mod progress;
mod queries_of_the_api;
mod seed_composite_keys_pattern;
mod seed_composite_sort_key_locations;
mod seed_customer_order_item;
mod seed_hierarchy_path_and_replication;
mod seed_sort_keys_version_control;
mod sequences;
mod simulation;
mod subtree;
mod totals;
mod touching;
mod vectors;
mod wire;
mod writes;

/// A schedule allocates a lot. It takes two thirds of the time with this allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
