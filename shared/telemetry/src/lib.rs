//! What a function reports about itself: a log, and metrics for CloudWatch.
//!
//! Both are lines of JSON on standard output. A line of the [`log`] has a time and a level. A line of [`metrics`] has
//! neither; its member `_aws` tells CloudWatch what to take from it.

pub mod lines;
pub mod log;
pub mod metrics;
