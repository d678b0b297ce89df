//! A router as it is served, under Lambda and on a local port alike.
//!
//! ```text
//! event or connection -> target -> body -> routes -> finish -> line in the log, metrics
//! ```
//!
//! A function's router has its routes and handlers only: no fallback, no layer. What no route answers, what panics, what every
//! answer carries and what is logged is done here, around it.

mod answer;
mod cors;
mod lambda;
mod local;
mod metrics;
mod options;
mod routes;
mod target;
#[cfg(test)]
mod tests;

pub use answer::{Api, REQUEST_TIME_MAX, service};
pub use lambda::{Lambda, NoRequest, answer, lambda_service, run_lambda};
pub use local::serve_local;
pub use options::Options;
