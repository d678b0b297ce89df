//! The table in memory, as a client meets it: each request takes a turn, in which others come between, and whoever
//! sends it may die of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::task::Poll;

use sapwood_core::keys::ItemKey;
use sapwood_core::model::{Item, item_bytes};
use sapwood_simulation::memory::MemoryTable;
use sapwood_store::{
    Action, Condition, Deadline, Found, Page, Query, ReadOptions, Reply, RetryPolicy, Scan, Scannable, Scanned, Table,
    TableError, Transacted, Update, Write,
};

/// The bytes of a write unit.
const BYTES_OF_WRITE_UNIT: usize = 1_024;

/// A table whose requests take turns. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Turns {
    pub(crate) memory: MemoryTable,
    /// The requests so far.
    pub(crate) requests: Arc<AtomicU64>,
    /// The writes until the caller dies; `None` for one that doesn't.
    pub(crate) life: Option<Life>,
}

/// How many writes a caller has left, and whether it is dead.
#[derive(Clone, Debug)]
pub(crate) struct Life(Arc<AtomicU32>);

impl Life {
    pub(crate) fn of(writes: u32) -> Self {
        Self(Arc::new(AtomicU32::new(writes)))
    }

    pub(crate) fn is_over(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }
}

/// How long somebody tries: until a deadline, or, where no time goes by, until it is done.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience(pub(crate) Option<Deadline>);

impl RetryPolicy for Patience {
    async fn wait(&self, attempt: u32) -> bool {
        match self.0 {
            Some(deadline) => deadline.wait(attempt).await,
            None => {
                others_come_first().await;
                true
            }
        }
    }

    async fn wait_out(&self) {
        if let Some(deadline) = self.0 {
            deadline.wait_out().await;
        }
    }

    fn is_within(&self, share: f64) -> bool {
        self.0.is_none_or(|deadline| deadline.is_within(share))
    }
}

async fn others_come_first() {
    let mut has_waited = false;
    let turn = std::future::poll_fn(|context| {
        if std::mem::replace(&mut has_waited, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    });
    turn.await;
}

impl Turns {
    async fn turn(&self) {
        others_come_first().await;
        self.requests.fetch_add(1, Ordering::Relaxed);
    }

    /// Carries out a write. The last of a life gets no answer.
    async fn write<T>(
        &self,
        bytes: impl Iterator<Item = usize>,
        write: impl Future<Output = Result<Reply<T>, TableError>>,
    ) -> Result<Reply<T>, TableError> {
        self.turn().await;
        let dead = std::future::pending::<()>;
        if self.life.as_ref().is_some_and(Life::is_over) {
            dead().await;
        }
        let units: usize = bytes.map(|bytes| bytes.div_ceil(BYTES_OF_WRITE_UNIT).max(1)).sum();
        let reply = write.await.map(|reply| Reply { write_units: units as f64, ..reply });
        if let Some(Life(left)) = &self.life
            && left.fetch_sub(1, Ordering::Relaxed) == 1
        {
            dead().await;
        }
        reply
    }

    fn bytes_of<'a>(&'a self, actions: &'a [Action], times: usize) -> impl Iterator<Item = usize> + 'a {
        actions.iter().map(move |action| match action {
            Action::Put { item, .. } => times * item_bytes(item),
            Action::Update { update, .. } => times * item_bytes(&update.set),
            Action::Delete { .. } | Action::Check { .. } => times * BYTES_OF_WRITE_UNIT,
        })
    }
}

impl Table for Turns {
    async fn read_many(&self, keys: &[ItemKey], reading: &ReadOptions) -> Result<Reply<Found>, TableError> {
        self.turn().await;
        self.memory.read_many(keys, reading).await
    }

    async fn write_many(&self, writes: &[Write]) -> Result<Reply<Vec<Write>>, TableError> {
        self.write(writes.iter().map(Write::sent_bytes), self.memory.write_many(writes)).await
    }

    async fn put(&self, item: &Item, condition: &Condition) -> Result<Reply<bool>, TableError> {
        self.write(std::iter::once(item_bytes(item)), self.memory.put(item, condition)).await
    }

    async fn delete(&self, key: &ItemKey, condition: &Condition) -> Result<Reply<bool>, TableError> {
        self.write(std::iter::once(0), self.memory.delete(key, condition)).await
    }

    async fn update(&self, key: &ItemKey, update: &Update, condition: &Condition) -> Result<Reply<bool>, TableError> {
        self.write(std::iter::once(item_bytes(&update.set)), self.memory.update(key, update, condition)).await
    }

    async fn change_together(&self, actions: &[Action]) -> Result<Reply<Vec<Result<bool, TableError>>>, TableError> {
        self.write(self.bytes_of(actions, 1), self.memory.change_together(actions)).await
    }

    async fn transact(&self, actions: &[Action]) -> Result<Reply<Transacted>, TableError> {
        self.write(self.bytes_of(actions, 2), self.memory.transact(actions)).await
    }

    async fn query(&self, query: &Query) -> Result<Reply<Page>, TableError> {
        self.turn().await;
        self.memory.query(query).await
    }
}

impl Scannable for Turns {
    async fn scan(&self, scan: &Scan) -> Result<Reply<Scanned>, TableError> {
        self.turn().await;
        self.memory.scan(scan).await
    }
}
