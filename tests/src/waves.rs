//! A table that counts how a request of ours uses it: round trips that follow one another, calls by their kind, and what
//! its transactions hold.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Mutex;

use sapwood_core::keys::ItemKey;
use sapwood_core::model::Item;
use sapwood_table::{
    Action, Condition, Found, Page, Query, ReadOptions, Reply, Table, TableError, Transacted, Update, Write,
};

/// What was seen so far.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// How often nothing was under way and then something was: the round trips that follow one another.
    pub waves: usize,
    /// Requests by their names.
    pub calls: BTreeMap<&'static str, usize>,
    /// The actions of each transaction.
    pub transactions: Vec<Vec<Action>>,
    under_way: usize,
}

/// A table that counts.
#[derive(Debug)]
pub struct Waves<T> {
    table: T,
    seen: Mutex<Seen>,
}

impl<T> Waves<T> {
    /// Nothing is counted yet.
    pub fn new(table: T) -> Self {
        Self { table, seen: Mutex::default() }
    }

    /// What was seen since this was last asked.
    pub fn take(&self) -> Seen {
        std::mem::take(&mut *self.seen.lock().unwrap())
    }

    /// Boxed: the SDK's own futures are deep.
    async fn count<V>(&self, name: &'static str, request: Pin<Box<dyn Future<Output = V> + Send + '_>>) -> V {
        {
            let mut seen = self.seen.lock().unwrap();
            seen.waves += usize::from(seen.under_way == 0);
            seen.under_way += 1;
            *seen.calls.entry(name).or_default() += 1;
        }
        // Whoever asks for several things at once begins all of them before the first is answered, however fast that is.
        tokio::task::yield_now().await;
        let answer = request.await;
        self.seen.lock().unwrap().under_way -= 1;
        answer
    }
}

impl<T: Table> Table for Waves<T> {
    async fn read_many(&self, keys: &[ItemKey], reading: &ReadOptions) -> Result<Reply<Found>, TableError> {
        self.count("BatchGetItem", Box::pin(self.table.read_many(keys, reading))).await
    }

    async fn write_many(&self, writes: &[Write]) -> Result<Reply<Vec<Write>>, TableError> {
        self.count("BatchWriteItem", Box::pin(self.table.write_many(writes))).await
    }

    async fn put(&self, item: &Item, condition: &Condition) -> Result<Reply<bool>, TableError> {
        self.count("PutItem", Box::pin(self.table.put(item, condition))).await
    }

    async fn delete(&self, key: &ItemKey, condition: &Condition) -> Result<Reply<bool>, TableError> {
        self.count("DeleteItem", Box::pin(self.table.delete(key, condition))).await
    }

    async fn update(&self, key: &ItemKey, update: &Update, condition: &Condition) -> Result<Reply<bool>, TableError> {
        self.count("UpdateItem", Box::pin(self.table.update(key, update, condition))).await
    }

    async fn transact(&self, actions: &[Action]) -> Result<Reply<Transacted>, TableError> {
        self.seen.lock().unwrap().transactions.push(actions.to_vec());
        self.count("TransactWriteItems", Box::pin(self.table.transact(actions))).await
    }

    async fn query(&self, query: &Query) -> Result<Reply<Page>, TableError> {
        self.count("Query", Box::pin(self.table.query(query))).await
    }
}
