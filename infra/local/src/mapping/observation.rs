use std::time::Duration;

/// Something that a mapping did.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Observation {
    /// The function was invoked.
    Invoked {
        /// The shard.
        shard: String,
        /// With how many records.
        records: usize,
        /// What came of it.
        outcome: Outcome,
        /// How long it took.
        duration: Duration,
    },
    /// A record was given up, and went to the failure destination if there is one.
    Discarded {
        /// The shard.
        shard: String,
        /// The record's sequence number.
        sequence_number: String,
        /// The item's keys, as JSON.
        keys: String,
        /// Why.
        reason: DiscardReason,
    },
    /// The stream can't be read, or a file not be written. It is tried again.
    Trouble {
        /// What it says.
        reason: String,
    },
}

/// What came of an invocation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// All records are handled.
    Handled,
    /// The function named failures; this many records, from the first of them on, are delivered again.
    Partly {
        /// How many.
        again: usize,
    },
    /// The function failed.
    Failed {
        /// What it said.
        reason: String,
    },
}

/// Why a record was given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiscardReason {
    /// It was tried as often as the mapping allows.
    RetriesExhausted,
    /// It became too old.
    TooOld,
}

impl DiscardReason {
    /// Lambda's word for it.
    pub(super) fn condition(self) -> &'static str {
        match self {
            DiscardReason::RetriesExhausted => "RetryAttemptsExhausted",
            DiscardReason::TooOld => "RecordAgeExceeded",
        }
    }
}
