//! Serves a function's router, under Lambda and on a local port alike.
//!
//! ```text
//! event or connection -> target -> body -> routes -> finish -> line in the log, metrics
//! ```
//!
//! A function's router has routes and handlers only, neither a fallback nor a layer. This module answers requests that
//! no route answers, catches panics, adds the headers that every answer carries, and logs.

mod answer;
mod claims;
mod cors;
mod guard;
mod lambda;
mod local;
mod options;
mod routes;
#[cfg(test)]
mod tests;

pub use answer::{Api, REQUEST_TIME_MAX, metrics_of, service};
pub use guard::{Guard, Refusal};
pub use lambda::{Lambda, NoRequest, answer, lambda_service, run_lambda};
pub use local::{Front, Gate, Pages, serve_local};
pub use options::Options;
