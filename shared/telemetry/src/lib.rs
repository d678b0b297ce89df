//! What a function reports about itself: a log, and metrics for CloudWatch.
//!
//! Both are lines of JSON on standard output. The member `_aws` of a line of [`metrics`] is for CloudWatch.

pub mod log;
pub mod metrics;

#[cfg(test)]
extern crate self as sapwood_telemetry;
#[cfg(test)]
#[path = "../../../tests/src/lines.rs"]
#[allow(dead_code, unreachable_pub, reason = "the suites have it as a public module")]
mod lines;
