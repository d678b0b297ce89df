//! The one client on a [`Table`]: it cuts requests to size, keeps several in flight, tries again for as long as there is time, and
//! counts.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use futures::stream::{self, StreamExt};
use sapwood_core::keys::{ItemKey, Schema};
use sapwood_core::model::{Item, key_of};
use sapwood_core::plan::{Outcome, Task};
use sapwood_core::request::{Action, ErrorKind, Page, Query, ReadOptions, TableError, Transacted, Write};

use super::{BATCH_GET_KEYS_MAX, BATCH_WRITE_ITEMS_MAX, Found, Reply, Table};

/// How long to go on trying.
pub trait RetryPolicy: Send + Sync {
    /// Waits before another attempt, the longer the higher `attempt` is (from 0). False: no time is left, give up now.
    fn wait(&self, attempt: u32) -> impl Future<Output = bool> + Send;
}

/// What requests to the table came to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    /// Requests to the table, those tried again included.
    pub requests: u64,
    /// Requests that were tried again.
    pub retries: u64,
    /// Requests that a transaction under way kept from an item. What BatchWriteItem leaves unprocessed isn't counted, since it doesn't
    /// say why.
    pub conflicts: u64,
    /// Read capacity units.
    pub read_units: f64,
    /// Write capacity units.
    pub write_units: f64,
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.requests += other.requests;
        self.retries += other.retries;
        self.conflicts += other.conflicts;
        self.read_units += other.read_units;
        self.write_units += other.write_units;
    }
}

/// A table with the retry policy of one invocation or request, and a count of what that took. A write that is tried again may have
/// been carried out before: whoever writes on a condition that fails then finds their own write in its place.
#[derive(Debug)]
pub struct Client<'a, T, P> {
    table: &'a T,
    retry_policy: &'a P,
    schema: &'a Schema,
    /// Requests of one kind at a time.
    in_flight_max: usize,
    /// A name that no other client has, for the names of marks.
    name: &'a str,
    marks: AtomicU64,
    usage: Mutex<Usage>,
}

/// What was read: the items that there are, and the keys that couldn't be read.
#[derive(Debug, Default)]
pub struct Items {
    /// The items by their keys.
    pub items: BTreeMap<ItemKey, Item>,
    /// Why the other keys couldn't be read.
    pub failed: BTreeMap<ItemKey, TableError>,
}

impl Items {
    /// The items, if every key could be read.
    ///
    /// # Errors
    /// The first [`TableError`] otherwise.
    pub fn all(self) -> Result<BTreeMap<ItemKey, Item>, TableError> {
        match self.failed.into_values().next() {
            None => Ok(self.items),
            Some(error) => Err(error),
        }
    }
}

impl<'a, T: Table, P: RetryPolicy> Client<'a, T, P> {
    /// A client on a table whose keys are spelt so, with eight requests of one kind in flight.
    pub fn new(table: &'a T, retry_policy: &'a P, schema: &'a Schema) -> Self {
        Self {
            table,
            retry_policy,
            schema,
            in_flight_max: 8,
            name: "",
            marks: AtomicU64::new(0),
            usage: Mutex::default(),
        }
    }

    /// The same client under a name that no other has, with so many requests of one kind in flight. Only a client with a name
    /// can carry out [`Task::Mark`].
    #[must_use]
    pub fn named(self, name: &'a str, in_flight_max: usize) -> Self {
        Self { name, in_flight_max, ..self }
    }

