//! SQLite's functions for the rusqlite that dynoxide-rs needs, from a newer libsqlite3-sys.
//!
//! rusqlite 0.36 asks for libsqlite3-sys 0.34, which brings SQLite 3.49.2: one with CVE-2025-6965. `[patch.crates-io]`
//! in the workspace's Cargo.toml puts this crate in its place. Once dynoxide-rs takes a newer rusqlite, delete it.

pub use newer::*;
