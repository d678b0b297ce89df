//! Hierarchies and version history in one DynamoDB table, kept right by its stream.
//!
//! Users write *base records*: a node (an id, a `parent`, any attributes) or a revision (`v003_Audit`). The stream
//! handler turns each change of a base record into *derived rows*: replicated ancestor rows, path rows, root rows and
//! `v0_` copies of the newest revision. This crate holds all of it but the wiring:
//!
//! - [`keys`]: composite keys in general, and the table's own; the only home of separators. Pure.
//! - [`model`]: nodes, revisions, lineages and rows, and how each is an item. Pure.
//! - [`plan`]: what has to be written, given what was read. Pure and synchronous.
//! - [`table`]: the [`Table`](table::Table) that plans run on; DynamoDB's is behind the feature `dynamodb`.
//! - [`query`]: the reads of the HTTP API, and their cursors.
//! - [`mod@write`]: the writes of the HTTP API: base records, and moves that never make a cycle.
//! - [`fanout`]: runs plans on a table, a batch of stream records at a time.
//!
//! `ARCHITECTURE.md` in the repository has the protocol with the reason for each step.

pub mod fanout;
pub mod keys;
pub mod model;
pub mod plan;
pub mod query;
pub mod table;
pub mod write;
