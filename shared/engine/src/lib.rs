//! Runs the plans of `sapwood-core` on a table: the fan-out of stream records, and the reads and writes of the HTTP API.

pub mod fanout;
pub mod query;
mod run;
pub mod write;
