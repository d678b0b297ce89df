//! Where time and names come from: the page gives the time, and the number that all names are drawn from.

use jiff::{SignedDuration, Timestamp};
use sapwood_api::writes::{Moment, Source};
use sapwood_store::clock::since_1970;

/// Where time and names come from.
pub(crate) fn source() -> Source {
    let moment = || {
        let now = SignedDuration::try_from(since_1970()).ok().and_then(|now| Timestamp::from_duration(now).ok());
        Moment::from(now.unwrap_or(Timestamp::UNIX_EPOCH))
    };
    Source::new(moment, name)
}

/// A name that no other has, like a UUID of version 4.
pub(crate) fn name() -> String {
    uuid::Builder::from_random_bytes(fastrand::u128(..).to_be_bytes()).into_uuid().to_string()
}
