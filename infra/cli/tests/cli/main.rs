//! The binary `sapwood`, from outside, with a client that isn't ours.
#![allow(missing_docs, clippy::disallowed_methods, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod asked;
mod audit;
mod backfill;
mod bad_files;
mod catch_up;
mod changes;
mod cost;
mod damage;
mod dev;
mod doctor;
mod erase;
mod explorer;
mod file_manager;
mod formats;
mod hostile_files;
mod hostile_tables;
mod leaving;
mod lost_answers;
mod moves;
mod nodes;
mod passes;
mod permissions;
mod put_back;
mod redrive;
mod round_trip;
mod running;
mod segments;
mod settings;
mod shell;
mod stack;
mod throttled;
mod totals;
mod transfer;
mod under;
mod watch;
