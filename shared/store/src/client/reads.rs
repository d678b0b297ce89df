//! Reads of any number of items, in requests whose answers are small enough.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use sapwood_core::keys::ItemKey;
use sapwood_core::model::{Item, answered_bytes, key_of};
use sapwood_core::plan::WritesKind;
use sapwood_core::request::{ErrorKind, Page, Query, ReadOptions, Scan, Scanned, TableError};

use super::{Client, RetryPolicy};
use crate::{ANSWER_BYTES_MAX, BATCH_GET_KEYS_MAX, Found, Reply, Scannable, Table};

/// The result of a read: the items that exist, and the keys that couldn't be read.
#[derive(Debug, Default)]
pub struct Items {
    /// The items by their keys.
    pub items: BTreeMap<ItemKey, Item>,
    /// The keys that couldn't be read, and why.
    pub failed: BTreeMap<ItemKey, TableError>,
    /// The keys that weren't read, because the items before them have as many bytes as were asked for, or time is up.
    pub left: BTreeSet<ItemKey>,
}

impl Items {
    /// Returns the items if every key could be read.
    ///
    /// # Errors
    /// The [`TableError`] of the first key that couldn't be read.
    pub fn all(self) -> Result<BTreeMap<ItemKey, Item>, TableError> {
        match self.failed.into_values().next() {
            None => Ok(self.items),
            Some(error) => Err(error),
        }
    }
}

