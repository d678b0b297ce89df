//! Writes of many items, in batches.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use sapwood_core::keys::ItemKey;
use sapwood_core::plan::{Task, Writes, WritesKind};
use sapwood_core::request::{ErrorKind, TableError, Write};

use super::{Client, RetryPolicy, no_time};
use crate::{BATCH_WRITE_BYTES_MAX, BATCH_WRITE_ITEMS_MAX, Table};

/// Most bytes of a BatchWriteItem of several writes: [`BATCH_WRITE_BYTES_MAX`], or less once such a request got no
/// answer in time, as behind a slow network or on a busy engine. Clones share the limit, so an invocation begins with
/// what the one before has found, when a record is delivered again.
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

    /// Lowers the limit to a quarter of `bytes`, the size of a request that got no answer in time.
    fn late(&self, bytes: usize) {
        self.0.fetch_min((bytes / 4).max(Self::LEAST), Ordering::Relaxed);
    }
}

/// The result of writes. The writes not named were carried out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Written {
    /// The keys of the writes that failed, and why.
    pub failed: BTreeMap<ItemKey, TableError>,
    /// The keys of writes that were carried out after an attempt without an answer, which may still be carried out.
    pub unanswered: BTreeSet<ItemKey>,
}

impl<T: Table, P: RetryPolicy> Client<'_, T, P> {
    /// Puts any number of items, in their order, or deletes rows. Rows are written only while there is time for them.
    pub async fn write_many(&self, writes: Writes) -> Written {
        let Writes { writes, kind } = writes;
        if writes.iter().any(|write| matches!(write, Write::Tell { .. })) {
            return self.tell(&writes).await;
        }
        let deletions = writes.iter().map(|write| write.row_deletion().map(Task::Write)).collect::<Option<Vec<_>>>();
        if let Some(deletions) = deletions {
            return self.delete_rows(&writes, &deletions).await;
        }
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

    /// Puts entries of feeds. One whose answer comes too late after its stamp is put again, with another stamp. The
    /// earlier one does no harm, however late it lands: an entry says nothing but an id.
    async fn tell(&self, entries: &[Write]) -> Written {
        let chunks = entries.chunks(BATCH_WRITE_ITEMS_MAX).map(|chunk| self.tell_chunk(chunk)).collect();
        let mut failed: BTreeMap<_, _> = self.all(chunks).await.into_iter().flatten().collect();
        // Perhaps one of a chunk is what the table refuses.
        let is_refused = |write: &Write| failed.get(write.key()).is_some_and(|error| error.kind == ErrorKind::Refuse);
        let (refused, _): (Vec<_>, Vec<_>) = entries.chunks(1).partition(|one| one.iter().all(is_refused));
        failed.retain(|_, error| error.kind != ErrorKind::Refuse);
        failed.extend(
            self.all(refused.into_iter().map(|one| self.tell_chunk(one)).collect()).await.into_iter().flatten(),
        );
        Written { failed, unanswered: BTreeSet::new() }
    }

    async fn tell_chunk(&self, entries: &[Write]) -> BTreeMap<ItemKey, TableError> {
        let mut left: Vec<&Write> = entries.iter().collect();
        let mut attempt = 0;
        loop {
            let stamp = self.retry_policy.now_ms();
            let stamped: Vec<Write> = left.iter().map(|write| write.stamped(stamp, self.schema)).collect();
            let error = match self.count(attempt, Box::pin(self.table.write_many(&stamped)).await) {
                Ok(unprocessed) => {
                    let now = self.retry_policy.now_ms();
                    let is_done = |(write, sent): (&Write, &Write)| {
                        let is_in_time = now.checked_sub(stamp).is_some_and(|ms| ms <= write.answered_within_ms());
                        is_in_time && !unprocessed.iter().any(|one| one.key() == sent.key())
                    };
                    let mut sent = stamped.iter();
                    left.retain(|write| sent.next().is_some_and(|sent| !is_done((write, sent))));
                    if left.is_empty() {
                        return BTreeMap::new();
                    }
                    TableError::new(ErrorKind::Retry, "items left unprocessed, or answered late")
                }
                Err(error) => error,
            };
            if error.kind != ErrorKind::Retry || !self.retry_policy.wait(attempt).await {
                return left.into_iter().map(|write| (write.key().clone(), error.clone())).collect();
            }
            attempt += 1;
        }
    }

    async fn delete_rows(&self, writes: &[Write], deletions: &[Task]) -> Written {
        let mut all = Written::default();
        for (write, done) in writes.iter().zip(self.touch_all(deletions).await) {
            all.unanswered.extend(done.unanswered.then(|| write.key().clone()));
            // Where a condition doesn't hold there is no row of the node, and nothing to delete.
            all.failed.extend(done.outcome.err().map(|error| (write.key().clone(), error)));
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