    /// How keys are spelt.
    #[must_use]
    pub fn schema(&self) -> &'a Schema {
        self.schema
    }

    /// What the requests took so far.
    #[must_use]
    pub fn usage(&self) -> Usage {
        *self.usage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits before another attempt. False: no time is left.
    pub async fn wait(&self, attempt: u32) -> bool {
        self.retry_policy.wait(attempt).await
    }

    /// Runs futures to their end, several at a time. The results are in the order of the futures.
    pub async fn all<F: Future + Send>(&self, futures: Vec<F>) -> Vec<F::Output>
    where
        F::Output: Send,
    {
        stream::iter(futures).buffered(self.in_flight_max).collect().await
    }

    /// Reads one item.
    ///
    /// # Errors
    /// [`TableError`] when time is up or trying again is no use, here and below.
    pub async fn get(&self, key: &ItemKey, options: &ReadOptions) -> Result<Option<Item>, TableError> {
        Ok(self.get_many([key.clone()].into(), options).await.all()?.remove(key))
    }

    /// Reads items, all of them or none.
    ///
    /// # Errors
    /// See [`Client::get`].
    pub async fn get_all(
        &self,
        keys: &[ItemKey],
        options: &ReadOptions,
    ) -> Result<BTreeMap<ItemKey, Item>, TableError> {
        self.get_many(keys.iter().cloned().collect(), options).await.all()
    }

    /// Reads items, however many.
    pub async fn get_many(&self, keys: BTreeSet<ItemKey>, options: &ReadOptions) -> Items {
        let keys: Vec<ItemKey> = keys.into_iter().collect();
        let chunks = keys.chunks(BATCH_GET_KEYS_MAX).map(|chunk| self.get_chunk(chunk.to_vec(), options)).collect();
        let mut all = Items::default();
        for Items { items, failed } in self.all(chunks).await {
            all.items.extend(items);
            all.failed.extend(failed);
        }
        all
    }

    // Requests are boxed: the future of an SDK's request is large, and all that awaits it would be as large.
    async fn get_chunk(&self, mut keys: Vec<ItemKey>, options: &ReadOptions) -> Items {
        let mut read = Items::default();
        let mut attempt = 0;
        while !keys.is_empty() {
            let error = match self.count(attempt, Box::pin(self.table.read_many(&keys, options)).await) {
                Ok(Found { items, unprocessed }) => {
                    if unprocessed.len() < keys.len() {
                        attempt = 0;
                    }
                    read.items.extend(items.into_iter().filter_map(|item| Some((key_of(&item, self.schema)?, item))));
                    keys = unprocessed;
                    TableError::new(ErrorKind::Retry, "keys left unprocessed")
                }
                Err(error) => error,
            };
            if keys.is_empty() {
                break;
            }
            if error.kind != ErrorKind::Retry || !self.retry_policy.wait(attempt).await {
                read.failed.extend(keys.into_iter().map(|key| (key, error.clone())));
                break;
            }
            attempt += 1;
        }
        read
    }

    /// Reads one page.
    ///
    /// # Errors
    /// See [`Client::get`].
    pub async fn query(&self, query: &Query) -> Result<Page, TableError> {
        self.persist(|| self.table.query(query)).await
    }

    /// Puts and deletes items without conditions. Returns what failed, and why.
    pub async fn write_many(&self, writes: Vec<Write>) -> BTreeMap<ItemKey, TableError> {
        let chunks = writes.chunks(BATCH_WRITE_ITEMS_MAX).map(|chunk| self.write_chunk(chunk.to_vec())).collect();
        self.all(chunks).await.into_iter().flatten().collect()
    }

    async fn write_chunk(&self, writes: Vec<Write>) -> Vec<(ItemKey, TableError)> {
        let mut failed = Vec::new();
        // A batch that holds one impossible item is refused whole: then each item goes alone.
        let mut batches = vec![writes];
        while let Some(mut writes) = batches.pop() {
            let mut attempt = 0;
            while !writes.is_empty() {
                let error = match self.count(attempt, Box::pin(self.table.write_many(&writes)).await) {
                    Ok(unprocessed) => {
                        if unprocessed.len() < writes.len() {
                            attempt = 0;
                        }
                        writes = unprocessed;
                        TableError::new(ErrorKind::Retry, "items left unprocessed")
                    }
                    Err(error) if error.kind == ErrorKind::Refuse && writes.len() > 1 => {
                        batches.extend(writes.drain(..).map(|write| vec![write]));
                        break;
                    }
                    Err(error) => error,
                };
                if writes.is_empty() {
                    break;
                }
                if error.kind != ErrorKind::Retry || !self.retry_policy.wait(attempt).await {
                    failed.extend(writes.drain(..).map(|write| (write.key().clone(), error.clone())));
                }
                attempt += 1;
            }
        }
        failed
    }

    /// Carries out a task: a write on a condition, or a transaction.
    ///
    /// # Errors
    /// See [`Client::get`].
    pub async fn carry_out(&self, task: &Task) -> Result<Outcome, TableError> {
        let mut attempt = 0;
        loop {
            let name = || format!("{}-{}", self.name, self.marks.fetch_add(1, Ordering::Relaxed));
            let answer = match task.attempt(name) {
                Task::Transact(actions) => self.count(attempt, Box::pin(self.send_transaction(actions)).await),
                Task::Write(action) => self.count(attempt, Box::pin(self.write(action)).await),
                Task::Mark { .. } => Err(TableError::new(ErrorKind::GiveUp, "a mark is named by each attempt")),
            };
            match answer {
                Ok(outcome) => return Ok(outcome),
                Err(error) if error.kind != ErrorKind::Retry || !self.retry_policy.wait(attempt).await => {
                    return Err(error);
                }
                Err(_) => attempt += 1,
            }
        }
    }

    async fn send_transaction(&self, actions: Vec<Action>) -> Result<Reply<Outcome>, TableError> {
        let reply = self.table.transact(&actions).await?;
        Ok(reply.map(|transacted| match transacted {
            Transacted::Done => Outcome::Held,
            Transacted::Failed(positions) => Outcome::Failed(positions),
        }))
    }

    async fn write(&self, action: Action) -> Result<Reply<Outcome>, TableError> {
        let reply = match &action {
            Action::Put { item, condition, .. } => self.table.put(item, condition).await?,
            Action::Update { key, update, condition } => self.table.update(key, update, condition).await?,
            Action::Delete { key, condition } => self.table.delete(key, condition).await?,
            Action::Check { .. } => return Box::pin(self.send_transaction(vec![action])).await,
        };
        Ok(reply.map(|held| if held { Outcome::Held } else { Outcome::Failed(vec![0]) }))
    }

    async fn persist<V, F>(&self, request: impl Fn() -> F) -> Result<V, TableError>
    where
        F: Future<Output = Result<Reply<V>, TableError>>,
    {
        let mut attempt = 0;
        loop {
            match self.count(attempt, Box::pin(request()).await) {
                Ok(value) => return Ok(value),
                Err(error) if error.kind != ErrorKind::Retry || !self.retry_policy.wait(attempt).await => {
                    return Err(error);
                }
                Err(_) => attempt += 1,
            }
        }
    }

    fn count<V>(&self, attempt: u32, answer: Result<Reply<V>, TableError>) -> Result<V, TableError> {
        let mut usage = self.usage.lock().unwrap_or_else(PoisonError::into_inner);
        usage.requests += 1;
        usage.retries += u64::from(attempt > 0);
        match answer {
            Ok(Reply { value, read_units, write_units }) => {
                usage.read_units += read_units;
                usage.write_units += write_units;
                Ok(value)
            }
            Err(error) => {
                usage.conflicts += u64::from(error.is_conflict());
                Err(error)
            }
        }
    }
}