impl<T: Table, P: RetryPolicy> Client<'_, T, P> {
    /// Reads one item.
    ///
    /// # Errors
    /// [`TableError`] if time is up or a retry is no use.
    pub async fn get(&self, key: &ItemKey, options: &ReadOptions) -> Result<Option<Item>, TableError> {
        Ok(self.get_many([key.clone()].into(), options).await.all()?.remove(key))
    }

    /// Reads any number of items, all of them or none.
    pub async fn get_all(
        &self,
        keys: &[ItemKey],
        options: &ReadOptions,
    ) -> Result<BTreeMap<ItemKey, Item>, TableError> {
        self.get_many(keys.iter().cloned().collect(), options).await.all()
    }

    /// Reads any number of items.
    pub async fn get_many(&self, keys: BTreeSet<ItemKey>, options: &ReadOptions) -> Items {
        self.get_side_by_side(keys, options, None).await
    }

    /// Reads items, each request until its share of `bytes_max` is there. What is left needn't come after what is read.
    pub async fn get_some(&self, keys: BTreeSet<ItemKey>, options: &ReadOptions, bytes_max: usize) -> Items {
        self.get_side_by_side(keys, options, Some(bytes_max)).await
    }

    async fn get_side_by_side(
        &self,
        keys: BTreeSet<ItemKey>,
        options: &ReadOptions,
        bytes_max: Option<usize>,
    ) -> Items {
        let keys: Vec<ItemKey> = keys.into_iter().collect();
        let chunks = keys.chunks(BATCH_GET_KEYS_MAX);
        let share = bytes_max.map(|bytes_max| bytes_max / chunks.len().max(1));
        let chunk = |chunk: &[ItemKey]| self.get_chunk(chunk.to_vec(), options, share, None);
        let mut all = Items::default();
        for Items { items, failed, left } in self.all(chunks.map(chunk).collect()).await {
            all.items.extend(items);
            all.failed.extend(failed);
            all.left.extend(left);
        }
        all
    }

    /// Reads the first items until they have `bytes_max` bytes. Returns them and how many keys were read, at least 1.
    pub async fn get_first(
        &self,
        keys: &[ItemKey],
        options: &ReadOptions,
        bytes_max: usize,
    ) -> Result<(BTreeMap<ItemKey, Item>, usize), TableError> {
        let some = self.get_within(keys.to_vec(), options, bytes_max, None).await;
        let read = keys.iter().take_while(|key| !some.left.contains(*key)).count();
        let mut items = some.all()?;
        let is_read = |key: &ItemKey| keys[..read].contains(key);
        items.retain(|key, _| is_read(key));
        // The table has answered for others alone.
        match keys.first().filter(|_| read == 0) {
            Some(first) => Ok((self.get_all(std::slice::from_ref(first), options).await?, 1)),
            None => Ok((items, read)),
        }
    }

    /// Reads distinct items until they have `bytes_max` bytes in answers, with at most one request more. The caller can
    /// ask for the keys that are left later. `time` limits reads to the time for writes of that kind.
    pub async fn get_within(
        &self,
        keys: Vec<ItemKey>,
        options: &ReadOptions,
        bytes_max: usize,
        time: Option<WritesKind>,
    ) -> Items {
        let (mut all, mut bytes) = (Items::default(), 0);
        for chunk in keys.chunks(BATCH_GET_KEYS_MAX) {
            if bytes >= bytes_max {
                all.left.extend(chunk.iter().cloned());
                continue;
            }
            let share = Some(bytes_max - bytes);
            let Items { items, failed, left } = self.get_chunk(chunk.to_vec(), options, share, time).await;
            bytes += items.values().map(answered_bytes).sum::<usize>();
            all.items.extend(items);
            all.failed.extend(failed);
            all.left.extend(left);
        }
        all
    }

    // Requests are boxed: the futures of the SDK's requests are large.
    async fn get_chunk(
        &self,
        mut keys: Vec<ItemKey>,
        options: &ReadOptions,
        bytes_max: Option<usize>,
        time: Option<WritesKind>,
    ) -> Items {
        let (mut read, mut bytes) = (Items::default(), 0);
        let first = if bytes_max.is_some() { self.keys_at_once.load(Ordering::Relaxed) } else { BATCH_GET_KEYS_MAX };
        let (mut attempt, mut at_once) = (0, first);
        while !keys.is_empty() {
            let is_late = || time.is_some_and(|kind| !self.retry_policy.has_time_for(kind));
            if bytes_max.is_some_and(|bytes_max| bytes >= bytes_max) || is_late() {
                read.left.extend(keys);
                break;
            }
            let asked = keys.len().min(at_once);
            let error = match self.count(attempt, Box::pin(self.table.read_many(&keys[..asked], options)).await) {
                Ok(Found { items, unprocessed }) => {
                    let is_whole = unprocessed.is_empty();
                    if unprocessed.len() < asked {
                        attempt = 0;
                    }
                    if bytes_max.is_some() || at_once < BATCH_GET_KEYS_MAX {
                        let answered: usize = items.iter().map(answered_bytes).sum();
                        bytes += answered;
                        if is_small(answered) {
                            at_once = BATCH_GET_KEYS_MAX.min(at_once * 2);
                        }
                    }
                    read.items.extend(items.into_iter().filter_map(|item| Some((key_of(&item, self.schema)?, item))));
                    keys.splice(..asked, unprocessed);
                    if is_whole {
                        continue;
                    }
                    TableError::new(ErrorKind::Retry, "keys left unprocessed")
                }
                Err(error) => {
                    if error.is_unanswered() {
                        at_once = fewer(asked);
                    }
                    error
                }
            };
            if error.kind != ErrorKind::Retry || !self.retry_policy.wait(attempt).await {
                read.failed.extend(keys.into_iter().map(|key| (key, error.clone())));
                break;
            }
            attempt += 1;
        }
        if bytes_max.is_some() {
            self.keys_at_once.store(at_once, Ordering::Relaxed);
        }
        read
    }

    /// Reads one page. Pages of a partition are shorter while longer ones get no answer in time.
    pub async fn query(&self, query: &Query) -> Result<Page, TableError> {
        let ask = |limit| async move { self.table.query(&Query { limit, ..query.clone() }).await };
        self.persist(&query.pk, query.limit, ask, |page| &page.items).await
    }

    /// Reads one page of the whole table, as [`Client::query`] does.
    pub async fn scan(&self, scan: &Scan) -> Result<Scanned, TableError>
    where
        T: Scannable,
    {
        let ask = |limit| async move { self.table.scan(&Scan { limit, ..scan.clone() }).await };
        self.persist("", scan.limit, ask, |scanned| &scanned.items).await
    }

    /// Reads a page of as many items of a partition, or of fewer where that many get no answer in time.
    async fn persist<V, F>(
        &self,
        pk: &str,
        wanted: usize,
        request: impl Fn(usize) -> F,
        items: impl Fn(&V) -> &[Item],
    ) -> Result<V, TableError>
    where
        F: Future<Output = Result<Reply<V>, TableError>>,
    {
        let narrowed = || self.narrowed.lock().unwrap_or_else(PoisonError::into_inner);
        let mut limit = narrowed().get(pk).map_or(wanted, |narrow| wanted.min(*narrow));
        let mut attempt = 0;
        loop {
            let error = match self.count(attempt, Box::pin(request(limit)).await) {
                Ok(value) => {
                    if limit < wanted && is_small(items(&value).iter().map(answered_bytes).sum()) {
                        narrowed().insert(pk.to_owned(), limit * 2);
                    }
                    return Ok(value);
                }
                Err(error) => error,
            };
            if error.kind != ErrorKind::Retry || !self.retry_policy.wait(attempt).await {
                return Err(error);
            }
            if error.is_unanswered() {
                limit = fewer(limit);
                narrowed().insert(pk.to_owned(), limit);
            }
            attempt += 1;
        }
    }
}

/// True for an answer that could have been twice as large, and more.
fn is_small(bytes: usize) -> bool {
    bytes < ANSWER_BYTES_MAX / 4
}

/// The number of items after a read of this many got no answer in time, or one that is too large.
fn fewer(items: usize) -> usize {
    (items / 10).max(1)
}
