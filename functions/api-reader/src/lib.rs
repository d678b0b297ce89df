//! The HTTP function that reads: nodes, trees, paths, histories.
//!
//! Each call of the contract is a type in [`calls`](self). It reads a request's path and parameters, and then asks a
//! [`Reader`](sapwood_engine::query::Reader). [`router`] makes a router of all calls. `sapwood_http::serve` adds what
//! all answers have in common. `sapwood history`, `latest`, `tree`, `granted` and others print the same bodies.

mod call;
mod calls;
mod config;
mod list;
mod problem;
mod routes;
mod state;
mod written;

pub use calls::{descendant_body, granted_body, inherited_body, latest_body, link_body, revision_body, trash_body};
pub use config::{Config, ConfigError};
pub use list::totals_body;
pub use routes::router;
pub use state::{Shared, State, waits};
