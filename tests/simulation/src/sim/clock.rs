//! The world's clock. Requests take their stamps from it, and invocations of the handler the time that they begin at.
//! Both end when their time is up.

/// When a run begins, in seconds since 1970.
pub(super) const BEGINNING: u64 = 1_700_000_000;

/// How much time passes at once, in seconds: none to speak of, as long as a function of the API runs, a little longer
/// than the claim of an idempotency key lasts, and twice that.
pub(super) const JUMPS: [u64; 4] = [0, 30, 61, 120];

/// Two days: longer than an outcome is kept for an idempotency key, and shorter than a tombstone counts.
pub(super) const TWO_DAYS: u64 = 2 * 24 * 60 * 60;

/// How long a tombstone counts, and the record that a node was deleted.
pub(super) const WEEK: u64 = 7 * 24 * 60 * 60;

/// How long a function of the API runs at most: so does `template.yaml` say.
pub(super) const API_SECONDS_MAX: u64 = 30;

/// How long an invocation of the handler runs at most.
pub(super) const HANDLER_SECONDS_MAX: u64 = 60;

/// After so many seconds DynamoDB has ended every request, answered or not.
pub(super) const REQUEST_SECONDS_MAX: u64 = 30;
