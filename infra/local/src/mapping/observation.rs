//! What a mapping tells its observer.

use std::time::Duration;

use serde_json::Value;

use crate::record::Attributes;

/// An event in the life of a mapping.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are named after what they have")]
#[non_exhaustive]
pub enum Observation {
    /// The function was invoked, with so many records.
    Invoked { shard: String, records: usize, outcome: Outcome, duration: Duration },
    /// A record was discarded. It went to the on-failure destination if there is one. `keys` is JSON.
    Discarded { shard: String, sequence_number: String, keys: String, reason: DiscardReason },
    /// The stream can't be read, or a file can't be written. The mapping tries again.
    Trouble { reason: String },
}

/// A record that a mapping has read, whether the filter lets it through or not.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen<'a> {
    /// The event: `INSERT`, `MODIFY` or `REMOVE`.
    pub event: &'a str,
    /// The item's key attributes: `{"PK": {"S": "a"}, …}`.
    pub keys: Value,
    /// The item before, if there was one.
    pub old: Option<&'a Attributes>,
    /// The item after, if there is one.
    pub new: Option<&'a Attributes>,
    /// True if the function gets the record.
    pub is_wanted: bool,
}

/// The outcome of an invocation.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are named after what they have")]
pub enum Outcome {
    /// All records were handled.
    Handled,
    /// The function reported failures. So many records, from the first of them on, are delivered again.
    Partly { again: usize },
    /// The function failed.
    Failed { reason: String },
}

/// Why a record was discarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiscardReason {
    /// The record was retried as often as the mapping allows.
    RetriesExhausted,
    /// The record became too old.
    TooOld,
}

impl DiscardReason {
    /// Returns the reason as Lambda names it.
    pub(super) fn condition(self) -> &'static str {
        match self {
            DiscardReason::RetriesExhausted => "RetryAttemptsExhausted",
            DiscardReason::TooOld => "RecordAgeExceeded",
        }
    }
}
