//! What a look at a deployment has read.

use std::collections::BTreeMap;

use sapwood_core::audit::{Kept, present_epoch};
use sapwood_core::model::{Announcement, Epoch, Item, NewerFormat};

/// The result of reading something.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum Read<T> {
    Known(T),
    /// It couldn't be read: the reason.
    Unknown(String),
    /// The endpoint has no such thing.
    #[default]
    NotHere,
}

impl<T> Read<T> {
    pub(super) fn of(read: Result<T, impl ToString>) -> Self {
        read.map_or_else(|error| Self::Unknown(error.to_string()), Self::Known)
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct SeenTable {
    /// `ACTIVE`, `UPDATING` …
    pub(super) status: String,
    /// The key attributes, the partition key first: name and type.
    pub(super) keys: Vec<(String, String)>,
    /// The ARN of the stream, and its view type, if the stream is on.
    pub(super) stream: Option<(String, String)>,
    pub(super) is_protected: bool,
    /// The regions of its replicas, if it is a global table.
    pub(super) replicas: Vec<String>,
}

/// An event source mapping of the table's stream.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct SeenMapping {
    pub(super) id: String,
    pub(super) function: String,
    /// `Enabled`, `Disabled`, `Updating` …
    pub(super) state: String,
    pub(super) filters: Vec<String>,
    pub(super) reports_failures: bool,
    pub(super) bisects: bool,
    /// -1: no limit.
    pub(super) retries: i64,
    /// Seconds. -1: no limit.
    pub(super) record_age: i64,
    pub(super) parallelization: i64,
    pub(super) has_destination: bool,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct SeenFunction {
    /// `Successful`, `Failed`, `InProgress`.
    pub(super) last_update: String,
    pub(super) environment: BTreeMap<String, String>,
    pub(super) reserved_concurrency: Option<i64>,
}

/// An alarm on the table, a function or a mapping.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct SeenAlarm {
    pub(super) name: String,
    /// `OK`, `ALARM`, `INSUFFICIENT_DATA`.
    pub(super) state: String,
    pub(super) metrics: Vec<String>,
    /// The values of its metrics' dimensions.
    pub(super) dimensions: Vec<String>,
    pub(super) has_actions: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SeenEpoch {
    /// `None` if its two items say different ones, or one of them can't be read.
    pub(super) number: Option<u32>,
    /// True if nodes are still to be counted in it.
    pub(super) is_unfinished: bool,
}

impl SeenEpoch {
    /// Reads its two items; `None` if there is neither.
    pub(super) fn of(item: Option<&Item>, copy: Option<&Item>) -> Option<Result<Self, NewerFormat>> {
        item.or(copy)?;
        let is_unfinished = item.is_some_and(|item| item.contains_key(Epoch::UNFINISHED));
        let of = |epoch: Option<Epoch>| Self { number: epoch.map(|epoch| epoch.0), is_unfinished };
        Some(present_epoch(item, copy).map(of))
    }
}

/// All that was read.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    /// `None` if there is no such table.
    pub(super) table: Option<SeenTable>,
    /// The TTL attribute, if TTL is on.
    pub(super) ttl: Read<Option<String>>,
    /// True if point-in-time recovery is on.
    pub(super) recovery: Read<bool>,
    pub(super) announcement: Read<Option<Announcement>>,
    pub(super) audit: Read<Option<Result<Kept, NewerFormat>>>,
    pub(super) epoch: Read<Option<Result<SeenEpoch, NewerFormat>>>,
    pub(super) mappings: Read<Vec<SeenMapping>>,
    /// The functions of the mappings, by their ARNs.
    pub(super) functions: BTreeMap<String, Read<SeenFunction>>,
    pub(super) alarms: Read<Vec<SeenAlarm>>,
    /// The time, in seconds since 1970.
    pub(super) now: u64,
}
