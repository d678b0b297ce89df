//! The one client on a [`Table`]. It cuts requests to size, keeps several in flight, retries for as long as there is
//! time, and counts.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use futures::stream::{self, StreamExt};
use sapwood_core::keys::{ItemKey, Schema};
use sapwood_core::model::{Item, answered_bytes, key_of};
use sapwood_core::plan::{Limits, Task, TaskOutcome, Writes, WritesKind};
use sapwood_core::request::{
    Action, ErrorKind, Page, Query, ReadOptions, Scan, Scanned, TableError, Transacted, Write,
};
use tokio::sync::Semaphore;

use super::{
    ANSWER_BYTES_MAX, BATCH_GET_KEYS_MAX, BATCH_UPDATES_MAX, BATCH_WRITE_BYTES_MAX, BATCH_WRITE_ITEMS_MAX, Found,
    Reply, Scannable, Table, Update,
};

/// How long a client goes on trying.
pub trait RetryPolicy: Send + Sync {
    /// Waits before another attempt. `attempt` counts from 0; the wait grows with it. Returns false if no time is left,
    /// and the client then gives up.
    fn wait(&self, attempt: u32) -> impl Future<Output = bool> + Send;

    /// False once so little time is left that nothing of this kind should be written any more.
    fn has_time_for(&self, _kind: WritesKind) -> bool {
        true
    }
}

/// Nothing is tried again: the caller has something better to do, or the table never fails.
#[derive(Clone, Copy, Debug)]
pub struct NoRetries;

impl RetryPolicy for NoRetries {
    async fn wait(&self, _attempt: u32) -> bool {
        false
    }
}

/// What the requests of a client took.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    /// Requests to the table, retries included.
    pub requests: u64,
    /// Requests that were retries.
    pub retries: u64,
    /// Requests that a running transaction kept from an item. Items that BatchWriteItem leaves unprocessed aren't
    /// counted, because it doesn't say why it does.
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

/// A table, the retry policy of one invocation or request, and a count of what the requests took. A write that
/// [`Client::carry_out`] retries may have been carried out by an earlier attempt; [`Client::attempt`] never sends a
/// write again that may have been.
#[derive(Debug)]
pub struct Client<'a, T, P> {
    table: &'a T,
    retry_policy: &'a P,
    schema: &'a Schema,
    /// Most requests of one kind at a time.
    in_flight_max: usize,
    /// Most bytes of requests that write many items at a time, and how many there is room for now.
    bytes_in_flight_max: usize,
    room: Semaphore,
    /// A name that no other client has. The names of marks begin with it.
    name: &'a str,
    marks: AtomicU64,
    usage: Mutex<Usage>,
    /// How many keys reads of a limited number of bytes begin with.
    keys_at_once: AtomicUsize,
    batch_bytes: BatchBytes,
    /// How many items of a partition are asked for at a time, where more had too many bytes. A scan's is that of the
    /// empty partition key.
    narrowed: Mutex<BTreeMap<String, usize>>,
}

/// Most bytes of a BatchWriteItem of several writes: [`BATCH_WRITE_BYTES_MAX`], or less once such a request got no
/// answer in time. Behind a slow network, or on a busy engine, fewer bytes at a time get one. All clones are one, so an
/// invocation begins with what the one before it has found: a record is delivered again if one of its writes got no
/// answer, and its writes would be as large again.
#[derive(Clone, Debug)]
pub struct BatchBytes(Arc<AtomicUsize>);

impl Default for BatchBytes {
    fn default() -> Self {
        Self(Arc::new(AtomicUsize::new(BATCH_WRITE_BYTES_MAX)))
    }
}

impl BatchBytes {
    /// The least that the limit becomes, in bytes. It is a choice.
    const LEAST: usize = BATCH_WRITE_BYTES_MAX / 64;

    fn now(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    /// A request of so many bytes got no answer in time: a quarter of them go in the next one.
    fn late(&self, bytes: usize) {
        self.0.fetch_min((bytes / 4).max(Self::LEAST), Ordering::Relaxed);
    }
}

/// What came of writes without conditions. The other writes were carried out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Written {
    /// The keys of the writes that failed, and why.
    pub failed: BTreeMap<ItemKey, TableError>,
    /// The keys of writes that were carried out after an attempt without an answer. That attempt may be carried out
    /// later.
    pub unanswered: BTreeSet<ItemKey>,
}

