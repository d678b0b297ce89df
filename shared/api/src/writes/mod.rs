//! The calls that write base records: nodes, revisions, batches of them.
//!
//! A request is read into a [`Command`](sapwood_core::write::Command), which a
//! [`Writer`](sapwood_engine::write::Writer) carries out, and its [`Outcome`](sapwood_core::write::Outcome) becomes the
//! answer. A batch is a list of commands. `sapwood put`, `move` and `rm` are the same commands from a shell.

mod answer;
mod batch;
mod call;
mod nodes;
mod problem;
mod revisions;
mod routes;
mod source;
mod stored_batch;

pub use answer::body;
pub use call::{Shared, State};
pub use routes::router;
pub use source::{Moment, Source};
