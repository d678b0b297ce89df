//! What happens past one partition of the table: a model of imports and moves of many nodes, and of nodes with many
//! children. It writes the tables of docs/decide/large-tables.md.
//!
//! The writes of a node are those that the core plans ([`work`]). They fall on the partitions of a table that splits
//! hot ones ([`table`]). Nodes flow through the table as fast as its hottest partition lets them ([`flow`]). What an
//! invocation of the handler takes is not modelled: the handler itself runs on a clock that counts round trips, or on a
//! table with little bandwidth ([`clock`]).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a model that can't go on should say so")]

pub mod clock;
pub mod document;
pub mod flow;
pub mod invocations;
pub mod table;
pub mod work;