/// What came of a task.
#[derive(Clone, Debug, PartialEq)]
pub struct CarriedOut {
    /// The outcome, or why there is none.
    pub outcome: Result<TaskOutcome, TableError>,
    /// True if an attempt got no answer. It may be carried out later.
    pub unanswered: bool,
}

/// What was read: the items that exist, and the keys that couldn't be read.
#[derive(Debug, Default)]
pub struct Items {
    /// The items by their keys.
    pub items: BTreeMap<ItemKey, Item>,
    /// The keys that couldn't be read, and why.
    pub failed: BTreeMap<ItemKey, TableError>,
    /// The keys that weren't read, because the items before them have as many bytes as were asked for.
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

impl<'a, T: Table, P: RetryPolicy> Client<'a, T, P> {
    /// Makes a client of a table with this schema. It keeps eight requests of one kind in flight.
    pub fn new(table: &'a T, retry_policy: &'a P, schema: &'a Schema) -> Self {
        Self {
            table,
            retry_policy,
            schema,
            in_flight_max: 8,
            bytes_in_flight_max: 0,
            room: Semaphore::new(0),
            name: "",
            marks: AtomicU64::new(0),
            usage: Mutex::default(),
            keys_at_once: AtomicUsize::new(BATCH_GET_KEYS_MAX),
            batch_bytes: BatchBytes::default(),
            narrowed: Mutex::default(),
        }
        .within(Limits::default().bytes_in_flight_max)
    }

    /// Sets how many bytes of requests [`Client::write_many`] keeps in flight. A larger request goes alone.
    #[must_use]
    pub fn within(self, bytes_in_flight_max: usize) -> Self {
        Self { bytes_in_flight_max, room: Semaphore::new(bytes_in_flight_max), ..self }
    }

    /// Sets how many bytes a BatchWriteItem has, as earlier clients of the table have found.
    #[must_use]
    pub fn with_batches_of(self, batch_bytes: BatchBytes) -> Self {
        Self { batch_bytes, ..self }
    }

    /// Gives the client a name that no other client has, and sets how many requests of one kind it keeps in flight.
    /// Only a client with a name can carry out [`Task::Mark`].
    #[must_use]
    pub fn named(self, name: &'a str, in_flight_max: usize) -> Self {
        Self { name, in_flight_max, ..self }
    }

    /// The table.
    #[must_use]
    pub fn table(&self) -> &'a T {
        self.table
    }

