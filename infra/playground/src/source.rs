//! Where time and names come from: the page gives the time, and the number that all names are drawn from.

use jiff::Timestamp;
use sapwood_api::writes::Source;
use sapwood_store::clock::since_1970;

pub(crate) fn source() -> Source {
    let now = || Timestamp::from_millisecond(since_1970().as_millis() as i64).unwrap_or_default().into();
    Source::new(now, name)
}

/// A name that no other has, like a UUID of version 4.
pub(crate) fn name() -> String {
    uuid::Builder::from_random_bytes(fastrand::u128(..).to_be_bytes()).into_uuid().to_string()
}
