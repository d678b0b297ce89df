//! The HTTP function that reads: nodes, trees, paths, histories.
//!
//! Each call of the contract is a type in [`calls`](self): it reads its path and parameters, and then asks a
//! [`Reader`](sapwood_engine::query::Reader). A router for all of them is made by [`router`]; what every answer has in common is
//! around it, in `sapwood_http::serve`.

mod call;
mod calls;
mod config;
mod list;
mod problem;
mod routes;
mod state;

pub use config::{Config, ConfigError};
pub use routes::router;
pub use state::{Shared, State};
