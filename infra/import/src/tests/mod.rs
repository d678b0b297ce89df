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

/// Those below 3.50.2 have CVE-2025-6965 (infra/sqlite).
#[test]
fn sqlite_is_one_without_known_faults() {
    assert!(rusqlite::version_number() >= 3_050_002, "{}", rusqlite::version());
}
