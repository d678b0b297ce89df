//! The HTTP function that writes base records: nodes, revisions, batches of them.
//!
//! A request is read into a write, which a [`Writer`](sapwood_engine::write::Writer) of the core carries out, and
//! what it has done becomes an answer. A batch is a list of them. A router for all calls is made by
//! [`router`]; what every answer has in common is around it, in `sapwood_http::serve`.

mod answer;
mod call;
mod calls;
mod config;
mod once;
mod problem;
mod routes;
mod source;
mod state;
mod wait;
mod write;

pub use config::{Config, ConfigError};
pub use routes::router;
pub use source::{Moment, Source};
pub use state::{Shared, State};
