//! A table for one request of a user's: tried again for as long as there is time, and counted.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use super::{
    Action, BATCH_GET_KEYS_MAX, Condition, ErrorKind, Found, Page, Query, ReadOptions, Reply, RetryPolicy, Table,
    TableError, Transacted, Update,
};
use sapwood_core::keys::{ItemKey, Schema};
use sapwood_core::model::{Item, key_of};

/// What requests to the table came to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    /// Requests to the table, those tried again included.
    pub calls: u64,
    /// Of them: tried again.
    pub retries: u64,
    /// Of all: those that a transaction under way kept from an item. Not counted is what BatchWriteItem leaves unprocessed, since
    /// it doesn't say why.
    pub conflicts: u64,
    /// Read capacity units.
    pub read_units: f64,
    /// Write capacity units.
    pub write_units: f64,
}

/// A table with the retry_policy of one request, and a count of what it took. A write that is tried again may have been
/// applied before: whoever writes on a condition that fails then finds their own write in its place.
#[derive(Debug)]
pub struct Session<'a, T, P> {
    table: &'a T,
    retry_policy: &'a P,
    schema: &'a Schema,
    usage: Mutex<Usage>,
}

impl<'a, T: Table, P: RetryPolicy> Session<'a, T, P> {
    /// A session on a table whose keys are spelt so.
    pub fn new(table: &'a T, retry_policy: &'a P, schema: &'a Schema) -> Self {
        Self { table, retry_policy, schema, usage: Mutex::default() }
    }

    /// How keys are spelt.
    #[must_use]
    pub fn schema(&self) -> &'a Schema {
        self.schema
    }

    /// What it took so far.
    #[must_use]
    pub fn usage(&self) -> Usage {
        *self.usage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits, as before another attempt. False: no time is left.
    pub async fn wait(&self, attempt: u32) -> bool {
        self.retry_policy.wait(attempt).await
    }

    /// Reads one item.
    ///
    /// # Errors
    /// [`TableError`] when time is up or trying again is no use, here and below.
    pub async fn get(&self, key: &ItemKey, reading: &ReadOptions) -> Result<Option<Item>, TableError> {
        Ok(self.get_many(std::slice::from_ref(key), reading).await?.remove(key))
    }

    /// Reads items, [`BATCH_GET_KEYS_MAX`] a request; the keys are distinct.
    ///
    /// # Errors
    /// See [`Session::get`].
    pub async fn get_many(
        &self,
        keys: &[ItemKey],
        reading: &ReadOptions,
    ) -> Result<BTreeMap<ItemKey, Item>, TableError> {
        let mut items = BTreeMap::new();
        for chunk in keys.chunks(BATCH_GET_KEYS_MAX) {
            let mut left = chunk.to_vec();
            let mut attempt = 0;
            while !left.is_empty() {
                let Found { items: found, unprocessed } = self.persist(|| self.table.read_many(&left, reading)).await?;
                items.extend(found.into_iter().filter_map(|item| Some((key_of(&item, self.schema)?, item))));
                if !unprocessed.is_empty() && !self.retry_policy.wait(attempt).await {
                    return Err(TableError::new(ErrorKind::Retry, "keys left unprocessed"));
                }
                attempt += 1;
                left = unprocessed;
            }
        }
        Ok(items)
    }

    /// Reads one page.
    ///
    /// # Errors
    /// See [`Session::get`].
    pub async fn query(&self, query: &Query) -> Result<Page, TableError> {
        self.persist(|| self.table.query(query)).await
    }

    /// Puts an item; whether the condition held.
    ///
    /// # Errors
    /// See [`Session::get`].
    pub async fn put(&self, item: &Item, condition: &Condition) -> Result<bool, TableError> {
        self.persist(|| self.table.put(item, condition)).await
    }

    /// Changes an item; whether the condition held.
    ///
    /// # Errors
    /// See [`Session::get`].
    pub async fn update(&self, key: &ItemKey, update: &Update, condition: &Condition) -> Result<bool, TableError> {
        self.persist(|| self.table.update(key, update, condition)).await
    }

    /// Deletes an item; whether the condition held.
    ///
    /// # Errors
    /// See [`Session::get`].
    pub async fn delete(&self, key: &ItemKey, condition: &Condition) -> Result<bool, TableError> {
        self.persist(|| self.table.delete(key, condition)).await
    }

    /// Runs a transaction.
    ///
    /// # Errors
    /// See [`Session::get`].
    pub async fn transact(&self, actions: &[Action]) -> Result<Transacted, TableError> {
        self.persist(|| self.table.transact(actions)).await
    }

    async fn persist<V, F>(&self, request: impl Fn() -> F) -> Result<V, TableError>
    where
        F: Future<Output = Result<Reply<V>, TableError>>,
    {
        let mut attempt = 0;
        loop {
            // Boxed: the request of an SDK is large, and all that awaits it would be as large.
            let answer = Box::pin(request()).await;
            self.count(attempt, &answer);
            match answer {
                Ok(reply) => return Ok(reply.value),
                Err(error) if error.kind != ErrorKind::Retry || !self.retry_policy.wait(attempt).await => {
                    return Err(error);
                }
                Err(_) => attempt += 1,
            }
        }
    }

    fn count<V>(&self, attempt: u32, answer: &Result<Reply<V>, TableError>) {
        let mut usage = self.usage.lock().unwrap_or_else(PoisonError::into_inner);
        usage.calls += 1;
        usage.retries += u64::from(attempt > 0);
        match answer {
            Ok(reply) => {
                usage.read_units += reply.read_units;
                usage.write_units += reply.write_units;
            }
            Err(error) => usage.conflicts += u64::from(error.is_conflict()),
        }
    }
}
