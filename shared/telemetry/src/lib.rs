//! What a function says of itself: lines for the log, and metrics for CloudWatch.
//!
//! Both go to standard output, and both are JSON: a line of the [`log`] has a time and a level, a line of [`metrics`] has neither
//! and says in `_aws` what CloudWatch is to take from it.

#[cfg(test)]
mod lines;
pub mod log;
pub mod metrics;
