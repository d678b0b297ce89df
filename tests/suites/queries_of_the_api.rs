//! The reads of the HTTP API, on rows that the real fan-out has written: what each answers, how it is paged, and how many
//! requests it takes.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "queries_of_the_api/support.rs"]
mod support;

#[path = "queries_of_the_api/histories.rs"]
mod histories;
#[path = "queries_of_the_api/lists.rs"]
mod lists;
#[path = "queries_of_the_api/pages.rs"]
mod pages;
#[path = "queries_of_the_api/paths.rs"]
mod paths;
#[path = "queries_of_the_api/status.rs"]
mod status;
#[path = "queries_of_the_api/trees.rs"]
mod trees;
