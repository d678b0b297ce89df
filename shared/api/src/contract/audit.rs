//! What the auditor has found.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::fields::answers;

answers! {
/// How far the auditor has come, and what it has found. A deployment that keeps tenants apart shows the times alone,
/// because the numbers are those of the whole table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
AuditBody {
    /// Everything that stood in the table at this time has been compared since, but for what still changed whenever it
    /// was looked at. It is absent until a pass has ended.
    #[schema(examples("2026-02-03T04:05:06Z"))]
    right_as_of?: String,
    /// How old the oldest item is that hasn't been compared since, in seconds: the time since `right_as_of`, or since
    /// the first run.
    age_seconds: u64,
    /// When the auditor ran last.
    #[schema(examples("2026-02-04T04:05:06Z"))]
    last_run_at: String,
    /// How many differences were found in a million items that were compared, since the last pass began that has ended.
    /// It is absent before anything was compared, and where there are tenants.
    #[schema(examples(0.4))]
    wrong_per_million?: f64,
    /// What can't be true in the state that the auditor has left, such as `saved` for a time to come. Its next run sets
    /// it anew. It is absent where all can be true.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    impossible: Vec<String>,
    /// The number of differences that wait for another look. It is absent where there are tenants.
    suspects?: u64,
    /// How many of them have lasted for the shortest confirmation window and aren't confirmed yet: they wait for a node
    /// above them to be repaired, or for `confirmation_window_seconds`. It is absent where there are tenants.
    #[serde(skip_serializing_if = "Option::is_none")]
    unconfirmed: Option<u64>,
    /// For how long a difference must be the same now until it counts, in seconds. It is absent where there are
    /// tenants.
    #[serde(skip_serializing_if = "Option::is_none")]
    confirmation_window_seconds: Option<u64>,
    /// The pass that is under way, or the last one. It is absent where there are tenants.
    pass?: PassBody,
    /// The last pass that has ended. It is absent until one has, and where there are tenants.
    last_pass?: PassBody,
}

/// What a pass over the table has found so far.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
PassBody {
    /// The pass's number, from 1.
    number: u64,
    /// When the pass began.
    #[schema(examples("2026-02-03T04:05:06Z"))]
    began_at: String,
    /// When the pass ended. It is absent while it is under way.
    #[schema(examples("2026-02-03T05:05:06Z"))]
    ended_at?: String,
    /// The number of items that were seen.
    items: u64,
    /// How many nodes and histories were compared besides, because they were written lately.
    recent: u64,
    /// The number of differences that counted.
    differences: u64,
    /// How many of them were mended and are right now.
    repaired: u64,
    /// How many of them were left as they are.
    left: u64,
    /// How many items changed all the time while the auditor waited, so it couldn't judge them. The log has their keys.
    still_changing: u64,
    /// How many suspects there was no room for. The pass isn't whole then, and `right_as_of` stays.
    skipped: u64,
    /// Findings about base records, by their kinds, such as `orphan`.
    findings: BTreeMap<String, u64>,
}
}
