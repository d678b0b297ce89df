//! The name of the table's feeds, which their cursors carry.

use std::sync::{Mutex, PoisonError};

use sapwood_engine::query::Reader;
use sapwood_store::{RetryPolicy, Table};

use crate::problem::{Kind, Problem};

/// How long a function takes the name of the feeds for granted, in milliseconds.
const NAME_MS_MAX: u64 = 60_000;

/// The name of the table's feeds, as it was read last, and when.
#[derive(Default)]
pub struct KnownFeed(Mutex<Option<(String, u64)>>);

impl KnownFeed {
    /// The name at this time, in milliseconds since 1970. If a cursor has another one, the table says which is right.
    pub(crate) async fn demand<T: Table, P: RetryPolicy>(
        &self,
        reader: &Reader<'_, T, P>,
        now_ms: u64,
        of_cursor: Option<&str>,
    ) -> Result<String, Problem> {
        if !reader.keeps_feeds() {
            let detail =
                "this deployment keeps no feeds; deploy `Changes=on`, and run `sapwood feed begin` a minute later";
            return Err(Problem::new(Kind::ChangesOff, detail));
        }
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let differs = |name: &str| of_cursor.is_some_and(|of_cursor| of_cursor != name);
        let is_young = |read: u64| now_ms.saturating_sub(read) < NAME_MS_MAX;
        if let Some((name, _)) = known.clone().filter(|(name, read)| is_young(*read) && !differs(name)) {
            return Ok(name);
        }
        let found = reader.feed_name(known.is_some()).await?.map(|feed| feed.0);
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = found.clone().map(|name| (name, now_ms));
        let detail =
            "the feeds haven't begun; a minute after every function has `Changes=on`, run `sapwood feed begin`";
        found.ok_or_else(|| Problem::new(Kind::FeedNotBegun, detail))
    }
}
