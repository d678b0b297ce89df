#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod checks;
mod costs;
mod csv;
mod dynamodb;
mod failed_records;
mod fixture;
mod formats;
mod jsonl;
mod memory;
mod orders;
mod resuming;
mod treebeard;
