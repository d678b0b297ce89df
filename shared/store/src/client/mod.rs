//! The one client on a [`Table`]: it cuts requests to size, runs several at once, retries in time, and counts.

mod reads;
mod tasks;
mod writes;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures::stream::{self, StreamExt};
use sapwood_core::keys::Schema;
use sapwood_core::plan::WritesKind;
use sapwood_core::request::{ErrorKind, TableError};
use tokio::sync::Semaphore;

pub use self::reads::Items;
pub use self::tasks::CarriedOut;
pub use self::writes::BatchBytes;
use super::clock::since_1970;
use super::{BATCH_GET_KEYS_MAX, Reply, Table};

/// Waits that double from one attempt to the next, up to a longest one.
#[derive(Clone, Copy, Debug)]
pub struct Backoff {
    first: Duration,
    longest: Duration,
}

impl Backoff {
    /// Waits of these milliseconds at first, and at most.
    #[must_use]
    pub const fn new(first_ms: u64, longest_ms: u64) -> Self {
        Self { first: Duration::from_millis(first_ms), longest: Duration::from_millis(longest_ms) }
    }

    /// The wait before another attempt. `attempt` counts from 0.
    #[must_use]
    pub fn wait(self, attempt: u32) -> Duration {
        self.first.saturating_mul(1 << attempt.min(10)).min(self.longest)
    }

    /// A random time below it (full jitter,
    /// [AWS: exponential backoff and jitter](https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/)).
    #[must_use]
    pub fn jittered(self, attempt: u32) -> Duration {
        self.wait(attempt).mul_f64(fastrand::f64())
    }
}

/// How long a client goes on trying.
pub trait RetryPolicy: Send + Sync {
    /// Waits longer with each attempt (from 0). Returns false if no time is left; the client then gives up.
    fn wait(&self, attempt: u32) -> impl Future<Output = bool> + Send;

    /// Waits while a request whose connection was cut may still be carried out.
    fn wait_out(&self) -> impl Future<Output = ()> + Send {
        std::future::ready(())
    }

    /// The time in milliseconds since 1970, which entries of feeds are stamped with.
    fn now_ms(&self) -> u64 {
        u64::try_from(since_1970().as_millis()).unwrap_or(u64::MAX)
    }

    /// False once this share of the time is over.
    fn is_within(&self, _share: f64) -> bool {
        true
    }

    /// False once so little time is left that nothing of this kind should be written any more.
    fn has_time_for(&self, kind: WritesKind) -> bool {
        kind.share_of_time().is_none_or(|share| self.is_within(share))
    }
}

/// No retries: the caller has something better to do, or the table never fails.
#[derive(Clone, Copy, Debug)]
pub struct NoRetries;

impl RetryPolicy for NoRetries {
    async fn wait(&self, _attempt: u32) -> bool {
        false
    }
}

/// The usage of a client's requests.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    /// Requests to the table, retries included.
    pub requests: u64,
    /// Requests that were retries.
    pub retries: u64,
    /// Requests refused because of a running transaction. Items that BatchWriteItem leaves unprocessed aren't counted.
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

/// See [`Client::within`].
const BYTES_IN_FLIGHT_MAX: usize = 8 * 1_024 * 1_024;

/// A table, the retry policy of one invocation or request, and a count of what the requests took. A write that
/// [`Client::carry_out`] retries may have been carried out by an earlier attempt; [`Client::attempt`] never sends a
/// write again that may have been.
#[derive(Debug)]
#[must_use]
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
    /// Items asked for at a time by partition, where more had too many bytes. A scan's partition key is empty.
    narrowed: Mutex<BTreeMap<String, usize>>,
}

impl<'a, T: Table, P: RetryPolicy> Client<'a, T, P> {
    /// Makes a client with eight requests of one kind, and 8 MB of batches of writes, in flight.
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
        .within(BYTES_IN_FLIGHT_MAX)
    }

    /// Sets how many bytes of requests [`Client::write_many`] keeps in flight. A larger request goes alone.
    pub fn within(self, bytes_in_flight_max: usize) -> Self {
        Self { bytes_in_flight_max, room: Semaphore::new(bytes_in_flight_max), ..self }
    }

    /// Sets how many bytes a BatchWriteItem has, as earlier clients of the table have found.
    pub fn with_batches_of(self, batch_bytes: BatchBytes) -> Self {
        Self { batch_bytes, ..self }
    }

    /// Sets the name that marks begin with, which must be unique, and the requests of one kind in flight.
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

    /// The usage so far.
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

fn no_time() -> TableError {
    TableError::new(ErrorKind::Retry, "no time left for this")
}
