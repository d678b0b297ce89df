//! What must hold between base records and what is derived from them, and what mends it where it doesn't.
//!
//! The simulation, `sapwood verify`, `sapwood repair`, `sapwood redrive` and the auditor run these plans. A plan sees
//! one moment of a table that is in use, so what it finds is a *suspect*: rows follow their records a little later. A
//! suspect counts if a later look finds it again with the same
//! [`Difference::evidence`]: nothing that it was judged from has changed in between, so no handler is at work on it.
//!
//! | plan | what it does |
//! |---|---|
//! | [`look`](fn@look) | compares nodes, rows and cursors, both ways: what a record asks for, and whether anything asks for a row |
//! | [`look_at_history`] | compares the `v0_` copies of a node with its revisions |
//! | [`look_at_totals`] | compares the totals of a node with those of its children |
//! | [`count_holds`] | says whether the totals of a node's ancestors hold what the node was counted as |
//! | [`begin_epoch`], [`end_epoch`] | begin all totals anew |
//! | [`mend`](fn@mend) | has the handler write what is wrong, or deletes what no base record asks for |
//! | [`Recount`] | counts totals anew, from what all nodes of the table are counted as |
//! | [`redrive`](fn@redrive) | has an item handled again whose stream record was lost, without comparing anything |
//!
//! [`Suspects`] remembers since when what seems to be wrong has been the same, and [`AuditorState`] how far the auditor has
//! come. [`Trail`] is a sample of what was written lately, where the auditor looks first.
//!
//! What a node asks for is decided by [`place`](fn@crate::fanout::place), which the handler itself runs. The oracles of
//! the tests are written apart from it.

mod auditor_state;
mod difference;
mod epoch;
mod history;
mod look;
mod mend;
mod recount;
mod redrive;
mod subject;
mod suspects;
#[cfg(test)]
mod tests;
mod totals;
mod trail;

pub use auditor_state::{AuditorState, Kept, Pass, Position};
pub use difference::{Difference, Kind, due, one_a_node};
pub use epoch::{NotBegun, begin_epoch, end_epoch, present_epoch};
pub use history::look_at_history;
pub use look::look;
pub use mend::{Mended, mend, start_anew};
pub use recount::Recount;
pub use redrive::{Redriven, redrive};
pub use subject::{Class, Subject};
pub use suspects::{Stage, Suspect, Suspects};
pub use totals::{count_holds, look_at_totals};
pub use trail::{TRAILS, Trail};
