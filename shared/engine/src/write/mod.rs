//! The writes of the HTTP API: base records only, and moves that never make a cycle.
//!
//! Everything is decided by pure functions (`content`, `record`, `way`) on what was read, and then written on the condition
//! that what was read still holds. A lost race is looked at again, a few times; then it is [`WriteError::Contended`].

mod climb;
mod content;
mod error;
mod idempotency;
mod node;
mod operation;
mod record;
mod remove;
mod request;
mod revision;
#[cfg(test)]
mod tests;
mod way;

pub use content::{Content, Patch, ValueChange};
pub use error::WriteError;
pub use idempotency::{Begun, Claim, Idempotency, StoredAnswer};
pub use operation::{Operation, Progress};
pub use remove::Children;
pub use request::{Also, Done, Precondition, Request, Stamp, Written};

use sapwood_core::model::Settings;
use sapwood_core::plan::Rules;
use sapwood_table::{Client, RetryPolicy, Table};

/// Every bound of the writes in one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How often a write is tried before it counts as contended.
    pub attempts_max: u32,
    /// The longest wait between two tries, as the step of [`RetryPolicy::wait`]: races are over fast.
    pub wait_step_max: u32,
    /// Items read at a time in looking for the newest revision of a topic.
    pub revision_page_items_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { attempts_max: 100, wait_step_max: 4, revision_page_items_max: 25 }
    }
}

/// Writes base records of one table, in one client.
#[derive(Debug)]
pub struct Writer<'a, T, P> {
    client: &'a Client<'a, T, P>,
    settings: &'a Settings,
    limits: Limits,
    rules: Rules,
}

impl<'a, T: Table, P: RetryPolicy> Writer<'a, T, P> {
    /// A writer on a client.
    pub fn new(client: &'a Client<'a, T, P>, settings: &'a Settings) -> Self {
        Self { client, settings, limits: Limits::default(), rules: Rules::default() }
    }

    /// The same with other bounds, or other rules.
    #[must_use]
    pub fn with(self, limits: Limits, rules: Rules) -> Self {
        Self { limits, rules, ..self }
    }

    /// Waits before a race is run again. False: it was the last time.
    async fn again(&self, attempt: &mut u32) -> bool {
        *attempt += 1;
        *attempt < self.limits.attempts_max && self.client.wait((*attempt - 1).min(self.limits.wait_step_max)).await
    }
}
