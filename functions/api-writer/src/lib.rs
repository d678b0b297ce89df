//! The HTTP function that writes base records: nodes, revisions, batches of them.
//!
//! A request is read into a [`Command`](sapwood_core::write::Command), which a
//! [`Writer`](sapwood_engine::write::Writer) carries out, and its [`Outcome`](sapwood_core::write::Outcome) becomes the
//! answer. A batch is a list of commands. [`router`] makes a router for all calls; what every answer has in common is
//! around it, in `sapwood_http::serve`.
//!
//! `sapwood put`, `move` and `rm` are the same commands from a shell: they take their stamps from [`Source`], their
//! output from [`body`], and wait for what is [`Derived`](sapwood_engine::query::Derived).

mod answer;
mod call;
mod calls;
mod config;
mod idempotency;
mod problem;
mod routes;
mod source;
mod state;

pub use answer::body;
pub use config::{Config, ConfigError};
pub use routes::router;
pub use source::{Moment, Source};
pub use state::{Shared, State};
