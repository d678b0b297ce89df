//! The decisions of Sapwood: what the keys are, what the items are, and what has to be written, given what was read.
//! Nothing in this crate knows a table, a clock, an environment or randomness.
//!
//! # How a stream record flows through plans
//!
//! A client writes a base record, for example the node `{"PK": "V", "SK": "NODE", "parent": "D"}`. The table's stream
//! reports the write, and the stream handler gets the record in a batch.
//!
//! ```text
//! record of NODE        ──► place_nodes                ──► LINEAGE and rows of the node
//! record of LINEAGE     ──► hand_down                  ──► a touch of each child, and so a record of its NODE
//! record of a revision  ──► copy_highest, copy_newest  ──► the copy v0_<topic>
//! ```
//!
//! 1. [`fanout::Batch::of`] finds out which work the records ask for: nodes to place, lineages to hand down, cursors to
//!    continue, topics to copy. Several records of one item become one piece of work.
//! 2. Each piece of work is a [`plan::Plan`], which does no I/O. Its `next` takes facts and returns a [`plan::Step`]:
//!    what it needs to read, what to write and on which conditions, or that it is done. The executor in
//!    `sapwood-engine` reads and writes, and returns the answers as the next facts.
//! 3. [`fanout::place_nodes`] places `V`. It reads `V`, the lineage of `V` and the lineage of its parent `D`.
//!    [`fanout::place`](fn@fanout::place) decides where `V` belongs and which rows follow ([`model::rows`]). The round
//!    writes the lineage of `V`, then puts and deletes rows, then reads the lineage of `D` again. If that has changed
//!    meanwhile, `V` goes into another round.
//! 4. The lineage of `V` makes a stream record as well. If `V` has moved, [`fanout::hand_down`] touches the children of
//!    `V`, and the record of each touch has that child placed. If `V` is new, [`fanout::touch_orphans`] touches only
//!    the children that were waiting for it. If `V` is being deleted, the deletion acts on its children. So a change is
//!    handed down one level at a time.
//! 5. Rows and copies make records, too, but the event source's filter holds them back. So the flow ends.
//!
//! Every plan looks at the present state and not at the event, because a record may be delivered again at any time.
//! `docs/internals/protocol` has the steps, and [`plan::Rule`] the reason for each. A test breaks each rule, to show
//! that its step is needed.
//!
//! # Modules
//!
//! - [`keys`]: the keys of the table; the only home of separators and sort keys.
//! - [`model`]: nodes, revisions, lineages and rows, and how each is an item.
//! - [`request`]: requests to a table and their answers, as values.
//! - [`plan`]: what a plan is: it asks for reads and writes and decides what comes next.
//! - [`fanout`]: the plans of the stream handler.
//! - [`mod@write`]: the plans of the HTTP API's writes.
//! - [`inherit`]: what nodes have from the nodes above them, by base records alone.
//! - [`audit`]: what must hold of the whole table, and what mends it where it doesn't.

pub mod audit;
pub mod fanout;
mod hash;
pub mod inherit;
pub mod keys;
pub mod model;
pub mod plan;
pub mod request;
mod rules;
mod words;
pub mod write;
