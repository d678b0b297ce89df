//! What a function reports about itself: a log, and metrics for CloudWatch.
//!
//! Both are lines of JSON on standard output. The member `_aws` of a line of [`metrics`] is for CloudWatch.

pub mod lines;
pub mod log;
pub mod metrics;
