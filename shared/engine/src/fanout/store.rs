//! Requests on a table: cut to size, several in flight, tried again for as long as there is time, and counted.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use futures::stream::{self, StreamExt};

use super::Limits;
use sapwood_core::keys::{ItemKey, Schema};
use sapwood_core::model::{AttributeValue, Item, key_of};
use sapwood_core::plan::Problem;
use sapwood_table::{
    Action, BATCH_GET_KEYS_MAX, BATCH_WRITE_ITEMS_MAX, Condition, ErrorKind, Found, Page, Query, Reply, RetryPolicy,
    Table, TableError, Transacted, Update, Write,
};

/// What a batch took.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counts {
    /// Requests to the table, those tried again included.
    pub requests: u64,
    /// Of them: tried again.
    pub retries: u64,
    /// Of all: those that a transaction under way kept from an item. Not counted is what BatchWriteItem leaves unprocessed, since
    /// it doesn't say why.
    pub conflicts: u64,
    /// Read capacity units.
    pub read_units: f64,
    /// Write capacity units.
    pub write_units: f64,
    /// Rounds in which nodes were placed.
    pub rounds: u64,
    /// Rows put, lineages and copies not counted.
    pub rows_put: u64,
    /// Rows deleted.
    pub rows_deleted: u64,
    /// Children touched.
    pub touches: u64,
    /// `v0_` copies written or deleted.
    pub copies: u64,
    /// Children of removed nodes that were marked, adopted or made roots.
    pub released: u64,
    /// Nodes removed.
    pub removed: u64,
}

/// A request that came to nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// There was no time left to try again, or no use: the record has to be delivered again.
    Again,
    /// The table refuses this; it is noted as a problem.
    Refused,
}

/// What was read: the items there are, and the keys about which nothing is known.
#[derive(Debug, Default)]
pub(super) struct Read {
    items: BTreeMap<ItemKey, Item>,
    failed: BTreeSet<ItemKey>,
}

impl Read {
    pub(super) fn item(&self, key: &ItemKey) -> Result<Option<&Item>, Failure> {
        if self.failed.contains(key) { Err(Failure::Again) } else { Ok(self.items.get(key)) }
    }

    pub(super) fn extend(&mut self, other: Self) {
        self.items.extend(other.items);
        self.failed.extend(other.failed);
    }
}

