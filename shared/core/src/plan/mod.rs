//! How a decision that takes several requests is made, without a table, a clock or randomness.
//!
//! Such a decision is a [`Plan`], a protocol in straight code: it asks for what it needs to know, says what to write,
//! and gets the outcome. Its executor reads and writes, and decides nothing. The plans of the stream handler are in
//! [`fanout`](crate::fanout), those of the API in [`write`](mod@crate::write), and those of the comparison in
//! [`audit`](crate::audit). Here is what they share: [steps](Step), [tasks](Task), and the two searches that all of
//! them make: [the ancestors of a node](ancestry), and [the newest revision](mod@newest).

pub mod ancestry;
pub mod conditions;
pub mod newest;
mod protocol;
mod report;
mod step;
mod task;

pub use protocol::{Io, Plan};
pub use report::{PlanReport, Problem, Tally};
pub use step::{Facts, Need, Read, Step, Writes, WritesKind};
pub use task::{Added, Counting, Failure, Task, TaskOutcome, count_held};

pub use crate::rules::{Rule, Rules};