    /// The schema of the table's keys.
    #[must_use]
    pub fn schema(&self) -> &'a Schema {
        self.schema
    }

    /// What the requests have taken so far.
    #[must_use]
    pub fn usage(&self) -> Usage {
        *self.usage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits before another attempt, as the retry policy says. Returns false if no time is left.
    pub async fn wait(&self, attempt: u32) -> bool {
        self.retry_policy.wait(attempt).await
    }

    /// Most requests of one kind at a time.
    pub fn in_flight_max(&self) -> usize {
        self.in_flight_max
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
    /// [`TableError`] if time is up or a retry is no use.
    pub async fn get(&self, key: &ItemKey, options: &ReadOptions) -> Result<Option<Item>, TableError> {
        Ok(self.get_many([key.clone()].into(), options).await.all()?.remove(key))
    }

    /// Reads any number of items, all of them or none.
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

    /// Reads any number of items.
    pub async fn get_many(&self, keys: BTreeSet<ItemKey>, options: &ReadOptions) -> Items {
        let keys: Vec<ItemKey> = keys.into_iter().collect();
        let chunk = |chunk: &[ItemKey]| self.get_chunk(chunk.to_vec(), options, None);
        let mut all = Items::default();
        for Items { items, failed, .. } in self.all(keys.chunks(BATCH_GET_KEYS_MAX).map(chunk).collect()).await {
            all.items.extend(items);
            all.failed.extend(failed);
        }
        all
    }

    /// Reads items until these have `bytes_max` bytes in answers, which takes one more request at most. The keys that
    /// are left then can be asked for when the items before them aren't needed any more.
    pub async fn get_within(&self, keys: BTreeSet<ItemKey>, options: &ReadOptions, bytes_max: usize) -> Items {
        let (keys, mut all, mut bytes) = (keys.into_iter().collect::<Vec<_>>(), Items::default(), 0);
        for chunk in keys.chunks(BATCH_GET_KEYS_MAX) {
            if bytes >= bytes_max {
                all.left.extend(chunk.iter().cloned());
                continue;
            }
            let Items { items, failed, left } = self.get_chunk(chunk.to_vec(), options, Some(bytes_max - bytes)).await;
            bytes += items.values().map(answered_bytes).sum::<usize>();
            all.items.extend(items);
            all.failed.extend(failed);
            all.left.extend(left);
        }
        all
    }

    // Requests are boxed, because the future of an SDK's request is large, and every future that awaits it would be as
    // large.
    async fn get_chunk(&self, mut keys: Vec<ItemKey>, options: &ReadOptions, bytes_max: Option<usize>) -> Items {
        let (mut read, mut bytes) = (Items::default(), 0);
        let first = if bytes_max.is_some() { self.keys_at_once.load(Ordering::Relaxed) } else { BATCH_GET_KEYS_MAX };
        let (mut attempt, mut at_once) = (0, first);
        while !keys.is_empty() {
            if bytes_max.is_some_and(|bytes_max| bytes >= bytes_max) {
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

    /// Reads one page. It is shorter where a longer one gets no answer in time, and so are the pages of the partition
    /// that follow, until they have few bytes.
    ///
    /// # Errors
    /// See [`Client::get`].
    pub async fn query(&self, query: &Query) -> Result<Page, TableError> {
        let ask = |limit| async move { self.table.query(&Query { limit, ..query.clone() }).await };
        self.persist(&query.pk, query.limit, ask, |page| &page.items).await
    }

    /// Reads one page of the whole table, as [`Client::query`] does.
    ///
    /// # Errors
    /// See [`Client::get`].
    pub async fn scan(&self, scan: &Scan) -> Result<Scanned, TableError>
    where
        T: Scannable,
    {
        let ask = |limit| async move { self.table.scan(&Scan { limit, ..scan.clone() }).await };
        self.persist("", scan.limit, ask, |scanned| &scanned.items).await
    }

    /// Puts and deletes any number of items without conditions, in their order. Rows are written only while there is
    /// time for them.
    pub async fn write_many(&self, writes: Writes) -> Written {
        let Writes { writes, kind } = writes;
        let mut position = 0;
        let chunks = chunks_of(&writes, self.batch_bytes.now()).into_iter().map(|(chunk, bytes)| {
            let kind = match kind {
                WritesKind::Meanwhile { ahead } if position < ahead => WritesKind::FirstRows,
                kind => kind,
            };
            position += chunk.len();
            self.write_chunk(chunk, bytes, kind)
        });
        let chunks = chunks.collect();
        let mut all = Written::default();
        for Written { failed, unanswered } in self.all(chunks).await {
            all.failed.extend(failed);
            all.unanswered.extend(unanswered);
        }
        all
    }

    async fn write_chunk(&self, writes: &[Write], bytes: usize, kind: WritesKind) -> Written {
        // Two requests of the largest size fill the room, however small that size has become.
        let bytes = bytes.saturating_mul(BATCH_WRITE_BYTES_MAX / self.batch_bytes.now()).min(self.bytes_in_flight_max);
        // The semaphore is never closed.
        let _room = self.room.acquire_many(u32::try_from(bytes).unwrap_or(u32::MAX)).await.ok();
        let mut done = Written::default();
        // DynamoDB refuses a whole batch for one impossible item, or because it is too large. Each half then goes by
        // itself, until the item that can't be written is alone. One that gets no answer in time goes in parts.
        let mut batches = vec![Cow::Borrowed(writes)];
        while let Some(mut writes) = batches.pop() {
            let mut attempt = 0;
            while !writes.is_empty() {
                // The limit may have become lower since the writes were cut into chunks.
                let bytes_max = self.batch_bytes.now();
                if bytes_max < BATCH_WRITE_BYTES_MAX
                    && let parts = chunks_of(&writes, bytes_max)
                    && parts.len() > 1
                {
                    batches.extend(parts.into_iter().rev().map(|(part, _)| Cow::Owned(part.to_vec())));
                    break;
                }
                if !self.retry_policy.has_time_for(kind) {
                    done.failed.extend(writes.iter().map(|write| (write.key().clone(), no_time())));
                    break;
                }
                let error = match self.count(attempt, Box::pin(self.table.write_many(&writes)).await) {
                    Ok(unprocessed) => {
                        if unprocessed.len() < writes.len() {
                            attempt = 0;
                        }
                        writes = Cow::Owned(unprocessed);
                        TableError::new(ErrorKind::Retry, "items left unprocessed")
                    }
                    Err(error) if error.kind == ErrorKind::Refuse && writes.len() > 1 => {
                        let (first, second) = writes.split_at(writes.len() / 2);
                        batches.extend([second, first].map(|half| Cow::Owned(half.to_vec())));
                        break;
                    }
                    Err(error) => error,
                };
                if writes.is_empty() {
                    break;
                }
                if error.is_unanswered() {
                    done.unanswered.extend(writes.iter().map(|write| write.key().clone()));
                    if error.is_late() {
                        self.batch_bytes.late(writes.iter().map(Write::sent_bytes).sum());
                    }
                }
                if error.kind != ErrorKind::Retry || !self.retry_policy.wait(attempt).await {
                    done.failed.extend(writes.iter().map(|write| (write.key().clone(), error.clone())));
                    break;
                }
                attempt += 1;
            }
        }
        done
    }

    /// Carries out a task: a conditional write, a transaction, or a mark, which each attempt names anew.
    pub async fn carry_out(&self, task: &Task) -> CarriedOut {
        self.carry_out_while(task, || true).await
    }

    async fn carry_out_while(&self, task: &Task, has_time: impl Fn() -> bool) -> CarriedOut {
        let (mut attempt, mut unanswered) = (0, false);
        loop {
            if !has_time() {
                return CarriedOut { outcome: Err(no_time()), unanswered };
            }
            match self.send(attempt, task).await {
                Ok(outcome) => return CarriedOut { outcome: Ok(outcome), unanswered },
                Err(error) => {
                    unanswered |= error.is_unanswered();
                    if error.kind != ErrorKind::Retry || !self.retry_policy.wait(attempt).await {
                        return CarriedOut { outcome: Err(error), unanswered };
                    }
                    attempt += 1;
                }
            }
        }
    }

    /// Carries out a task at most once: it is sent again only after an answer that it wasn't carried out. Returns
    /// `None` if no answer came. The task may have been carried out then, or may be later.
    ///
    /// # Errors
    /// [`TableError`] if time is up or a retry is no use. Nothing was carried out.
    pub async fn attempt(&self, task: &Task) -> Result<Option<TaskOutcome>, TableError> {
        let mut attempt = 0;
        loop {
            match self.send(attempt, task).await {
                Ok(outcome) => return Ok(Some(outcome)),
                Err(error) if error.is_unanswered() => return Ok(None),
                Err(error) if error.kind != ErrorKind::Retry || !self.retry_policy.wait(attempt).await => {
                    return Err(error);
                }
                Err(_) => attempt += 1,
            }
        }
    }

    async fn send(&self, attempt: u32, task: &Task) -> Result<TaskOutcome, TableError> {
        let name = || format!("{}-{}", self.name, self.marks.fetch_add(1, Ordering::Relaxed));
        match task.attempt(attempt, name) {
            Task::Transact(actions) => self.count(attempt, Box::pin(self.send_transaction(actions)).await),
            Task::Write(action) => self.count(attempt, Box::pin(self.write(action)).await),
            Task::Mark { .. } | Task::Count(_) => {
                Err(TableError::new(ErrorKind::GiveUp, "an attempt has to name its mark, or choose its lane"))
            }
        }
    }

    /// True while there is time for touches.
    fn may_touch(&self) -> bool {
        self.retry_policy.has_time_for(WritesKind::Touches)
    }

    /// Touches items, several at a time, each on its own conditions. Updates of items that have to exist share
    /// requests. What came of the tasks is in their order. Those that there is no time for are left, so that a cursor
    /// can remember the others.
    pub async fn touch_all(&self, tasks: &[Task]) -> Vec<CarriedOut> {
        let requests = requests_of(tasks).into_iter().map(|positions| async move {
            let asked: Vec<&Task> = positions.iter().map(|position| &tasks[*position]).collect();
            let done = match asked.as_slice() {
                [task] => vec![self.carry_out_while(task, || self.may_touch()).await],
                several => self.update_existing(several).await,
            };
            positions.into_iter().zip(done).collect::<Vec<_>>()
        });
        let mut done: Vec<(usize, CarriedOut)> = self.all(requests.collect()).await.into_iter().flatten().collect();
        done.sort_by_key(|(position, _)| *position);
        done.into_iter().map(|(_, carried_out)| carried_out).collect()
    }

    /// Carries out updates that share a request. Those that DynamoDB leaves undone are tried again, without the others.
    async fn update_existing(&self, tasks: &[&Task]) -> Vec<CarriedOut> {
        let updates: Vec<(ItemKey, Update)> = tasks
            .iter()
            .filter_map(|task| task.update_of_existing())
            .map(|(key, update)| (key.clone(), update.clone()))
            .collect();
        let no_answer = || TableError::unanswered("no answer for a statement");
        let mut done: Vec<CarriedOut> =
            updates.iter().map(|_| CarriedOut { outcome: Err(no_answer()), unanswered: false }).collect();
        let mut left: Vec<usize> = (0..updates.len()).collect();
        let mut attempt = 0;
        loop {
            if !self.may_touch() {
                left.iter().for_each(|position| done[*position].outcome = Err(no_time()));
                break;
            }
            let some: Vec<(ItemKey, Update)> = left.iter().map(|position| updates[*position].clone()).collect();
            let answers = match self.count(attempt, Box::pin(self.table.update_existing(&some)).await) {
                Ok(answers) => self.count_conflicts(answers),
                Err(error) => vec![Err(error); left.len()],
            };
            for (position, answer) in left.iter().zip(answers) {
                let one = &mut done[*position];
                one.unanswered |= answer.as_ref().is_err_and(TableError::is_unanswered);
                one.outcome = answer.map(outcome_of);
            }
            let asked = left.len();
            left.retain(|position| matches!(&done[*position].outcome, Err(error) if error.kind == ErrorKind::Retry));
            if left.len() < asked {
                attempt = 0;
            }
            if left.is_empty() || !self.retry_policy.wait(attempt).await {
                break;
            }
            attempt += 1;
        }
        // One impossible statement has DynamoDB refuse all of a request, and a role may allow UpdateItem and not
        // PartiQL. So each goes alone.
        for (task, one) in tasks.iter().zip(&mut done) {
            if matches!(&one.outcome, Err(error) if error.kind != ErrorKind::Retry) {
                let alone = self.carry_out_while(task, || self.may_touch()).await;
                *one = CarriedOut { unanswered: one.unanswered || alone.unanswered, ..alone };
            }
        }
        done
    }

    async fn send_transaction(&self, actions: Vec<Action>) -> Result<Reply<TaskOutcome>, TableError> {
        let reply = self.table.transact(&actions).await?;
        Ok(reply.map(|transacted| match transacted {
            Transacted::Done => TaskOutcome::Held,
            Transacted::Failed(positions) => TaskOutcome::Failed(positions),
        }))
    }

    async fn write(&self, action: Action) -> Result<Reply<TaskOutcome>, TableError> {
        let reply = match &action {
            Action::Put { item, condition, .. } => self.table.put(item, condition).await?,
            Action::Update { key, update, condition } => self.table.update(key, update, condition).await?,
            Action::Delete { key, condition } => self.table.delete(key, condition).await?,
            Action::Check { .. } => return Box::pin(self.send_transaction(vec![action])).await,
        };
        Ok(reply.map(outcome_of))
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

    /// Counts the conflicts of the statements of a request, each of which can have one.
    fn count_conflicts<V>(&self, answers: Vec<Result<V, TableError>>) -> Vec<Result<V, TableError>> {
        let conflicts = answers.iter().filter(|answer| answer.as_ref().is_err_and(TableError::is_conflict)).count();
        self.usage.lock().unwrap_or_else(PoisonError::into_inner).conflicts += conflicts as u64;
        answers
    }

    fn count<V>(&self, attempt: u32, answer: Result<Reply<V>, TableError>) -> Result<V, TableError> {
        let mut usage = self.usage.lock().unwrap_or_else(PoisonError::into_inner);
        usage.requests += 1;
        usage.retries += u64::from(attempt > 0);
        match answer {
            Ok(Reply { value, read_units, write_units }) => {
                usage.read_units += read_units;
                usage.write_units += write_units;
                tracing::debug!(attempt, read_units, write_units, "a request to the table");
                Ok(value)
            }
            Err(error) => {
                usage.conflicts += u64::from(error.is_conflict());
                // The message may quote the request.
                tracing::debug!(attempt, kind = ?error.kind, conflict = error.is_conflict(), "a request to the table failed");
                Err(error)
            }
        }
    }
}

/// The outcome of a task of one write.
fn outcome_of(held: bool) -> TaskOutcome {
    if held { TaskOutcome::Held } else { TaskOutcome::Failed(vec![0]) }
}

/// True for an answer that could have been twice as large, and more.
fn is_small(bytes: usize) -> bool {
    bytes < ANSWER_BYTES_MAX / 4
}

fn no_time() -> TableError {
    TableError::new(ErrorKind::Retry, "no time left for this")
}

/// How many items are asked for after a read of this many got no answer in time, or one that is too large: 1 MB of
/// items can have 45 MB in an answer.
fn fewer(items: usize) -> usize {
    (items / 10).max(1)
}

/// Cuts writes into those that share a request, which have so many bytes at most, with their bytes there.
fn chunks_of(writes: &[Write], bytes_max: usize) -> Vec<(&[Write], usize)> {
    let (mut chunks, mut start, mut bytes) = (Vec::new(), 0, 0);
    for (position, write) in writes.iter().enumerate() {
        let more = write.sent_bytes();
        let count = position - start;
        if count > 0 && (count == BATCH_WRITE_ITEMS_MAX || bytes + more > bytes_max) {
            chunks.push((&writes[start..position], bytes));
            (start, bytes) = (position, 0);
        }
        bytes += more;
    }
    chunks.extend((start < writes.len()).then(|| (&writes[start..], bytes)));
    chunks
}

/// Returns the positions of the tasks that share a request. DynamoDB refuses a request that names an item twice.
fn requests_of(tasks: &[Task]) -> Vec<Vec<usize>> {
    let (mut requests, mut shared, mut keys) = (Vec::new(), Vec::new(), BTreeSet::new());
    for (position, task) in tasks.iter().enumerate() {
        match task.update_of_existing() {
            Some((key, _)) if keys.insert(key) => shared.push(position),
            _ => requests.push(vec![position]),
        }
        if shared.len() == BATCH_UPDATES_MAX {
            requests.push(std::mem::take(&mut shared));
            keys.clear();
        }
    }
    requests.extend((!shared.is_empty()).then_some(shared));
    requests
}

#[cfg(test)]
mod tests {
    use sapwood_core::model::text;
    use sapwood_core::request::Condition;

    use super::*;

    fn update(pk: &str, condition: Condition) -> Task {
        let update = Update::set("_touched", text("1"));
        Task::Write(Action::Update { key: ItemKey::new(pk, "NODE"), update, condition })
    }

    #[test]
    fn updates_of_items_that_have_to_exist_share_requests_and_nothing_else_does() {
        let exists = |pk: &str| update(pk, Condition::Exists);
        let deletion = Action::Delete { key: ItemKey::new("d", "NODE"), condition: Condition::Exists };
        let tasks = [
            exists("a"),
            update("b", Condition::Always),
            exists("c"),
            Task::Write(deletion.clone()),
            Task::Transact(vec![deletion]),
            exists("a"),
            exists("d"),
        ];
        assert_eq!(requests_of(&tasks), [vec![1], vec![3], vec![4], vec![5], vec![0, 2, 6]]);
    }

    #[test]
    fn a_request_has_25_updates_at_most() {
        let tasks: Vec<Task> = (0..60).map(|number| update(&format!("n{}", number % 40), Condition::Exists)).collect();
        let requests = requests_of(&tasks);
        assert_eq!(requests.iter().map(Vec::len).collect::<Vec<_>>(), [25, 25, 10]);
        let mut positions = requests.concat();
        positions.sort_unstable();
        assert_eq!(positions, (0..60).collect::<Vec<usize>>());
    }
}