pub(super) struct Store<'a, T, P> {
    table: &'a T,
    retry_policy: &'a P,
    limits: Limits,
    run: &'a str,
    names: AtomicU64,
    counts: Mutex<Counts>,
    problems: Mutex<Vec<Problem>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'a, T: Table, P: RetryPolicy> Store<'a, T, P> {
    pub(super) fn new(table: &'a T, retry_policy: &'a P, limits: Limits, run: &'a str) -> Self {
        let (names, counts, problems) = (AtomicU64::new(0), Mutex::default(), Mutex::default());
        Self { table, retry_policy, limits, run, names, counts, problems }
    }

    /// A name that nothing else has had, as long as no two runs have the same.
    pub(super) fn name(&self) -> String {
        format!("{}-{}", self.run, self.names.fetch_add(1, Ordering::Relaxed))
    }

    pub(super) fn finish(self) -> (Counts, Vec<Problem>) {
        let counts = self.counts.into_inner().unwrap_or_else(PoisonError::into_inner);
        (counts, self.problems.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// Notes what is wrong; what a later round finds once more is noted once.
    pub(super) fn note(&self, key: &ItemKey, reason: impl Into<String>) {
        self.note_all(vec![Problem { key: key.clone(), reason: reason.into(), unreadable: false }]);
    }

    /// Notes a base record that can't be read.
    pub(super) fn note_unreadable(&self, key: &ItemKey, reason: impl Into<String>) {
        self.note_all(vec![Problem { key: key.clone(), reason: reason.into(), unreadable: true }]);
    }

    pub(super) fn note_all(&self, problems: Vec<Problem>) {
        let mut noted = lock(&self.problems);
        for problem in problems {
            if !noted.contains(&problem) {
                noted.push(problem);
            }
        }
    }

    pub(super) fn count(&self, add: impl FnOnce(&mut Counts)) {
        add(&mut lock(&self.counts));
    }

    /// Runs these to their end, so many at a time.
    pub(super) async fn all<F: Future + Send>(&self, futures: Vec<F>) -> Vec<F::Output>
    where
        F::Output: Send,
    {
        stream::iter(futures).buffer_unordered(self.limits.requests_in_flight_max).collect().await
    }

    /// The same, with the results in the order of what was asked.
    pub(super) async fn all_in_order<F: Future + Send>(&self, futures: Vec<F>) -> Vec<F::Output>
    where
        F::Output: Send,
    {
        stream::iter(futures).buffered(self.limits.requests_in_flight_max).collect().await
    }

    /// Reads items, strongly.
    pub(super) async fn get_many(&self, keys: BTreeSet<ItemKey>, schema: &Schema) -> Read {
        let keys: Vec<ItemKey> = keys.into_iter().collect();
        let chunks = keys.chunks(BATCH_GET_KEYS_MAX).map(|chunk| self.get_chunk(chunk.to_vec(), schema)).collect();
        let mut read = Read::default();
        for part in self.all(chunks).await {
            read.extend(part);
        }
        read
    }

    // Requests are boxed: that of an SDK is large, and all that awaits it would be as large.
    async fn get_chunk(&self, mut keys: Vec<ItemKey>, schema: &Schema) -> Read {
        let mut read = Read::default();
        let mut attempt = 0;
        while !keys.is_empty() {
            let again = match self.answer(attempt, Box::pin(self.table.get_many(&keys)).await) {
                Ok(Found { items, unprocessed }) => {
                    if unprocessed.len() < keys.len() {
                        attempt = 0;
                    }
                    read.items.extend(items.into_iter().filter_map(|item| Some((key_of(&item, schema)?, item))));
                    keys = unprocessed;
                    true
                }
                Err(error) => self.try_again(keys.first(), &error),
            };
            if keys.is_empty() {
                break;
            }
            if !again || !self.retry_policy.wait(attempt).await {
                read.failed.extend(keys);
                break;
            }
            attempt += 1;
        }
        read
    }

    /// Writes items without conditions. Returns what failed, and how.
    pub(super) async fn write_many(&self, writes: Vec<Write>) -> BTreeMap<ItemKey, Failure> {
        let chunks = writes.chunks(BATCH_WRITE_ITEMS_MAX).map(|chunk| self.write_chunk(chunk.to_vec())).collect();
        self.all(chunks).await.into_iter().flatten().collect()
    }

    async fn write_chunk(&self, writes: Vec<Write>) -> Vec<(ItemKey, Failure)> {
        let mut failed = Vec::new();
        // A batch that holds one impossible item is refused whole: then each item goes alone.
        let mut batches = vec![writes];
        while let Some(mut writes) = batches.pop() {
            let mut attempt = 0;
            while !writes.is_empty() {
                let again = match self.answer(attempt, Box::pin(self.table.write_many(&writes)).await) {
                    Ok(unprocessed) => {
                        if unprocessed.len() < writes.len() {
                            attempt = 0;
                        }
                        writes = unprocessed;
                        true
                    }
                    Err(error) if error.kind == ErrorKind::Refuse && writes.len() > 1 => {
                        batches.extend(writes.drain(..).map(|write| vec![write]));
                        true
                    }
                    Err(error) if error.kind == ErrorKind::Refuse => {
                        for write in writes.drain(..) {
                            self.note(write.key(), format!("the table refuses this item: {error}"));
                            failed.push((write.key().clone(), Failure::Refused));
                        }
                        true
                    }
                    Err(error) => self.try_again(writes.first().map(Write::key), &error),
                };
                if writes.is_empty() {
                    break;
                }
                if !again || !self.retry_policy.wait(attempt).await {
                    failed.extend(writes.drain(..).map(|write| (write.key().clone(), Failure::Again)));
                }
                attempt += 1;
            }
        }
        failed
    }

    /// Puts an item; whether the condition held.
    pub(super) async fn put(&self, key: &ItemKey, item: &Item, condition: &Condition) -> Result<bool, Failure> {
        self.persist(key, || self.table.put(item, condition)).await
    }

    /// Deletes an item; whether the condition held.
    pub(super) async fn delete(&self, key: &ItemKey, condition: &Condition) -> Result<bool, Failure> {
        self.persist(key, || self.table.delete(key, condition)).await
    }

    /// Sets an attribute; whether the condition held.
    pub(super) async fn set(
        &self,
        key: &ItemKey,
        attribute: &str,
        value: &AttributeValue,
        condition: &Condition,
    ) -> Result<bool, Failure> {
        self.persist(key, || self.table.set(key, attribute, value, condition)).await
    }

    /// Changes attributes, as each attempt asks anew; whether the condition held.
    pub(super) async fn update(
        &self,
        key: &ItemKey,
        update: impl Fn() -> Update,
        condition: &Condition,
    ) -> Result<bool, Failure> {
        let attempt = || {
            let update = update();
            async move { self.table.update(key, &update, condition).await }
        };
        self.persist(key, attempt).await
    }

    /// Runs a transaction, which is about the item of this key.
    pub(super) async fn transact(&self, key: &ItemKey, actions: &[Action]) -> Result<Transacted, Failure> {
        self.persist(key, || self.table.transact(actions)).await
    }

    /// Reads a page, strongly. A refusal can't be blamed on an item, so it isn't taken for one.
    pub(super) async fn query(&self, query: &Query) -> Result<Page, Failure> {
        let key = ItemKey::new(&query.pk, &query.range.from);
        self.persist(&key, || self.table.query(query)).await.map_err(|_| Failure::Again)
    }

    async fn persist<V, F>(&self, key: &ItemKey, request: impl Fn() -> F) -> Result<V, Failure>
    where
        F: Future<Output = Result<Reply<V>, TableError>>,
    {
        let mut attempt = 0;
        loop {
            match self.answer(attempt, Box::pin(request()).await) {
                Ok(value) => return Ok(value),
                Err(error) if error.kind == ErrorKind::Refuse => {
                    self.note(key, format!("the table refuses this request: {error}"));
                    return Err(Failure::Refused);
                }
                Err(error) if !self.try_again(Some(key), &error) => return Err(Failure::Again),
                Err(_) => {}
            }
            if !self.retry_policy.wait(attempt).await {
                return Err(Failure::Again);
            }
            attempt += 1;
        }
    }

    /// Whether trying again can help.
    fn try_again(&self, key: Option<&ItemKey>, error: &TableError) -> bool {
        if let (true, Some(key)) = (error.kind != ErrorKind::Retry, key) {
            self.note(key, format!("given up for now: {error}"));
        }
        error.kind == ErrorKind::Retry
    }

    fn answer<V>(&self, attempt: u32, result: Result<Reply<V>, TableError>) -> Result<V, TableError> {
        let mut counts = lock(&self.counts);
        counts.requests += 1;
        counts.retries += u64::from(attempt > 0);
        counts.conflicts += u64::from(result.as_ref().is_err_and(TableError::is_conflict));
        result.map(|Reply { value, read_units, write_units }| {
            counts.read_units += read_units;
            counts.write_units += write_units;
            value
        })
    }
}
